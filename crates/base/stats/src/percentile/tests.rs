use super::*;
use crate::interval::quantile_interval;
use crate::rng::{Purpose, Rng};

fn merged(blocks: &[LogHistogram]) -> LogHistogram {
    let mut all = LogHistogram::new();
    blocks.iter().for_each(|hist| all.merge(hist));
    all
}

/// The interval of times in blocks, some of them censored.
fn found(known: &[LogHistogram], censored: &[LogHistogram], q: f64) -> Interval {
    let times = CensoredTimes::new(&merged(known), &merged(censored));
    let blocks = |q: f64| {
        let mut blocks = Blocks::new(times.influence(times.quantile(q).value()));
        for (block, hist) in known.iter().enumerate() {
            blocks.add_known(block, hist);
        }
        for (block, hist) in censored.iter().enumerate() {
            blocks.add_censored(block, hist);
        }
        blocks
    };
    interval(&times, q, &blocks(q), Some(&blocks(0.5)), 0.95)
}

/// Blocks of ten numbers below 2,000, each of which has a bucket of its own.
fn uniform(blocks: usize, seed: u64) -> Vec<LogHistogram> {
    let mut rng = Rng::new(seed, 1, Purpose::Value);
    let block = |_| {
        let mut hist = LogHistogram::new();
        (0..10).for_each(|_| hist.record(rng.below(2000)));
        hist
    };
    (0..blocks).map(block).collect()
}

#[test]
fn independent_times_have_the_ranks_of_the_binomial_distribution() {
    let known = uniform(100, 4);
    let all = merged(&known);
    for q in [0.5, 0.9, 0.99] {
        let found = found(&known, &[], q);
        let (low, high) = quantile_interval(1000, q, 0.95).unwrap();
        assert_eq!(found.method, Some(Method::Independent), "{q}");
        assert_eq!(found.size, Some(1000.0));
        assert_eq!(found.low, Some(all.value_at_rank(low)));
        assert_eq!(found.high, Some(Quantile::At(all.value_at_rank(high))));
        assert_eq!(found.missing, None);
    }
}

#[test]
fn too_few_times_have_no_upper_end() {
    let found = found(&uniform(30, 1), &[], 0.99);
    assert_eq!((found.high, found.missing), (None, Some(MissingEnd::Few)));
    assert!(found.low.is_some());
    assert_eq!(quantile_ranks(300, 0.99, 0.95), (Some(293), None));
}

#[test]
fn a_single_second_shows_no_dependence() {
    let one = found(&uniform(1, 1), &[], 0.5);
    assert_eq!(one, Interval::missing(MissingEnd::Short));
    let nine = found(&uniform(9, 1), &[], 0.5);
    assert_eq!(nine, Interval::missing(MissingEnd::Short));
    // Seconds without an operation before the first and after the last show nothing, either.
    let mut padded = vec![LogHistogram::new(); 10];
    padded.extend(uniform(9, 1));
    assert_eq!(found(&padded, &[], 0.5).missing, Some(MissingEnd::Short));
}

#[test]
fn times_that_are_all_the_same_have_an_interval_of_no_width() {
    let mut second = LogHistogram::new();
    second.record_n(700, 50);
    let found = found(&vec![second; 20], &[], 0.95);
    assert_eq!(found.low, Some(700));
    assert_eq!(found.high, Some(Quantile::At(700)));
}

#[test]
fn slow_stretches_make_the_interval_wider_or_leave_none() {
    // Every sixth second is slow; then one stretch of the same number of seconds.
    let second = |is_slow: bool, seed: u64| {
        let mut hist = LogHistogram::new();
        let mut rng = Rng::new(seed, 2, Purpose::Value);
        (0..100).for_each(|_| hist.record(rng.below(900) + if is_slow { 1000 } else { 0 }));
        hist
    };
    let scattered: Vec<_> = (0..120).map(|n| second((n * 7_u64).is_multiple_of(6), n)).collect();
    let found_scattered = found(&scattered, &[], 0.9);
    assert_eq!(found_scattered.method, Some(Method::Dependent));
    let size = found_scattered.size.unwrap();
    assert!(size < 1200.0, "{size}");
    let low = found_scattered.low.unwrap();
    let high = found_scattered.high.unwrap();
    let all = merged(&scattered);
    let (rank_low, rank_high) = quantile_interval(12_000, 0.9, 0.95).unwrap();
    assert!(low < all.value_at_rank(rank_low) && high.value() > all.value_at_rank(rank_high));
    let stretch: Vec<_> = (0..120).map(|n| second((50..70).contains(&n), n)).collect();
    assert_eq!(found(&stretch, &[], 0.9).missing, Some(MissingEnd::Dependent));
}

#[test]
fn an_end_among_censored_times_is_a_bound() {
    // Of 1,000 times 105 are given up at 5,000, after all others have ended.
    let known = uniform(100, 5);
    let given_up = |n: usize| {
        let mut hist = LogHistogram::new();
        hist.record_n(5000, 1 + u64::from(n.is_multiple_of(20)));
        hist
    };
    let censored: Vec<_> = (0..100).map(given_up).collect();
    // 1,105 in all; p90 is at rank 995, its upper rank beyond 1,000.
    let p90 = found(&known, &censored, 0.9);
    assert_eq!(p90.missing, None);
    assert!(p90.low.unwrap() < 2000);
    assert_eq!(p90.high, Some(Quantile::AtLeast(5000)));
    assert_eq!(found(&known, &censored, 0.99).missing, Some(MissingEnd::Censored));
}

/// Given up before the percentile, they say less than those that ended. The size is that of Greenwood's
/// variance: F(1 − F) / Σ-formula.
#[test]
fn censored_times_below_the_percentile_make_the_size_smaller() {
    let known = uniform(100, 5);
    let mut rng = Rng::new(8, 3, Purpose::Value);
    let given_up = |_| {
        let mut hist = LogHistogram::new();
        (0..10).for_each(|_| hist.record(rng.below(2000)));
        hist
    };
    let censored: Vec<_> = (0..100).map(given_up).collect();
    let found = found(&known, &censored, 0.5);
    assert_eq!(found.method, Some(Method::Independent));
    let times = CensoredTimes::new(&merged(&known), &merged(&censored));
    let influence = times.influence(times.quantile(0.5).value());
    let greenwood = influence.variance() / 2000.0;
    let size = influence.share() * (1.0 - influence.share()) / greenwood;
    assert!((found.size.unwrap() / size - 1.0).abs() < 1e-9);
    assert!(size < 1700.0, "{size}");
}

/// Two tests at 5 %, at the median alone.
#[test]
fn independent_times_rarely_seem_dependent() {
    let dependent = (0..400).filter(|&seed| {
        let found = found(&uniform(60, seed), &[], 0.5);
        found.method == Some(Method::Dependent)
    });
    let dependent = dependent.count();
    assert!((15..=55).contains(&dependent), "{dependent}");
}
