//! Which users are whose.
//!
//! Without regions, users are dealt to the loops in turn. With regions, a user's number is a place on a circle, and each
//! loop owns an arc of it: the regions divide the circle by their shares, and the loops of a region its part evenly.
//! Consecutive numbers are a golden section of the circle apart, so that they fall evenly into any arc (Knuth, The Art
//! of Computer Programming 3, §6.4, theorem S): shares hold to within a few users at any moment of a run. A user's
//! region depends on its number and the shares alone, not on the number of loops.

use plan::Region;

/// The circle's length.
const CIRCLE: u64 = 1 << 32;
/// The circle divided by the golden ratio, made odd: each place is that of one number in every 2³².
const STEP: u64 = 0x9E37_79B1;

/// Which users are this shard's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// The shard's number.
    pub index: u32,
    /// How many there are; at least 1.
    pub of: u32,
    users: Users,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Users {
    /// Those whose number leaves `index` when divided by `of`.
    InTurn,
    /// Those whose place is in this part of the circle.
    Arc { from: u64, until: u64 },
}

/// The loops of one region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegionLoops {
    /// The number of the first.
    pub first: u32,
    /// At least 1.
    pub count: u32,
    from: u64,
    until: u64,
}

impl Share {
    /// One of several equal shares.
    pub fn new(index: u32, of: u32) -> Share {
        Share {
            index,
            of,
            users: Users::InTurn,
        }
    }

    /// That of a loop of a run with these regions, which has `of` loops: at least as many as regions.
    pub fn of_loop(index: u32, of: u32, regions: &[Region]) -> Share {
        let loops = region_loops(regions, of);
        let own = loops
            .iter()
            .rfind(|loops| loops.first <= index)
            .map_or(Users::InTurn, |loops| loops.part(index - loops.first));
        Share {
            users: own,
            ..Share::new(index, of)
        }
    }

    /// Whether this user is the shard's.
    pub fn takes(self, user: u64) -> bool {
        match self.users {
            Users::InTurn => user % u64::from(self.of) == u64::from(self.index),
            Users::Arc { from, until } => (from..until).contains(&place(user)),
        }
    }

    /// How many users from this one on are others' before one is this shard's; at most `max`.
    pub(crate) fn gap(self, user: u64, max: u64) -> u64 {
        match self.users {
            Users::InTurn => {
                let (index, of) = (u64::from(self.index), u64::from(self.of));
                ((index + of - user % of) % of).min(max)
            }
            Users::Arc { .. } => {
                let own = (0..max).find(|ahead| self.takes(user.wrapping_add(*ahead)));
                own.unwrap_or(max)
            }
        }
    }

    /// How many of `users_count` users are this shard's, rounded up; with regions it may be a few more.
    pub fn portion(self, users_count: u64) -> u64 {
        match self.users {
            Users::InTurn => users_count.div_ceil(u64::from(self.of)),
            Users::Arc { from, until } => {
                let width = u128::from(until - from);
                let portion = (u128::from(users_count) * width).div_ceil(u128::from(CIRCLE));
                u64::try_from(portion).unwrap_or(u64::MAX)
            }
        }
    }
}

impl RegionLoops {
    /// The part of the region's loop of this number, from 0.
    fn part(&self, number: u32) -> Users {
        let width = self.until - self.from;
        let end = |number: u32| self.from + width * u64::from(number) / u64::from(self.count);
        Users::Arc {
            from: end(number),
            until: end(number + 1),
        }
    }
}

/// The user's place on the circle.
fn place(user: u64) -> u64 {
    user.wrapping_mul(STEP) % CIRCLE
}

