//! The measures, times and phase that a figure of a threshold is taken from.

use plan::{Basis, Figure, Stat};

use super::Figures;

/// A figure of measures, of one or of several taken as one.
#[derive(Debug, Clone)]
pub(crate) struct MeasureFigure {
    pub(crate) stat: Stat,
    /// Indices of the run's measures, ascending.
    pub(crate) measures: Vec<usize>,
    pub(crate) basis: Basis,
    pub(crate) phase: Option<usize>,
    /// No measure is named: all requests are meant, and failures that are none of a request count as well.
    pub(crate) is_of_all: bool,
}

impl MeasureFigure {
    /// `None` for figures that are not of measures. Without a named measure, all requests are meant.
    pub(crate) fn of(figures: &Figures, figure: &Figure) -> Option<MeasureFigure> {
        let all = match *figure {
            Figure::Measure { stat, measure, basis, phase } => MeasureFigure {
                stat,
                measures: match measure {
                    Some(measure) => vec![measure.index()],
                    None => figures.requests().collect(),
                },
                basis,
                phase,
                is_of_all: measure.is_none(),
            },
            Figure::Measures { stat, ref measures, basis, phase } => MeasureFigure {
                stat,
                measures: measures.iter().map(|measure| measure.index()).collect(),
                basis,
                phase,
                is_of_all: false,
            },
            Figure::Connected
            | Figure::Users
            | Figure::Refused
            | Figure::Cost
            | Figure::CostPerUserHour
            | Figure::Behind(_)
            | Figure::Sessions { .. }
            | Figure::Metric { .. }
            | Figure::Wire(_) => return None,
        };
        Some(match all.stat {
            Stat::Mean | Stat::Min | Stat::Max | Stat::Quantile(_) if all.basis != Basis::Lag => {
                MeasureFigure { measures: figures.timed(all.measures), ..all }
            }
            _ => all,
        })
    }
}

impl Figures {
    /// The measures, among several, whose operations take time. A message that waits for no reply is done as it is
    /// sent: among the times of others it would hide them. All of them if none takes time.
    pub fn timed(&self, measures: Vec<usize>) -> Vec<usize> {
        if measures.len() < 2 {
            return measures;
        }
        let takes_time = |&measure: &usize| {
            let service = self.cell(None, measure).service;
            service.is_empty() || service.max() > 0
        };
        let timed: Vec<usize> = measures.iter().copied().filter(takes_time).collect();
        match timed.is_empty() {
            true => measures,
            false => timed,
        }
    }
}

#[cfg(test)]
mod tests {
    use plan::thresholds::Names;

    use crate::sample::{self, MS};
    use crate::{Figures, threshold};

    /// The sample, and besides 54,000 messages without a reply, each sent 1 ms late.
    fn figures() -> Figures {
        let mut info = sample::info();
        let send = record::schema::MeasureInfo::new("send", "request");
        info.measures.push(send);
        let mut figures = Figures::new(info, (0..60).map(sample::row).collect(), Vec::new());
        sample::succeed(&mut figures, 0, sample::REQUEST, 6_000, 10 * MS, 0);
        sample::succeed(&mut figures, 0, 2, 54_000, MS, MS);
        figures
    }

    #[test]
    fn messages_without_a_reply_are_not_among_the_times_of_all() {
        let figures = figures();
        let measures = ["connect", "request", "send"];
        let names = Names { measures: &measures, metrics: &[], tags: &[], phases: &[] };
        let value = |text: &str| threshold::value(&figures, &names.figure(text).unwrap()).unwrap();
        let about = |text: &str, ms: f64| {
            let found = value(text) / MS as f64;
            assert!((found - ms).abs() <= 0.001 * ms, "{text}: {found} ms");
        };
        about("p50", 10.0);
        about("mean.service", 10.0);
        about("min.succeeded", 10.0);
        about("p50(send)", 1.0);
        // That they were late is the generator's lag, and each counts as one.
        about("p50.lag", 1.0);
        assert_eq!(value("count"), 60_000.0);
    }
}
