//! A histogram as bytes: what it counted, bucket by bucket, so that it can be merged elsewhere as if
//! it had been recorded there.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{BUCKETS, LogHistogram, PAGE, bounds_of, bucket_of};

/// The form of a [`LogHistogram`] in any serde format. Empty buckets are left out.
#[derive(Serialize, Deserialize)]
struct Told {
    sum: u128,
    min: u64,
    max: u64,
    /// Number of the bucket and its count, from the least.
    buckets: Vec<(u16, u64)>,
}

const _: () = assert!(BUCKETS <= u16::MAX as usize, "a bucket's number fits");

impl Serialize for LogHistogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let buckets = self.iter();
        let buckets = buckets.map(|(lowest, _, count)| (bucket_of(lowest) as u16, count));
        Told {
            sum: self.sum,
            min: self.min(),
            max: self.max,
            buckets: buckets.collect(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for LogHistogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LogHistogram, D::Error> {
        let told = Told::deserialize(deserializer)?;
        restored(&told).ok_or_else(|| D::Error::custom("no histogram counts like this"))
    }
}

/// The histogram that was told; `None` where none could have told so.
fn restored(told: &Told) -> Option<LogHistogram> {
    let mut hist = LogHistogram::new();
    let ([(first, _), ..], [.., (last, _)]) = (&told.buckets[..], &told.buckets[..]) else {
        return ((told.sum, told.min, told.max) == (0, 0, 0)).then_some(hist);
    };
    if bucket_of(told.min) != usize::from(*first) || bucket_of(told.max) != usize::from(*last) {
        return None;
    }
    let mut before = None;
    let (mut sum_min, mut sum_max) = (0_u128, 0_u128);
    for &(bucket, count) in &told.buckets {
        let number = usize::from(bucket);
        if number >= BUCKETS || count == 0 || before.is_some_and(|before| before >= bucket) {
            return None;
        }
        before = Some(bucket);
        hist.count = hist.count.checked_add(count)?;
        hist.page(number / PAGE)[number % PAGE] = count;
        // All counts together fit 64 bits, and so does each number: their products fit.
        let (lowest, highest) = bounds_of(number);
        sum_min += u128::from(lowest) * u128::from(count);
        sum_max += u128::from(highest) * u128::from(count);
    }
    if told.min > told.max || told.sum < sum_min || told.sum > sum_max {
        return None;
    }
    (hist.sum, hist.min, hist.max) = (told.sum, told.min, told.max);
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

        /// Whatever is made of it can be added up and asked.
        #[test]
        fn rubbish_is_refused_or_consistent(bytes: Vec<u8>) {
            if let Ok(hist) = postcard::from_bytes::<LogHistogram>(&bytes) {
                prop_assert_eq!(there_and_back(&hist), hist);
            }
        }
    }

    #[test]
    fn what_no_histogram_could_have_told_is_refused() {
        let told = |sum, min, max, buckets: &[(u16, u64)]| {
            let buckets = buckets.to_vec();
            restored(&Told {
                sum,
                min,
                max,
                buckets,
            })
            .is_some()
        };
        assert!(told(12, 3, 5, &[(3, 1), (4, 1), (5, 1)]));
        assert!(!told(12, 3, 5, &[(4, 1), (3, 1), (5, 1)]), "order");
        assert!(!told(7, 3, 4, &[(3, 1), (3, 1), (4, 1)]), "twice");
        assert!(!told(13, 3, 5, &[(3, 1), (4, 1), (5, 1)]), "sum");
        assert!(!told(12, 2, 5, &[(3, 1), (4, 1), (5, 1)]), "min");
        assert!(!told(12, 3, 6, &[(3, 1), (4, 1), (5, 1)]), "max");
        assert!(!told(3, 3, 3, &[(3, 0)]), "empty bucket");
        assert!(!told(0, 0, 0, &[(60_000, 1)]), "no such bucket");
        assert!(!told(0, 0, 1, &[(0, u64::MAX), (1, 1)]), "too many");
        assert!(!told(1, 0, 0, &[]), "nothing with a sum");
    }
}
