//! One answer of a source: gauges as they are, counters as rates.

use std::collections::HashMap;

use record::ProbeInfo;

/// The role under which a source's own cost is recorded.
pub const GENERATOR_ROLE: &str = "generator";

/// Most metrics of one source; what is more is left out, aloud.
const METRICS_MAX: usize = 2000;
/// Longest name of a metric, in bytes.
const METRIC_BYTES_MAX: usize = 300;
/// Most different remarks of one source.
const REMARKS_MAX: usize = 8;

/// Beginning of the remark on values that are left out.
const NOT_FINITE: &str = "values that are no finite numbers are left out";

/// A source: the part of a [`ProbeInfo`] that all its metrics share.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SourceId {
    pub(crate) role: String,
    pub(crate) region: String,
    pub(crate) source: String,
    pub(crate) via: String,
}

/// The values of a source at one time, by the numbers of its metrics.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Answer {
    /// New metrics; the first has the number after the last known one.
    pub(crate) new: Vec<ProbeInfo>,
    pub(crate) values: Vec<(u32, f64)>,
    /// Remarks on what could not be read and why, each once.
    pub(crate) remarks: Vec<String>,
}

/// Collects the values of a source. Counters become rates over the time since their last value, so that
/// all values can be plotted directly; the first total of a counter, and one that was reset,
/// has no rate.
#[derive(Debug)]
pub(crate) struct Reading {
    id: SourceId,
    metrics: HashMap<(Option<SourceId>, String), Metric>,
    /// Answers that were begun.
    answers: u64,
    at_ns: i64,
    /// When the last answer was begun.
    before_ns: Option<i64>,
    answer: Answer,
    remarked: Vec<String>,
}

#[derive(Debug)]
struct Metric {
    number: u32,
    /// The last answer that contained it.
    answer: u64,
    last: Option<(i64, f64)>,
}

impl Reading {
    pub(crate) fn new(id: SourceId) -> Reading {
        Reading {
            id,
            metrics: HashMap::new(),
            answers: 0,
            at_ns: 0,
            before_ns: None,
            answer: Answer::default(),
            remarked: Vec::new(),
        }
    }

    /// Begins an answer that is given at this time.
    pub(crate) fn begin(&mut self, at_ns: i64) {
        if !self.metrics.is_empty() {
            self.before_ns = Some(self.at_ns);
        }
        self.answers += 1;
        self.at_ns = at_ns;
        self.answer = Answer::default();
    }

    /// Ends it.
    pub(crate) fn take(&mut self) -> Answer {
        std::mem::take(&mut self.answer)
    }

    /// Seconds since the answer before this one was begun.
    pub(crate) fn passed_s(&self) -> Option<f64> {
        let passed_s = (self.at_ns - self.before_ns?) as f64 / 1e9;
        (passed_s > 0.0).then_some(passed_s)
    }

    /// A value as it is.
    pub(crate) fn gauge(&mut self, metric: &str, unit: &str, value: f64) {
        self.add(None, metric, unit, value);
    }

    /// A total that only grows; `unit` is that of its rate.
    pub(crate) fn counter(&mut self, metric: &str, unit: &str, total: f64) {
        if !total.is_finite() {
            return;
        }
        let at_ns = self.at_ns;
        let Some(known) = self.metric(None, metric, unit) else {
            return;
        };
        let last = known.last.replace((at_ns, total));
        let number = known.number;
        let Some((last_ns, last)) = last else { return };
        let seconds = (at_ns - last_ns) as f64 / 1e9;
        if total >= last && seconds > 0.0 {
            self.answer.values.push((number, (total - last) / seconds));
        }
    }

    /// A value of another source, whose name goes into the record.
    pub(crate) fn value_of(&mut self, id: SourceId, metric: &str, unit: &str, value: f64) {
        self.add(Some(id), metric, unit, value);
    }

    /// Remarks on something that could not be read, and why.
    pub(crate) fn remark(&mut self, text: String) {
        if self.remarked.len() < REMARKS_MAX && !self.remarked.contains(&text) {
            self.remarked.push(text.clone());
            self.answer.remarks.push(text);
        }
    }

    /// Remarks on a value that is left out, since it is not finite; of each source once.
    pub(crate) fn not_finite(&mut self, metric: &str, value: f64) {
        if !self.remarked.iter().any(|text| text.starts_with(NOT_FINITE)) {
            self.remark(format!("{NOT_FINITE}, the first of {metric}: {value}"));
        }
    }

