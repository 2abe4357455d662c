//! Failed operations by kind over time. Only rows tell the kind by time, so they are read if operations failed.

use std::collections::BTreeMap;

use record::{Outcome, RecordError, Run};
use serde::Serialize;

use super::{Division, Number};

/// Operations a second that ended in one way.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct ErrorTrack {
    /// Name of the outcome.
    pub kind: &'static str,
    /// Number of operations that ended so.
    pub count: u64,
    /// Operations a second, by slot.
    pub per_s: Vec<Number>,
}

/// Errors by kind, the most frequent first; empty if the run has none.
pub(super) fn read(run: &Run, division: Division) -> Result<Vec<ErrorTrack>, RecordError> {
    let fine = [Outcome::Ok.name(), Outcome::Unfinished.name()];
    let failed = run.tally()?.is_none_or(|tally| {
        let measures = tally.phases.iter().flat_map(|phase| &phase.measures);
        let mut outcomes = measures.flat_map(|measure| &measure.outcomes);
        outcomes.any(|(name, &count)| count > 0 && !fine.contains(&name.as_str()))
    });
    if !failed {
        return Ok(Vec::new());
    }
    let mut errors = Errors::default();
    run.requests(|rows| {
        for row in rows {
            errors.add(row.outcome, u64::from(row.weight), division.slot(row.done_ns));
        }
    })?;
    Ok(errors.tracks(division))
}

/// Failed operations by kind and slot.
#[derive(Debug, Clone, Default)]
pub(super) struct Errors(BTreeMap<Outcome, Vec<u64>>);

impl Errors {
    /// Adds this many operations if their outcome is a failure.
    pub(super) fn add(&mut self, outcome: Outcome, count: u64, slot: usize) {
        if count == 0 || !outcome.is_error() {
            return;
        }
        let counts = self.0.entry(outcome).or_default();
        if counts.len() <= slot {
            counts.resize(slot + 1, 0);
        }
        counts[slot] += count;
    }

    pub(super) fn tracks(&self, division: Division) -> Vec<ErrorTrack> {
        let per_s = |counts: &[u64]| {
            let all = (0..division.slots).map(|slot| counts.get(slot).copied().unwrap_or(0));
            all.map(|count| Number(count as f64 / division.slot_s as f64)).collect()
        };
        let kinds = self.0.iter().map(|(outcome, counts)| ErrorTrack {
            kind: outcome.name(),
            count: counts.iter().sum(),
            per_s: per_s(counts),
        });
        let mut tracks: Vec<ErrorTrack> = kinds.collect();
        tracks.sort_by_key(|track| std::cmp::Reverse(track.count));
        tracks
    }
}
