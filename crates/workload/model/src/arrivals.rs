//! How users arrive: counts at several scales, what they depend on, and which process they are.

mod cycle;
mod hurst;
mod pictures;
mod scales;
mod silences;

pub(crate) use cycle::Hours;
pub use cycle::{Break, Cycle, DaysTest, NoCycle};
pub use hurst::{Hurst, HurstEstimate, HurstHidden};
pub use pictures::{CountsBar, CountsPicture, Pictures};
pub use scales::Scale;
pub(crate) use silences::end_before_stragglers;
pub use silences::{Silence, Stragglers};

use serde::{Deserialize, Serialize};
use stats::counts;
use stats::rng::{Purpose, Rng};
use stats::serial::independence;

use crate::durations::Durations;
use crate::settings::ArrivalProcess;

/// Longest series in counts: half a year of seconds.
pub(crate) const COUNTS_MAX: u64 = 183 * 86_400;
/// The level of tests that decide.
const ALPHA: f64 = 0.01;
/// Expected users of a window of rescaled time.
const WINDOW_USERS: f64 = 10.0;
/// An index of dispersion this near to 1 is that of a Poisson process for any purpose of a load test.
const INDEX_NEAR: (f64, f64) = (0.9, 1.1);
/// Maximum number of bins of a trace.
pub(crate) const TRACE_BINS_MAX: usize = 2_000_000;

/// Counts of users, or requests, one after the other.
#[derive(Debug, Clone)]
pub(crate) struct Counts {
    /// Users in each bin.
    pub(crate) bins: Vec<u32>,
    /// A bin's length.
    pub(crate) bin_s: u64,
    /// The wall clock's time at the beginning of the first bin: seconds since 1970 by that clock.
    pub(crate) local_s: i64,
}

/// The shortest bins of a recording of this length that are not too many, and of which hours are made.
pub(crate) fn bin_s(span_s: u64) -> u64 {
    let least = span_s.div_ceil(COUNTS_MAX).max(1);
    let of_hour = (least..=3_600).find(|bin_s| 3_600 % bin_s == 0);
    of_hour.unwrap_or(least.next_multiple_of(3_600))
}

/// How users arrive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct Arrivals {
    /// How many.
    pub users: u64,
    /// Length of the recording, seconds.
    pub span_s: f64,
    /// Users per second, over all of it.
    pub rate_per_s: f64,
    /// The rate's 95 % interval, for a Poisson process: too narrow if there are bursts.
    pub rate_low: f64,
    /// Upper bound.
    pub rate_high: f64,
    /// Users in all bins but the first and the last, which have somebody by definition: those between are
    /// as many as a Poisson process brings in that time.
    pub between_users: u64,
    /// How long the bins between are together, seconds.
    pub between_s: f64,
    /// A bin of the finest counts, seconds.
    pub bin_s: u64,
    /// The clock on the wall at the beginning, as seconds since 1970.
    pub local_s: i64,
    /// Users by the hour of the day.
    pub by_hour: Vec<u64>,
    /// Counts at 1, 10, 100 and 1,000 bins.
    pub scales: Vec<Scale>,
    /// Whether the rate rises or falls; missing for few users.
    #[serde(default)]
    pub trend: Option<Trend>,
    /// The day and the week.
    pub cycle: Option<Cycle>,
    /// Why there is no cycle, if there is none.
    #[serde(default)]
    pub no_cycle: Option<NoCycle>,
    /// Counts in windows of equal expected users, time rescaled by the cycle: of a Poisson process whose
    /// rate is the cycle's they are Poisson.
    pub rescaled: Option<RescaledCounts>,
    /// Self-similarity.
    pub hurst: Option<Hurst>,
    /// Stretches without anybody that the rate does not explain, the longest first.
    pub silences: Vec<Silence>,
    /// The share of all time that such stretches take.
    pub silent_share: f64,
    /// Users that came long after all others, who are not counted here; missing: there are none.
    #[serde(default)]
    pub stragglers: Option<Stragglers>,
    /// Times between arrivals.
    pub gaps: Option<Durations>,
    /// The process in the scenario.
    pub process: ArrivalProcess,
    /// It was requested, not found.
    pub process_requested: bool,
    /// A cycle was requested, and there is none.
    #[serde(default)]
    pub cycle_requested: bool,
    /// The process is not rejected.
    pub process_fits: bool,
    /// Bin length of the trace, if the process is one, seconds.
    pub trace_bin_s: u64,
    /// Points that pictures are drawn from.
    #[serde(default)]
    pub pictures: Pictures,
}

