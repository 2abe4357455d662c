//! A log-linear histogram of whole numbers: three significant digits, pages made on first use.
//!
//! The buckets are those of HdrHistogram (Tene, <https://hdrhistogram.org>) with lowest
//! discernible value 1 and three significant digits: numbers below 2048 each have a bucket of
//! their own; above, each octave is cut into 1024 equal buckets, so a bucket is never wider than
//! 1/1024 of its numbers. All of `u64` is covered. While few buckets count, they are in a list; then
//! in pages of 256, made when the first number falls into them.

mod pages;
mod serialized;

use pages::Pages;

/// Buckets in an octave.
const OCTAVE: usize = 1024;
const OCTAVE_BITS: u32 = OCTAVE.trailing_zeros();
/// Two octaves' worth of single numbers, then 53 octaves up to 2⁶⁴.
const BUCKETS: usize = (64 - OCTAVE_BITS as usize + 1) * OCTAVE;
const _: () = assert!(BUCKETS <= u16::MAX as usize, "a bucket's number fits");
/// Most buckets in a list: it then takes as much as a page.
const FEW_MAX: usize = 128;

/// A histogram of `u64`, exact in count, sum, least and greatest, and within 0.1 % in quantiles.
///
/// Below 100 bytes while empty, and 16 bytes for each of the first 128 buckets. With more of them, 2 KiB for each page
/// touched: a quarter of an octave.
#[derive(Clone)]
pub struct LogHistogram {
    counters: Counters,
    count: u64,
    sum: u128,
    /// `u64::MAX` while empty.
    min: u64,
    max: u64,
}

/// How often each bucket counted.
#[derive(Clone)]
enum Counters {
    /// Numbers of buckets and their counts, from the least.
    Few(Vec<(u16, u64)>),
    Paged(Box<Pages>),
}

impl LogHistogram {
    /// An empty one.
    pub fn new() -> LogHistogram {
        LogHistogram {
            counters: Counters::Few(Vec::new()),
            count: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
        }
    }

