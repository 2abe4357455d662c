//! A histogram as bytes: what it counted, bucket by bucket, so that it can be merged elsewhere as if
//! it had been recorded there.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{BUCKETS, LogHistogram, bounds_of, bucket_of};

/// The form of a [`LogHistogram`] in any serde format. Empty buckets are left out.
#[derive(Serialize, Deserialize)]
struct HistogramForm {
    sum: u128,
    min: u64,
    max: u64,
    /// Number of the bucket and its count, from the least.
    buckets: Vec<(u16, u64)>,
}

impl Serialize for LogHistogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let buckets = self.iter();
        let buckets = buckets.map(|(lowest, _, count)| (bucket_of(lowest) as u16, count));
        HistogramForm { sum: self.sum, min: self.min(), max: self.max, buckets: buckets.collect() }
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for LogHistogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LogHistogram, D::Error> {
        let form = HistogramForm::deserialize(deserializer)?;
        restored(&form).ok_or_else(|| D::Error::custom("no histogram counts like this"))
    }
}

/// The histogram of a serialized form; `None` if no histogram has that form.
fn restored(form: &HistogramForm) -> Option<LogHistogram> {
    let mut hist = LogHistogram::new();
    let ([(first, _), ..], [.., (last, _)]) = (&form.buckets[..], &form.buckets[..]) else {
        return ((form.sum, form.min, form.max) == (0, 0, 0)).then_some(hist);
    };
    if bucket_of(form.min) != usize::from(*first) || bucket_of(form.max) != usize::from(*last) {
        return None;
    }
    let mut before = None;
    let mut sum_min = 0_u128;
    let mut sum_max = 0_u128;
    for &(bucket, count) in &form.buckets {
        let number = usize::from(bucket);
        if number >= BUCKETS || count == 0 || before.is_some_and(|before| before >= bucket) {
            return None;
        }
        before = Some(bucket);
        hist.count = hist.count.checked_add(count)?;
        hist.add(number, count);
        // All counts together fit 64 bits, and so does each number: their products fit.
        let (lowest, highest) = bounds_of(number);
        sum_min += u128::from(lowest) * u128::from(count);
        sum_max += u128::from(highest) * u128::from(count);
    }
    if form.min > form.max || form.sum < sum_min || form.sum > sum_max {
        return None;
    }
    (hist.sum, hist.min, hist.max) = (form.sum, form.min, form.max);
    Some(hist)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn there_and_back(hist: &LogHistogram) -> LogHistogram {
        let bytes = postcard::to_stdvec(hist).unwrap();
        postcard::from_bytes(&bytes).unwrap()
    }

    proptest! {
        #[test]
        fn a_histogram_comes_back_as_it_was(values: Vec<u64>) {
            let mut hist = LogHistogram::new();
            values.iter().for_each(|&value| hist.record(value));
            let back = there_and_back(&hist);
            prop_assert_eq!(&back, &hist);
            prop_assert_eq!(back.quantile(0.9), hist.quantile(0.9));
        }

        /// Whatever is accepted can be merged and queried.
        #[test]
        fn rubbish_is_refused_or_consistent(bytes: Vec<u8>) {
            if let Ok(hist) = postcard::from_bytes::<LogHistogram>(&bytes) {
                prop_assert_eq!(there_and_back(&hist), hist);
            }
        }
    }

    #[test]
    fn impossible_forms_are_rejected() {
        let form = |sum, min, max, buckets: &[(u16, u64)]| {
            let buckets = buckets.to_vec();
            restored(&HistogramForm { sum, min, max, buckets }).is_some()
        };
        assert!(form(12, 3, 5, &[(3, 1), (4, 1), (5, 1)]));
        assert!(!form(12, 3, 5, &[(4, 1), (3, 1), (5, 1)]), "order");
        assert!(!form(7, 3, 4, &[(3, 1), (3, 1), (4, 1)]), "twice");
        assert!(!form(13, 3, 5, &[(3, 1), (4, 1), (5, 1)]), "sum");
        assert!(!form(12, 2, 5, &[(3, 1), (4, 1), (5, 1)]), "min");
        assert!(!form(12, 3, 6, &[(3, 1), (4, 1), (5, 1)]), "max");
        assert!(!form(3, 3, 3, &[(3, 0)]), "empty bucket");
        assert!(!form(0, 0, 0, &[(60_000, 1)]), "no such bucket");
        assert!(!form(0, 0, 1, &[(0, u64::MAX), (1, 1)]), "too many");
        assert!(!form(1, 0, 0, &[]), "nothing with a sum");
    }
}
