//! Failures by what they were, over time. The counts by kind and detail that a run keeps say it; of older records only
//! rows do, which know no details. They are read if operations failed.

use std::borrow::Cow;
use std::collections::BTreeMap;

use record::schema::{ErrorCount, MeasureInfo};
use record::{Outcome, RecordError, Run};
use serde::Serialize;

use super::{Division, Number};
use crate::errors::Causes;

/// Most failures whose line has every slot: the most frequent.
const TRACKS_MAX: usize = 12;
/// Most different failures of a course.
const ERRORS_MAX: usize = ErrorCount::DISTINCT_MAX + 1;

/// Failures of one kind with one detail at one step, over time.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct ErrorTrack {
    /// Name of the step's measure; of a step that is no operation the step, with its line in the scenario.
    pub step: String,
    /// Name of the outcome.
    pub kind: String,
    /// A status code, a close code, the check that failed; `None`: the kind says all, or the record does not say more.
    pub detail: Option<String>,
    /// Number of failures.
    pub count: u64,
    /// Failures a second, by slot; empty but for the twelve most frequent.
    pub per_s: Vec<Number>,
    /// Failures a second in the points of the lines of steps: of several slots the mean.
    pub line: Vec<Number>,
}

/// The failures of a run, the most frequent first, and the number of further ones; none if nothing failed.
pub(super) fn read(run: &Run, division: Division) -> Result<(Vec<ErrorTrack>, usize), RecordError> {
    let mut errors = Errors::default();
    run.error_counts(|found| errors.add_count(&found, division.slot(found.start_ns)))?;
    if errors.is_empty() && has_failed(run)? {
        run.requests(|rows| {
            for row in rows {
                let slot = division.slot(row.done_ns);
                errors.add(row.measure, row.outcome, u64::from(row.weight), slot);
            }
        })?;
    }
    Ok(errors.tracks(&run.info().measures, division))
}

/// True unless the tally says that no operation failed.
fn has_failed(run: &Run) -> Result<bool, RecordError> {
    let fine = [Outcome::Ok.name(), Outcome::Unfinished.name()];
    Ok(run.tally()?.is_none_or(|tally| {
        let measures = tally.phases.iter().flat_map(|phase| &phase.measures);
        let mut outcomes = measures.flat_map(|measure| &measure.outcomes);
        outcomes.any(|(name, &count)| count > 0 && !fine.contains(&name.as_str()))
    }))
}

/// A kind of failure.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Failure {
    step: Step,
    kind: Cow<'static, str>,
    detail: Option<String>,
}

/// The step that failed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// Index of its measure.
    Measure(u16),
    /// A step that is no operation.
    Own(String),
}

/// Failures by slot.
#[derive(Debug, Clone, Default)]
pub(super) struct Errors(BTreeMap<Failure, Vec<u64>>);

impl Errors {
    /// Adds this many operations if their outcome is a failure.
    pub(super) fn add(&mut self, measure: u16, outcome: Outcome, count: u64, slot: usize) {
        if outcome.is_error() {
            let step = Step::Measure(measure);
            let kind = Cow::Borrowed(outcome.name());
            self.add_failures(Failure { step, kind, detail: None }, count, slot);
        }
    }

    /// Adds failures that are counted with their details.
    pub(super) fn add_count(&mut self, found: &ErrorCount, slot: usize) {
        let step = match (found.measure, &found.own_step) {
            (Some(measure), _) => Step::Measure(measure),
            (None, own) => Step::Own(own.clone().unwrap_or_default()),
        };
        let kind = Cow::Owned(found.kind.clone());
        let failure = Failure { step, kind, detail: found.detail.clone() };
        self.add_failures(failure, found.count, slot);
    }

    fn add_failures(&mut self, failure: Failure, count: u64, slot: usize) {
        if count == 0 {
            return;
        }
        let counts = self.0.entry(failure).or_default();
        if counts.len() <= slot {
            counts.resize(slot + 1, 0);
        }
        counts[slot] += count;
    }

