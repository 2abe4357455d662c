//! Recorded numbers of the scenario's own metrics.

use record::schema::MetricRow;
use stats::metrics::{MetricStat, MetricValues};

use super::Figures;

/// The recorded numbers of all metrics, by phase, the drain after the last.
#[derive(Debug, Clone, Default)]
pub(super) struct Metrics {
    rows: Vec<Vec<MetricValues>>,
}

impl Figures {
    /// Adds what was recorded in an interval.
    pub(crate) fn add_metric(&mut self, row: &MetricRow) {
        let is_drain = !self.info.phases.is_empty() && row.start_ns >= self.planned_end_ns();
        let at = match is_drain {
            true => self.cells.len(),
            false => self.phase_at(row.start_ns),
        };
        if self.metrics.rows.is_empty() {
            let none = self.info.metrics.iter().map(|metric| MetricValues::new(metric.kind));
            self.metrics.rows = vec![none.collect(); self.cells.len() + 1];
        }
        let metric = usize::from(row.metric);
        if let Some(sum) = self.metrics.rows.get_mut(at).and_then(|row| row.get_mut(metric)) {
            sum.merge(&row.values);
        }
    }

    /// The recorded numbers of a metric in a phase, the last one with the drain, or over the run; `None`: the run has no
    /// such metric.
    pub(crate) fn metric(&self, phase: Option<usize>, metric: usize) -> Option<MetricValues> {
        self.merged_metric(phase, metric, true)
    }

    /// The sum of the counter of this name over the run; `None`: the run has no such counter.
    pub(crate) fn metric_sum(&self, name: &str) -> Option<f64> {
        let metric = self.info.metrics.iter().position(|metric| metric.name == name)?;
        self.metric_value(None, metric, MetricStat::Sum)
    }

    /// A statistic of a metric; `None` where there is nothing to take it from. What is recorded in the drain is in no rate.
    pub(crate) fn metric_value(
        &self,
        phase: Option<usize>,
        metric: usize,
        stat: MetricStat,
    ) -> Option<f64> {
        let values = self.merged_metric(phase, metric, stat != MetricStat::Rate)?;
        values.value(stat, self.seconds(phase))
    }

    fn merged_metric(
        &self,
        phase: Option<usize>,
        metric: usize,
        with_drain: bool,
    ) -> Option<MetricValues> {
        let mut sum = MetricValues::new(self.info.metrics.get(metric)?.kind);
        let phases_count = self.cells.len();
        let is_last = phase.is_none_or(|phase| phase + 1 == phases_count);
        let end = match phase {
            Some(phase) => phase + 1,
            None => phases_count,
        };
        let drain = (with_drain && is_last).then_some(phases_count);
        for row in (phase.unwrap_or(0)..end).chain(drain) {
            if let Some(values) = self.metrics.rows.get(row).and_then(|row| row.get(metric)) {
                sum.merge(values);
            }
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use plan::thresholds::MetricName;
    use record::schema::MetricInfo;
    use stats::decimal::Decimal;
    use stats::metrics::MetricKind;

    use super::*;
    use crate::names::RunNames;
    use crate::{sample, threshold};

    const SECOND: u64 = 1_000_000_000;

    /// Ten seconds of a ramp, fifty of a hold and two of drain.
    fn figures() -> Figures {
        let mut info = sample::info();
        info.phases = vec![
            sample::phase("ramp", "rate", 0, 10, 100.0),
            sample::phase("hold", "hold", 10, 60, 0.0),
        ];
        info.ended_ns = 62 * SECOND;
        info.metrics = vec![
            MetricInfo { name: "basket".into(), kind: MetricKind::Quantity, unit: "€".into() },
            MetricInfo { name: "orders".into(), kind: MetricKind::Counter, unit: String::new() },
            MetricInfo { name: "cheap".into(), kind: MetricKind::Share, unit: String::new() },
            MetricInfo { name: "depth".into(), kind: MetricKind::Gauge, unit: "items".into() },
        ];
        Figures::new(info, Vec::new(), Vec::new())
    }

    fn add(figures: &mut Figures, second: u64, metric: u16, numbers: &[f64]) {
        let mut values = MetricValues::new(figures.info.metrics[usize::from(metric)].kind);
        for &number in numbers {
            values.record(second * SECOND, Decimal::from_f64(number).unwrap());
        }
        let start_ns = second * SECOND;
        let end_ns = start_ns + SECOND;
        figures.add_metric(&MetricRow { start_ns, end_ns, phase: 0, metric, values });
    }

    /// The recomputation on paper: 1 to 100 in the ramp, 29 and −3.5 in the hold.
    #[test]
    fn thresholds_on_metrics_agree_with_a_plain_recomputation() {
        let mut figures = figures();
        for second in 0..10 {
            let numbers: Vec<f64> = (1..=10).map(|n| (second * 10 + n) as f64).collect();
            add(&mut figures, second, 0, &numbers);
        }
        add(&mut figures, 20, 0, &[29.0, -3.5]);
        add(&mut figures, 5, 1, &[1.0, 2.5]);
        add(&mut figures, 30, 1, &[6.5]);
        add(&mut figures, 61, 1, &[100.0]);
        add(&mut figures, 30, 2, &[1.0, 0.0, 1.0, 1.0]);
        add(&mut figures, 30, 3, &[7.0, -2.0]);
        add(&mut figures, 12, 3, &[9.0]);
        let names = RunNames::of(&figures.info);
        let result = |text: &str| {
            let threshold = names.names().threshold(text).unwrap();
            let found = threshold::evaluate_all(&figures, &[threshold]).remove(0);
            (found.passed, found.shown)
        };
        let holds = |text: &str, shown: &str| {
            assert_eq!(result(text), (true, shown.to_owned()), "{text}");
        };
        // 5,050 + 25.5 of 102.
        holds("sum(basket) == 5075.5", "5,076 €");
        holds("count(basket) == 102", "102");
        holds("min(basket) <= -3.5 €", "-3.50 €");
        holds("max(basket) < 101", "100 €");
        holds("mean(basket) < 12.8 in hold", "12.75 €");
        holds("sum(orders) == 110", "110");
        // Without what the drain adds.
        holds("rate(orders) < 0.17/s", "0.167/s");
        holds("rate(orders) > 0.3/s in ramp", "0.350/s");
        holds("share(cheap) == 75%", "75 %");
        holds("last(depth) < 0", "-2.00 items");
        holds("max(depth) <= 9 items", "9.00 items");
        assert_eq!(result("last(depth) > 0 in ramp"), (false, "nothing measured".to_owned()));
        assert_eq!(result("sum(orders) == 0 in hold").1, "106");
        // Nobody knows the rate in a phase that the run did not come to.
        let threshold = names.names().threshold("rate(orders) < 1/s in hold").unwrap();
        figures.info.phases.truncate(1);
        let found = threshold::evaluate_all(&figures, &[threshold]).remove(0);
        assert_eq!((found.passed, found.shown.as_str()), (false, "nothing measured"));
    }

    #[test]
    fn names_of_a_record_have_kinds_and_units() {
        let figures = figures();
        let names = RunNames::of(&figures.info);
        let MetricName { name, kind, unit } = names.names().metrics[3];
        assert_eq!((name, kind, unit), ("depth", MetricKind::Gauge, "items"));
    }
}
