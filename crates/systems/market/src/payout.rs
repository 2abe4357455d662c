//! Sharing a pool out, to the last cent.

use super::transactions::StoreError;
use crate::bus::model::{Outcome, Shares};

/// Payouts in the order of `stakes`: the winners share the whole pool in proportion to their stakes on
/// `outcome`; if there are no winners, everyone gets the stake back.
///
/// # Errors
/// When `pool` and `stakes`, two books of the same money, disagree.
pub(crate) fn pay_out(
    stakes: &[Shares],
    pool: Shares,
    outcome: Outcome,
) -> Result<Vec<u64>, StoreError> {
    let paid: Vec<u64> = if pool.on(outcome) == 0 {
        stakes.iter().map(Shares::total).collect()
    } else {
        let winning: Vec<u64> = stakes.iter().map(|stakes| stakes.on(outcome)).collect();
        share_out(pool.total(), &winning)
    };
    let total = pool.total();
    let out = paid.iter().sum();
    if total == out { Ok(paid) } else { Err(StoreError::Unbalanced { total, out }) }
}

/// Splits `total` in proportion to `stakes`; the parts add up to `total` exactly.
///
/// Every stake first gets its share rounded down. The cents left over, fewer than there are
/// stakes, go one each to those whose share lost most by the rounding (the method of the largest
/// remainder), the earlier stake first among equals.
///
/// The parts of `stakes` that add up to nothing get nothing: then the result is all zeros, and
/// the caller has to refund instead.
fn share_out(total: u64, stakes: &[u64]) -> Vec<u64> {
    let sum: u128 = stakes.iter().map(|&stake| u128::from(stake)).sum();
    if sum == 0 {
        return vec![0; stakes.len()];
    }
    let exact = |stake: u64| u128::from(total) * u128::from(stake);
    let mut parts: Vec<u64> = stakes
        .iter()
        .map(|&stake| u64::try_from(exact(stake) / sum).expect("a part is at most the total"))
        .collect();
    let left = usize::try_from(total - parts.iter().sum::<u64>())
        .expect("fewer cents are left over than there are stakes");
    if left > 0 {
        let mut order: Vec<usize> = (0..stakes.len()).collect();
        let lost_most = |&at: &usize| (std::cmp::Reverse(exact(stakes[at]) % sum), at);
        order.select_nth_unstable_by_key(left - 1, lost_most);
        for &at in &order[..left] {
            parts[at] += 1;
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(share_out(100, &[1, 1, 1]), [34, 33, 33]);
        assert_eq!(share_out(10, &[1, 2, 3]), [2, 3, 5]);
        assert_eq!(share_out(7, &[5]), [7]);
        assert_eq!(share_out(7, &[0, 5]), [0, 7]);
        assert_eq!(share_out(7, &[0, 0]), [0, 0]);
        assert_eq!(share_out(7, &[]), [0; 0]);
        assert_eq!(share_out(u64::MAX, &[u64::MAX, u64::MAX]), [1 << 63, (1 << 63) - 1]);
    }

    proptest! {
        #[test]
        fn nothing_is_made_or_lost(
            extra in 0_u64..1_000_000,
            stakes in prop::collection::vec(0_u64..10_000, 1..50),
        ) {
            let sum: u64 = stakes.iter().sum();
            let total = sum + extra;
            let parts = share_out(total, &stakes);
            prop_assert_eq!(parts.iter().sum::<u64>(), if sum == 0 { 0 } else { total });
            for (&stake, &part) in stakes.iter().zip(&parts) {
                // Within a cent of the exact share, and a winner never loses.
                if sum > 0 {
                    let exact = total as f64 * stake as f64 / sum as f64;
                    prop_assert!((part as f64 - exact).abs() < 1.0 + 1e-6);
                }
                prop_assert!(sum == 0 || part >= stake);
            }
        }
    }
}