    fn add(&mut self, id: Option<SourceId>, metric: &str, unit: &str, value: f64) {
        if !value.is_finite() {
            return;
        }
        if let Some(known) = self.metric(id, metric, unit) {
            let number = known.number;
            self.answer.values.push((number, value));
        }
    }

    /// The metric, once in each answer.
    fn metric(&mut self, id: Option<SourceId>, metric: &str, unit: &str) -> Option<&mut Metric> {
        let key = (id, metric.to_owned());
        let answer = self.answers;
        // Looked up twice, for the borrow ends with the first.
        if let Some(known) = self.metrics.get(&key) {
            if known.answer == answer {
                self.remark(
                    "a metric that occurs twice in an answer has its first value".to_owned(),
                );
                return None;
            }
            let known = self.metrics.get_mut(&key)?;
            known.answer = answer;
            return Some(known);
        }
        if self.metrics.len() >= METRICS_MAX || metric.len() > METRIC_BYTES_MAX {
            self.remark(format!(
                "metrics are left out: a source has at most {METRICS_MAX}, with names of at most \
                 {METRIC_BYTES_MAX} bytes"
            ));
            return None;
        }
        let number = self.metrics.len() as u32;
        let SourceId { role, region, source, via } = key.0.as_ref().unwrap_or(&self.id).clone();
        self.answer.new.push(ProbeInfo {
            role,
            region,
            source,
            metric: metric.to_owned(),
            unit: unit.to_owned(),
            via,
        });
        let metric = Metric { number, answer, last: None };
        Some(self.metrics.entry(key).or_insert(metric))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A reading of an unnamed source.
    pub(crate) fn reading() -> Reading {
        Reading::new(SourceId {
            role: "role".to_owned(),
            region: String::new(),
            source: "source".to_owned(),
            via: "via".to_owned(),
        })
    }

    /// The values of an answer, in the form `metric unit value`.
    pub(crate) struct Names(Vec<ProbeInfo>);

    impl Names {
        pub(crate) fn new() -> Names {
            Names(Vec::new())
        }

        pub(crate) fn lines(&mut self, answer: Answer) -> Vec<String> {
            self.0.extend(answer.new);
            let values = answer.values.iter().map(|&(number, value)| {
                let info = &self.0[number as usize];
                format!("{} {} {value}", info.metric, info.unit)
            });
            values.collect()
        }
    }

    #[test]
    fn counters_become_rates_and_gauges_stay() {
        let mut reading = reading();
        let mut names = Names::new();
        reading.begin(0);
        reading.gauge("users", "1", 5.0);
        reading.counter("sent", "B/s", 1000.0);
        assert_eq!(names.lines(reading.take()), ["users 1 5"]);
        reading.begin(2_000_000_000);
        reading.counter("sent", "B/s", 1500.0);
        reading.gauge("users", "1", f64::NAN);
        assert_eq!(names.lines(reading.take()), ["sent B/s 250"]);
        // A counter that was reset has no rate until its next value.
        reading.begin(3_000_000_000);
        reading.counter("sent", "B/s", 10.0);
        assert_eq!(names.lines(reading.take()), [""; 0]);
        reading.begin(4_000_000_000);
        reading.counter("sent", "B/s", 17.0);
        assert_eq!(names.lines(reading.take()), ["sent B/s 7"]);
    }

    #[test]
    fn readings_beyond_the_limit_are_left_out_and_reported() {
        let mut reading = reading();
        reading.begin(0);
        for number in 0..METRICS_MAX + 5 {
            reading.gauge(&number.to_string(), "1", 0.0);
        }
        let answer = reading.take();
        assert_eq!(answer.values.len(), METRICS_MAX);
        assert_eq!(answer.remarks.len(), 1, "{:?}", answer.remarks);
        reading.begin(1);
        reading.gauge("another", "1", 0.0);
        assert_eq!(reading.take(), Answer::default(), "reported once");
    }

    #[test]
    fn a_metric_counts_once_per_answer() {
        let mut reading = reading();
        let mut names = Names::new();
        reading.begin(0);
        for value in [5.0, 6.0, 7.0] {
            reading.gauge("users", "1", value);
            reading.counter("sent", "B/s", 1000.0 * value);
        }
        let answer = reading.take();
        assert_eq!(answer.remarks.len(), 1, "{:?}", answer.remarks);
        assert_eq!(names.lines(answer), ["users 1 5"]);
        reading.begin(1_000_000_000);
        reading.gauge("users", "1", 8.0);
        reading.counter("sent", "B/s", 5100.0);
        assert_eq!(names.lines(reading.take()), ["users 1 8", "sent B/s 100"]);
    }
}
