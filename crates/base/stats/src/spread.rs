//! Whether two groups of numbers scatter alike: the test of Brown and Forsythe.

use crate::permute::two_sample_t;
use crate::student;

/// How two groups scatter, and how sure the difference is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Mean distance of the first group's numbers from their median.
    pub first: f64,
    /// Mean distance of the second group's numbers from their median.
    pub second: f64,
    /// Student's t of the distances; positive if the second group scatters more.
    pub t: f64,
    /// The two-sided p-value of t.
    pub p: f64,
}

/// Brown and Forsythe, "Robust tests for the equality of variances", JASA 69 (1974): Student's test of the distances from
/// each group's median, for two groups. It does not take the numbers for normal, and rejects rather too rarely if groups
/// are small. `floor` is added to the standard error as in [`two_sample_t`].
///
/// `None` of fewer than two numbers on either side.
pub fn brown_forsythe(first: &[f64], second: &[f64], floor: f64) -> Option<Spread> {
    if first.len() < 2 || second.len() < 2 {
        return None;
    }
    let distances = [first, second].map(distances_from_median);
    let values = distances.concat();
    let is_second: Vec<bool> = (0..values.len()).map(|place| place >= first.len()).collect();
    let t = two_sample_t(&values, &is_second, floor);
    let degrees = (values.len() - 2) as f64;
    let [first, second] = distances.map(|distances| crate::mean::mean(&distances));
    Some(Spread { first, second, t, p: student::two_sided_p(t, degrees) })
}

fn distances_from_median(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let median = match sorted.len() % 2 {
        0 => (sorted[middle - 1] + sorted[middle]) / 2.0,
        _ => sorted[middle],
    };
    values.iter().map(|value| (value - median).abs()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f64; 10] = [8.88, 9.12, 9.04, 8.98, 9.00, 9.08, 9.01, 8.85, 9.06, 8.99];
    const B: [f64; 10] = [8.88, 8.95, 9.29, 9.44, 9.15, 9.58, 8.36, 9.18, 8.67, 9.05];

    /// The medians are 9.005 and 9.1; the distances from them sum up to 0.61 and 2.73, their squares to 0.06365 and 1.1969.
    /// The p-value is Student's density with 18 degrees of freedom, integrated by Simpson's rule in Python.
    #[test]
    fn distances_and_t_are_those_worked_out_by_hand() {
        let found = brown_forsythe(&A, &B, 0.0).unwrap();
        assert!((found.first - 0.061).abs() < 1e-12, "{found:?}");
        assert!((found.second - 0.273).abs() < 1e-12, "{found:?}");
        assert!((found.t - 2.90884416).abs() < 1e-8, "{found:?}");
        assert!((found.p - 0.00936473772).abs() < 1e-8, "{found:?}");
    }

    #[test]
    fn groups_without_scatter_are_alike() {
        let found = brown_forsythe(&[1.0; 8], &[2.0; 8], 0.001).unwrap();
        assert_eq!((found.first, found.second, found.t, found.p), (0.0, 0.0, 0.0, 1.0));
        assert_eq!(brown_forsythe(&[1.0], &[1.0, 2.0], 0.0), None);
    }
}
