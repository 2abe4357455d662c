//! The least value of a function of a few numbers, and how it curves there.

/// Evaluations after which the search ends wherever it is.
const EVALUATIONS_MAX: usize = 2_000;
/// The simplex has shrunk to nothing where values differ by less than this, relative and absolute.
const TOLERANCE: f64 = 1e-11;
/// How far from the start the first simplex reaches.
const REACH: f64 = 0.25;
/// Steps of the numeric second derivative.
const STEP: f64 = 1e-3;

/// The place of the least value near `start`, by the simplex of Nelder and Mead (1965), restarted once
/// where it ended, since a simplex may collapse.
pub(super) fn minimum(start: &[f64], f: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let once = descend(start, REACH, &f);
    descend(&once, REACH / 10.0, &f)
}

/// The value at `start` and at a corner in each direction, with the places.
fn corners(start: &[f64], reach: f64, f: &impl Fn(&[f64]) -> f64) -> Vec<(f64, Vec<f64>)> {
    let mut corners = Vec::with_capacity(start.len() + 1);
    corners.push((f(start), start.to_vec()));
    for i in 0..start.len() {
        let mut corner = start.to_vec();
        corner[i] += reach;
        corners.push((f(&corner), corner));
    }
    corners
}

fn descend(start: &[f64], reach: f64, f: &impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let n = start.len();
    let mut simplex = corners(start, reach, f);
    let mut evaluations = n + 1;
    while evaluations < EVALUATIONS_MAX {
        simplex.sort_by(|a, b| a.0.total_cmp(&b.0));
        let best = simplex[0].0;
        let worst = simplex[n].0;
        let near = simplex[1..]
            .iter()
            .all(|(_, corner)| corner.iter().zip(&simplex[0].1).all(|(a, b)| (a - b).abs() < 1e-7));
        if near || worst - best <= TOLERANCE * (best.abs() + TOLERANCE) {
            break;
        }
        let centre: Vec<f64> = (0..n)
            .map(|i| simplex[..n].iter().map(|corner| corner.1[i]).sum::<f64>() / n as f64)
            .collect();
        let towards = |by: f64| -> Vec<f64> {
            let last = &simplex[n].1;
            centre.iter().zip(last).map(|(c, x)| c + by * (x - c)).collect()
        };
        let reflected = towards(-1.0);
        let expanded = towards(-2.0);
        let at_reflected = f(&reflected);
        evaluations += 1;
        let next = if at_reflected < best {
            let at_expanded = f(&expanded);
            evaluations += 1;
            Some(if at_expanded < at_reflected {
                (at_expanded, expanded)
            } else {
                (at_reflected, reflected)
            })
        } else if at_reflected < simplex[n - 1].0 {
            Some((at_reflected, reflected))
        } else {
            let inside = towards(if at_reflected < worst { -0.5 } else { 0.5 });
            let at_inside = f(&inside);
            evaluations += 1;
            (at_inside < worst.min(at_reflected)).then_some((at_inside, inside))
        };
        match next {
            Some(next) => simplex[n] = next,
            None => {
                let best = simplex[0].1.clone();
                for (value, corner) in &mut simplex[1..] {
                    for (x, b) in corner.iter_mut().zip(&best) {
                        *x = b + 0.5 * (*x - b);
                    }
                    *value = f(corner);
                }
                evaluations += n;
            }
        }
    }
    simplex.sort_by(|a, b| a.0.total_cmp(&b.0));
    simplex.swap_remove(0).1
}

/// Second derivatives, by central differences.
pub(super) fn hessian(at: &[f64], f: impl Fn(&[f64]) -> f64) -> Vec<Vec<f64>> {
    let n = at.len();
    let moved = |i: usize, a: f64, j: usize, b: f64| {
        let mut x = at.to_vec();
        x[i] += a;
        x[j] += b;
        f(&x)
    };
    let h = STEP;
    let value = |i: usize, j: usize| {
        if i == j {
            (moved(i, h, i, 0.0) - 2.0 * f(at) + moved(i, -h, i, 0.0)) / (h * h)
        } else {
            let along = moved(i, h, j, h) + moved(i, -h, j, -h);
            let across = moved(i, h, j, -h) + moved(i, -h, j, h);
            (along - across) / (4.0 * h * h)
        }
    };
    (0..n).map(|i| (0..n).map(|j| value(i, j)).collect()).collect()
}

/// The inverse of a small matrix by Gauss and Jordan; `None` where it has none.
pub(super) fn inverse(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let n = matrix.len();
    let mut left: Vec<Vec<f64>> = matrix.to_vec();
    let mut right: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for column in 0..n {
        let pivot =
            (column..n).max_by(|&a, &b| left[a][column].abs().total_cmp(&left[b][column].abs()))?;
        if !left[pivot][column].is_finite() || left[pivot][column].abs() < 1e-12 {
            return None;
        }
        left.swap(column, pivot);
        right.swap(column, pivot);
        let by = left[column][column];
        for x in left[column].iter_mut().chain(&mut right[column]) {
            *x /= by;
        }
        for row in (0..n).filter(|&row| row != column) {
            let by = left[row][column];
            for k in 0..n {
                left[row][k] -= by * left[column][k];
                right[row][k] -= by * right[column][k];
            }
        }
    }
    Some(right)
}
