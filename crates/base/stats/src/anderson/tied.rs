//! The limiting distribution of the statistic of two samples with ties, as they grow.
//!
//! With ties the statistic does not tend to Anderson's and Darling's distribution. Under the hypothesis
//! the deviations at the ends of values tend to a Brownian bridge W at the shares B₁ < B₂ < … of the
//! pooled numbers at or below each, and the statistic to Q = Σ w ((W(Bᵢ₋₁) + W(Bᵢ)) / 2)², with the
//! weights of [`weight`]: a sum of squares of normal variables with fewer and greater weights λ (their sum
//! is 1 in any case). With two values it is one square, whose tail is many times as heavy.
//!
//! λ are the inverse roots u of det(P − u M): P is the precision of the bridge at the Bᵢ, and M the form
//! of the sum. Both are tridiagonal, so a determinant takes time in proportion to the number of values.

use std::f64::consts::PI;

use super::cells::weight;

/// Values beyond this number are merged with their neighbours; the p-value then grows by 1 % at 0.05.
pub(super) const VALUES_MAX: usize = 400;
/// From this number of values on, the limit without ties is taken for a statistic below [`SMALL`]: both p-values are
/// above 0.98, and the sum would take a hundred integrals.
const VALUES_MANY: usize = 100;
/// As [`VALUES_MANY`] says.
const SMALL: f64 = 0.2;
/// Points of each quadrature.
const POINTS: u32 = 128;
/// Integrals whose first factor is below this share of the first one's are left out.
const NEGLIGIBLE: f64 = 1e-17;
/// Integrals that are added up.
const INTEGRALS_MAX: usize = 60;

/// P(Q > x), if these shares of all numbers have each value, in the order of the values. Shares are
/// positive, and their sum is 1.
///
/// Smirnov's formula (1937), as in [`super::limit_tail`].
pub(super) fn tail(x: f64, shares: &[f64]) -> f64 {
    if x <= 0.0 || shares.len() < 2 {
        return 1.0;
    }
    if x < SMALL && shares.len() >= VALUES_MANY {
        return super::limit_tail(x);
    }
    let form = Form::from_shares(shares);
    let roots_count = shares.len() - 1;
    let mut p = 0.0;
    let mut from = 0.0;
    let mut sign = 1.0;
    let mut first = None;
    for number in (0..roots_count).step_by(2).take(INTEGRALS_MAX) {
        let low = form.root(number, from);
        let first = *first.get_or_insert(low);
        if (-(low - first) * x / 2.0).exp() < NEGLIGIBLE {
            break;
        }
        let integral = if number + 1 < roots_count {
            from = form.root(number + 1, low);
            between(&form, x, low, from)
        } else {
            beyond(&form, x, low)
        };
        p += sign * integral;
        sign = -sign;
    }
    p.clamp(0.0, 1.0)
}

/// The integral between two roots, by the quadrature of Gauss and Chebyshev.
fn between(form: &Form, x: f64, low: f64, high: f64) -> f64 {
    let middle = (low + high) / 2.0;
    let half = (high - low) / 2.0;
    let points = (0..POINTS).map(|i| {
        let angle = PI * (f64::from(i) + 0.5) / f64::from(POINTS);
        let u = middle + half * angle.cos();
        half * angle.sin() * (-u * x / 2.0).exp() / (u * form.determinant(u).abs().sqrt())
    });
    points.sum::<f64>() / f64::from(POINTS)
}

/// The integral beyond the last root of an odd number, with u = low / cos², which is smooth at both ends.
fn beyond(form: &Form, x: f64, low: f64) -> f64 {
    let points = (0..POINTS).map(|i| {
        let angle = PI / 2.0 * (f64::from(i) + 0.5) / f64::from(POINTS);
        let u = low / angle.cos().powi(2);
        angle.tan() * (-u * x / 2.0).exp() / form.determinant(u).abs().sqrt()
    });
    points.sum::<f64>() / f64::from(POINTS)
}

/// The shares of these numbers of tied values, with neighbours merged until there are about
/// [`VALUES_MAX`] at most.
pub(super) fn shares(tied: &[u64]) -> Vec<f64> {
    let all: u64 = tied.iter().sum();
    let least = match tied.len() <= VALUES_MAX {
        true => 0,
        false => all / VALUES_MAX as u64,
    };
    let mut shares = Vec::new();
    let mut gathered = 0;
    for &count in tied {
        // A value that many numbers have stays by itself.
        if count > least && gathered > 0 {
            shares.push(gathered as f64 / all as f64);
            gathered = 0;
        }
        gathered += count;
        if gathered > least {
            shares.push(gathered as f64 / all as f64);
            gathered = 0;
        }
    }
    if gathered > 0 {
        shares.push(gathered as f64 / all as f64);
    }
    shares
}

