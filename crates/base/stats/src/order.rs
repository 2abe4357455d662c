//! Numbers in order: their ranks, and the one in the middle.

/// The rank of each number, from 1; equal numbers share the mean of theirs.
pub fn ranks(numbers: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
    let mut ranks = vec![0.0; numbers.len()];
    let mut below = 0;
    for tied in order.chunk_by(|&a, &b| numbers[a] == numbers[b]) {
        let shared = below as f64 + (tied.len() as f64 + 1.0) / 2.0;
        tied.iter().for_each(|&place| ranks[place] = shared);
        below += tied.len();
    }
    ranks
}

/// The median, of an even number the mean of the two in the middle; `None`: there are no numbers.
pub fn median(numbers: &[f64]) -> Option<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

/// The [`median`] of ascending numbers.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    Some(match sorted.len() % 2 {
        0 => f64::midpoint(*sorted.get(middle.checked_sub(1)?)?, sorted[middle]),
        _ => sorted[middle],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_share_their_rank() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
        assert!(ranks(&[]).is_empty());
    }

    #[test]
    fn medians_are_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[4.0]), Some(4.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[9.0, 1.0, 2.0, 4.0]), Some(3.0));
    }
}
