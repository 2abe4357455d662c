//! The place at which a series of numbers settles: truncation by the marginal standard error rule (MSER).
//!
//! White, "An effective truncation heuristic for bias reduction in simulation output" (1997);
//! White, Cobb and Spratt, "A comparison of five steady-state truncation heuristics for simulation"
//! (2000), for batches of five. Of all cuts it takes the one after which the mean is known best: the
//! one with the least Σ(yᵢ − ȳ)²/(n − d)² over what is left of n numbers after the first d.

/// The last batches are never cut to: few numbers are alike by chance. Hoad, Robinson and Davies,
/// "Automating warm-up length estimation" (2010).
pub const BATCHES_LEFT_MIN: usize = 5;
/// Fewer batches say nothing of where a series settles.
pub const BATCHES_MIN: usize = 2 * BATCHES_LEFT_MIN;

/// A cut at the beginning of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncation {
    /// Numbers to leave out at the beginning: the best cut within the first half.
    pub cut: usize,
    /// True where a cut in the second half would be better still: by White's rule the series is too
    /// short to have settled.
    pub is_late: bool,
}

/// MSER on means of `batch` numbers (5: MSER-5). Numbers that fill no batch at the end are left out.
/// `None` where there are fewer than [`BATCHES_MIN`] batches, or a number is not finite.
pub fn mser(values: &[f64], batch: usize) -> Option<Truncation> {
    let batch = batch.max(1);
    let means: Vec<f64> =
        values.chunks_exact(batch).map(|chunk| chunk.iter().sum::<f64>() / batch as f64).collect();
    if means.len() < BATCHES_MIN || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let errors = marginal_errors(&means);
    let half = means.len() / 2;
    let least =
        |range: std::ops::Range<usize>| range.min_by(|&a, &b| errors[a].total_cmp(&errors[b]));
    let cut = least(0..half + 1)?;
    let late = least(half + 1..errors.len());
    Some(Truncation {
        cut: cut * batch,
        is_late: late.is_some_and(|late| errors[late] < errors[cut]),
    })
}

/// By number of batches cut. Sums go from the end, each number updating mean and squares (Welford
/// 1962).
fn marginal_errors(means: &[f64]) -> Vec<f64> {
    let mut errors = vec![0.0; means.len() - BATCHES_LEFT_MIN + 1];
    let mut mean = 0.0;
    let mut squares = 0.0;
    for (left, (cut, &value)) in (1..).zip(means.iter().enumerate().rev()) {
        let left = f64::from(left);
        let delta = value - mean;
        mean += delta / left;
        squares += delta * (value - mean);
        if let Some(error) = errors.get_mut(cut) {
            *error = squares / (left * left);
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn cuts_agree_with_the_definition() {
        let golden: Value =
            serde_json::from_str(include_str!("../../../../testdata/golden/analyze.json")).unwrap();
        let cases = golden["mser"].as_array().unwrap();
        assert!(cases.len() > 5);
        for case in cases {
            let values: Vec<f64> = case["values"]
                .as_array()
                .unwrap()
                .iter()
                .map(|value| value.as_f64().unwrap())
                .collect();
            let batch = case["batch"].as_u64().unwrap() as usize;
            let found = mser(&values, batch).unwrap();
            let expected = Truncation {
                cut: case["cut"].as_u64().unwrap() as usize,
                is_late: case["is_late"].as_bool().unwrap(),
            };
            assert_eq!(found, expected, "{}", case["name"]);
        }
    }

    #[test]
    fn cut_is_at_the_step_and_a_constant_has_none() {
        let flat = mser(&[7.0; 40], 1).unwrap();
        assert_eq!((flat.cut, flat.is_late), (0, false));
        let step: Vec<f64> = (0..60).map(|i| if i < 12 { 50.0 } else { 10.0 }).collect();
        assert_eq!(mser(&step, 1).unwrap().cut, 12);
        assert_eq!(mser(&step, 5).unwrap().cut, 15);
        let late: Vec<f64> = (0..60).map(|i| if i < 45 { 50.0 } else { 10.0 }).collect();
        assert!(mser(&late, 1).unwrap().is_late);
    }

    #[test]
    fn too_little_or_what_is_no_number_has_no_cut() {
        assert_eq!(mser(&[], 5), None);
        assert_eq!(mser(&[1.0; 9], 1), None);
        assert_eq!(mser(&[1.0; 49], 5), None);
        let mut broken = [1.0; 20];
        broken[3] = f64::NAN;
        assert_eq!(mser(&broken, 1), None);
    }
}