/// P and M, tridiagonal and symmetric, and the pivots of P.
struct Form {
    precision: Tridiagonal,
    squares: Tridiagonal,
    pivots: Vec<f64>,
}

struct Tridiagonal {
    diagonal: Vec<f64>,
    /// Beside the diagonal; the last is not used.
    beside: Vec<f64>,
}

impl Form {
    fn from_shares(shares: &[f64]) -> Form {
        let mut before = 0.0;
        let weights: Vec<f64> = shares
            .iter()
            .map(|&share| {
                let middle = before + share / 2.0;
                before += share;
                weight(middle, share, 1.0)
            })
            .collect();
        // Element i stands for the end of value i; value i + 1 is between it and the next.
        let tridiagonal = |of: &[f64], sign: f64| Tridiagonal {
            diagonal: of.windows(2).map(|pair| pair[0] + pair[1]).collect(),
            beside: of[1..].iter().map(|value| sign * value).collect(),
        };
        let inverse: Vec<f64> = shares.iter().map(|share| 1.0 / share).collect();
        let quarter: Vec<f64> = weights.iter().map(|weight| weight / 4.0).collect();
        let mut form = Form {
            precision: tridiagonal(&inverse, -1.0),
            squares: tridiagonal(&quarter, 1.0),
            pivots: Vec::new(),
        };
        form.pivots = form.pivots_at(0.0).collect();
        form
    }

    /// The pivots of P − u M.
    fn pivots_at(&self, u: f64) -> impl Iterator<Item = f64> + '_ {
        let mut last = 1.0_f64;
        let mut beside = 0.0_f64;
        (0..self.precision.diagonal.len()).map(move |i| {
            let pivot =
                self.precision.diagonal[i] - u * self.squares.diagonal[i] - beside * beside / last;
            beside = self.precision.beside[i] - u * self.squares.beside[i];
            // At a root of a part of the matrix; which side is taken makes no difference.
            last = if pivot == 0.0 { f64::MIN_POSITIVE } else { pivot };
            last
        })
    }

    /// det(P − u M) / det P = Π (1 − u λ).
    fn determinant(&self, u: f64) -> f64 {
        let ratios = self.pivots_at(u).zip(&self.pivots);
        ratios.map(|(pivot, &at_zero)| pivot / at_zero).product()
    }

    /// The root of this number, from 0, which is not less than `from`: as many roots are below a number
    /// as there are negative pivots at it (Sylvester's law of inertia). There are no double roots.
    fn root(&self, number: usize, from: f64) -> f64 {
        let below = |u: f64| self.pivots_at(u).filter(|&pivot| pivot < 0.0).count();
        let mut low = from;
        let mut high = from.max(1.0);
        while below(high) <= number {
            (low, high) = (high, 2.0 * high);
        }
        while high - low > f64::EPSILON * 2.0 * high {
            let middle = f64::midpoint(low, high);
            if below(middle) <= number {
                low = middle;
            } else {
                high = middle;
            }
        }
        f64::midpoint(low, high)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_limit_with_ties_is_the_sum_of_its_squares() {
        let golden = include_str!("../../../../../testdata/golden/compare.json");
        let golden: Value = serde_json::from_str(golden).unwrap();
        for case in golden["anderson_tied"].as_array().unwrap() {
            let numbers = |name: &str| case[name].as_array().unwrap().clone();
            let tied: Vec<u64> = numbers("tied").iter().map(|n| n.as_u64().unwrap()).collect();
            let x = case["x"].as_f64().unwrap();
            let expected = case["p"].as_f64().unwrap();
            let found = tail(x, &shares(&tied));
            assert!((found - expected).abs() < 2e-6, "{case} {found}");
        }
    }

    #[test]
    fn small_statistics_of_many_values_are_those_without_ties() {
        let shares = vec![1.0 / VALUES_MANY as f64; VALUES_MANY];
        let below = tail(SMALL - 1e-9, &shares);
        let above = tail(SMALL, &shares);
        assert!(above > 0.98 && (below - above).abs() < 0.01, "{below} {above}");
    }

    #[test]
    fn values_are_merged_and_heavy_ones_stay() {
        let mut tied = vec![1; 4_000];
        tied[2_000] = 4_000;
        let shares = shares(&tied);
        assert!(shares.len() <= VALUES_MAX, "{}", shares.len());
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(shares.contains(&(4_000.0 / 7_999.0)));
    }
}
