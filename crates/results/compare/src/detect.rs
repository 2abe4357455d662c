//! How many runs would show a difference of given size.

use stats::power;

use super::decide::{times, transformed};
use super::unit::Unit;
use super::{ComparedMeasure, Detect, Options};

/// The chance of seeing the difference.
const POWER: f64 = 0.8;
/// More runs a side are not listed.
const RUNS_MAX: u64 = 10_000;

/// How runs of one side scatter, figure by figure; nothing where no side has two.
pub(crate) fn scatter(
    measure: &mut ComparedMeasure,
    baseline: &[Unit],
    candidate: &[Unit],
    options: &Options,
) {
    for figure in times(baseline.iter().chain(candidate), options) {
        let of = |units: &[Unit]| -> Vec<f64> {
            units.iter().map(|unit| transformed(figure, unit)).collect()
        };
        if let Some(scatter) = power::pooled_deviation(&of(baseline), &of(candidate)) {
            measure.detect.push(Detect { figure, scatter, runs: None, more: None });
        }
    }
}

/// Fills in how many runs a side would show the difference, by Student's test. The level is
/// Bonferroni's for all figures: dearer than the decision's own correction, so that what is reported is
/// enough. `there` is the number of runs on the smaller side.
pub(crate) fn runs(measures: &mut [ComparedMeasure], there: u64, options: &Options) {
    // Times and their rate, errors and shape.
    let figures = measures.len() * (options.quantiles.len() + 4);
    let alpha = options.alpha / figures.max(1) as f64;
    // Figures are compared by their logarithms.
    let difference = (1.0 + options.detect).ln();
    for detect in measures.iter_mut().flat_map(|measure| &mut measure.detect) {
        // Runs that do not scatter at all show any difference.
        let effect = (difference / detect.scatter).min(f64::MAX);
        detect.runs = power::samples_needed(effect, alpha, POWER, RUNS_MAX);
        detect.more = detect.runs.map(|runs| runs.saturating_sub(there));
    }
}
