//! One second of a run, for those who watch.

use record::Outcome;
use record::schema::{RunInfo, SeriesRow};

use crate::merge::Interval;
use probe::Probed;

/// One second of a run, while it runs.
#[derive(Debug)]
pub struct Tick<'a> {
    pub info: &'a RunInfo,
    pub row: &'a SeriesRow,
    /// Measures that something happened to in this interval.
    pub measures: Vec<TickMeasure>,
    pub interrupted: bool,
    /// What the server's side told last.
    pub probes: &'a [Probed],
}

/// A measure in one interval.
#[derive(Debug, Clone, PartialEq)]
pub struct TickMeasure {
    pub name: String,
    /// Operations that ended, well or not.
    pub count: u64,
    pub errors: u64,
    /// Response times of those that ended well: 50, 95, 99 %.
    pub response_ns: Option<[u64; 3]>,
}

/// What there is to tell of the measures of an interval.
pub(crate) fn measures(info: &RunInfo, interval: &Interval) -> Vec<TickMeasure> {
    let measures = interval.measures.iter().map(|(&id, delta)| {
        let by_outcome = Outcome::ALL.iter().zip(&delta.outcomes);
        let errors = by_outcome
            .filter(|(outcome, _)| outcome.is_error())
            .map(|(_, n)| n)
            .sum();
        let hist = &delta.response;
        let quantiles = || [0.5, 0.95, 0.99].map(|q| hist.quantile(q));
        TickMeasure {
            name: info.measures[id as usize].name.clone(),
            count: delta.outcomes.iter().sum(),
            errors,
            response_ns: (!hist.is_empty()).then(quantiles),
        }
    });
    measures.collect()
}
