//! Failures of a run by what they were, over all loops: the kinds that are told apart, and samples of each.

use std::collections::BTreeMap;

use engine::measure::{ErrorDelta, Sample};
use plan::MeasureId;
use record::Outcome;
use record::schema::{ErrorCount, ErrorSample, EventKind, RunInfo, SeriesRow};

use crate::secrets::Secrets;

/// Failures of one outcome at one measure that are events with their text.
const EVENTS_MAX: u32 = 5;

/// The features that failures have in common which count as one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ErrorKey {
    pub(crate) measure: MeasureId,
    pub(crate) own_step: Option<String>,
    pub(crate) outcome: Outcome,
    pub(crate) detail: Option<String>,
}

impl ErrorKey {
    fn of_sample(sample: &Sample) -> ErrorKey {
        ErrorKey {
            measure: sample.measure,
            own_step: sample.own_step.clone(),
            outcome: sample.outcome,
            detail: sample.detail.clone(),
        }
    }

    fn is_others(&self) -> bool {
        self.detail.as_deref() == Some(ErrorCount::OTHERS)
    }

    /// The measure's number in the record, unless the step is no operation.
    fn recorded_measure(&self) -> Option<u16> {
        self.own_step.is_none().then_some(self.measure.0)
    }
}

/// Counts of an interval, over loops.
pub(crate) type ErrorCounts = BTreeMap<ErrorKey, u64>;

/// Adds what a loop counted.
pub(crate) fn add(counts: &mut ErrorCounts, error: ErrorDelta) {
    let ErrorDelta { measure, own_step, outcome, detail, count } = error;
    *counts.entry(ErrorKey { measure, own_step, outcome, detail }).or_default() += count;
}

/// The kinds of failures of a run.
#[derive(Debug)]
pub(crate) struct Failures {
    samples_max: u32,
    /// The kinds that are told apart, with the number of samples of each.
    kinds: BTreeMap<ErrorKey, u32>,
    /// Failures that are events.
    events: BTreeMap<(MeasureId, Outcome), u32>,
}

impl Failures {
    /// `samples_max`: samples of each kind.
    pub(crate) fn new(samples_max: u8) -> Failures {
        Failures {
            samples_max: u32::from(samples_max),
            kinds: BTreeMap::new(),
            events: BTreeMap::new(),
        }
    }

    /// The counts of an interval as they are recorded. A kind that is new when as many as there may be are known is
    /// counted with others; of those that are new in one interval the most frequent come first.
    pub(crate) fn counts(
        &mut self,
        row: &SeriesRow,
        counts: &ErrorCounts,
        secrets: &Secrets,
    ) -> Vec<ErrorCount> {
        let mut plain = ErrorCounts::new();
        for (key, count) in counts {
            let mut key = key.clone();
            key.detail.iter_mut().for_each(|detail| secrets.hide_in_failure(detail));
            *plain.entry(key).or_default() += count;
        }
        let is_new = |key: &ErrorKey| !key.is_others() && !self.kinds.contains_key(key);
        let mut new: Vec<(u64, ErrorKey)> = plain
            .iter()
            .filter(|(key, _)| is_new(key))
            .map(|(key, count)| (*count, key.clone()))
            .collect();
        new.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        let room = ErrorCount::DISTINCT_MAX.saturating_sub(self.kinds.len());
        self.kinds.extend(new.into_iter().take(room).map(|(_, key)| (key, 0)));
        let mut kept = ErrorCounts::new();
        for (mut key, count) in plain {
            if !self.kinds.contains_key(&key) {
                key.detail = Some(ErrorCount::OTHERS.to_owned());
            }
            *kept.entry(key).or_default() += count;
        }
        let counts = kept.into_iter().map(|(key, count)| ErrorCount {
            start_ns: row.start_ns,
            phase: row.phase,
            measure: key.recorded_measure(),
            own_step: key.own_step,
            kind: key.outcome.name().to_owned(),
            detail: key.detail,
            count,
        });
        counts.collect()
    }

    /// A failure with its text as an event, if it is one of the first of its outcome at its measure.
    pub(crate) fn event(&mut self, sample: &Sample, info: &RunInfo) -> Option<EventKind> {
        let kept = self.events.entry((sample.measure, sample.outcome)).or_default();
        if *kept >= EVENTS_MAX {
            return None;
        }
        *kept += 1;
        Some(EventKind::Error {
            measure: info.measures[sample.measure.index()].name.clone(),
            outcome: sample.outcome.name().to_owned(),
            user: sample.user,
            detail: sample.text.clone(),
        })
    }

