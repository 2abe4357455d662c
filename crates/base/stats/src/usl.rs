//! The universal scalability law, fitted to measured throughput.
//!
//! X(N) = λN / (1 + σ(N − 1) + κN(N − 1)): Gunther, "Guerrilla Capacity Planning" (2007), chapter 4,
//! with the throughput of one as the parameter λ. σ is the share of work that waits for its turn, κ
//! the price of keeping each informed of all others; neither is negative.

mod peak;
mod squares;

use crate::finite::is_measurable;
use crate::tail;
use squares::{FixedParameters, LAMBDA, PARAMETERS, fit_bounded};

/// Fewer different loads cannot determine three parameters and their scatter.
pub const POINTS_MIN: usize = 4;
/// Bisections of a bound: more than a `f64` has digits.
const HALVINGS_MAX: u32 = 80;
/// A peak at a higher load is none.
const PEAK_MAX: f64 = 1e9;
/// How often the distance from an estimate is doubled in search of a bound before there is none.
const DOUBLINGS_MAX: u32 = 60;

/// Why no law was fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UslError {
    /// There are too few different loads.
    #[error("the scalability law needs at least {POINTS_MIN} different loads, and there are {0}")]
    TooFew(usize),
    /// A load or a throughput is no positive finite number.
    #[error("loads and throughputs must be positive finite numbers")]
    NotPositive,
}

/// A parameter with its interval of the requested confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// By least squares.
    pub value: f64,
    /// Lower bound; never below 0.
    pub low: f64,
    /// Upper bound; infinite where the data give none.
    pub high: f64,
}

/// A fitted law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usl {
    /// λ: throughput of a load of 1.
    pub lambda: Estimate,
    /// σ: contention.
    pub sigma: Estimate,
    /// κ: coherency delay.
    pub kappa: Estimate,
    /// The load of greatest throughput, √((1 − σ)/κ), 1 at least; infinite where throughput never falls.
    pub peak: Estimate,
    /// Sum of squared differences between data and law.
    pub squares: f64,
    /// Share of the scatter of the throughputs that the law explains; at most 1.
    pub r_squared: f64,
}

/// The law's throughput of a load.
pub fn throughput(lambda: f64, sigma: f64, kappa: f64, load: f64) -> f64 {
    lambda * load / (1.0 + sigma * (load - 1.0) + kappa * load * (load - 1.0))
}

impl Usl {
    /// Fits the law to pairs of load and throughput by least squares, under λ > 0, σ ≥ 0, κ ≥ 0.
    ///
    /// Intervals are profiles of the squares (Bates and Watts, "Nonlinear Regression Analysis and Its
    /// Applications" (1988), section 6.1): a value belongs to the interval where the best fit with it
    /// is not worse than the best of all by more than s²·t², t of Student's distribution with
    /// n − 3 degrees of freedom. Unlike symmetric ones they do not cross 0.
    ///
    /// # Errors
    /// If there are too few different loads, or numbers that are not positive.
    ///
    /// # Panics
    /// If `confidence` does not lie strictly between 0 and 1.
    pub fn fit(points: &[(f64, f64)], confidence: f64) -> Result<Usl, UslError> {
        assert!(
            confidence > 0.0 && confidence < 1.0,
            "confidence {confidence} is not between 0 and 1"
        );
        let sound = |x: f64| x > 0.0 && is_measurable(x);
        if !points.iter().all(|&(n, x)| sound(n) && sound(x)) {
            return Err(UslError::NotPositive);
        }
        let mut loads: Vec<f64> = points.iter().map(|point| point.0).collect();
        loads.sort_by(f64::total_cmp);
        loads.dedup();
        if loads.len() < POINTS_MIN {
            return Err(UslError::TooFew(loads.len()));
        }
        let best = fit_bounded(points, [None; PARAMETERS]);
        let freedom = (points.len() - PARAMETERS) as f64;
        let t = tail::student_quantile(0.5 + confidence / 2.0, freedom);
        let limit = best.squares * (1.0 + t * t / freedom);
        let estimate = |which: usize| {
            let value = best.parameters[which];
            let within = |candidate: f64| {
                let mut fixed: FixedParameters = [None; PARAMETERS];
                fixed[which] = Some(candidate);
                fit_bounded(points, fixed).squares <= limit
            };
            Estimate {
                value,
                low: lower_bound(value, which == LAMBDA, &within),
                high: upper_bound(value, &within),
            }
        };
        let peak = peak_of(best.parameters);
        let peaks_there = |load: f64| peak::squares_with(points, load) <= limit;
        let mean = points.iter().map(|point| point.1).sum::<f64>() / points.len() as f64;
        let scatter: f64 = points.iter().map(|point| (point.1 - mean).powi(2)).sum();
        Ok(Usl {
            lambda: estimate(0),
            sigma: estimate(1),
            kappa: estimate(2),
            peak: Estimate {
                value: peak,
                low: lowest_peak(peak, &peaks_there),
                high: if peak.is_infinite() || peaks_there(f64::INFINITY) {
                    f64::INFINITY
                } else {
                    upper_bound(peak, &peaks_there)
                },
            },
            squares: best.squares,
            r_squared: if scatter > 0.0 { 1.0 - best.squares / scatter } else { 0.0 },
        })
    }

