//! Numbers that a statistic can be computed of.

/// The greatest magnitude of a number in a statistic. Its square is finite, and so are sums of squares of as many
/// numbers as there can be.
pub const MAGNITUDE_MAX: f64 = 1e100;

/// Whether a number is finite, and so are the squares that statistics are made of.
pub fn is_measurable(x: f64) -> bool {
    x.abs() <= MAGNITUDE_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_whose_squares_overflow_are_none() {
        assert!([0.0, -1e100, 1e100, 5e-324].into_iter().all(is_measurable));
        assert!(![f64::NAN, f64::INFINITY, -1e200, 1.1e100].into_iter().any(is_measurable));
    }
}
