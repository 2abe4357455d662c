//! Curves of third degree through given points.

/// How a curve passes from point to point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// With a continuous second derivative, which is 0 at both ends. Swings beyond its points where
    /// they turn sharply.
    Natural,
    /// Without any rise or fall that its points do not have: within the conditions of Fritsch and
    /// Carlson, "Monotone piecewise cubic interpolation" (1980), by the slopes of Fritsch and
    /// Butland, "A method for constructing local monotone piecewise cubic interpolants" (1984).
    Monotone,
}

/// A curve through points.
#[derive(Debug, Clone)]
pub struct Spline<'a> {
    x: &'a [f64],
    y: Vec<f64>,
    slopes: Vec<f64>,
}

impl Spline<'_> {
    /// The curve through the points (`x`, `y`), `x` strictly rising.
    ///
    /// # Panics
    /// If there is no point, or not as many `x` as `y`.
    pub fn through(x: &[f64], y: Vec<f64>, kind: Kind) -> Spline<'_> {
        assert!(!x.is_empty() && x.len() == y.len(), "{} x, {} y", x.len(), y.len());
        let slopes = match (x.len(), kind) {
            (1, _) => vec![0.0],
            (2, _) => vec![(y[1] - y[0]) / (x[1] - x[0]); 2],
            (_, Kind::Natural) => natural_slopes(x, &y),
            (_, Kind::Monotone) => monotone_slopes(x, &y),
        };
        Spline { x, y, slopes }
    }

    /// The curve at `at`; beyond its ends the nearer end.
    pub fn value(&self, at: f64) -> f64 {
        let right = self.x.partition_point(|&x| x <= at);
        if right == 0 {
            return self.y[0];
        }
        if right == self.x.len() {
            return self.y[right - 1];
        }
        let left = right - 1;
        let width = self.x[right] - self.x[left];
        let t = (at - self.x[left]) / width;
        // Hermite's form.
        let rest = 1.0 - t;
        let t2 = t * t;
        self.y[left] * (1.0 + 2.0 * t) * rest * rest
            + self.slopes[left] * width * t * rest * rest
            + self.y[right] * t2 * (3.0 - 2.0 * t)
            - self.slopes[right] * width * t2 * rest
    }
}

/// A piece of the curve between two neighbouring points.
#[derive(Clone, Copy)]
struct Piece {
    width: f64,
    /// Slope of the straight line between the points.
    slope: f64,
}

/// The piece that begins at point `i`.
fn piece(x: &[f64], y: &[f64], i: usize) -> Piece {
    let width = x[i + 1] - x[i];
    let slope = (y[i + 1] - y[i]) / width;
    Piece { width, slope }
}

/// The slopes that make the second derivative continuous: a tridiagonal system, solved from both
/// ends (de Boor, "A Practical Guide to Splines", 1978, chapter IV).
fn natural_slopes(x: &[f64], y: &[f64]) -> Vec<f64> {
    let n = x.len();
    // Row i: below · s(i−1) + diagonal · s(i) + above · s(i+1) = right.
    let row = |i: usize| {
        let before = (i > 0).then(|| piece(x, y, i - 1));
        let after = (i + 1 < n).then(|| piece(x, y, i));
        let [below, above] = [before, after].map(|piece| piece.map_or(0.0, |p| 1.0 / p.width));
        let right: f64 = [before, after].iter().flatten().map(|p| 3.0 * p.slope / p.width).sum();
        (below, 2.0 * (below + above), above, right)
    };
    let mut above = vec![0.0; n];
    let mut slopes = vec![0.0; n];
    for i in 0..n {
        let (below, mut diagonal, next, mut right) = row(i);
        if i > 0 {
            diagonal -= below * above[i - 1];
            right -= below * slopes[i - 1];
        }
        above[i] = next / diagonal;
        slopes[i] = right / diagonal;
    }
    for i in (0..n - 1).rev() {
        slopes[i] -= above[i] * slopes[i + 1];
    }
    slopes
}

/// Inside, the weighted harmonic mean of the slopes at both sides, or 0 where these differ in sign.
fn monotone_slopes(x: &[f64], y: &[f64]) -> Vec<f64> {
    let n = x.len();
    let inside = (1..n - 1).map(|i| {
        let before = piece(x, y, i - 1);
        let after = piece(x, y, i);
        if before.slope * after.slope <= 0.0 {
            return 0.0;
        }
        let v = 2.0 * after.width + before.width;
        let w = after.width + 2.0 * before.width;
        (v + w) / (v / before.slope + w / after.slope)
    });
    let first = end_slope(piece(x, y, 0), piece(x, y, 1));
    let last = end_slope(piece(x, y, n - 2), piece(x, y, n - 3));
    std::iter::once(first).chain(inside).chain(std::iter::once(last)).collect()
}

/// The slope of the parabola through the last three points, cut so that it makes no turn (Moler,
/// "Numerical Computing with MATLAB", 2004, section 3.6).
fn end_slope(outer: Piece, inner: Piece) -> f64 {
    let weighted = (2.0 * outer.width + inner.width) * outer.slope - outer.width * inner.slope;
    let slope = weighted / (outer.width + inner.width);
    if slope * outer.slope <= 0.0 {
        0.0
    } else if outer.slope * inner.slope <= 0.0 && slope.abs() > 3.0 * outer.slope.abs() {
        3.0 * outer.slope
    } else {
        slope
    }
}
