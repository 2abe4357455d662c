//! The thresholds of a run of a search: each with its own figure.

use plan::{Comparison, Figure, Stat, Threshold};
use record::Run;
use record::schema::{Summary, ThresholdResult};
use serde::{Deserialize, Serialize};

use judge::{Figures, RunNames, sample_size};

/// Errors up to this share are no sign of anything, if no threshold says more.
const ERRORS_MIN: f64 = 0.01;

/// A threshold and its own figure in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct TrialThreshold {
    /// As written in the scenario.
    pub text: String,
    /// The value of its figure for people.
    pub shown: String,
    /// True if it holds.
    pub passed: bool,
    /// The margins of both ends of the figure's interval, the lower one first; `None` where it has none.
    pub margin_ends: Option<(f64, f64)>,
    /// Operations that its percentile was taken from; 0: it is none of a percentile.
    pub operations: u64,
    /// Operations that such a percentile takes at least.
    pub operations_min: u64,
}

/// The thresholds of a run.
#[derive(Debug, Default)]
pub(super) struct TrialThresholds {
    pub(super) thresholds: Vec<TrialThreshold>,
    /// [`Trial::margins`](super::Trial::margins).
    pub(super) margins: Vec<Option<f64>>,
    /// The greatest share of errors that is none too many.
    pub(super) errors_max: f64,
}

impl TrialThresholds {
    /// The thresholds of a run by its verdict.
    pub(super) fn of(run: &Run, figures: &Figures, summary: &Summary) -> TrialThresholds {
        let names = RunNames::of(run.info());
        let names = names.names();
        let mut all = TrialThresholds { errors_max: ERRORS_MIN, ..TrialThresholds::default() };
        for result in &summary.thresholds {
            let threshold = names.threshold(&result.text).ok();
            let threshold = threshold.as_ref();
            let limit = threshold.and_then(errors_allowed).unwrap_or(0.0);
            all.errors_max = all.errors_max.max(limit);
            all.margins.push(threshold.and_then(|threshold| margin(threshold, result)));
            all.thresholds.push(with_figure(figures, threshold, result));
        }
        all
    }
}

/// The share of errors that a threshold allows.
fn errors_allowed(threshold: &Threshold) -> Option<f64> {
    let (Figure::Measure { stat, .. } | Figure::Measures { stat, .. }) = threshold.figure else {
        return None;
    };
    match (stat, threshold.comparison) {
        (Stat::ErrorRate, Comparison::Less | Comparison::LessEqual) => Some(threshold.limit),
        (Stat::SuccessRate, Comparison::Greater | Comparison::GreaterEqual) => {
            Some(1.0 - threshold.limit)
        }
        _ => None,
    }
}

fn margin(threshold: &Threshold, result: &ThresholdResult) -> Option<f64> {
    margin_of(threshold, result.value.filter(|_| !result.is_bound)?)
}

/// The logarithm of a figure over its limit, or of limit over figure where it must be greater.
fn margin_of(threshold: &Threshold, value: f64) -> Option<f64> {
    let margin = (value / threshold.limit).ln();
    let margin = match threshold.comparison {
        Comparison::Less | Comparison::LessEqual => margin,
        Comparison::Greater | Comparison::GreaterEqual => -margin,
        Comparison::Equal | Comparison::NotEqual => return None,
    };
    margin.is_finite().then_some(margin)
}

fn with_figure(
    figures: &Figures,
    threshold: Option<&Threshold>,
    result: &ThresholdResult,
) -> TrialThreshold {
    let ends = |threshold: &Threshold| {
        let interval = result.interval.filter(|interval| !interval.high_is_bound)?;
        let (low_ns, high_ns) = interval.ends_ns()?;
        let low = margin_of(threshold, low_ns as f64)?;
        let high = margin_of(threshold, high_ns as f64)?;
        Some((low.min(high), low.max(high)))
    };
    let size = threshold.and_then(|threshold| sample_size(figures, &threshold.figure));
    TrialThreshold {
        text: result.text.clone(),
        shown: result.shown.clone(),
        passed: result.passed,
        margin_ends: threshold.and_then(ends),
        operations: size.map_or(0, |size| size.operations),
        operations_min: size.map_or(0, |size| size.operations_min),
    }
}
