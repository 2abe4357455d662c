use proptest::collection::vec;
use proptest::prelude::*;

use super::pages::PAGE;
use super::*;

fn recorded(values: &[u64]) -> LogHistogram {
    let mut histogram = LogHistogram::new();
    values.iter().for_each(|&value| histogram.record(value));
    histogram
}

/// Numbers of every magnitude alike.
fn any_value() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0_u32..64).prop_map(|(bits, shift)| bits >> shift)
}

#[test]
fn buckets_cover_everything_without_gap() {
    let mut expected = 0;
    let mut bucket = 0;
    loop {
        let (lowest, highest) = bounds_of(bucket);
        assert_eq!((lowest, bucket_of(lowest), bucket_of(highest)), (expected, bucket, bucket));
        let Some(next) = highest.checked_add(1) else {
            break;
        };
        (expected, bucket) = (next, bucket + 1);
    }
    assert_eq!(bucket + 1, BUCKETS);
}

#[test]
fn counts_below_are_those_of_the_buckets() {
    let values = [0, 1, 255, 256, 2047, 2048, 2049, 70_000, 1 << 40];
    let histogram = recorded(&values);
    for at in [0, 1, 254, 255, 2048, 2049, 69_000, 70_000, 1 << 41, u64::MAX] {
        let by_bucket = histogram.iter().filter(|&(lowest, ..)| lowest <= at);
        let expected: u64 = by_bucket.map(|(.., count)| count).sum();
        assert_eq!(histogram.count_at_most(at), expected, "{at}");
    }
}

/// The edges that HdrHistogram has with three digits: single numbers below 2048, then pairs.
#[test]
fn buckets_are_those_of_hdrhistogram() {
    for (value, bounds) in [
        (2047, (2047, 2047)),
        (2048, (2048, 2049)),
        (4095, (4094, 4095)),
        (4096, (4096, 4099)),
        (10_007, (10_000, 10_007)),
    ] {
        assert_eq!(bounds_of(bucket_of(value)), bounds);
    }
}

fn pages(histogram: &LogHistogram) -> usize {
    match &histogram.counters {
        Counters::Few(_) => 0,
        Counters::Paged(pages) => pages.counters.len(),
    }
}

#[test]
fn sizes_are_kept() {
    assert!(size_of::<LogHistogram>() < 100);
    let histogram = recorded(&(1_000_000..1_100_000).collect::<Vec<_>>());
    assert!(pages(&histogram) * size_of::<[u64; PAGE]>() <= 4096);
}

#[test]
fn few_buckets_need_no_pages() {
    let powers: Vec<u64> = (0..60).map(|n| 1 << n).collect();
    let mut histogram = recorded(&powers);
    histogram.merge(&histogram.clone());
    assert_eq!(pages(&histogram), 0);
    let more = recorded(&(0..FEW_MAX as u64).map(|n| n * 1_000_000).collect::<Vec<_>>());
    assert_eq!(pages(&more), 0);
    histogram.merge(&more);
    assert!(pages(&histogram) > 60);
}

#[test]
fn empty_one_answers_zero() {
    let empty = LogHistogram::new();
    assert!(empty.is_empty());
    assert_eq!((empty.quantile(0.5), empty.min(), empty.max(), empty.mean()), (0, 0, 0, 0.0));
    assert_eq!(empty.iter().count(), 0);
}

#[test]
fn greatest_numbers_are_accepted() {
    let mut histogram = recorded(&[u64::MAX, u64::MAX, 0]);
    histogram.record_n(7, 0);
    assert_eq!((histogram.count(), histogram.min(), histogram.max()), (3, 0, u64::MAX));
    assert_eq!(histogram.sum(), 2 * u128::from(u64::MAX));
    assert_eq!(histogram.quantile(1.0), u64::MAX);
}

#[test]
fn clear_forgets_and_keeps_pages() {
    let mut histogram = recorded(&(0..=2 * FEW_MAX as u64).collect::<Vec<_>>());
    let made = pages(&histogram);
    assert!(made > 1);
    histogram.clear();
    assert_eq!(histogram, LogHistogram::new());
    assert_eq!(pages(&histogram), made);
}

proptest! {
    #[test]
    fn quantiles_agree_with_the_sorted_values(
        values in vec(any_value(), 1..400), q in 0.0..=1.0_f64,
    ) {
        let histogram = recorded(&values);
        let mut sorted = values;
        sorted.sort_unstable();
        let rank = ((q * sorted.len() as f64).ceil() as usize).max(1);
        let exact = sorted[rank - 1];
        let estimate = histogram.quantile(q);
        prop_assert!(estimate >= exact, "{estimate} is below {exact}");
        prop_assert!(estimate - exact <= exact / 1024, "{estimate} is too far above {exact}");
        prop_assert_eq!(histogram.min(), sorted[0]);
        prop_assert_eq!(histogram.max(), sorted[sorted.len() - 1]);
        prop_assert_eq!(histogram.sum(), sorted.iter().map(|&value| u128::from(value)).sum());
    }

    #[test]
    fn merging_is_recording_together(
        left in vec(any_value(), 0..300), right in vec(any_value(), 0..300),
    ) {
        let mut merged = recorded(&left);
        merged.merge(&recorded(&right));
        let together: Vec<u64> = left.into_iter().chain(right).collect();
        prop_assert_eq!(merged, recorded(&together));
    }

    #[test]
    fn buckets_hold_what_they_count(value in any_value(), n in 1_u64..1_000_000) {
        let mut histogram = LogHistogram::new();
        histogram.record_n(value, n);
        let buckets: Vec<_> = histogram.iter().collect();
        prop_assert_eq!(buckets.len(), 1);
        let (lowest, highest, count) = buckets[0];
        prop_assert!(lowest <= value && value <= highest && count == n);
    }
}
