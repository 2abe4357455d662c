//! Bias, error and coverage of the distributions' parameters.

use std::io::{self, Write};

use stats::dist::Dist;
use stats::fit::{Family, Observations, fit};
use stats::rng::{Purpose, Rng};

use crate::{Estimates, commas, each};

const SIZES: [usize; 3] = [100, 1_000, 10_000];
/// Steps of the clock, seconds; 0 for none.
pub(crate) const STEPS: [f64; 2] = [0.0, 1.0];

/// A least number is located by a fine clock otherwise than by a coarse one.
const STEPS_OF_PARETO: [f64; 3] = [0.0, 0.001, 1.0];

/// A distribution with the parameters it has, in the order of [`Family::parameters`].
pub(crate) struct Truth {
    pub(crate) family: Family,
    pub(crate) dist: Dist,
    pub(crate) parameters: Vec<f64>,
}

/// Distributions as thinks have them, in seconds: their means are 4 to 6.
pub(crate) fn truths() -> Vec<Truth> {
    let two = [(0.6, Dist::Exponential { mean: 1.0 }), (0.4, Dist::Exponential { mean: 12.0 })];
    let truth =
        |family, dist, parameters: &[f64]| Truth { family, dist, parameters: parameters.to_vec() };
    let scale = 5.0;
    let shape = 0.7;
    let sigma = 1.1;
    vec![
        truth(Family::Exponential, Dist::Exponential { mean: 4.0 }, &[4.0]),
        truth(Family::Weibull, Dist::Weibull { scale, shape }, &[scale, shape]),
        truth(Family::Lognormal, Dist::LogNormal { mu: 3.0_f64.ln(), sigma }, &[3.0, sigma]),
        truth(Family::Pareto, Dist::Pareto { scale: 1.5, shape: 2.2 }, &[1.5, 2.2]),
        truth(Family::Gamma, Dist::Gamma { shape: 2.5, scale: 2.4 }, &[6.0, 2.5]),
        truth(Family::Hyperexponential, Dist::Mixture(two.into()), &[0.6, 1.0, 12.0]),
    ]
}

/// `count` numbers of the distribution as a clock with this step shows them.
pub(crate) fn shown(dist: &Dist, count: usize, step: f64, rng: &mut Rng) -> Vec<f64> {
    let mut one = || {
        let number = dist.sample(rng);
        match step > 0.0 {
            true => (number / step + rng.unit()).floor() * step,
            false => number,
        }
    };
    (0..count).map(|_| one()).collect()
}

pub(crate) fn table(out: &mut impl Write, samples: u64) -> io::Result<()> {
    write!(out, "| distribution | parameter | truth | clock |")?;
    for size in SIZES {
        let size = commas(size);
        write!(out, " bias of {size} | error | 95 % holds |")?;
    }
    write!(out, "\n| --- | --- | ---: | --- |")?;
    writeln!(out, "{}", " ---: | ---: | ---: |".repeat(SIZES.len()))?;
    let mut unfitted = Vec::new();
    for truth in truths() {
        let steps = match truth.family {
            Family::Pareto => &STEPS_OF_PARETO[..],
            _ => &STEPS[..],
        };
        for &step in steps {
            let found = SIZES.map(|size| estimates(&truth, step, size, samples));
            let distribution = truth.family.name();
            let clock = clock(step);
            for (number, name) in truth.family.parameters().iter().enumerate() {
                let value = truth.parameters[number];
                write!(out, "| {distribution} | {name} | {value} | {clock} |")?;
                for all in &found {
                    let one = &all[number];
                    let bias = one.bias() * 100.0;
                    let error = one.error() * 100.0;
                    write!(out, " {bias:+.1} % | {error:.1} % | {:.1} % |", one.held())?;
                }
                writeln!(out)?;
            }
            for (all, size) in found.iter().zip(SIZES) {
                let missing = samples - all[0].count;
                if missing > 0 {
                    let size = commas(size);
                    unfitted.push(format!("{missing} of {distribution}, {clock}, {size} numbers"));
                }
            }
        }
    }
    let unfitted = match unfitted.is_empty() {
        true => "All of them were fitted.".to_owned(),
        false => format!("No fit expected, and left out: {}.", unfitted.join("; ")),
    };
    writeln!(
        out,
        "\n{} samples of each; bias and error (root of the mean square) in percent of the truth. {unfitted}",
        commas(samples as usize)
    )
}

/// What a clock's step is called.
pub(crate) fn clock(step: f64) -> String {
    match step {
        0.0 => "exact".to_owned(),
        0.001 => "1 ms".to_owned(),
        step => format!("{step} s"),
    }
}

/// Of each parameter, relative to the truth.
fn estimates(truth: &Truth, step: f64, size: usize, samples: u64) -> Vec<Estimates> {
    let fitted = each(samples, |sample| {
        let mut rng = Rng::new(sample, 11, Purpose::Resample);
        let numbers = shown(&truth.dist, size, step, &mut rng);
        let observed = Observations::new(&numbers, step).ok()?;
        fit(truth.family, &observed, 0.95).ok()
    });
    let mut all: Vec<Estimates> = Vec::new();
    all.resize_with(truth.parameters.len(), Estimates::default);
    for fitted in fitted.into_iter().flatten() {
        let parameters = fitted.parameters.iter().zip(&truth.parameters);
        for (one, (parameter, &value)) in all.iter_mut().zip(parameters) {
            let bounds = parameter.low.zip(parameter.high);
            let held = bounds.is_some_and(|(low, high)| low <= value && value <= high);
            one.add(parameter.value / value - 1.0, held);
        }
    }
    all
}
