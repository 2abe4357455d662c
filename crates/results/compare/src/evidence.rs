//! Tests that take all operations of a side for one sample. They show where and how the sides
//! differ; whether other runs would differ, too, they do not know, and so they decide nothing.

use stats::ensemble::{self, Within};
use stats::quantile::{self, Bootstrap, Interval};
use stats::rng::{Purpose, Rng};
use stats::sample::Sample;
use stats::{anderson, ks, multiple, rank};

use super::unit::Unit;
use super::{ComparedMeasure, Correction, Evidence, Options, QuantileChange, Test};

/// Draws of a bootstrap.
const DRAWS: u32 = 10_000;

/// Tests the operations `a` of the runs `first` against `b` of the runs `second`.
pub(crate) fn of_sides(
    a: &Sample,
    b: &Sample,
    first: &[Unit],
    second: &[Unit],
    options: &Options,
) -> Evidence {
    let confidence = 1.0 - options.alpha;
    let ks = ks::two_samples(a, b);
    let mann_whitney = rank::mann_whitney(a, b, confidence);
    let shift = rank::shift(a, b, confidence);
    let cliffs = mann_whitney.effect.cliffs_interval();
    Evidence {
        ks: untested(ks.distance, ks.p),
        ad: anderson(a, b),
        mann_whitney: untested(mann_whitney.u, mann_whitney.p),
        shift_ns: shift.shift,
        shift_interval_ns: shift.interval.map(bounds),
        cliffs_delta: mann_whitney.effect.cliffs_delta(),
        cliffs_delta_interval: bounds(cliffs),
        quantiles: quantiles(first, second, &options.quantiles, options),
    }
}

/// Corrects the p-values for there being this many measures and tests.
pub(crate) fn correct(measures: &mut [ComparedMeasure], correction: Correction) {
    let mut tests: Vec<&mut Test> = measures
        .iter_mut()
        .filter_map(|measure| measure.evidence.as_mut())
        .flat_map(|evidence| [&mut evidence.ks, &mut evidence.ad, &mut evidence.mann_whitney])
        .collect();
    let p: Vec<f64> = tests.iter().map(|test| test.p).collect();
    for (test, p_adjusted) in tests.iter_mut().zip(adjusted(&p, correction)) {
        test.p_adjusted = p_adjusted;
    }
}

/// The p-values, corrected for each other.
pub(crate) fn adjusted(p: &[f64], correction: Correction) -> Vec<f64> {
    match correction {
        Correction::Holm => multiple::holm(p),
        Correction::BenjaminiHochberg => multiple::benjamini_hochberg(p),
    }
}

/// The statistic and p-value of Anderson and Darling; 1 where there are too few numbers to test.
pub(crate) fn anderson(a: &Sample, b: &Sample) -> Test {
    match anderson::two_samples(a, b) {
        Ok(found) => untested(found.statistic, found.p.unwrap_or(1.0)),
        Err(_) => untested(0.0, 1.0),
    }
}

/// All operations of these runs; `None` of no run.
pub(crate) fn pooled(units: &[Unit]) -> Option<Sample> {
    let pairs = units.iter().flat_map(|unit| unit.sample.iter());
    Sample::counted(pairs.collect()).ok()
}

/// The differences of these quantiles. Where each side has several runs these are drawn, else their
/// operations.
pub(crate) fn quantiles(
    first: &[Unit],
    second: &[Unit],
    shares: &[f64],
    options: &Options,
) -> Vec<QuantileChange> {
    let bootstrap = Bootstrap { draws: DRAWS, confidence: 1.0 - options.alpha };
    let mut rng = Rng::new(options.seed, 1, Purpose::Choice);
    let a: Vec<&Sample> = first.iter().map(|unit| &unit.sample).collect();
    let b: Vec<&Sample> = second.iter().map(|unit| &unit.sample).collect();
    let change = |q: f64| match (&a[..], &b[..]) {
        ([a], [b]) => {
            let found = quantile::difference(a, b, q, bootstrap, &mut rng);
            QuantileChange {
                q,
                difference_ns: found.second - found.first,
                interval_ns: found.interval.map(bounds),
            }
        }
        _ => {
            let found = ensemble::quantiles(&a, &b, q, Within::Kept, bootstrap, &mut rng);
            let mean = |side: &[&Sample]| {
                side.iter().map(|sample| sample.quantile(q)).sum::<f64>() / side.len() as f64
            };
            QuantileChange {
                q,
                difference_ns: mean(&b) - mean(&a),
                interval_ns: found.ok().map(|found| bounds(found.interval)),
            }
        }
    };
    shares.iter().copied().map(change).collect()
}

fn untested(statistic: f64, p: f64) -> Test {
    Test { statistic, p, p_adjusted: p }
}

pub(crate) fn bounds(interval: Interval) -> (f64, f64) {
    (interval.low, interval.high)
}
