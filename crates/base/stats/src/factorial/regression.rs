//! Ordinary least squares by Householder reflections.
//!
//! Golub and Van Loan, "Matrix Computations" (4th edition, 2013), algorithm 5.2.1 and section
//! 5.3.2. The normal equations are never formed: they would square the condition number.

/// A column whose length is less than this share of what it was, once the columns before it are
/// taken out, is a combination of them.
const INDEPENDENT_MIN: f64 = 1e-10;

/// Why there is no fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegressionError {
    /// Columns and values must be of one length.
    #[error("column {column} has {found} rows, and there are {expected} values")]
    Uneven {
        /// The column, from 0.
        column: usize,
        /// Length of the column.
        found: usize,
        /// How many values there are.
        expected: usize,
    },
    /// A number is not finite.
    #[error("not all numbers are finite")]
    NotFinite,
    /// There are more columns than rows.
    #[error("{columns} columns cannot be separated by {rows} rows")]
    TooFew {
        /// How many rows there are.
        rows: usize,
        /// How many columns.
        columns: usize,
    },
    /// A column follows from those before it.
    #[error("column {column} is a combination of those before it")]
    Dependent {
        /// The column, from 0.
        column: usize,
    },
}

/// A fitted linear model.
#[derive(Debug, Clone, PartialEq)]
pub struct LeastSquares {
    /// One for each column.
    pub coefficients: Vec<f64>,
    /// Prediction of the model for each row.
    pub fitted: Vec<f64>,
    /// Values less the model's predictions.
    pub residuals: Vec<f64>,
    /// The sum of the residuals' squares.
    pub residual_ss: f64,
    /// Rows less columns.
    pub residual_df: usize,
    /// R of the QR decomposition by columns, each down to its diagonal.
    r: Vec<Vec<f64>>,
}

/// Fits `values` by a linear combination of `columns`; a constant is a column of ones.
///
/// # Errors
/// If the columns do not fit the values, or do not determine their coefficients.
pub fn least_squares(
    columns: &[Vec<f64>],
    values: &[f64],
) -> Result<LeastSquares, RegressionError> {
    check(columns, values)?;
    let mut work = columns.to_vec();
    let mut rotated = values.to_vec();
    let mut r: Vec<Vec<f64>> = Vec::with_capacity(columns.len());
    for at in 0..work.len() {
        let whole = length(&columns[at]);
        let reflection = reflect(&work[at][at..]);
        if reflection.length <= INDEPENDENT_MIN * whole || whole == 0.0 {
            return Err(RegressionError::Dependent { column: at });
        }
        for column in &mut work[at..] {
            reflection.apply(&mut column[at..]);
        }
        reflection.apply(&mut rotated[at..]);
        r.push(work[at][..=at].to_vec());
    }
    let coefficients = solve_upper(&r, &rotated[..r.len()]);
    let fitted: Vec<f64> = (0..values.len())
        .map(|row| columns.iter().zip(&coefficients).map(|(x, b)| x[row] * b).sum())
        .collect();
    let residuals: Vec<f64> = values.iter().zip(&fitted).map(|(y, f)| y - f).collect();
    Ok(LeastSquares {
        residual_ss: residuals.iter().map(|e| e * e).sum(),
        residual_df: values.len() - columns.len(),
        coefficients,
        fitted,
        residuals,
        r,
    })
}

impl LeastSquares {
    /// The variance of errors, without bias; `None` where no degree of freedom is left.
    pub fn error_variance(&self) -> Option<f64> {
        (self.residual_df > 0).then(|| self.residual_ss / self.residual_df as f64)
    }

    /// The variance of `Σ weights · coefficients` in units of the error variance:
    /// wᵀ(XᵀX)⁻¹w. Weights that are left out at the end are 0.
    pub fn unscaled_variance(&self, weights: &[f64]) -> f64 {
        // |R⁻ᵀw|², for XᵀX = RᵀR.
        let mut solved: Vec<f64> = Vec::with_capacity(self.r.len());
        for (at, column) in self.r.iter().enumerate() {
            let known: f64 = column.iter().zip(&solved).map(|(r, s)| r * s).sum();
            let weight = weights.get(at).copied().unwrap_or(0.0);
            solved.push((weight - known) / column[at]);
        }
        solved.iter().map(|s| s * s).sum()
    }
}

fn check(columns: &[Vec<f64>], values: &[f64]) -> Result<(), RegressionError> {
    for (column, found) in columns.iter().enumerate() {
        if found.len() != values.len() {
            return Err(RegressionError::Uneven {
                column,
                found: found.len(),
                expected: values.len(),
            });
        }
    }
    let finite = |numbers: &[f64]| numbers.iter().all(|number| number.is_finite());
    if !finite(values) || !columns.iter().all(|column| finite(column)) {
        return Err(RegressionError::NotFinite);
    }
    if columns.len() > values.len() {
        return Err(RegressionError::TooFew { rows: values.len(), columns: columns.len() });
    }
    Ok(())
}

/// I − βvvᵀ, which turns a vector into its first axis.
struct Reflection {
    v: Vec<f64>,
    beta: f64,
    /// Length of the vector that it was made for.
    length: f64,
}

fn reflect(x: &[f64]) -> Reflection {
    let mut v = x.to_vec();
    let length = length(x);
    // Away from x, so that nothing cancels.
    v[0] += if x[0] < 0.0 { -length } else { length };
    let square: f64 = v.iter().map(|v| v * v).sum();
    let beta = if square > 0.0 { 2.0 / square } else { 0.0 };
    Reflection { v, beta, length }
}

