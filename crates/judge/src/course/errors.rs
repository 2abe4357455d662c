//! Failed operations by kind over time. Only rows tell this, so they are read where something failed.

use std::collections::BTreeMap;

use record::{Outcome, RecordError, Run};
use serde::Serialize;

use super::{Cut, Number};

/// Operations a second that ended in one way.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ErrorTrack {
    /// The outcome's name.
    pub kind: &'static str,
    /// All of them.
    pub count: u64,
    /// By slot.
    pub per_s: Vec<Number>,
}

/// Errors by kind, the most frequent first; nothing where the run tells of none.
pub(super) fn read(run: &Run, cut: Cut) -> Result<Vec<ErrorTrack>, RecordError> {
    let fine = [Outcome::Ok.name(), Outcome::Unfinished.name()];
    let failed = run.tally()?.is_none_or(|tally| {
        let measures = tally.phases.iter().flat_map(|phase| &phase.measures);
        let mut outcomes = measures.flat_map(|measure| &measure.outcomes);
        outcomes.any(|(name, &count)| count > 0 && !fine.contains(&name.as_str()))
    });
    if !failed {
        return Ok(Vec::new());
    }
    let mut kinds: BTreeMap<Outcome, Vec<u64>> = BTreeMap::new();
    run.requests(|rows| {
        for row in rows.iter().filter(|row| row.outcome.is_error()) {
            let counts = kinds
                .entry(row.outcome)
                .or_insert_with(|| vec![0; cut.slots]);
            counts[cut.slot(row.done_ns)] += u64::from(row.weight);
        }
    })?;
    let mut tracks: Vec<ErrorTrack> = kinds
        .into_iter()
        .map(|(outcome, counts)| ErrorTrack {
            kind: outcome.name(),
            count: counts.iter().sum(),
            per_s: counts
                .iter()
                .map(|&count| Number(count as f64 / cut.slot_s as f64))
                .collect(),
        })
        .collect();
    tracks.sort_by_key(|track| std::cmp::Reverse(track.count));
    Ok(tracks)
}
