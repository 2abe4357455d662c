//! The fast Fourier transform of Cooley and Tukey (1965), for lengths that are powers of two.

use std::f64::consts::TAU;

/// A complex number as (real, imaginary).
pub(crate) type Complex = (f64, f64);

/// X_k = Σ x_j exp(−2πi jk/n), in place.
///
/// # Panics
/// If the length is no power of two.
pub(crate) fn transform(x: &mut [Complex]) {
    let n = x.len();
    assert!(n.is_power_of_two(), "{n} numbers are no power of two");
    if n == 1 {
        return;
    }
    let shift = usize::BITS - n.trailing_zeros();
    for i in 0..n {
        let mirrored = i.reverse_bits() >> shift;
        if i < mirrored {
            x.swap(i, mirrored);
        }
    }
    let turns: Vec<Complex> = (0..n / 2)
        .map(|k| {
            let (sin, cos) = (TAU * k as f64 / n as f64).sin_cos();
            (cos, -sin)
        })
        .collect();
    combine(x, &turns);
}

/// Transforms both halves, then puts them together: halves first, so that small ones stay in the
/// processor's cache until they are done.
fn combine(x: &mut [Complex], turns: &[Complex]) {
    let half = x.len() / 2;
    let (low, high) = x.split_at_mut(half);
    if half > 1 {
        combine(low, turns);
        combine(high, turns);
    }
    let stride = turns.len() / half;
    for ((a, b), &turn) in low.iter_mut().zip(high).zip(turns.iter().step_by(stride)) {
        let turned = times(*b, turn);
        *b = (a.0 - turned.0, a.1 - turned.1);
        *a = (a.0 + turned.0, a.1 + turned.1);
    }
}

/// x_j = (1/n) Σ X_k exp(2πi jk/n), in place: the transform forwards of what is mirrored.
pub(crate) fn back(x: &mut [Complex]) {
    transform(x);
    let n = x.len() as f64;
    x.iter_mut().for_each(|x| *x = (x.0 / n, x.1 / n));
    x[1..].reverse();
}

fn times(a: Complex, b: Complex) -> Complex {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

/// Series are transformed in at least this many interleaved parts: a number of values that those have not
/// in common is left out.
const PARTS_MIN: usize = 256;

/// |X_k|² for k from 1 to `count`, of as many values at the beginning as can be parted into interleaved
/// rows whose length is a power of two: all but less than one in 256. Also how many values that is.
///
/// One step of Cooley's and Tukey's, for any number of rows; few of the rows' sums are needed.
pub(crate) fn lowest_powers(x: &[f64], count: usize) -> (usize, Vec<f64>) {
    let each = 1 << (x.len() / PARTS_MIN).max(1).ilog2();
    let rows = x.len() / each;
    let length = rows * each;
    let mut sums = vec![(0.0, 0.0); count];
    for first in 0..rows {
        let of_row = x[first..length].iter().step_by(rows);
        let mut row: Vec<Complex> = of_row.map(|&x| (x, 0.0)).collect();
        transform(&mut row);
        let (sin, cos) = (TAU * first as f64 / length as f64).sin_cos();
        let turn = (cos, -sin);
        let mut turned = turn;
        for (k, sum) in (1..).zip(&mut sums) {
            let term = times(row[k % each], turned);
            *sum = (sum.0 + term.0, sum.1 + term.1);
            turned = times(turned, turn);
        }
    }
    let powers = sums.iter().map(|x| x.0 * x.0 + x.1 * x.1).collect();
    (length, powers)
}

/// Up to this many lags of a long series are summed one by one, which is faster than to transform all.
const LAGS_SUMMED_MAX: usize = 100;
const LENGTH_SUMMED_MIN: usize = 1 << 16;

/// Σ_i x_i x_{i+k}, for k from 0 to `lags` (below the length of `x`).
pub(crate) fn autocovariance(x: &[f64], lags: usize) -> Vec<f64> {
    if lags <= LAGS_SUMMED_MAX && x.len() >= LENGTH_SUMMED_MIN {
        return (0..=lags).map(|lag| product(x, &x[lag..])).collect();
    }
    // Zeros behind, so that the end does not meet the beginning.
    let mut padded = vec![(0.0, 0.0); (x.len() + lags + 1).next_power_of_two()];
    padded.iter_mut().zip(x).for_each(|(to, &from)| to.0 = from);
    transform(&mut padded);
    padded.iter_mut().for_each(|x| *x = (x.0 * x.0 + x.1 * x.1, 0.0));
    back(&mut padded);
    padded[..=lags].iter().map(|x| x.0).collect()
}

/// Σ a_i b_i over as many as both have, in four sums that do not wait for each other.
fn product(a: &[f64], b: &[f64]) -> f64 {
    let count = a.len().min(b.len());
    let a = a[..count].chunks_exact(4);
    let b = b[..count].chunks_exact(4);
    let tail = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum::<f64>();
    let mut sums = [0.0; 4];
    for (a, b) in a.zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    sums.iter().sum::<f64>() + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_powers_of_any_length_are_those_of_the_definition() {
        for (given, used) in [(100, 100), (256, 256), (511, 511), (515, 514), (3_000, 3_000)] {
            let x: Vec<f64> = (0..given).map(|i| (i * i % 23) as f64 - 11.0).collect();
            let (length, powers) = lowest_powers(&x, 40);
            assert_eq!((length, powers.len()), (used, 40));
            for (k, power) in (1..).zip(powers) {
                let mut re = 0.0;
                let mut im = 0.0;
                for (j, x) in x[..length].iter().enumerate() {
                    let (sin, cos) = (TAU * (j * k % length) as f64 / length as f64).sin_cos();
                    (re, im) = (re + x * cos, im - x * sin);
                }
                let expected = re * re + im * im;
                assert!(
                    (power - expected).abs() < 1e-6,
                    "{power} and {expected} at {k} of {given}"
                );
            }
        }
    }

    #[test]
    fn sums_and_transforms_agree() {
        let x: Vec<f64> = (0..LENGTH_SUMMED_MIN + 3).map(|i| (i * i % 17) as f64 - 8.0).collect();
        let summed = autocovariance(&x, 10);
        let transformed = autocovariance(&x, LAGS_SUMMED_MAX + 1);
        for (a, b) in summed.iter().zip(&transformed) {
            assert!((a - b).abs() < 1e-9 * summed[0], "{a} and {b}");
        }
    }
}