/// Laplace's test of a trend.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct Trend {
    /// The users' mean time after the middle of the recording, in standard deviations: above 0 where they
    /// become more.
    pub z: f64,
    /// P(as far either way), arrivals being Poisson with one rate.
    pub p: f64,
}

/// Counts after the cycle has been taken out of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct RescaledCounts {
    /// Windows.
    pub windows: u64,
    /// Variance over mean; 1 for Poisson.
    pub index: f64,
    /// P(as far from 1).
    pub p: f64,
    /// Ljung's and Box's test of dependence over ten windows: P(as great).
    pub p_dependence: f64,
}

impl Arrivals {
    /// Whether any test rejects a Poisson process of one rate.
    pub(crate) fn poisson_rejected(&self) -> bool {
        rejects_poisson(&self.scales, self.trend)
    }

    /// The hours of the cycle, where there is one.
    pub(crate) fn hours(&self) -> Option<Hours<'_>> {
        let cycle = self.cycle.as_ref()?;
        Some(Hours::new(cycle, self.rate_per_s))
    }
}

/// Analyses counts, and gaps if there are any.
pub(crate) fn analyse(
    counts: &Counts,
    gaps: Option<Durations>,
    requested: Option<ArrivalProcess>,
    seed: u64,
) -> Arrivals {
    let users: u64 = counts.bins.iter().map(|&count| u64::from(count)).sum();
    let span_s = (counts.bins.len() as u64 * counts.bin_s) as f64;
    let (silences, silent_share) = silences::silences(counts);
    let found = cycle::find(counts, &silences, seed);
    let (cycle, no_cycle) = match found {
        Ok(cycle) => (Some(cycle), None),
        Err(why) => (None, Some(why)),
    };
    let rescaled = cycle.as_ref().and_then(|cycle| rescaled(counts, cycle, &silences, seed));
    let scales = scales::scales(counts, seed);
    let hurst = hurst::hurst(counts, cycle.as_ref());
    let between = between(&counts.bins);
    let trend = counts::laplace(between).map(|counts::Trend { z, p }| Trend { z, p });
    let poisson = !scales.is_empty() && !rejects_poisson(&scales, trend);
    let follows = rescaled.as_ref().is_some_and(|rescaled| {
        rescaled.p >= ALPHA || (INDEX_NEAR.0..=INDEX_NEAR.1).contains(&rescaled.index)
    });
    let found = match (poisson, follows) {
        (true, _) => ArrivalProcess::Poisson,
        (false, true) => ArrivalProcess::Cycle,
        (false, false) => ArrivalProcess::Trace,
    };
    let cycle_requested = requested == Some(ArrivalProcess::Cycle) && cycle.is_none();
    let requested = requested.filter(|_| !cycle_requested);
    let process = requested.unwrap_or(found);
    let process_fits = match process {
        ArrivalProcess::Poisson => poisson,
        ArrivalProcess::Cycle => poisson || follows,
        ArrivalProcess::Trace => true,
    };
    let (rate_low, rate_high) = rate_interval(users, span_s);
    let pictures = pictures::pictures(counts, process, cycle.as_ref());
    Arrivals {
        users,
        span_s,
        rate_per_s: users as f64 / span_s,
        rate_low,
        rate_high,
        between_users: between.iter().map(|&count| u64::from(count)).sum(),
        between_s: (between.len() as u64 * counts.bin_s) as f64,
        bin_s: counts.bin_s,
        local_s: counts.local_s,
        by_hour: by_hour(counts),
        scales,
        trend,
        cycle,
        no_cycle,
        rescaled,
        hurst,
        silences,
        silent_share,
        stragglers: None,
        gaps,
        process,
        process_requested: requested.is_some(),
        cycle_requested,
        process_fits,
        trace_bin_s: counts.bin_s * (counts.bins.len().div_ceil(TRACE_BINS_MAX) as u64).max(1),
        pictures,
    }
}

