//! Responses that grow while a run goes on, as those of a target do that leaks or whose data grow.

use record::schema::{Finding, Severity};
use stats::scan::Level;
use stats::trend::{POINTS_MIN, trend};

use super::steps::Series;
use super::windows::IncidentWindow;
use crate::finding::finding;
use crate::limits::{GROWTH_TIMES_MIN, INTERVAL_CONFIDENCE};

/// Most points of a series, to which its slots are put together.
const POINTS_MAX: usize = 60;
/// The share of a run at its beginning and at its end whose response times are named.
const ENDS_SHARE: f64 = 0.2;

/// A step whose responses grow.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Growth {
    pub(crate) step: String,
    /// How many times as long they are at the end, by the slope of all points.
    times: f64,
    /// The geometric means of the first and of the last fifth of the run.
    first_ns: f64,
    last_ns: f64,
}

/// A moment, in slots, and the level there.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    at: f64,
    level: f64,
}

/// The growth of a step, if a line describes its levels better than one change of level does.
pub(super) fn of(series: &Series, windows: &[IncidentWindow], alpha: f64) -> Option<Growth> {
    let is_apart = |slot: usize| {
        let middle_ns = slot as u64 * series.slot_ns + series.slot_ns / 2;
        let mut passing = windows.iter().filter(|window| !window.is_slow_to_the_end());
        passing.any(|window| (window.begin_ns..window.end_ns).contains(&middle_ns))
    };
    let points = points(&series.unexplained, is_apart);
    if points.len() < POINTS_MIN {
        return None;
    }
    let pairs: Vec<(f64, f64)> = points.iter().map(|point| (point.at, point.level)).collect();
    let found = trend(&pairs, INTERVAL_CONFIDENCE).ok()?;
    let length = points[points.len() - 1].at - points[0].at;
    let times = (found.slope * length).exp();
    let grows = found.p <= alpha && found.slope_low > 0.0 && times >= GROWTH_TIMES_MIN;
    if !grows || line_squares(&points) >= step_squares(&points) {
        return None;
    }
    let raw = &series.responses;
    let part = (ENDS_SHARE * raw.len() as f64).ceil() as usize;
    Some(Growth {
        step: series.step.clone(),
        times,
        first_ns: mean(&raw[..part])?.exp(),
        last_ns: mean(&raw[raw.len() - part..])?.exp(),
    })
}

/// Slots put together, without those of incidents that passed.
fn points(levels: &[Level], is_apart: impl Fn(usize) -> bool) -> Vec<Point> {
    let group = levels.len().div_ceil(POINTS_MAX).max(1);
    let groups = levels.chunks(group).enumerate().filter_map(|(number, part)| {
        let first = number * group;
        let kept = part.iter().enumerate().filter(|(slot, _)| !is_apart(first + slot));
        let kept: Vec<Level> = kept.map(|(_, level)| *level).collect();
        let at = first as f64 + part.len() as f64 / 2.0;
        Some(Point { at, level: mean(&kept)? })
    });
    groups.collect()
}

fn mean(levels: &[Level]) -> Option<f64> {
    let weight: f64 = levels.iter().map(|level| level.weight).sum();
    let sum: f64 = levels.iter().map(|level| level.weight * level.value).sum();
    (weight > 0.0).then(|| sum / weight)
}

/// The squares that the line of least squares leaves.
fn line_squares(points: &[Point]) -> f64 {
    let n = points.len() as f64;
    let at = points.iter().map(|point| point.at).sum::<f64>() / n;
    let level = points.iter().map(|point| point.level).sum::<f64>() / n;
    let spread: f64 = points.iter().map(|point| (point.at - at).powi(2)).sum();
    let together: f64 = points.iter().map(|p| (p.at - at) * (p.level - level)).sum();
    let all: f64 = points.iter().map(|point| (point.level - level).powi(2)).sum();
    all - together * together / spread
}

/// The squares that the best two levels leave, one after the other.
fn step_squares(points: &[Point]) -> f64 {
    let squares = |part: &[Point]| {
        let mean = part.iter().map(|point| point.level).sum::<f64>() / part.len() as f64;
        part.iter().map(|point| (point.level - mean).powi(2)).sum::<f64>()
    };
    let splits = 1..points.len();
    splits.map(|at| squares(&points[..at]) + squares(&points[at..])).fold(f64::INFINITY, f64::min)
}

impl Growth {
    pub(crate) fn finding(&self) -> Finding {
        let text = format!(
            "{}: responses grow while the run continues, from about {} to about {} at its end",
            self.step,
            units::duration(self.first_ns),
            units::duration(self.last_ns)
        );
        finding(Severity::Warning, "response-grows", text)
            .with("times", self.times)
            .with("response_first_ns", self.first_ns)
            .with("response_last_ns", self.last_ns)
            .done()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points_of(level: impl Fn(f64) -> f64) -> Vec<Point> {
        (0..20).map(|n| Point { at: f64::from(n), level: level(f64::from(n)) }).collect()
    }

    #[test]
    fn a_line_is_told_from_a_step() {
        let line = points_of(|at| 0.1 * at);
        assert!(line_squares(&line) < 1e-9 && step_squares(&line) > 1.0);
        let step = points_of(|at| if at < 8.0 { 0.0 } else { 1.0 });
        assert!(step_squares(&step) < 1e-9 && line_squares(&step) > 1.0);
    }
}
