//! How far a percentile of one recording may lie from the true one, whether or not its times depend on each
//! other.
//!
//! Times that follow each other in a queue are alike, and a hundred thousand of them then say no more than
//! some hundred independent ones would. How many follows from *blocks* of consecutive times: the number in
//! each that is at or below the percentile varies more from block to block than a binomial number does. The
//! interval is that of order statistics with this **effective size** in place of the count ([`crate::interval`]):
//! Woodruff, "Confidence intervals for medians and other position measures" (Journal of the American
//! Statistical Association 47, 1952), with the effective size and its degrees of freedom as Korn and
//! Graubard, "Confidence intervals for proportions with small expected number of positive counts estimated
//! from survey data" (Survey Methodology 24, 1998), and dependence in time as Heidelberger and Lewis,
//! "Quantile estimation in dependent sequences" (Operations Research 32, 1984). The longer times depend on each other,
//! the fewer low frequencies show their variance, and the wider is Student's t (Müller 2014, see [`crate::long_run`];
//! the spectrum at frequency zero is that of Heidelberger and Welch, "A spectral method for confidence interval
//! generation and run length control in simulations", Communications of the ACM 24, 1981). Of censored times the size
//! is that of Dorey and Korn, "Effective sample sizes for confidence intervals for survival probabilities"
//! (Statistics in Medicine 6, 1987).
//!
//! A bootstrap of blocks was not chosen: it draws thousands of times what has a formula here, and with the
//! few blocks of a short recording it misses as often as a formula without degrees of freedom.

mod spread;

use crate::censored::{CensoredTimes, Influence, Quantile};
use crate::hist::LogHistogram;
use crate::interval::quantile_ranks;

use spread::Spread;

/// Fewer blocks do not show whether times depend on each other.
pub const BLOCKS_MIN: usize = 10;
/// A recording has to be this many times as long as what its blocks have in common with later ones; in a
/// shorter one the variance is a guess. Up to twice or three times as long, few frequencies make the interval wide.
const SPANS_MIN: f64 = 5.0;
/// A percentile has at most this many times the effective size of the median. In the tail blocks seem
/// independent until the recording holds a long queue.
const MEDIAN_SIZES_MAX: f64 = 5.0;

/// How an interval was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Order statistics of all times, since blocks scatter as those of independent times do.
    Independent,
    /// Order statistics of the effective size.
    Dependent,
}

/// Why an end of an interval is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingEnd {
    /// The percentile itself falls among censored times.
    Censored,
    /// There are fewer than [`BLOCKS_MIN`] blocks.
    Short,
    /// Times depend on each other over too large a part of the recording.
    Dependent,
    /// There are too few times for this percentile.
    Few,
}

/// The confidence interval of a percentile, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// `None` where neither was applied.
    pub method: Option<Method>,
    /// How many independent times would show as much.
    pub size: Option<f64>,
    /// The lower end.
    pub low: Option<u64>,
    /// The upper end; a bound where it falls among censored times.
    pub high: Option<Quantile>,
    /// Why one or both are missing.
    pub missing: Option<MissingEnd>,
}

impl Interval {
    fn missing(why: MissingEnd) -> Interval {
        Interval { method: None, size: None, low: None, high: None, missing: Some(why) }
    }
}

/// The influence of each block's times on the share at or below one time.
#[derive(Debug, Clone)]
pub struct Blocks {
    influence: Influence,
    /// Sum of influences and number of times by block.
    blocks: Vec<(f64, u64)>,
}

impl Blocks {
    /// An empty set of blocks.
    pub fn new(influence: Influence) -> Blocks {
        Blocks { influence, blocks: Vec::new() }
    }

    /// Adds times to a block, those that are known.
    pub fn add_known(&mut self, block: usize, times: &LogHistogram) {
        let sum = self.influence.of_known(times);
        self.add(block, sum, times.count());
    }

    /// Adds times to a block that are censored.
    pub fn add_censored(&mut self, block: usize, times: &LogHistogram) {
        let sum = self.influence.of_censored(times);
        self.add(block, sum, times.count());
    }

    fn add(&mut self, block: usize, sum: f64, count: u64) {
        if self.blocks.len() <= block {
            self.blocks.resize(block + 1, (0.0, 0));
        }
        self.blocks[block].0 += sum;
        self.blocks[block].1 += count;
    }
}

/// The confidence interval of the `q`-quantile of `times`: `blocks` are those at that quantile, `median_blocks` those
/// at the median, which may be left out.
///
/// # Panics
/// If `q` or `confidence` does not lie strictly between 0 and 1.
pub fn interval(
    times: &CensoredTimes,
    q: f64,
    blocks: &Blocks,
    median_blocks: Option<&Blocks>,
    confidence: f64,
) -> Interval {
    if times.quantile(q).is_bound() {
        return Interval::missing(MissingEnd::Censored);
    }
    let Some(spread) = spread_of(blocks) else {
        return Interval::missing(MissingEnd::Short);
    };
    let median = median_blocks.and_then(spread_of);
    let depends = |spread: &Spread| !spread.is_independent;
    if !depends(&spread) && !median.as_ref().is_some_and(depends) {
        return ranked(times, q, spread.size_independent, Method::Independent, confidence);
    }
    let span = median.as_ref().map_or(spread.span, |median| spread.span.max(median.span));
    let mut size = spread.size(span, confidence);
    if let Some(median) = median {
        size = size.min(MEDIAN_SIZES_MAX * median.size(span, confidence));
    }
    if spread.length < SPANS_MIN * span {
        return Interval {
            method: Some(Method::Dependent),
            size: Some(size),
            ..Interval::missing(MissingEnd::Dependent)
        };
    }
    let mut found = ranked(times, q, size, Method::Dependent, confidence);
    let ranks = quantile_ranks(whole(spread.size_independent), q, confidence);
    if found.missing.is_some() && ranks.0.is_some() && ranks.1.is_some() {
        found.missing = Some(MissingEnd::Dependent);
    }
    found
}

fn spread_of(blocks: &Blocks) -> Option<Spread> {
    spread::estimate(&blocks.blocks, &blocks.influence)
}

/// The ends by the ranks of this many independent times.
fn ranked(times: &CensoredTimes, q: f64, size: f64, method: Method, confidence: f64) -> Interval {
    let n = whole(size);
    let (lower, upper) = quantile_ranks(n, q, confidence);
    let at = |rank: u64| times.quantile(rank as f64 / n as f64);
    Interval {
        method: Some(method),
        size: Some(size),
        low: lower.map(|rank| at(rank).value()),
        high: upper.map(at),
        missing: (lower.is_none() || upper.is_none()).then_some(MissingEnd::Few),
    }
}

/// A size as a count; quotients of equal numbers are not always 1 to the last bit.
fn whole(size: f64) -> u64 {
    (size * (1.0 + 1e-12)).floor() as u64
}

#[cfg(test)]
mod tests;