    /// The sample as it is recorded, if it is one of the first of a kind that is told apart.
    pub(crate) fn sample(&mut self, sample: &Sample, secrets: &Secrets) -> Option<ErrorSample> {
        let mut key = ErrorKey::of_sample(sample);
        key.detail.iter_mut().for_each(|detail| secrets.hide_in_failure(detail));
        let kept = self.kinds.get_mut(&key)?;
        if *kept >= self.samples_max {
            return None;
        }
        *kept += 1;
        let mut recorded = ErrorSample {
            at_ns: sample.at_ns,
            measure: key.recorded_measure(),
            own_step: key.own_step,
            kind: key.outcome.name().to_owned(),
            detail: key.detail,
            user: sample.user,
            text: sample.text.clone(),
            request: sample.request.clone(),
            status: sample.status.clone(),
            headers: sample.headers.clone(),
            body: sample.body.clone(),
        };
        secrets.hide_in_sample(&mut recorded);
        Some(recorded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(detail: &str) -> ErrorKey {
        ErrorKey {
            measure: MeasureId(1),
            own_step: None,
            outcome: Outcome::Status,
            detail: Some(detail.to_owned()),
        }
    }

    fn sample(detail: &str) -> Sample {
        Sample {
            at_ns: 9,
            measure: MeasureId(1),
            own_step: None,
            outcome: Outcome::Status,
            detail: Some(detail.to_owned()),
            user: 3,
            text: "status".to_owned(),
            request: Some("GET /a".to_owned()),
            status: Some("HTTP/1.1 503 No".to_owned()),
            headers: vec![("Set-Cookie".to_owned(), "sid=hush".to_owned())],
            body: Some("{\"token\":\"hush\",\"n\":1}".to_owned()),
        }
    }

    fn found(counts: &[ErrorCount]) -> Vec<(&str, u64)> {
        counts.iter().map(|one| (one.detail.as_deref().unwrap_or_default(), one.count)).collect()
    }

    #[test]
    fn a_kind_that_comes_too_late_counts_with_others() {
        let mut failures = Failures::new(5);
        let secrets = Secrets::default();
        let row = SeriesRow { start_ns: 7, phase: 2, ..SeriesRow::default() };
        let first: ErrorCounts = (0..250).map(|n| (key(&format!("{n:03}")), 1 + n)).collect();
        let counts = failures.counts(&row, &first, &secrets);
        assert_eq!(counts.len(), ErrorCount::DISTINCT_MAX + 1);
        assert_eq!(counts.iter().map(|one| one.count).sum::<u64>(), (1..=250_u64).sum::<u64>());
        assert_eq!((counts[0].start_ns, counts[0].phase), (7, 2));
        // The 50 least frequent have none of their own.
        assert_eq!(found(&counts)[0].0, "050");
        assert_eq!(found(&counts)[200], (ErrorCount::OTHERS, (1..=50_u64).sum::<u64>()));
        let later = ErrorCounts::from([(key("249"), 2), (key("late"), 1_000), (key("others"), 1)]);
        let counts = failures.counts(&row, &later, &secrets);
        assert_eq!(found(&counts), [("249", 2), ("others", 1_001)]);
        assert!(failures.sample(&sample("late"), &secrets).is_none());
    }

    #[test]
    fn samples_are_bounded_and_without_secrets() {
        let mut failures = Failures::new(2);
        let secrets = Secrets::default();
        let counts = ErrorCounts::from([(key("503"), 9)]);
        failures.counts(&SeriesRow::default(), &counts, &secrets);
        let recorded = failures.sample(&sample("503"), &secrets).unwrap();
        assert_eq!(recorded.headers[0].1, "(secret)");
        assert_eq!(recorded.body.as_deref(), Some("{\"token\":\"(secret)\",\"n\":1}"));
        assert_eq!((recorded.measure, recorded.user), (Some(1), 3));
        assert!(failures.sample(&sample("503"), &secrets).is_some());
        assert!(failures.sample(&sample("503"), &secrets).is_none(), "one too many");
        let mut none = Failures::new(0);
        none.counts(&SeriesRow::default(), &counts, &secrets);
        assert!(none.sample(&sample("503"), &secrets).is_none());
    }

    #[test]
    fn a_step_that_is_no_operation_is_named_instead_of_a_measure() {
        let mut failures = Failures::new(1);
        let own = ErrorKey { own_step: Some("`set` of `x`".to_owned()), ..key("no number") };
        let counts = ErrorCounts::from([(own, 4)]);
        let counts = failures.counts(&SeriesRow::default(), &counts, &Secrets::default());
        assert_eq!((counts[0].measure, counts[0].count), (None, 4));
        assert_eq!(counts[0].own_step.as_deref(), Some("`set` of `x`"));
    }
}
