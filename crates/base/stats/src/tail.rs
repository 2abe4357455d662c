//! Tails and quantiles of the distributions that tests and intervals compare with.
//!
//! This file alone calls the distributions of statrs, which panic or search without an end where they are
//! given what they were not made for. Here such an argument gives NaN: one that is NaN itself, no
//! probability, or no number of degrees of freedom.

use std::ops::RangeInclusive;

use statrs::distribution::{ChiSquared, ContinuousCDF, FisherSnedecor, Normal, StudentsT};

/// Degrees of freedom that the distributions are computed for. Student's t with more is the normal
/// distribution to ten digits.
const DEGREES: RangeInclusive<f64> = 0.5..=1e10;
/// More degrees of freedom than the search of statrs for a quantile of Student's t ends with.
const SEARCHED_DEGREES_MAX: f64 = 1e4;
/// Quantiles of less than this are those of 0: the search of statrs squares probabilities.
const PROBABILITY_MIN: f64 = 1e-100;

/// P(Z > `z`) of a standard normal number.
pub(crate) fn normal_above(z: f64) -> f64 {
    Normal::standard().sf(z)
}

/// P(Z ≤ `z`) of a standard normal number.
pub(crate) fn normal_below(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// The standard normal number that is not exceeded with probability `p`.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    if is_probability(p) { Normal::standard().inverse_cdf(p) } else { f64::NAN }
}

/// P(T > `t`) of Student's t.
pub(crate) fn student_above(t: f64, degrees: f64) -> f64 {
    if degrees > *DEGREES.end() {
        return normal_above(t);
    }
    if t.is_nan() || !DEGREES.contains(&degrees) {
        return f64::NAN;
    }
    let student = StudentsT::new(0.0, 1.0, degrees);
    student.map_or(f64::NAN, |student| student.sf(t).clamp(0.0, 1.0))
}

/// Student's t that is not exceeded with probability `p`. With many degrees of freedom it is that of the first terms of the
/// expansion of Cornish and Fisher (Abramowitz and Stegun 1964, 26.7.5), right to eleven digits.
pub(crate) fn student_quantile(p: f64, degrees: f64) -> f64 {
    if !is_probability(p) || degrees.is_nan() || degrees < *DEGREES.start() {
        return f64::NAN;
    }
    if degrees > SEARCHED_DEGREES_MAX {
        let z = normal_quantile(searchable(p));
        let first = (z.powi(3) + z) / 4.0;
        let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
        return z + first / degrees + second / degrees / degrees;
    }
    let student = StudentsT::new(0.0, 1.0, degrees);
    student.map_or(f64::NAN, |student| student.inverse_cdf(searchable(p)))
}

/// P(F > `f`) of Fisher's F, a ratio of mean squares with these degrees of freedom.
pub(crate) fn fisher_above(f: f64, above: f64, below: f64) -> f64 {
    if f.is_nan() || !DEGREES.contains(&above) || !DEGREES.contains(&below) {
        return f64::NAN;
    }
    // The product with the degrees of freedom is finite, too.
    let f = f.clamp(0.0, f64::MAX / DEGREES.end());
    let fisher = FisherSnedecor::new(above, below);
    fisher.map_or(f64::NAN, |fisher| fisher.sf(f).clamp(0.0, 1.0))
}

/// Fisher's F that is not exceeded with probability `p`.
pub(crate) fn fisher_quantile(p: f64, above: f64, below: f64) -> f64 {
    if !is_probability(p) || !DEGREES.contains(&above) || !DEGREES.contains(&below) {
        return f64::NAN;
    }
    let fisher = FisherSnedecor::new(above, below);
    fisher.map_or(f64::NAN, |fisher| fisher.inverse_cdf(searchable(p)))
}

/// P(χ² > `x`).
pub(crate) fn chi_squared_above(x: f64, degrees: f64) -> f64 {
    if x.is_nan() || !DEGREES.contains(&degrees) {
        return f64::NAN;
    }
    // Half of the least number there is would be none.
    if x < f64::MIN_POSITIVE {
        return 1.0;
    }
    let chi_squared = ChiSquared::new(degrees);
    chi_squared.map_or(f64::NAN, |chi_squared| chi_squared.sf(x).clamp(0.0, 1.0))
}

/// χ² that is not exceeded with probability `p`.
pub(crate) fn chi_squared_quantile(p: f64, degrees: f64) -> f64 {
    if !is_probability(p) || !DEGREES.contains(&degrees) {
        return f64::NAN;
    }
    let chi_squared = ChiSquared::new(degrees);
    chi_squared.map_or(f64::NAN, |chi_squared| chi_squared.inverse_cdf(searchable(p)))
}

fn is_probability(p: f64) -> bool {
    (0.0..=1.0).contains(&p)
}

fn searchable(p: f64) -> f64 {
    if p < PROBABILITY_MIN { 0.0 } else { p }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers at the ends of what there is.
    const EXTREMES: [f64; 13] = [
        f64::NAN,
        f64::NEG_INFINITY,
        f64::MIN,
        -1.0,
        -1e-308,
        0.0,
        5e-324,
        1e-308,
        0.5,
        1.0,
        1e200,
        f64::MAX,
        f64::INFINITY,
    ];

    #[test]
    fn tails_of_any_numbers_are_probabilities_or_nan() {
        let is_sound = |p: f64| p.is_nan() || is_probability(p);
        for x in EXTREMES {
            assert!(is_sound(normal_above(x)) && is_sound(normal_below(x)), "{x}");
            for degrees in EXTREMES {
                assert!(is_sound(student_above(x, degrees)), "{x} {degrees}");
                assert!(is_sound(chi_squared_above(x, degrees)), "{x} {degrees}");
                for below in EXTREMES {
                    assert!(is_sound(fisher_above(x, degrees, below)), "{x} {degrees} {below}");
                }
            }
        }
    }

    #[test]
    fn quantiles_of_any_numbers_end() {
        for p in EXTREMES {
            let is_nan = !is_probability(p);
            assert!(!is_nan || normal_quantile(p).is_nan(), "{p}");
            for degrees in EXTREMES {
                assert!(!is_nan || student_quantile(p, degrees).is_nan(), "{p} {degrees}");
                assert!(!is_nan || chi_squared_quantile(p, degrees).is_nan(), "{p} {degrees}");
                for below in EXTREMES {
                    let found = fisher_quantile(p, degrees, below);
                    assert!(!is_nan || found.is_nan(), "{p} {degrees} {below}");
                }
            }
        }
    }

    /// Of SciPy 1.16.
    #[test]
    fn students_t_of_many_degrees_is_nearly_normal() {
        for (p, degrees, expected) in [
            (0.975, 1e4, 1.960_201_239_890_626),
            (0.975, 1.5e4, 1.960_122_148_500_602_6),
            (0.0005, 1.5e4, -3.291_175_496_365_293),
            (0.975, 1e6, 1.959_966_356_814_107),
            (0.0005, 1e10, -3.290_526_732_464_868),
        ] {
            let found = student_quantile(p, degrees);
            assert!((found - expected).abs() < 1e-9, "{p} {degrees}: {found}");
        }
        assert!((student_above(2.0, 1e10) - student_above(2.0, 1e11)).abs() < 1e-8);
    }
}
