//! Failures of a run by what they were.

use std::collections::BTreeMap;
use std::ops::Range;

use record::Outcome;
use record::schema::{ErrorCount, ErrorSample};

/// Intervals of failures are as long, unless a phase ends in them.
const INTERVAL_NS: u64 = 1_000_000_000;

/// The features that failures have in common which count as one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ErrorKey {
    pub(crate) measure: Option<u16>,
    pub(crate) own_step: Option<String>,
    pub(crate) kind: String,
    pub(crate) detail: Option<String>,
}

/// Failures that count as one.
#[derive(Debug, Clone, Default)]
pub(crate) struct ErrorTotal {
    pub(crate) count: u64,
    pub(crate) first_ns: u64,
    /// The start of the last interval that has one.
    pub(crate) last_ns: u64,
    pub(crate) by_phase: Vec<u64>,
    intervals: Vec<IntervalErrors>,
    pub(crate) samples: Vec<ErrorSample>,
}

/// Operations of a measure that were never answered and failed, in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnansweredErrors {
    pub(crate) measure: usize,
    pub(crate) start_ns: u64,
    pub(crate) count: u64,
}

/// Failures that count as one in an interval.
#[derive(Debug, Clone, Copy)]
struct IntervalErrors {
    start_ns: u64,
    count: u64,
}

/// The failures of a run by step, kind and detail. There are no more than a run tells apart.
#[derive(Debug, Clone, Default)]
pub(crate) struct ErrorTotals(pub(crate) BTreeMap<ErrorKey, ErrorTotal>);

impl ErrorTotals {
    /// Adds those of an interval.
    pub(crate) fn add(&mut self, count: ErrorCount) {
        let ErrorCount { start_ns, phase, measure, own_step, kind, detail, count } = count;
        let key = ErrorKey { measure, own_step, kind, detail };
        let total = self.0.entry(key).or_insert_with(|| ErrorTotal {
            first_ns: start_ns,
            last_ns: start_ns,
            ..ErrorTotal::default()
        });
        total.count += count;
        total.first_ns = total.first_ns.min(start_ns);
        total.last_ns = total.last_ns.max(start_ns);
        let phase = phase as usize;
        if total.by_phase.len() <= phase {
            total.by_phase.resize(phase + 1, 0);
        }
        total.by_phase[phase] += count;
        total.intervals.push(IntervalErrors { start_ns, count });
    }

    /// Failures of these measures in the intervals of which most is in this time, by detail or, without one, by kind.
    pub(crate) fn counts_within(
        &self,
        measures: &[usize],
        span_ns: &Range<u64>,
    ) -> BTreeMap<&str, u64> {
        let mut counts = BTreeMap::new();
        for (key, total) in &self.0 {
            if !key.measure.is_some_and(|own| measures.contains(&usize::from(own))) {
                continue;
            }
            let within = total.intervals.iter().filter(|interval| {
                span_ns.contains(&interval.start_ns.saturating_add(INTERVAL_NS / 2))
            });
            let count: u64 = within.map(|interval| interval.count).sum();
            if count > 0 {
                let detail = key.detail.as_deref().filter(|detail| *detail != ErrorCount::OTHERS);
                *counts.entry(detail.unwrap_or(&key.kind)).or_default() += count;
            }
        }
        counts
    }

    /// Failures without an answer.
    pub(crate) fn unanswered(&self) -> impl Iterator<Item = UnansweredErrors> {
        let is_unanswered =
            |key: &ErrorKey| Outcome::from_name(&key.kind).is_some_and(Outcome::is_unanswered);
        let all = self.0.iter().filter(move |&(key, _)| is_unanswered(key));
        let of_measures = all.filter_map(|(key, total)| Some((usize::from(key.measure?), total)));
        of_measures.flat_map(|(measure, total)| {
            total.intervals.iter().map(move |&IntervalErrors { start_ns, count }| {
                UnansweredErrors { measure, start_ns, count }
            })
        })
    }

    /// Adds a sample, unless there is no failure of its kind.
    pub(crate) fn add_sample(&mut self, sample: ErrorSample) {
        let key = ErrorKey {
            measure: sample.measure,
            own_step: sample.own_step.clone(),
            kind: sample.kind.clone(),
            detail: sample.detail.clone(),
        };
        if let Some(total) = self.0.get_mut(&key) {
            total.samples.push(sample);
        }
    }
}