    /// True if nothing failed.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The most frequent failures with their lines, and the number of further ones. Transactions in which something
    /// failed in the same way are left out.
    pub(super) fn tracks(
        &self,
        measures: &[MeasureInfo],
        division: Division,
    ) -> (Vec<ErrorTrack>, usize) {
        let kind_of = |failure: &Failure| match failure.step {
            Step::Measure(measure) => {
                measures.get(usize::from(measure)).map(|measure| measure.kind.as_str())
            }
            Step::Own(_) => None,
        };
        let kinds = self.0.keys().map(|failure| (&*failure.kind, kind_of(failure)));
        let causes = Causes::of(kinds);
        let shown =
            self.0.iter().filter(|&(failure, _)| !causes.include(&failure.kind, kind_of(failure)));
        let all = shown.map(|(failure, counts)| (failure, counts.as_slice()));
        let mut all: Vec<(&Failure, &[u64])> = all.collect();
        all.sort_by_cached_key(|(_, counts)| std::cmp::Reverse(counts.iter().sum::<u64>()));
        let left_out = all.len().saturating_sub(ERRORS_MAX);
        all.truncate(ERRORS_MAX);
        let tracks = all.into_iter().enumerate().map(|(place, (failure, counts))| {
            let per_s = per_s(counts, division);
            let line = division.line(&per_s, mean);
            ErrorTrack {
                step: failure.step.name(measures),
                kind: failure.kind.clone().into_owned(),
                detail: failure.detail.clone(),
                count: counts.iter().sum(),
                per_s: if place < TRACKS_MAX { per_s } else { Vec::new() },
                line,
            }
        });
        (tracks.collect(), left_out)
    }
}

impl Step {
    fn name(&self, measures: &[MeasureInfo]) -> String {
        match self {
            Step::Measure(measure) => {
                let known = measures.get(usize::from(*measure));
                known.map_or_else(|| format!("measure {measure}"), |known| known.name.clone())
            }
            Step::Own(step) => step.clone(),
        }
    }
}

fn per_s(counts: &[u64], division: Division) -> Vec<Number> {
    let all = (0..division.slots).map(|slot| {
        let count = counts.get(slot).copied().unwrap_or(0);
        // A few failures in the last milliseconds of a run are no rate.
        Number(count as f64 / division.seconds(slot).max(super::COVERED_MIN_S))
    });
    all.collect()
}

fn mean(values: &[Number]) -> Number {
    Number(values.iter().map(|value| value.0).sum::<f64>() / values.len().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn count(measure: Option<u16>, detail: Option<&str>, count: u64) -> ErrorCount {
        ErrorCount {
            start_ns: 0,
            phase: 0,
            measure,
            own_step: measure.is_none().then(|| "`set` of `code`".to_owned()),
            kind: if measure.is_none() { "step" } else { "status" }.to_owned(),
            detail: detail.map(str::to_owned),
            count,
        }
    }

    #[test]
    fn details_and_steps_are_kept_apart() {
        let measures = [MeasureInfo::new("checkout", "request")];
        let mut errors = Errors::default();
        for slot in 0..4 {
            errors.add_count(&count(Some(0), Some("503"), 10), slot);
        }
        errors.add_count(&count(Some(0), Some("404"), 3), 1);
        errors.add_count(&count(None, None, 1), 3);
        errors.add_count(&count(Some(0), Some("500"), 0), 3);
        // The last second has 250 ms.
        let (tracks, left_out) = errors.tracks(&measures, Division::of(3_250_000_000));
        let found: Vec<_> =
            tracks.iter().map(|t| (t.step.as_str(), t.detail.as_deref(), t.count)).collect();
        let expected = [
            ("checkout", Some("503"), 40),
            ("checkout", Some("404"), 3),
            ("`set` of `code`", None, 1),
        ];
        assert_eq!((&found[..], left_out), (&expected[..], 0));
        assert_eq!(tracks[0].per_s, [10.0, 10.0, 10.0, 20.0].map(Number));
        assert_eq!(tracks[0].line, tracks[0].per_s);
    }

    #[test]
    fn lines_are_bounded_however_much_failed() {
        let mut errors = Errors::default();
        for detail in 0..300 {
            errors.add_count(&count(Some(0), Some(&detail.to_string()), 300 - detail), 599);
        }
        let (tracks, left_out) = errors.tracks(&[], Division::of(600 * SECOND_NS));
        assert_eq!((tracks.len(), left_out), (ERRORS_MAX, 300 - ERRORS_MAX));
        assert_eq!((tracks[0].step.as_str(), tracks[0].line.len()), ("measure 0", 60));
        assert_eq!(tracks[0].line[59], Number(30.0));
        let drawn = tracks.iter().filter(|track| !track.per_s.is_empty()).count();
        assert_eq!(drawn, TRACKS_MAX);
    }
}