/// All bins but the first and the last, of which only a part need have been recorded.
fn between(bins: &[u32]) -> &[u32] {
    bins.get(1..bins.len().saturating_sub(1)).unwrap_or_default()
}

fn by_hour(counts: &Counts) -> Vec<u64> {
    let mut hours = vec![0; 24];
    for (bin, &count) in counts.bins.iter().enumerate().filter(|(_, count)| **count > 0) {
        // A bin of several hours is spread over them evenly.
        let begin_s = bin as u64 * counts.bin_s;
        let bin_s = counts.bin_s;
        let upto = |second: u64| u64::from(count) * second / bin_s;
        let mut from_s = 0;
        while from_s < bin_s {
            let local_s = counts.local_s + (begin_s + from_s) as i64;
            let left_s = 3600 - local_s.rem_euclid(3600) as u64;
            let next_s = (from_s + left_s).min(bin_s);
            hours[local_s.div_euclid(3600).rem_euclid(24) as usize] += upto(next_s) - upto(from_s);
            from_s = next_s;
        }
    }
    hours
}

/// The 95 % interval of a Poisson process's rate (Garwood 1936, by Wilson's and Hilferty's root).
fn rate_interval(users: u64, span_s: f64) -> (f64, f64) {
    const Z: f64 = 1.959_963_984_540_054;
    let bound = |n: f64, z: f64| n * (1.0 - 1.0 / (9.0 * n) + z / (3.0 * n.sqrt())).powi(3);
    let n = users as f64;
    let low = if users == 0 { 0.0 } else { bound(n, -Z) };
    (low / span_s, bound(n + 1.0, Z) / span_s)
}

/// Whether a scale's dispersion, a scale's dependence or the trend rejects Poisson, at a level shared among all.
fn rejects_poisson(scales: &[Scale], trend: Option<Trend>) -> bool {
    let all = scales.iter().flat_map(Scale::deciding);
    let all: Vec<f64> = all.chain(trend.map(|trend| trend.p)).collect();
    let level = ALPHA / all.len().max(1) as f64;
    all.iter().any(|&p| p < level)
}

/// The dispersion in windows in each of which the cycle expects ten users.
fn rescaled(
    counts: &Counts,
    cycle: &Cycle,
    silences: &[Silence],
    seed: u64,
) -> Option<RescaledCounts> {
    let mut seen = 0;
    let mut expected = 0.0;
    let mut windows = Vec::new();
    for (bin, &count) in counts.bins.iter().enumerate() {
        let Some(rate) = cycle.rate_at(counts, bin, silences) else {
            continue;
        };
        seen += u64::from(count);
        expected += rate * counts.bin_s as f64;
        if expected >= WINDOW_USERS {
            windows.push((seen, expected));
            (seen, expected) = (0, 0.0);
        }
    }
    let found = counts::about(windows.iter().copied(), cycle.fitted())?;
    let residuals: Vec<f64> = windows
        .iter()
        .map(|&(seen, expected)| (seen as f64 - expected) / expected.sqrt())
        .collect();
    let mut rng = Rng::new(seed, 0, Purpose::Resample);
    let p_dependence = independence(&residuals, &mut rng).map_or(1.0, |found| found.p);
    Some(RescaledCounts {
        windows: windows.len() as u64,
        index: found.index,
        p: found.p,
        p_dependence,
    })
}

#[cfg(test)]
mod tests;
