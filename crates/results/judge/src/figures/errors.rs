//! Failures of a run by what they were.

use std::collections::BTreeMap;

use record::schema::{ErrorCount, ErrorSample};

/// What failures have in common that count as one.
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
    pub(crate) samples: Vec<ErrorSample>,
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