    /// The law's throughput of a load.
    pub fn at(&self, load: f64) -> f64 {
        throughput(self.lambda.value, self.sigma.value, self.kappa.value, load)
    }

    /// The load of greatest throughput, √((1 − σ)/κ); `None` where throughput never falls.
    pub fn peak(&self) -> Option<f64> {
        let sigma = self.sigma.value;
        let kappa = self.kappa.value;
        (kappa > 0.0 && sigma < 1.0).then_some(self.peak.value)
    }

    /// The throughput that is never passed: at the peak, or λ/σ, which is come near to only; `None`
    /// where the law knows no limit.
    pub fn limit(&self) -> Option<f64> {
        match self.peak() {
            Some(load) => Some(self.at(load)),
            None if self.kappa.value > 0.0 => Some(self.at(1.0)),
            None => (self.sigma.value > 0.0).then(|| self.lambda.value / self.sigma.value),
        }
    }
}

fn peak_of([_, sigma, kappa]: [f64; PARAMETERS]) -> f64 {
    match (kappa > 0.0, sigma < 1.0) {
        (false, _) => f64::INFINITY,
        (true, true) => ((1.0 - sigma) / kappa).sqrt().max(1.0),
        (true, false) => 1.0,
    }
}

/// The least load that is within, from `peak` down to 1.
fn lowest_peak(peak: f64, within: &dyn Fn(f64) -> bool) -> f64 {
    if peak <= 1.0 || within(1.0) {
        return 1.0;
    }
    let mut inside = peak;
    if peak.is_infinite() {
        inside = 2.0;
        while !within(inside) {
            if inside > PEAK_MAX {
                return f64::INFINITY;
            }
            inside *= 2.0;
        }
    }
    between(1.0, inside, within)
}

/// The least value that is within, from `value` down to 0.
fn lower_bound(value: f64, must_be_positive: bool, within: &dyn Fn(f64) -> bool) -> f64 {
    if value <= 0.0 || !must_be_positive && within(0.0) {
        return 0.0;
    }
    between(0.0, value, within)
}

/// The greatest value that is within, from `value` up.
fn upper_bound(value: f64, within: &dyn Fn(f64) -> bool) -> f64 {
    let mut step = if value > 0.0 { value } else { 1e-6 };
    for _ in 0..DOUBLINGS_MAX {
        if !within(value + step) {
            return between(value + step, value, within);
        }
        step *= 2.0;
    }
    f64::INFINITY
}

/// The place at which `within` begins to hold between `outside` and `inside`.
fn between(mut outside: f64, mut inside: f64, within: &dyn Fn(f64) -> bool) -> f64 {
    for _ in 0..HALVINGS_MAX {
        let middle = outside + (inside - outside) / 2.0;
        if middle == inside || middle == outside {
            break;
        }
        if within(middle) {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    inside
}

#[cfg(test)]
mod tests;
