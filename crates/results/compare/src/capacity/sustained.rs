//! Signs that a load is not sustained, although its run kept the thresholds: a queue grew, or errors began late, and that
//! lasted to the end. In a longer run the thresholds would have failed.

use record::schema::SeriesRow;
use stats::trend::trend;

use judge::limits::POISSON_SIGMAS;
use judge::{Figures, falls_short};

use super::Aim;

/// Confidence for the slope of users present.
const GROWTH_CONFIDENCE: f64 = 0.99;
/// Chance below which a rise is no accident.
const GROWTH_SIGNIFICANCE: f64 = 0.01;
/// Users present grow if they rise by this share of their mean within half a phase …
const GROWTH_SHARE_MIN: f64 = 0.2;
/// … and by at least this number; …
const GROWTH_USERS_MIN: f64 = 10.0;
/// … where arrivals grow by no more than this factor from a quarter to the next.
const GROWTH_OF_ARRIVALS: f64 = 1.05;
/// Errors began late if their share in the last quarter of a phase is above that of before by this many standard errors.
const ERRORS_SIGMAS: f64 = 4.0;
/// Seconds of that quarter at least: a load that lasts for less says nothing about errors that begin late.
const LATE_SECONDS_MIN: usize = 2;

/// The reason why a run whose target answers is none of a sustained load; `None`: there is no sign of it. `errors_max`: a
/// share of errors up to this is none. Users that are to stay grow in number, as they should.
pub(super) fn unsustained(figures: &Figures, errors_max: f64, aim: Aim) -> Option<String> {
    let phase = even_phase(figures)?;
    let short = || Some(falls_short(figures, phase)?.text(&figures.info.phases[phase].name));
    let grown = match aim {
        // Users of a closed population that come beside others are no queue.
        Aim::Finished if figures.info.phases[phase].users_vary => None,
        Aim::Finished => growth(figures, phase),
        Aim::Present => None,
    };
    grown.or_else(short).or_else(|| late_errors(figures, phase, errors_max))
}

/// The longest open phase, if its arrivals do not grow.
fn even_phase(figures: &Figures) -> Option<usize> {
    let phases = figures.info.phases.iter().enumerate();
    let open = phases.filter(|(_, phase)| matches!(phase.kind.as_str(), "rate" | "poisson"));
    let (number, _) = open.max_by_key(|(_, phase)| phase.end_ns - phase.start_ns)?;
    let rows = rows_of(figures, number);
    let late = &rows[rows.len() / 2..];
    let (first, second) = late.split_at(late.len() / 2);
    let due = |rows: &[&SeriesRow]| rows.iter().map(|row| row.users_due).sum::<u64>() as f64;
    let before = due(first);
    let after = due(second);
    // A rate that rises brings more users by itself.
    let rises = after > GROWTH_OF_ARRIVALS * before + POISSON_SIGMAS * before.sqrt();
    (!rises).then_some(number)
}

/// The seconds of a phase that are completely in it.
fn rows_of(figures: &Figures, phase: usize) -> Vec<&SeriesRow> {
    let phase = &figures.info.phases[phase];
    let rows = figures.series.iter();
    rows.filter(|row| row.start_ns >= phase.start_ns && row.end_ns <= phase.end_ns).collect()
}

/// Users that come faster than they leave: the number present in the second half of the phase rises.
fn growth(figures: &Figures, phase: usize) -> Option<String> {
    let rows = rows_of(figures, phase);
    let points: Vec<(f64, f64)> = rows[rows.len() / 2..]
        .iter()
        .map(|row| (row.end_ns as f64 / 1e9, row.users as f64))
        .collect();
    let trend = trend(&points, GROWTH_CONFIDENCE).ok()?;
    let first = points.first()?;
    let last = points.last()?;
    let mean = points.iter().map(|point| point.1).sum::<f64>() / points.len() as f64;
    let grown = trend.slope * (last.0 - first.0);
    let grows = trend.p < GROWTH_SIGNIFICANCE && trend.slope_low > 0.0;
    (grows && grown > GROWTH_SHARE_MIN * mean && grown >= GROWTH_USERS_MIN).then(|| {
        format!(
            "users present grew by {} in the second half of {}: the target does not keep up, or the phase \
             is shorter than a session",
            units::about(grown),
            figures.info.phases[phase].name
        )
    })
}

/// Operations of steps that ended in some seconds, and steps that failed of themselves.
struct EndedOperations {
    all: f64,
    failed: f64,
}

impl EndedOperations {
    fn of(rows: &[&SeriesRow]) -> EndedOperations {
        let sum = |of: fn(&SeriesRow) -> u64| rows.iter().map(|row| of(row)).sum::<u64>() as f64;
        EndedOperations { all: sum(SeriesRow::errors_among), failed: sum(|row| row.errors) }
    }

    fn share(&self) -> f64 {
        self.failed / self.all.max(1.0)
    }
}

/// Errors that are more frequent in the last quarter of the phase than before, and too frequent in each half of it.
fn late_errors(figures: &Figures, phase: usize, errors_max: f64) -> Option<String> {
    let rows = rows_of(figures, phase);
    let quarter = rows.len() / 4;
    if quarter < LATE_SECONDS_MIN {
        return None;
    }
    let (earlier, last) = rows.split_at(rows.len() - quarter);
    let before = EndedOperations::of(earlier);
    let late = EndedOperations::of(last);
    let mut halves = last.chunks(quarter.div_ceil(2));
    let is_lasting = halves.all(|half| EndedOperations::of(half).share() > errors_max);
    let share = (before.failed + late.failed) / (before.all + late.all).max(1.0);
    let inverse = 1.0 / before.all.max(1.0) + 1.0 / late.all.max(1.0);
    let error = (share * (1.0 - share) * inverse).sqrt();
    (is_lasting && late.share() - before.share() > ERRORS_SIGMAS * error).then(|| {
        format!(
            "errors began late in {} and lasted to its end: {} in its last quarter, {} before",
            figures.info.phases[phase].name,
            units::share(late.share()),
            units::share(before.share()),
        )
    })
}

#[cfg(test)]
mod tests;
