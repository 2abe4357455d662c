//! Kolmogorov's distribution: how far the empirical distribution function of n independent numbers
//! strays from the true one.
//!
//! No formula serves everywhere; which does where is as Simard and L'Ecuyer found it, "Computing
//! the two-sided Kolmogorov-Smirnov distribution" (Journal of Statistical Software 39, 2011).

use std::f64::consts::PI;

use libm::lgamma;

/// Up to this many numbers the bulk of the distribution is exact.
const EXACT_MAX: u64 = 400;
/// n·d² from which on doubling the one-sided tail is exact to ten digits, for few numbers and many.
const TAIL_FEW: f64 = 4.0;
const TAIL_MANY: f64 = 2.2;
/// Most numbers that count as few.
const FEW_MAX: u64 = 140;
/// About this many terms of the one-sided tail are added up.
const TERMS_MAX: f64 = 10_000.0;

/// P(D ≥ `distance`) for `n` independent numbers against their own continuous distribution.
/// Relative error below 1e-6 for p below 0.01 and below 3e-5 else. 1 where `n` is 0.
pub fn kolmogorov_tail(n: u64, distance: f64) -> f64 {
    let count = n as f64;
    if n == 0 || count * distance <= 0.5 {
        return 1.0;
    }
    if distance >= 1.0 {
        return 0.0;
    }
    let spread = count * distance * distance;
    let tail_from = if n <= FEW_MAX { TAIL_FEW } else { TAIL_MANY };
    let p = if spread >= tail_from {
        2.0 * one_sided_tail(count, distance)
    } else if n <= EXACT_MAX {
        1.0 - exact_cdf(n, distance)
    } else {
        1.0 - pelz_good_cdf(count, distance)
    };
    p.clamp(0.0, 1.0)
}

/// P(D⁺ ≥ d): d · Σ C(n, j) (d + j/n)^(j−1) (1 − d − j/n)^(n−j) over j from 0 to n(1 − d).
/// Birnbaum and Tingey (1951).
///
/// If there are many terms, one in `stride` stands for its neighbours: they are a smooth function of j/n that is flat
/// at both ends, and the sum of such by the trapezoid rule converges faster than any power of the number of points.
fn one_sided_tail(n: f64, d: f64) -> f64 {
    let last = (n * (1.0 - d)).floor();
    let stride = (n / TERMS_MAX).floor().max(1.0);
    let mut sum = 0.0;
    let mut j = 0.0;
    while j <= last {
        let up = d + j / n;
        if up < 1.0 {
            sum += binomial(n, j, up, d) / up;
        }
        j += stride;
    }
    d * stride * sum
}

/// P(B = `j`) for binomial B with (`n`, `p`), where `p` = j/n + `d` and `j` < `n`. Loader's form,
/// "Fast and accurate computation of binomial probabilities" (2000), in which large logarithms do
/// not cancel.
fn binomial(n: f64, j: f64, p: f64, d: f64) -> f64 {
    let q = 1.0 - p;
    if j == 0.0 {
        return (n * (-p).ln_1p()).exp();
    }
    // x ln(x/m) + m − x for x = m(1 + δ).
    let deviance = |m: f64, delta: f64| m * ((1.0 + delta) * delta.ln_1p() - delta);
    let logarithm = stirling_error(n)
        - stirling_error(j)
        - stirling_error(n - j)
        - deviance(n * p, -d / p)
        - deviance(n * q, d / q);
    logarithm.exp() * (n / (2.0 * PI * j * (n - j))).sqrt()
}

/// ln n! less Stirling's formula for it; `n` > 0.
fn stirling_error(n: f64) -> f64 {
    if n < 16.0 {
        return lgamma(n + 1.0) - (n + 0.5) * n.ln() + n - 0.5 * (2.0 * PI).ln();
    }
    let n2 = n * n;
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / 1680.0 / n2) / n2) / n2) / n
}

