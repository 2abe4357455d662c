//! Data of the pictures of arrivals: users over time beside the expected ones, and the distribution of counts beside
//! Poisson's.

use serde::{Deserialize, Serialize};
use stats::counts::poisson_upto;

use super::Counts;
use super::cycle::Cycle;
use super::scales::{FACTORS, WINDOWS_MIN, merged_bins};
use crate::settings::ArrivalProcess;

/// Slots of time, and bars of a histogram, at most.
const SLOTS_MAX: usize = 400;
const BARS_MAX: u64 = 40;

/// Pictures of arrivals.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct Pictures {
    /// A slot's length, seconds.
    pub slot_s: u64,
    /// Users in each slot, from the beginning on.
    pub users: Vec<u64>,
    /// The expected number in each; empty if the process repeats the recording.
    pub expected: Vec<f64>,
    /// The distribution of counts, at each scale with enough windows.
    pub counts: Vec<CountsPicture>,
}

/// The distribution of counts at one scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct CountsPicture {
    /// A window's length, seconds.
    pub window_s: u64,
    /// Bars, by how many users came.
    pub bars: Vec<CountsBar>,
}

/// A bar of the histogram.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct CountsBar {
    /// Minimum number of users.
    pub from: u64,
    /// Maximum number of users, inclusive.
    pub upto: u64,
    /// Windows with such a count.
    pub windows: u64,
    /// Expected number of windows if arrivals are Poisson with one rate.
    pub poisson: f64,
}

pub(super) fn pictures(
    counts: &Counts,
    process: ArrivalProcess,
    cycle: Option<&Cycle>,
) -> Pictures {
    let of_slot = counts.bins.len().div_ceil(SLOTS_MAX).max(1);
    let sum = |bins: &[u32]| bins.iter().map(|&count| u64::from(count)).sum::<u64>();
    let users: Vec<u64> = counts.bins.chunks(of_slot).map(sum).collect();
    let mean = users.iter().sum::<u64>() as f64 / counts.bins.len().max(1) as f64;
    let expected = match (process, cycle) {
        (ArrivalProcess::Trace, _) => Vec::new(),
        (ArrivalProcess::Cycle, Some(cycle)) => (0..counts.bins.len())
            .collect::<Vec<_>>()
            .chunks(of_slot)
            .map(|slot| {
                let rates = slot.iter().map(|&bin| cycle.rate_of(counts, bin));
                rates.sum::<f64>() * counts.bin_s as f64
            })
            .collect(),
        _ => {
            let slots = counts.bins.chunks(of_slot);
            slots.map(|slot| mean * slot.len() as f64).collect()
        }
    };
    let scales = FACTORS.into_iter().filter(|factor| counts.bins.len() / factor >= WINDOWS_MIN);
    Pictures {
        slot_s: of_slot as u64 * counts.bin_s,
        users,
        expected,
        counts: scales.map(|factor| of_counts(counts, factor)).collect(),
    }
}

/// The histogram of one scale, as wide as what was seen.
fn of_counts(counts: &Counts, factor: usize) -> CountsPicture {
    let mut seen: Vec<u64> = merged_bins(&counts.bins, factor).collect();
    seen.sort_unstable();
    let windows = seen.len() as f64;
    let sum = seen.iter().sum::<u64>();
    let mean = sum as f64 / windows;
    let least = seen.first().copied().unwrap_or(0);
    let most = seen.last().copied().unwrap_or(0);
    let width = (most - least + 1).div_ceil(BARS_MAX);
    let upto = |count: u64| match count.checked_sub(1) {
        Some(count) => poisson_upto(count, mean),
        None => 0.0,
    };
    let bars = (0..(most - least + 1).div_ceil(width)).map(|bar| {
        let from = least + bar * width;
        let next = least + (bar + 1) * width;
        let place = |count: u64| seen.partition_point(|&one| one < count);
        CountsBar {
            from,
            upto: next - 1,
            windows: (place(next) - place(from)) as u64,
            poisson: windows * (upto(next) - upto(from)),
        }
    });
    CountsPicture { window_s: counts.bin_s * factor as u64, bars: bars.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(bins: Vec<u32>) -> Counts {
        Counts { bins, bin_s: 1, local_s: 0 }
    }

    #[test]
    fn pictures_count_every_user() {
        let bins: Vec<u32> = (0..1_003).map(|second| second % 7).collect();
        let users: u64 = bins.iter().map(|&count| u64::from(count)).sum();
        let drawn = pictures(&counts(bins), ArrivalProcess::Poisson, None);
        assert_eq!((drawn.slot_s, drawn.users.len()), (3, 335));
        assert_eq!(drawn.users.iter().sum::<u64>(), users);
        let expected: f64 = drawn.expected.iter().sum();
        assert!((expected - users as f64).abs() < 1e-6);
        let windows: Vec<u64> = drawn.counts.iter().map(|scale| scale.window_s).collect();
        assert_eq!(windows, [1, 10]);
        let [seconds, tens] = [&drawn.counts[0].bars, &drawn.counts[1].bars];
        assert_eq!(seconds.iter().map(|bar| bar.windows).sum::<u64>(), 1_003);
        assert_eq!(tens.iter().map(|bar| bar.windows).sum::<u64>(), 100);
        assert_eq!((seconds[6].from, seconds[6].upto), (6, 6));
    }

    #[test]
    fn bars_show_expected_poisson_counts() {
        // Half of the seconds have two users, half none: the mean is 1.
        let bins: Vec<u32> = (0..1_000).map(|second| second % 2 * 2).collect();
        let drawn = pictures(&counts(bins), ArrivalProcess::Trace, None);
        assert!(drawn.expected.is_empty(), "a recording expects nothing");
        let bars = &drawn.counts[0].bars;
        let seen: Vec<u64> = bars.iter().map(|bar| bar.windows).collect();
        assert_eq!(seen, [500, 0, 500]);
        // e⁻¹, e⁻¹ and e⁻¹ / 2 of 1,000.
        for (bar, expected) in bars.iter().zip([367.879, 367.879, 183.940]) {
            assert!((bar.poisson - expected).abs() < 1e-3, "{bar:?}");
        }
    }

    #[test]
    fn wide_counts_share_bars() {
        let bins: Vec<u32> = (0..400).collect();
        let drawn = pictures(&counts(bins), ArrivalProcess::Poisson, None);
        let bars = &drawn.counts[0].bars;
        assert_eq!((bars.len(), bars[0].upto, bars[39].upto), (40, 9, 399));
    }
}