/// Divides the circle and the loops among regions: a loop each, and of the others as many as its share, the largest
/// remainders first. There are at least as many loops as regions, or the last regions have loops that do not exist.
pub fn region_loops(regions: &[Region], loops_count: u32) -> Vec<RegionLoops> {
    let total: f64 = regions.iter().map(|region| region.share).sum();
    let others = loops_count.saturating_sub(regions.len() as u32);
    let quotas: Vec<f64> = regions
        .iter()
        .map(|region| region.share / total * f64::from(others))
        .collect();
    let mut counts: Vec<u32> = quotas.iter().map(|quota| quota.floor() as u32).collect();
    let mut by_remainder: Vec<usize> = (0..regions.len()).collect();
    by_remainder.sort_by(|&a, &b| quotas[b].fract().total_cmp(&quotas[a].fract()));
    let left = others.saturating_sub(counts.iter().sum()) as usize;
    for &region in by_remainder.iter().take(left) {
        counts[region] += 1;
    }
    let (mut first, mut from, mut share) = (0, 0, 0.0);
    let mut all = Vec::with_capacity(regions.len());
    for (number, (region, others)) in regions.iter().zip(counts).enumerate() {
        share += region.share;
        let is_last = number + 1 == regions.len();
        let until = match is_last {
            true => CIRCLE,
            false => ((share / total * CIRCLE as f64).round() as u64).clamp(from, CIRCLE),
        };
        let count = others + 1;
        all.push(RegionLoops {
            first,
            count,
            from,
            until,
        });
        (first, from) = (first + count, until);
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn regions(shares: &[f64]) -> Vec<Region> {
        let regions = shares.iter().enumerate().map(|(number, &share)| Region {
            name: number.to_string(),
            share,
        });
        regions.collect()
    }

    fn shares(of: u32, regions: &[Region]) -> Vec<Share> {
        let all = (0..of).map(|index| Share::of_loop(index, of, regions));
        all.collect()
    }

    /// The region of a user by way of its loop.
    fn region_of(user: u64, of: u32, regions: &[Region]) -> Vec<usize> {
        let loops = region_loops(regions, of);
        let own = shares(of, regions);
        let takers = own.iter().filter(|share| share.takes(user));
        let region = |share: &Share| loops.iter().rposition(|l| l.first <= share.index);
        takers.filter_map(region).collect()
    }

    #[test]
    fn without_regions_users_go_round() {
        let share = Share::of_loop(1, 3, &[]);
        assert_eq!(share, Share::new(1, 3));
        assert_eq!((share.gap(2, 9), share.gap(2, 1)), (2, 1));
        assert_eq!(share.portion(10), 4);
    }

    #[test]
    fn each_region_has_a_loop_and_the_largest_share_most_of_them() {
        let loops = |shares: &[f64], of| {
            let loops = region_loops(&regions(shares), of);
            let pairs = loops.iter().map(|loops| (loops.first, loops.count));
            pairs.collect::<Vec<_>>()
        };
        assert_eq!(loops(&[65.0, 20.0, 15.0], 3), [(0, 1), (1, 1), (2, 1)]);
        assert_eq!(loops(&[65.0, 20.0, 15.0], 4), [(0, 2), (2, 1), (3, 1)]);
        // Of seven others 4.55, 1.4 and 1.05.
        assert_eq!(loops(&[65.0, 20.0, 15.0], 10), [(0, 6), (6, 2), (8, 2)]);
        assert_eq!(loops(&[1e-9, 1e9], 5), [(0, 1), (1, 4)]);
        assert_eq!(loops(&[3.0], 2), [(0, 2)]);
    }

    #[test]
    fn a_region_that_gets_nobody_does_not_hang() {
        let regions = regions(&[1e-12, 1.0]);
        let share = Share::of_loop(0, 2, &regions);
        assert_eq!(share.gap(0, 100_000), 100_000);
    }

    /// The distance is that of the worst of all moments, of a million users.
    #[test]
    fn shares_hold_to_within_a_few_users_at_any_moment() {
        let written = [65.0, 20.0, 9.0, 5.0, 1.0];
        let regions = regions(&written);
        let own = shares(5, &regions);
        let mut counts = [0_u64; 5];
        let mut worst = 0.0_f64;
        for user in 0..1_000_000_u64 {
            let region = own.iter().position(|share| share.takes(user)).unwrap();
            counts[region] += 1;
            for (count, share) in counts.iter().zip(written) {
                let expected = share / 100.0 * (user + 1) as f64;
                worst = worst.max((*count as f64 - expected).abs());
            }
        }
        assert!(worst < 4.0, "{worst}");
    }

    proptest! {
        #[test]
        fn every_user_is_one_loops_and_its_region_does_not_depend_on_their_number(
            shares in prop::collection::vec(0.01f64..1000.0, 1..12),
            others in 0_u32..40,
            users in prop::collection::vec(any::<u64>(), 1..50),
        ) {
            let regions = regions(&shares);
            let fewest = shares.len() as u32;
            for user in users {
                let one = region_of(user, fewest, &regions);
                prop_assert_eq!(one.len(), 1);
                prop_assert_eq!(one, region_of(user, fewest + others, &regions));
            }
        }

        #[test]
        fn a_gap_ends_at_the_next_own_user(
            shares in prop::collection::vec(0.1f64..100.0, 1..8),
            others in 0_u32..8,
            user in any::<u32>(),
        ) {
            let regions = regions(&shares);
            let of = shares.len() as u32 + others;
            for index in 0..of {
                let share = Share::of_loop(index, of, &regions);
                let user = u64::from(user);
                let gap = share.gap(user, 1_000);
                prop_assert!((user..user + gap).all(|user| !share.takes(user)));
                prop_assert!(gap == 1_000 || share.takes(user + gap));
            }
        }
    }
}
