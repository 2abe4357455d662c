//! Failures by what they were, for `errors.jsonl`.

use std::collections::{BTreeMap, BTreeSet};

use crate::Outcome;
use crate::samples::results::ToolOperation;
use crate::schema::ErrorCount;

/// The detail of failures that are too many to be told apart.
const OTHERS: u16 = u16::MAX;

/// Failures of one kind in one interval. The detail is an index into the details, from 1; 0: none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    start_ns: u64,
    measure: u16,
    outcome: Outcome,
    detail: u16,
}

/// Failures by interval.
pub(super) struct Failures<'a> {
    details: &'a [String],
    /// The kinds that are told apart, without their interval.
    distinct: BTreeSet<Key>,
    counts: BTreeMap<Key, u64>,
}

impl<'a> Failures<'a> {
    pub(super) fn new(details: &'a [String]) -> Failures<'a> {
        Failures { details, distinct: BTreeSet::new(), counts: BTreeMap::new() }
    }

    /// Counts an operation of the interval that begins there, if it failed.
    pub(super) fn add(&mut self, start_ns: u64, operation: &ToolOperation) {
        let ToolOperation { measure, outcome, detail, .. } = *operation;
        if !outcome.is_error() {
            return;
        }
        let kind = Key { start_ns: 0, measure, outcome, detail };
        let is_full = self.distinct.len() >= ErrorCount::DISTINCT_MAX;
        let detail = match is_full && !self.distinct.contains(&kind) {
            true => OTHERS,
            false => {
                self.distinct.insert(kind);
                detail
            }
        };
        *self.counts.entry(Key { start_ns, detail, ..kind }).or_default() += 1;
    }

    /// The lines of the file.
    pub(super) fn counts(self) -> Vec<ErrorCount> {
        let details = self.details;
        let detail = |number: u16| match number {
            0 => None,
            OTHERS => Some(ErrorCount::OTHERS.to_owned()),
            number => details.get(usize::from(number) - 1).cloned(),
        };
        let counts = self.counts.into_iter().map(|(key, count)| ErrorCount {
            start_ns: key.start_ns,
            phase: 0,
            measure: Some(key.measure),
            own_step: None,
            kind: key.outcome.name().to_owned(),
            detail: detail(key.detail),
            count,
        });
        counts.collect()
    }
}
