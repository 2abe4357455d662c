//! Which users are whose.

use engine::schedule::share::{Share, region_loops};
use plan::Region;
use proptest::prelude::*;

fn regions(shares: &[f64]) -> Vec<Region> {
    let regions = shares
        .iter()
        .enumerate()
        .map(|(number, &share)| Region { name: number.to_string(), share });
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
    fn parts_of_a_share_have_each_of_its_users_once(
        shares in prop::collection::vec(0.1f64..100.0, 0..4),
        loops in 4_u32..9,
        parts in 1_u32..7,
        user in any::<u32>(),
    ) {
        let regions = regions(&shares);
        let user = u64::from(user);
        for index in 0..loops {
            let whole = Share::of_loop(index, loops, &regions);
            let own = (0..parts).map(|part| whole.part(part, parts));
            let takers: Vec<Share> = own.filter(|part| part.takes(user)).collect();
            prop_assert_eq!(takers.len(), usize::from(whole.takes(user)));
            for part in takers {
                // A part has parts as well.
                let again = (0..3).filter(|&third| part.part(third, 3).takes(user));
                prop_assert_eq!(again.count(), 1);
            }
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
