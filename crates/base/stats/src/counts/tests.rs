use super::*;
use crate::rng::{Purpose, Rng};

#[test]
fn too_few_numbers_have_no_result() {
    assert_eq!(dispersion([5].into_iter()), None);
    assert_eq!(dispersion([0, 0, 0].into_iter()), None);
    assert_eq!(two_rows(&[0, 0], &[1, 2]), None);
    assert_eq!(two_rows(&[50], &[20]), None);
    assert_eq!(groups(&[vec![1.0], vec![2.0]]), None);
    assert_eq!(groups(&[vec![1.0, 1.0], vec![1.0]]), None);
}

#[test]
fn even_counts_and_bursts_are_not_poisson() {
    let even = dispersion(std::iter::repeat_n(10, 500)).unwrap();
    assert!(even.index < 1e-9 && even.p < 1e-12);
    let bursts = dispersion((0..500).map(|i| if i % 10 == 0 { 100 } else { 0 })).unwrap();
    assert!(bursts.index > 50.0 && bursts.p < 1e-12);
}

#[test]
fn windows_without_expected_events_are_skipped() {
    let pairs = [(3, 2.0), (1, 2.0), (9, 0.0)];
    let found = about(pairs.into_iter(), 0).unwrap();
    assert_eq!((found.statistic, found.freedom), (1.0, 2.0));
}

#[test]
fn poisson_distribution_agrees_with_tables() {
    // Molina, "Poisson's Exponential Binomial Limit" (1942), to the six digits that it has.
    for (count, mean, expected) in
        [(0, 1.0, 0.367_879), (3, 2.0, 0.857_123), (10, 10.0, 0.583_040), (4, 10.0, 0.029_253)]
    {
        let found = poisson_upto(count, mean);
        assert!((found - expected).abs() < 1e-6, "{found} for {count} of {mean}");
    }
    assert_eq!(poisson_upto(0, 0.0), 1.0);
}

#[test]
fn groups_without_variance_have_a_finite_f() {
    let alike = groups(&[vec![1.0; 4], vec![2.0; 4]]).unwrap();
    assert!(alike.f.is_finite() && alike.p < 1e-12, "{alike:?}");
    assert_eq!(alike.explained, 1.0);
}

/// The users spread over the windows, each in one of them.
fn spread(users: u64, windows: u64, rng: &mut Rng) -> Vec<u64> {
    let mut counts = vec![0; windows as usize];
    for _ in 0..users {
        counts[rng.below(windows) as usize] += 1;
    }
    counts
}

#[test]
fn small_poisson_counts_keep_the_level() {
    const ROUNDS: usize = 1_000;
    for (users, windows) in [(20, 50), (45, 50), (100, 4_000), (400, 1_000)] {
        let mut rng = Rng::new(3, users, Purpose::Arrivals);
        let refused = (0..ROUNDS).filter(|_| {
            let counts = spread(users, windows, &mut rng);
            dispersion(counts.into_iter()).unwrap().p < 0.01
        });
        let refused = refused.count();
        // Of 1,000 at a level of 1 %, 10 ± 3 where each number of pairs were possible.
        assert!(refused <= 18, "{refused} of {users} users in {windows}");
    }
}

#[test]
fn rare_pairs_are_detected() {
    let mut rng = Rng::new(3, 1, Purpose::Arrivals);
    let mut counts = spread(100, 100_000, &mut rng);
    assert!(dispersion(counts.iter().copied()).unwrap().p > 0.05);
    counts[500] += 4;
    assert!(dispersion(counts.into_iter()).unwrap().p < 1e-4);
}

#[test]
fn laplaces_test_is_the_distance_of_the_mean_time_from_the_middle() {
    assert_eq!(laplace(&[9]), None);
    assert_eq!(laplace(&[4, 5]), None);
    let even = laplace(&[7, 7, 7]).unwrap();
    assert!(even.z.abs() < 1e-12 && (even.p - 1.0).abs() < 1e-12, "{even:?}");
    // All ten at 1/4 of the time, whose standard deviation is 1/4 / sqrt(10).
    let early = laplace(&[10, 0]).unwrap();
    assert!((early.z + 10_f64.sqrt()).abs() < 1e-12, "{early:?}");
    assert!((early.p - 0.001_565_402).abs() < 1e-8, "{early:?}");
}