/// P(D < d), exact: the matrix of Durbin (1973) as Marsaglia, Tsang and Wang raise it to its n-th
/// power, "Evaluating Kolmogorov's distribution" (Journal of Statistical Software 8, 2003).
fn exact_cdf(n: u64, d: f64) -> f64 {
    let count = n as f64;
    let k = (count * d).floor() as usize + 1;
    let size = 2 * k - 1;
    let h = k as f64 - count * d;
    let mut matrix = vec![0.0; size * size];
    for row in 0..size {
        for column in 0..size.min(row + 2) {
            matrix[row * size + column] = 1.0;
        }
    }
    for i in 0..size {
        matrix[i * size] -= h.powi(i as i32 + 1);
        matrix[(size - 1) * size + i] -= h.powi((size - i) as i32);
    }
    matrix[(size - 1) * size] += (2.0 * h - 1.0).max(0.0).powi(size as i32);
    for row in 0..size {
        for column in 0..size {
            // (row − column + 1)! divides what is below the diagonal.
            for factor in 2..=(row + 1).saturating_sub(column) {
                matrix[row * size + column] /= factor as f64;
            }
        }
    }
    // n!/n^n is spread over the powers, so that nothing overflows: kept as a power of two.
    let (power, mut exponent) = raised(&matrix, size, n);
    let mut p = power[(k - 1) * size + k - 1];
    for i in 1..=n {
        p *= i as f64 / count;
        if p < 1e-140 {
            p *= 2_f64.powi(400);
            exponent -= 400;
        }
    }
    p * 2_f64.powi(exponent)
}

/// The matrix to the `n`-th power, as (mantissas, exponent of two).
fn raised(matrix: &[f64], size: usize, n: u64) -> (Vec<f64>, i32) {
    if n == 1 {
        return (matrix.to_vec(), 0);
    }
    let (half, exponent) = raised(matrix, size, n / 2);
    let mut power = product(&half, &half, size);
    if n % 2 == 1 {
        power = product(&power, matrix, size);
    }
    let mut exponent = 2 * exponent;
    let middle = power[(size / 2) * size + size / 2];
    if middle > 1e140 {
        power.iter_mut().for_each(|x| *x *= 2_f64.powi(-400));
        exponent += 400;
    }
    (power, exponent)
}

fn product(a: &[f64], b: &[f64], size: usize) -> Vec<f64> {
    let mut product = vec![0.0; size * size];
    for (row, out) in product.chunks_exact_mut(size).enumerate() {
        for (k, b) in b.chunks_exact(size).enumerate() {
            let factor = a[row * size + k];
            out.iter_mut().zip(b).for_each(|(out, b)| *out += factor * b);
        }
    }
    product
}

/// P(D < d) by the first four terms of an expansion in 1/√n: Pelz and Good, "Approximating the
/// lower tail-areas of the Kolmogorov-Smirnov one-sample statistic" (1976), equations 8 to 11, in
/// the form that converges for small z.
fn pelz_good_cdf(n: f64, d: f64) -> f64 {
    let z = n.sqrt() * d;
    let z2 = z.powi(2);
    let z4 = z.powi(4);
    let z6 = z.powi(6);
    let pi2 = PI.powi(2);
    let pi4 = PI.powi(4);
    let pi6 = PI.powi(6);
    let mut k = [0.0; 4];
    // Beyond, exp(−(m·π)²/(8z²)) is below the last bit.
    let terms = (16.0 * z / PI).ceil() as i32;
    for i in 1..=terms {
        let m2 = f64::from(2 * i - 1).powi(2);
        let weight = (-m2 * pi2 / (8.0 * z2)).exp();
        let k1 = -z2 + pi2 / 4.0 * m2;
        let k2 = 6.0 * z6
            + 2.0 * z4
            + (2.0 * z4 - 5.0 * z2) * pi2 / 4.0 * m2
            + pi4 * (1.0 - 2.0 * z2) / 16.0 * m2.powi(2);
        let k3 = -30.0 * z6 - 90.0 * z.powi(8)
            + pi2 * (135.0 * z4 - 96.0 * z6) / 4.0 * m2
            + pi4 * (212.0 * z4 - 60.0 * z2) / 16.0 * m2.powi(2)
            + pi6 * (5.0 - 30.0 * z2) / 64.0 * m2.powi(3);
        for (sum, term) in k.iter_mut().zip([1.0, k1, k2, k3]) {
            *sum += weight * term;
        }
    }
    let root = (2.0 * PI).sqrt();
    for (sum, scale) in k.iter_mut().zip([z, 6.0 * z4, 72.0 * z.powi(7), 6480.0 * z.powi(10)]) {
        *sum *= root / scale;
    }
    for i in 1..=terms {
        let i2 = f64::from(i).powi(2);
        let weight = (-i2 * pi2 / (2.0 * z2)).exp();
        k[2] -= root * pi2 * i2 * weight / (36.0 * z.powi(3));
        k[3] += root * pi2 * i2 * (3.0 * z2 - pi2 * i2) * weight / (216.0 * z6);
    }
    k[0] + k[1] / n.sqrt() + k[2] / n + k[3] / n.powf(1.5)
}
