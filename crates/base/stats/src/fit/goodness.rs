//! Whether a fitted distribution can have made the numbers.
//!
//! Distances of Kolmogorov and of Anderson and Darling from a distribution whose parameters were fitted to the
//! same numbers are smaller than from the true one, so that published tables are of no use (Lilliefors
//! 1967). Their distribution is found by doing it again: numbers drawn from the fitted distribution, shown by the
//! same clock, fitted by the same family (the parametric bootstrap; Stute, Manteiga and Quindimil 1993).

use super::{Distribution, Family, FittedDistribution, Observations, maximum};
use crate::rng::Rng;

/// The result of the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goodness {
    /// The greatest distance of the distribution functions.
    pub distance: f64,
    /// The number at which they are that far apart.
    pub at: f64,
    /// The share of redrawn samples that are at least as far from their own fit, (1 + k) / (1 + rounds).
    pub p_distance: f64,
    /// A²: Anderson's and Darling's; of numbers in steps that of Choulakian, Lockhart and Stephens (1994).
    pub anderson: f64,
    /// The share of redrawn samples whose A² is at least as great.
    pub p_anderson: f64,
    /// How many samples were redrawn.
    pub rounds: u32,
}

/// Tests the fit by `rounds` redrawn samples.
pub fn goodness(
    observed: &Observations,
    fitted: &FittedDistribution,
    rounds: u32,
    rng: &mut Rng,
) -> Goodness {
    let found = distances(observed, &fitted.distribution);
    let dist = fitted.distribution.dist();
    let place = place(fitted);
    let mut further = 0;
    let mut more = 0;
    let mut done = 0;
    for _ in 0..rounds {
        let drawn: Vec<f64> =
            (0..observed.count()).map(|_| shown(dist.sample(rng), observed.step, rng)).collect();
        let Ok(redrawn) = Observations::new(&drawn, observed.step) else {
            continue;
        };
        let start = if fitted.family == Family::Pareto && observed.step == 0.0 {
            super::distribution::start(fitted.family, &redrawn)
        } else {
            place.clone()
        };
        let Some(at) = maximum(fitted.family, &redrawn, &start) else {
            continue;
        };
        let own = distances(&redrawn, &Distribution::from_unbounded(fitted.family, &at));
        done += 1;
        further += u32::from(own.0 >= found.0);
        more += u32::from(own.2 >= found.2);
    }
    let share = |k: u32| f64::from(1 + k) / f64::from(1 + done);
    Goodness {
        distance: found.0,
        at: found.1,
        p_distance: share(further),
        anderson: found.2,
        p_anderson: share(more),
        rounds: done,
    }
}

/// A number as a clock with this step shows it.
fn shown(x: f64, step: f64, rng: &mut Rng) -> f64 {
    if step > 0.0 { (x / step + rng.unit()).floor() * step } else { x }
}

/// The place of the distribution in the space without bounds.
fn place(fitted: &FittedDistribution) -> Vec<f64> {
    match fitted.distribution {
        Distribution::Exponential { mean } => vec![mean.ln()],
        Distribution::Weibull { scale, shape } | Distribution::Pareto { scale, shape } => {
            vec![scale.ln(), shape.ln()]
        }
        Distribution::Lognormal { mu, sigma } => vec![mu, sigma.ln()],
        Distribution::Gamma { shape, scale } => vec![(shape * scale).ln(), shape.ln()],
        Distribution::Hyperexponential { share, mean, other_mean } => {
            vec![(share / (1.0 - share)).ln(), mean.ln(), (other_mean - mean).max(1e-12).ln()]
        }
    }
}

/// Kolmogorov's distance, where it is, and A².
fn distances(observed: &Observations, distribution: &Distribution) -> (f64, f64, f64) {
    if observed.step > 0.0 {
        stepped(observed, distribution)
    } else {
        continuous(observed, distribution)
    }
}

fn stepped(observed: &Observations, distribution: &Distribution) -> (f64, f64, f64) {
    let n = observed.count as f64;
    let mut widest = 0.0_f64;
    let mut at = 0.0;
    let mut sum = 0.0;
    let mut upto = 0;
    let mut before = 0.0;
    for &(x, count) in &observed.values {
        // Between two shown values the distribution's function rises while ours stands still: the distance
        // is greatest just before the next.
        let gap =
            if x > 0.0 { distribution.shown_upto(x - observed.step, observed.step) } else { 0.0 };
        let still = upto as f64 / n;
        // Steps in between that nobody was shown, as one.
        let skipped = (gap - before).max(0.0);
        sum += term(still - gap, gap, skipped);
        upto += count;
        let expected = distribution.shown_upto(x, observed.step);
        let empirical = upto as f64 / n;
        sum += term(empirical - expected, expected, (expected - gap).max(0.0));
        for (apart, place) in
            [((still - gap).abs(), x - observed.step), ((empirical - expected).abs(), x)]
        {
            if apart > widest {
                (widest, at) = (apart, place);
            }
        }
        before = expected;
    }
    (widest, at, n * sum)
}

/// (F_n − F)² f / (F (1 − F)); 0 where F is 0 or 1.
fn term(apart: f64, cdf: f64, mass: f64) -> f64 {
    let weight = cdf * (1.0 - cdf);
    if weight > 1e-12 { apart * apart * mass / weight } else { 0.0 }
}

fn continuous(observed: &Observations, distribution: &Distribution) -> (f64, f64, f64) {
    let n = observed.count as f64;
    let mut widest = 0.0_f64;
    let mut at = 0.0;
    let mut sum = 0.0;
    let mut before = 0;
    for &(x, count) in &observed.values {
        let expected = distribution.cdf(x).clamp(1e-300, 1.0 - 1e-16);
        let upto = before + count;
        let apart = (expected - before as f64 / n).abs().max((upto as f64 / n - expected).abs());
        if apart > widest {
            (widest, at) = (apart, x);
        }
        // −n − (1/n) Σ (2i−1) ln F(x_i) + (2n+1−2i) ln(1 − F(x_i)); Σ (2i−1) over the ties' ranks.
        let ranks = (upto as f64).powi(2) - (before as f64).powi(2);
        sum += ranks * expected.ln() + (2.0 * n * count as f64 - ranks) * (-expected).ln_1p();
        before = upto;
    }
    (widest, at, -n - sum / n)
}
