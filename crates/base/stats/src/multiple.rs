//! p-values of many tests at once.

/// p-values adjusted by Holm, "A simple sequentially rejective multiple test procedure" (1979), in
/// the order of `p`. Rejecting where one is at or below α makes a false rejection anywhere with a
/// probability of at most α, however the tests depend on each other.
///
/// `p` in `0..=1`.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![0.0; p.len()];
    let mut highest = 0.0_f64;
    for (rank, place) in by_size(p).into_iter().enumerate() {
        let factor = (p.len() - rank) as f64;
        highest = highest.max((p[place] * factor).min(1.0));
        adjusted[place] = highest;
    }
    adjusted
}

/// p-values adjusted by Holm's procedure with weights (the same paper, section 3), in the order of `p`: what weighs more
/// is corrected less. With equal weights it is [`holm`]. The weights must not depend on the p-values.
///
/// `p` in `0..=1`; `weights` are positive and as many.
pub fn weighted_holm(p: &[f64], weights: &[f64]) -> Vec<f64> {
    let ratios: Vec<f64> = p.iter().zip(weights).map(|(p, weight)| p / weight).collect();
    let order = by_size(&ratios);
    let mut adjusted = vec![0.0; p.len()];
    let mut highest = 0.0_f64;
    for (rank, &place) in order.iter().enumerate() {
        // Those that are not rejected before this one.
        let left: f64 = order[rank..].iter().map(|&other| weights[other]).sum();
        highest = highest.max((ratios[place] * left).min(1.0));
        adjusted[place] = highest;
    }
    adjusted
}

/// p-values adjusted by Benjamini and Hochberg, "Controlling the false discovery rate" (1995), in
/// the order of `p`. Rejecting where one is at or below α makes the expected share of false ones
/// among the rejections at most α, for tests that are independent or depend positively.
///
/// `p` in `0..=1`.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![0.0; p.len()];
    let mut lowest = 1.0_f64;
    for (rank, place) in by_size(p).into_iter().enumerate().rev() {
        let factor = p.len() as f64 / (rank + 1) as f64;
        lowest = lowest.min(p[place] * factor);
        adjusted[place] = lowest;
    }
    adjusted
}

/// The places of the numbers from the least to the greatest.
fn by_size(p: &[f64]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..p.len()).collect();
    places.sort_by(|&i, &j| p[i].total_cmp(&p[j]));
    places
}
