//! One answer of a source: gauges as they are, counters as rates.

use std::collections::HashMap;

use record::ProbeInfo;

/// The role under which a source's own cost is told.
pub const ASKER: &str = "generator";

/// Most metrics of one source; what is more is left out, aloud.
const METRICS_MAX: usize = 2000;
/// Longest name of a metric, in bytes.
const METRIC_BYTES_MAX: usize = 300;
/// Most different remarks of one source.
const REMARKS_MAX: usize = 8;

/// Who tells: the part of a [`ProbeInfo`] that all its metrics share.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Teller {
    pub(crate) role: String,
    pub(crate) region: String,
    pub(crate) source: String,
    pub(crate) via: String,
}

/// What a source told at one time, by the numbers of its metrics.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Answer {
    /// Metrics that were not told before; the first has the number after the last known one.
    pub(crate) new: Vec<ProbeInfo>,
    pub(crate) values: Vec<(u32, f64)>,
    /// What could not be told and why, each once.
    pub(crate) remarks: Vec<String>,
}

/// Takes what a source tells. Counters become rates over the time since they were told last, so that
/// all values can be drawn as they are; the first total of a counter, and one that has begun anew,
/// has no rate.
#[derive(Debug)]
pub(crate) struct Reading {
    teller: Teller,
    metrics: HashMap<(Option<Teller>, String), Metric>,
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
    /// The last answer that told it.
    answer: u64,
    last: Option<(i64, f64)>,
}

impl Reading {
    pub(crate) fn new(teller: Teller) -> Reading {
        Reading {
            teller,
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
        self.tell(None, metric, unit, value);
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

    /// A value that another source told, whose name goes into the record.
    pub(crate) fn told_by(&mut self, teller: Teller, metric: &str, unit: &str, value: f64) {
        self.tell(Some(teller), metric, unit, value);
    }

    /// What could not be told and why.
    pub(crate) fn remark(&mut self, text: String) {
        if self.remarked.len() < REMARKS_MAX && !self.remarked.contains(&text) {
            self.remarked.push(text.clone());
            self.answer.remarks.push(text);
        }
    }

    fn tell(&mut self, teller: Option<Teller>, metric: &str, unit: &str, value: f64) {
        if !value.is_finite() {
            return;
        }
        if let Some(known) = self.metric(teller, metric, unit) {
            let number = known.number;
            self.answer.values.push((number, value));
        }
    }

    /// The metric, once in each answer.
    fn metric(&mut self, teller: Option<Teller>, metric: &str, unit: &str) -> Option<&mut Metric> {
        let key = (teller, metric.to_owned());
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
        let Teller {
            role,
            region,
            source,
            via,
        } = key.0.as_ref().unwrap_or(&self.teller).clone();
        self.answer.new.push(ProbeInfo {
            role,
            region,
            source,
            metric: metric.to_owned(),
            unit: unit.to_owned(),
            via,
        });
        let metric = Metric {
            number,
            answer,
            last: None,
        };
        Some(self.metrics.entry(key).or_insert(metric))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A reading by nobody in particular.
    pub(crate) fn reading() -> Reading {
        Reading::new(Teller {
            role: "role".to_owned(),
            region: String::new(),
            source: "source".to_owned(),
            via: "via".to_owned(),
        })
    }

    /// What an answer told, in the form `metric unit value`.
    pub(crate) struct Names(Vec<ProbeInfo>);

    impl Names {
        pub(crate) fn new() -> Names {
            Names(Vec::new())
        }

        pub(crate) fn told(&mut self, answer: Answer) -> Vec<String> {
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
        let (mut reading, mut names) = (reading(), Names::new());
        reading.begin(0);
        reading.gauge("users", "1", 5.0);
        reading.counter("sent", "B/s", 1000.0);
        assert_eq!(names.told(reading.take()), ["users 1 5"]);
        reading.begin(2_000_000_000);
        reading.counter("sent", "B/s", 1500.0);
        reading.gauge("users", "1", f64::NAN);
        assert_eq!(names.told(reading.take()), ["sent B/s 250"]);
        // A counter that has begun anew has no rate until it was told again.
        reading.begin(3_000_000_000);
        reading.counter("sent", "B/s", 10.0);
        assert_eq!(names.told(reading.take()), [""; 0]);
        reading.begin(4_000_000_000);
        reading.counter("sent", "B/s", 17.0);
        assert_eq!(names.told(reading.take()), ["sent B/s 7"]);
    }

    #[test]
    fn what_is_too_much_is_left_out_aloud() {
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
        assert_eq!(reading.take(), Answer::default(), "told once");
    }

    #[test]
    fn what_is_told_again_at_once_does_not_count() {
        let (mut reading, mut names) = (reading(), Names::new());
        reading.begin(0);
        for value in [5.0, 6.0, 7.0] {
            reading.gauge("users", "1", value);
            reading.counter("sent", "B/s", 1000.0 * value);
        }
        let answer = reading.take();
        assert_eq!(answer.remarks.len(), 1, "{:?}", answer.remarks);
        assert_eq!(names.told(answer), ["users 1 5"]);
        reading.begin(1_000_000_000);
        reading.gauge("users", "1", 8.0);
        reading.counter("sent", "B/s", 5100.0);
        assert_eq!(names.told(reading.take()), ["users 1 8", "sent B/s 100"]);
    }
}