    /// Counts `value` once.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    /// Counts `value` `n` times.
    #[inline]
    pub fn record_n(&mut self, value: u64, n: u64) {
        if n == 0 {
            return;
        }
        self.add(bucket_of(value), n);
        self.count += n;
        self.sum += u128::from(value) * u128::from(n);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds all that the other one counted, as if it had been recorded here.
    pub fn merge(&mut self, other: &LogHistogram) {
        match &other.counters {
            Counters::Few(few) => {
                for &(bucket, count) in few {
                    self.add(usize::from(bucket), count);
                }
            }
            Counters::Paged(pages) => self.pages().merge(pages),
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Forgets all numbers and keeps the pages, to record the like again without allocating.
    pub fn clear(&mut self) {
        match &mut self.counters {
            Counters::Few(few) => few.clear(),
            Counters::Paged(pages) => pages.clear(),
        }
        (self.count, self.sum, self.min, self.max) = (0, 0, u64::MAX, 0);
    }

    /// The number at or below which a share `q` of all recorded numbers lies: the one of rank
    /// ⌈`q` · count⌉ (at least 1), given as the greatest number of its bucket but never above
    /// [`max`](Self::max). Never below the exact quantile, and at most 1/1024 above it.
    /// `q` is cut to `0..=1`; 0 gives [`min`](Self::min). 0 where nothing was recorded.
    pub fn quantile(&self, q: f64) -> u64 {
        if q <= 0.0 {
            return self.min();
        }
        self.value_at_rank(crate::interval::quantile_rank(self.count, q))
    }

    /// The number of this rank (1: the least) among those recorded, as [`quantile`](Self::quantile)
    /// gives it. A rank above the count gives the greatest.
    pub fn value_at_rank(&self, rank: u64) -> u64 {
        let rank = rank.max(1);
        let bucket = match &self.counters {
            Counters::Few(few) => {
                let mut below = 0;
                let reached = few.iter().find(|&&(_, count)| {
                    below += count;
                    below >= rank
                });
                reached.map(|&(bucket, _)| usize::from(bucket))
            }
            Counters::Paged(pages) => pages.bucket_at_rank(rank),
        };
        bucket.map_or(self.max, |bucket| bounds_of(bucket).1.min(self.max))
    }

    /// How many numbers lie in the bucket of `value` or below it.
    pub fn count_at_most(&self, value: u64) -> u64 {
        let bucket = bucket_of(value);
        match &self.counters {
            Counters::Few(few) => {
                let below = few.iter().take_while(|&&(few, _)| usize::from(few) <= bucket);
                below.map(|&(_, count)| count).sum()
            }
            Counters::Paged(pages) => pages.count_at_most(bucket),
        }
    }

    /// The arithmetic mean, exact up to the rounding of the division; 0 where nothing was recorded.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// How many numbers were recorded.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of the recorded numbers.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The least of them; 0 where nothing was recorded.
    pub fn min(&self) -> u64 {
        if self.count == 0 { 0 } else { self.min }
    }

    /// The greatest of them; 0 where nothing was recorded.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// True where nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The buckets that counted something, from the least: (lowest number, highest number, count).
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let (few, pages) = match &self.counters {
            Counters::Few(few) => (few.as_slice(), None),
            Counters::Paged(pages) => (&[][..], Some(pages)),
        };
        let few = few.iter().map(|&(bucket, n)| (usize::from(bucket), n));
        let paged = pages.into_iter().flat_map(|pages| pages.iter());
        few.chain(paged).map(|(bucket, count)| {
            let (lowest, highest) = bounds_of(bucket);
            (lowest, highest, count)
        })
    }

    /// Adds to the counter of a bucket.
    #[inline]
    fn add(&mut self, bucket: usize, n: u64) {
        match &mut self.counters {
            Counters::Few(_) => self.add_to_few(bucket, n),
            Counters::Paged(pages) => pages.add(bucket, n),
        }
    }

    #[inline(never)]
    fn add_to_few(&mut self, bucket: usize, n: u64) {
        if let Counters::Few(few) = &mut self.counters {
            let number = bucket as u16;
            match few.binary_search_by_key(&number, |&(few, _)| few) {
                Ok(at) => return few[at].1 += n,
                Err(at) if few.len() < FEW_MAX => return few.insert(at, (number, n)),
                Err(_) => {}
            }
        }
        self.pages().add(bucket, n);
    }

    /// The counters, in pages from now on.
    fn pages(&mut self) -> &mut Pages {
        if let Counters::Few(few) = &self.counters {
            let mut pages = Box::new(Pages::new());
            for &(bucket, count) in few {
                pages.add(usize::from(bucket), count);
            }
            self.counters = Counters::Paged(pages);
        }
        match &mut self.counters {
            Counters::Paged(pages) => pages,
            Counters::Few(_) => unreachable!("they were put into pages"),
        }
    }
}

impl Default for LogHistogram {
    fn default() -> LogHistogram {
        LogHistogram::new()
    }
}

impl PartialEq for LogHistogram {
    /// Equal where the same was recorded, whatever pages exist.
    fn eq(&self, other: &LogHistogram) -> bool {
        (self.count, self.sum, self.min, self.max) == (other.count, other.sum, other.min, other.max)
            && self.iter().eq(other.iter())
    }
}

impl Eq for LogHistogram {}

impl std::fmt::Debug for LogHistogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogHistogram")
            .field("count", &self.count)
            .field("min", &self.min())
            .field("p50", &self.quantile(0.5))
            .field("p99", &self.quantile(0.99))
            .field("max", &self.max)
            .finish()
    }
}

/// The bucket that counts this number.
#[inline]
fn bucket_of(value: u64) -> usize {
    // The octave is 0 for all numbers below 2 · OCTAVE, which are their own bucket.
    let octave = (63 - OCTAVE_BITS) - (value | (2 * OCTAVE as u64 - 1)).leading_zeros();
    octave as usize * OCTAVE + (value >> octave) as usize
}

/// The least and the greatest number of this bucket.
fn bounds_of(bucket: usize) -> (u64, u64) {
    let octave = (bucket / OCTAVE).saturating_sub(1);
    let lowest = ((bucket - octave * OCTAVE) as u64) << octave;
    (lowest, lowest + ((1 << octave) - 1))
}

#[cfg(test)]
mod tests;
