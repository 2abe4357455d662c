use super::*;

#[test]
fn nothing_is_said_of_too_little() {
    assert_eq!(dispersion([5].into_iter()), None);
    assert_eq!(dispersion([0, 0, 0].into_iter()), None);
    assert_eq!(two_rows(&[0, 0], &[1, 2]), None);
    assert_eq!(two_rows(&[50], &[20]), None);
    assert_eq!(groups(&[vec![1.0], vec![2.0]]), None);
    assert_eq!(groups(&[vec![1.0, 1.0], vec![1.0]]), None);
}

#[test]
fn even_counts_and_bursts_are_both_far_from_poisson() {
    let even = dispersion(std::iter::repeat_n(10, 500)).unwrap();
    assert!(even.index < 1e-9 && even.p < 1e-12);
    let bursts = dispersion((0..500).map(|i| if i % 10 == 0 { 100 } else { 0 })).unwrap();
    assert!(bursts.index > 50.0 && bursts.p < 1e-12);
}

#[test]
fn windows_in_which_nothing_is_expected_do_not_count() {
    let pairs = [(3, 2.0), (1, 2.0), (9, 0.0)];
    let found = about(pairs.into_iter(), 0).unwrap();
    assert_eq!((found.statistic, found.freedom), (1.0, 2.0));
}

#[test]
fn poissons_distribution_is_that_of_the_tables() {
    // Molina, "Poisson's Exponential Binomial Limit" (1942), to the six digits that it has.
    for (count, mean, expected) in [
        (0, 1.0, 0.367_879),
        (3, 2.0, 0.857_123),
        (10, 10.0, 0.583_040),
        (4, 10.0, 0.029_253),
    ] {
        let found = poisson_upto(count, mean);
        assert!(
            (found - expected).abs() < 1e-6,
            "{found} for {count} of {mean}"
        );
    }
    assert_eq!(poisson_upto(0, 0.0), 1.0);
}
