//! Least squares for the law: Levenberg–Marquardt (Marquardt 1963), with σ and κ bounded by 0.

/// λ, σ and κ.
pub(super) const PARAMETERS: usize = 3;
pub(super) const LAMBDA: usize = 0;
const SIGMA: usize = 1;
const KAPPA: usize = 2;

/// Steps of one descent; from a good start some ten suffice.
const STEPS_MAX: u32 = 300;
/// Relative gain below which a step is the last.
const GAIN_MIN: f64 = 1e-15;
/// How strongly the damping may grow before no direction is left that leads down.
const DAMPING_MAX: f64 = 1e15;

/// Parameters that are held at a value.
pub(super) type FixedParameters = [Option<f64>; PARAMETERS];

/// A point of the descent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fit {
    pub(super) parameters: [f64; PARAMETERS],
    pub(super) squares: f64,
}

/// The best fit with σ, κ ≥ 0. A bound that holds has its parameter at 0, so the best is among the
/// descents with none, either or both of them held there.
pub(super) fn fit_bounded(points: &[(f64, f64)], fixed: FixedParameters) -> Fit {
    let choices = |which: usize| match fixed[which] {
        Some(value) => vec![Some(value)],
        None => vec![None, Some(0.0)],
    };
    let mut best: Option<Fit> = None;
    for sigma in choices(SIGMA) {
        for kappa in choices(KAPPA) {
            let fit = descend(points, [fixed[LAMBDA], sigma, kappa]);
            let feasible = fit.parameters[SIGMA] >= 0.0 && fit.parameters[KAPPA] >= 0.0;
            if feasible && best.is_none_or(|best| fit.squares < best.squares) {
                best = Some(fit);
            }
        }
    }
    best.expect("with both held at values of 0 or more the fit is feasible")
}

/// Goes down from the linear law's parameters, bounds aside.
fn descend(points: &[(f64, f64)], fixed: FixedParameters) -> Fit {
    let mut at = start(points, fixed);
    let mut damping = 1e-3;
    for _ in 0..STEPS_MAX {
        let Some(next) = step(points, fixed, at, damping) else {
            damping *= 10.0;
            if damping > DAMPING_MAX {
                break;
            }
            continue;
        };
        if next.squares < at.squares {
            let gain = at.squares - next.squares;
            let last = gain <= GAIN_MIN * at.squares;
            at = next;
            damping = (damping / 10.0).max(1e-12);
            if last {
                break;
            }
        } else {
            damping *= 10.0;
            if damping > DAMPING_MAX {
                break;
            }
        }
    }
    at
}

/// N/X = (1 + σ(N − 1) + κN(N − 1))/λ is linear in 1/λ, σ/λ and κ/λ: its fit, weighted by X² so that
/// it is about the squares of X, is near the one looked for.
fn start(points: &[(f64, f64)], fixed: FixedParameters) -> Fit {
    let mut normal = [[0.0; PARAMETERS]; PARAMETERS];
    let mut right = [0.0; PARAMETERS];
    for &(n, x) in points {
        let row = [x / n, x * (n - 1.0) / n, x * (n - 1.0)];
        for i in 0..PARAMETERS {
            right[i] += row[i];
            for j in 0..PARAMETERS {
                normal[i][j] += row[i] * row[j];
            }
        }
    }
    let largest = points.iter().map(|&(n, x)| x / n).fold(0.0, f64::max);
    let linear = solve(normal, right).filter(|b| b[0] > 0.0);
    let guess = match linear {
        Some([a, b, c]) => [1.0 / a, (b / a).max(0.0), (c / a).max(0.0)],
        None => [largest, 0.0, 0.0],
    };
    let mut parameters = [0.0; PARAMETERS];
    for (which, parameter) in parameters.iter_mut().enumerate() {
        *parameter = fixed[which].unwrap_or(guess[which]);
    }
    Fit { parameters, squares: squares(points, parameters).unwrap_or(f64::INFINITY) }
}

/// A damped Gauss–Newton step; `None` where it leads out of what the law is defined for.
fn step(points: &[(f64, f64)], fixed: FixedParameters, at: Fit, damping: f64) -> Option<Fit> {
    let [lambda, sigma, kappa] = at.parameters;
    let mut normal = [[0.0; PARAMETERS]; PARAMETERS];
    let mut right = [0.0; PARAMETERS];
    for &(n, x) in points {
        let below = 1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0);
        let law = lambda * n / below;
        let mut row = [n / below, -law * (n - 1.0) / below, -law * n * (n - 1.0) / below];
        for (which, slope) in row.iter_mut().enumerate() {
            if fixed[which].is_some() {
                *slope = 0.0;
            }
        }
        for i in 0..PARAMETERS {
            right[i] += row[i] * (x - law);
            for j in 0..PARAMETERS {
                normal[i][j] += row[i] * row[j];
            }
        }
    }
    for (which, row) in normal.iter_mut().enumerate() {
        let diagonal = &mut row[which];
        *diagonal = if *diagonal > 0.0 { *diagonal * (1.0 + damping) } else { 1.0 };
    }
    let change = solve(normal, right)?;
    let parameters = std::array::from_fn(|i| at.parameters[i] + change[i]);
    squares(points, parameters).map(|squares| Fit { parameters, squares })
}

/// `None` where λ or a denominator is not positive.
fn squares(points: &[(f64, f64)], [lambda, sigma, kappa]: [f64; PARAMETERS]) -> Option<f64> {
    let mut sum = 0.0;
    for &(n, x) in points {
        let below = 1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0);
        if !(lambda > 0.0 && below > 0.0) {
            return None;
        }
        sum += (x - lambda * n / below).powi(2);
    }
    sum.is_finite().then_some(sum)
}

/// Gaussian elimination with rows and columns scaled to a diagonal of ones, for κ's are smaller than
/// λ's by many orders. `None` where the matrix is singular.
fn solve(
    mut matrix: [[f64; PARAMETERS]; PARAMETERS],
    mut right: [f64; PARAMETERS],
) -> Option<[f64; PARAMETERS]> {
    let scale: [f64; PARAMETERS] = std::array::from_fn(|i| matrix[i][i].sqrt());
    if !scale.iter().all(|s| s.is_finite() && *s > 0.0) {
        return None;
    }
    for i in 0..PARAMETERS {
        right[i] /= scale[i];
        for j in 0..PARAMETERS {
            matrix[i][j] /= scale[i] * scale[j];
        }
    }
    for pivot in 0..PARAMETERS {
        let lead = (pivot..PARAMETERS)
            .max_by(|&a, &b| matrix[a][pivot].abs().total_cmp(&matrix[b][pivot].abs()))?;
        matrix.swap(pivot, lead);
        right.swap(pivot, lead);
        if matrix[pivot][pivot].abs() < 1e-14 {
            return None;
        }
        for row in pivot + 1..PARAMETERS {
            let factor = matrix[row][pivot] / matrix[pivot][pivot];
            let above = matrix[pivot];
            for (cell, over) in matrix[row].iter_mut().zip(above).skip(pivot) {
                *cell -= factor * over;
            }
            right[row] -= factor * right[pivot];
        }
    }
    let mut solution = [0.0; PARAMETERS];
    for row in (0..PARAMETERS).rev() {
        let known: f64 = (row + 1..PARAMETERS).map(|c| matrix[row][c] * solution[c]).sum();
        solution[row] = (right[row] - known) / matrix[row][row];
    }
    let solution = std::array::from_fn(|i| solution[i] / scale[i]);
    Some(solution).filter(|s: &[f64; PARAMETERS]| s.iter().all(|x| x.is_finite()))
}