impl Reflection {
    fn apply(&self, x: &mut [f64]) {
        let along: f64 = self.v.iter().zip(x.iter()).map(|(v, x)| v * x).sum();
        let by = self.beta * along;
        for (x, v) in x.iter_mut().zip(&self.v) {
            *x -= by * v;
        }
    }
}

fn length(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn solve_upper(r: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    let mut left = right.to_vec();
    for at in (0..r.len()).rev() {
        left[at] /= r[at][at];
        let found = left[at];
        for (above, entry) in left[..at].iter_mut().zip(&r[at]) {
            *above -= entry * found;
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() <= 1e-9 * expected.abs().max(1.0),
            "{found}, not {expected}"
        );
    }

    /// NIST Statistical Reference Datasets, "Longley": badly conditioned on purpose.
    const LONGLEY: [(f64, [f64; 6]); 16] = [
        (60323.0, [83.0, 234_289.0, 2356.0, 1590.0, 107_608.0, 1947.0]),
        (61122.0, [88.5, 259_426.0, 2325.0, 1456.0, 108_632.0, 1948.0]),
        (60171.0, [88.2, 258_054.0, 3682.0, 1616.0, 109_773.0, 1949.0]),
        (61187.0, [89.5, 284_599.0, 3351.0, 1650.0, 110_929.0, 1950.0]),
        (63221.0, [96.2, 328_975.0, 2099.0, 3099.0, 112_075.0, 1951.0]),
        (63639.0, [98.1, 346_999.0, 1932.0, 3594.0, 113_270.0, 1952.0]),
        (64989.0, [99.0, 365_385.0, 1870.0, 3547.0, 115_094.0, 1953.0]),
        (63761.0, [100.0, 363_112.0, 3578.0, 3350.0, 116_219.0, 1954.0]),
        (66019.0, [101.2, 397_469.0, 2904.0, 3048.0, 117_388.0, 1955.0]),
        (67857.0, [104.6, 419_180.0, 2822.0, 2857.0, 118_734.0, 1956.0]),
        (68169.0, [108.4, 442_769.0, 2936.0, 2798.0, 120_445.0, 1957.0]),
        (66513.0, [110.8, 444_546.0, 4681.0, 2637.0, 121_950.0, 1958.0]),
        (68655.0, [112.6, 482_704.0, 3813.0, 2552.0, 123_366.0, 1959.0]),
        (69564.0, [114.2, 502_601.0, 3931.0, 2514.0, 125_368.0, 1960.0]),
        (69331.0, [115.7, 518_173.0, 4806.0, 2572.0, 127_852.0, 1961.0]),
        (70551.0, [116.9, 554_894.0, 4007.0, 2827.0, 130_081.0, 1962.0]),
    ];

    #[test]
    fn longley_agrees_with_certified_values() {
        let rows = LONGLEY;
        let values: Vec<f64> = rows.iter().map(|(y, _)| *y).collect();
        let mut columns = vec![vec![1.0; rows.len()]];
        columns.extend((0..6).map(|x| rows.iter().map(|(_, xs)| xs[x]).collect::<Vec<_>>()));
        let fit = least_squares(&columns, &values).unwrap();
        let certified = [
            -3_482_258.634_595_82,
            15.061_872_271_373_3,
            -0.358_191_792_925_910E-01,
            -2.020_229_803_816_83,
            -1.033_226_867_173_59,
            -0.511_041_056_535_807E-01,
            1_829.151_464_613_55,
        ];
        for (found, expected) in fit.coefficients.iter().zip(certified) {
            assert!((found / expected - 1.0).abs() < 1e-7, "{found}, {expected}");
        }
        let variance = fit.error_variance().unwrap();
        assert!((variance.sqrt() / 304.854_073_561_965 - 1.0).abs() < 1e-9);
        let of_slope = fit.unscaled_variance(&[0.0, 1.0]) * variance;
        assert!((of_slope.sqrt() / 84.914_925_774_753_8 - 1.0).abs() < 1e-7);
    }

    #[test]
    fn a_line_and_its_variances() {
        let columns = [vec![1.0; 4], vec![0.0, 1.0, 2.0, 3.0]];
        let fit = least_squares(&columns, &[1.0, 3.0, 5.0, 7.0]).unwrap();
        close(fit.coefficients[0], 1.0);
        close(fit.coefficients[1], 2.0);
        // Var b₁ = σ²/Σ(x − x̄)² = σ²/5; at the mean of x the line's variance is σ²/4.
        close(fit.unscaled_variance(&[0.0, 1.0]), 0.2);
        close(fit.unscaled_variance(&[1.0, 1.5]), 0.25);
        assert_eq!(fit.residual_df, 2);
    }

    #[test]
    fn invalid_samples_are_errors() {
        let ones = vec![1.0; 3];
        let fails =
            |columns: &[Vec<f64>], values: &[f64]| least_squares(columns, values).unwrap_err();
        assert_eq!(
            fails(&[ones.clone(), vec![2.0; 3]], &[1.0, 2.0, 3.0]),
            RegressionError::Dependent { column: 1 }
        );
        assert_eq!(
            fails(&[vec![0.0; 3]], &[1.0, 2.0, 3.0]),
            RegressionError::Dependent { column: 0 }
        );
        assert_eq!(
            fails(std::slice::from_ref(&ones), &[1.0, f64::NAN, 3.0]),
            RegressionError::NotFinite
        );
        assert!(matches!(
            fails(std::slice::from_ref(&ones), &[1.0]),
            RegressionError::Uneven { .. }
        ));
        assert!(matches!(fails(&[vec![1.0], vec![2.0]], &[1.0]), RegressionError::TooFew { .. }));
        let saturated = least_squares(&[vec![1.0]], &[5.0]).unwrap();
        assert_eq!(saturated.error_variance(), None);
    }
}
