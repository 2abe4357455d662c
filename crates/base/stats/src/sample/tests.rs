use proptest::prelude::*;

use super::*;

#[test]
fn ranks_quantiles_and_counts_of_a_sample_with_ties() {
    let sample = Sample::new(vec![3.0, 1.0, 2.0, 2.0, 0.0, -0.0]).unwrap();
    assert_eq!(sample.values(), [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(sample.iter().collect::<Vec<_>>(), [(0.0, 2), (1.0, 1), (2.0, 2), (3.0, 1)]);
    let ranks: Vec<f64> = (0..=7).map(|rank| sample.at_rank(rank)).collect();
    assert_eq!(ranks, [0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
    assert_eq!((sample.quantile(0.5), sample.quantile(0.51)), (1.0, 2.0));
    assert_eq!([-1.0, 0.0, 1.5, 9.0].map(|x| sample.count_upto(x)), [0, 2, 3, 6]);
    assert_eq!(sample.mean(), 8.0 / 6.0);
}

#[test]
fn nan_is_an_error() {
    assert_eq!(Sample::new(vec![]), Err(SampleError::Empty));
    assert_eq!(Sample::counted(vec![(1.0, 0)]), Err(SampleError::Empty));
    let nan = Sample::new(vec![1.0, f64::NAN]).unwrap_err();
    assert!(matches!(nan, SampleError::NotFinite { place: 2, .. }));
    assert!(Sample::new(vec![f64::INFINITY]).is_err());
    let many = Sample::counted(vec![(1.0, u64::MAX), (2.0, 1)]);
    assert_eq!(many, Err(SampleError::TooMany));
    assert_eq!(Sample::counted(vec![(1.0, (1 << 53) + 1)]), Err(SampleError::TooMany));
}

#[test]
fn edges_of_a_histogram_enclose_the_recorded_numbers() {
    let mut hist = LogHistogram::new();
    let numbers: Vec<u64> = (1..500).map(|i| i * i * 37).collect();
    numbers.iter().for_each(|&number| hist.record(number));
    let [low, middle, high] = [Edge::Lowest, Edge::Middle, Edge::Highest]
        .map(|edge| Sample::of_histogram(&hist, edge).unwrap());
    let raw = Sample::new(numbers.iter().map(|&x| x as f64).collect()).unwrap();
    for percent in 1..100 {
        let q = f64::from(percent) / 100.0;
        let [low, middle, high, raw] = [&low, &middle, &high, &raw].map(|s| s.quantile(q));
        assert!(low <= raw && raw <= high && low <= middle && middle <= high);
    }
}

proptest! {
    #[test]
    fn counted_and_raw_are_the_same_sample(numbers in prop::collection::vec(0_u8..20, 1..60)) {
        let numbers: Vec<f64> = numbers.into_iter().map(f64::from).collect();
        let pairs = numbers.iter().map(|&number| (number, 1)).collect();
        prop_assert_eq!(Sample::counted(pairs), Sample::new(numbers));
    }

    #[test]
    fn both_walks_see_the_same(a in prop::collection::vec(0_u8..20, 1..60),
                               b in prop::collection::vec(0_u8..20, 1..60)) {
        let [a, b] = [a, b].map(|s| Sample::new(s.into_iter().map(f64::from).collect()).unwrap());
        let mut pair = Vec::new();
        let mut many = Vec::new();
        pooled_pair(&a, &b, |x, a, b| pair.push((x, a, b)));
        pooled(&[&a, &b], |x, upto| many.push((x, upto[0], upto[1])));
        let whole = pair.iter().map(|&(x, _, _)| (x, a.count_upto(x), b.count_upto(x)));
        prop_assert_eq!(whole.collect::<Vec<_>>(), pair.clone());
        prop_assert_eq!(pair, many);
    }
}
