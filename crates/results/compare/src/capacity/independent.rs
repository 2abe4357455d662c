//! A load that is not the cause: lower and lower ones fail alike.
//!
//! A target that stops for a moment every few seconds, or whose service alone takes longer than a threshold allows, fails it at
//! any load. So a search downwards ends if the runs at its lowest loads, which differ by a factor of [`SPAN_MIN`] at least,
//! show that all of this is true of them:
//!
//! - Throughput follows the load: the target is not overloaded at the higher ones. One that is has the same times at all
//!   loads, too, those of a full queue.
//! - The same threshold fails in each, and its figure at the lowest load is no better than at the highest, but for chance:
//!   their 95 % intervals overlap, or they differ by a quarter where there are none.
//! - No other threshold fails at the lowest load that lower loads make better.

use super::trial::{Outcome, Trial, TrialFigures};

/// The highest of these loads by the lowest, at least.
const SPAN_MIN: f64 = 4.0;
/// Trials at least that fail alike.
const TRIALS_MIN: usize = 3;
/// Throughput follows the load if it grows by this share of the factor by which the load does.
const FOLLOWS_MIN: f64 = 0.8;
/// The logarithm of the factor by which a figure without an interval may be better by chance.
const CHANCE: f64 = 0.223;

/// A threshold that fails at the lowest loads, with a figure that does not depend on them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Independent<'t> {
    /// The threshold as written.
    pub(super) threshold: &'t str,
    /// The lowest of the loads, and its figure for people.
    pub(super) low: f64,
    pub(super) low_shown: &'t str,
    /// The highest of them, and its figure.
    pub(super) high: f64,
    pub(super) high_shown: &'t str,
}

/// The threshold for which load is not the cause; `None`: it may be.
pub(super) fn independent(trials: &[Trial]) -> Option<Independent<'_>> {
    if trials.iter().any(|trial| trial.outcome == Outcome::Holds) {
        return None;
    }
    let mut broken: Vec<&Trial> = trials.iter().filter(|trial| trial.breaks()).collect();
    broken.sort_by(|a, b| a.load.total_cmp(&b.load));
    let low = *broken.first()?;
    let high = *broken.iter().find(|trial| trial.load >= SPAN_MIN * low.load)?;
    broken.retain(|trial| trial.load <= high.load);
    if broken.len() < TRIALS_MIN || !follows(low, high) {
        return None;
    }
    let mut failed = low.thresholds.iter().enumerate().filter(|(_, one)| !one.passed);
    let is_alike = |number: usize| {
        let margin = |trial: &&Trial| trial.margins.get(number).copied().flatten();
        broken.iter().all(|trial| margin(trial).is_some_and(|margin| margin > 0.0))
            && is_no_better(low, high, number)
    };
    if !failed.clone().all(|(number, _)| is_alike(number)) {
        return None;
    }
    let (number, threshold) = failed.next()?;
    Some(Independent {
        threshold: &threshold.text,
        low: low.load,
        low_shown: &threshold.shown,
        high: high.load,
        high_shown: &high.thresholds.get(number)?.shown,
    })
}

/// True if the throughput at the higher load is greater in proportion.
fn follows(low: &Trial, high: &Trial) -> bool {
    let per_s = |trial: &Trial| trial.figures.as_ref().map_or(0.0, |f: &TrialFigures| f.per_s);
    per_s(low) > 0.0 && per_s(high) / per_s(low) >= FOLLOWS_MIN * high.load / low.load
}

/// True if a threshold's figure at the lower load is not below that at the higher one by more than chance.
fn is_no_better(low: &Trial, high: &Trial, number: usize) -> bool {
    let bounds = |trial: &Trial| {
        let ends = trial.thresholds.get(number)?.margin_ends;
        let margin = trial.margins.get(number).copied().flatten()?;
        // Half of it at each of the two loads.
        Some(ends.unwrap_or((margin - CHANCE / 2.0, margin + CHANCE / 2.0)))
    };
    let bounds = bounds(low).zip(bounds(high));
    bounds.is_some_and(|(low, high)| low.1 >= high.0)
}

#[cfg(test)]
mod tests {
    use super::super::TrialThreshold;
    use super::*;

    /// A trial that breaks a limit of 100 ms, or a share of that for other limits, by this time.
    fn trial(load: f64, per_s: f64, times_ms: &[f64], scatter: Option<f64>) -> Trial {
        let margins = times_ms.iter().map(|time| (time / 100.0_f64).ln());
        let thresholds = margins.clone().map(|margin| TrialThreshold {
            text: "p99(page) < 100ms".to_owned(),
            shown: format!("{:.0} ms", 100.0 * margin.exp()),
            passed: margin < 0.0,
            margin_ends: scatter.map(|scatter| (margin - scatter, margin + scatter)),
            operations: 1_000,
            operations_min: 299,
        });
        Trial {
            figures: Some(TrialFigures {
                per_s,
                in_flight: 1.0,
                service_ns: 1e6,
                p50_ns: 1,
                p50_is_bound: false,
                p99_ns: 1,
                p99_is_bound: false,
                error_share: 0.0,
            }),
            thresholds: thresholds.collect(),
            margins: margins.map(Some).collect(),
            ..Trial::new(load, Outcome::Breaks)
        }
    }

    #[test]
    fn a_figure_that_does_not_depend_on_the_load_is_found() {
        let trials = [
            trial(800.0, 300.0, &[900.0], Some(0.1)),
            trial(100.0, 100.0, &[190.0], Some(0.1)),
            trial(50.0, 50.0, &[194.0], Some(0.1)),
            trial(25.0, 25.0, &[186.0], Some(0.1)),
        ];
        let found = independent(&trials).unwrap();
        assert_eq!(found.threshold, "p99(page) < 100ms");
        assert_eq!((found.low, found.low_shown), (25.0, "186 ms"));
        assert_eq!((found.high, found.high_shown), (100.0, "190 ms"));
        // Two loads, or three that are alike, do not show it.
        assert_eq!(independent(&trials[..3]), None);
        assert_eq!(independent(&[]), None);
        let mut held = trials.to_vec();
        held.push(Trial::new(20.0, Outcome::Holds));
        assert_eq!(independent(&held), None);
    }

    #[track_caller]
    fn depends(trials: &[Trial]) {
        assert_eq!(independent(trials), None);
    }

    #[test]
    fn figures_that_improve_depend_on_the_load() {
        let times = |low: f64, scatter| {
            [(100.0, 300.0), (50.0, 220.0), (25.0, low)]
                .map(|(load, time)| trial(load, load, &[time], scatter))
        };
        depends(&times(160.0, Some(0.1)));
        depends(&times(230.0, None));
        assert!(independent(&times(250.0, None)).is_some());
        // They overlap.
        assert!(independent(&times(160.0, Some(0.4))).is_some());
    }

    #[test]
    fn a_full_queue_has_the_same_times_at_any_load() {
        depends(&[100.0, 50.0, 25.0].map(|load| trial(load, 20.0, &[190.0], Some(0.1))));
    }

    #[test]
    fn another_threshold_may_be_kept_at_lower_loads() {
        let other = |times: [f64; 3]| {
            [(100.0, times[0]), (50.0, times[1]), (25.0, times[2])]
                .map(|(load, time)| trial(load, load, &[190.0, time], Some(0.1)))
        };
        depends(&other([400.0, 300.0, 200.0]));
        // It is kept already.
        assert!(independent(&other([150.0, 120.0, 50.0])).is_some());
    }
}
