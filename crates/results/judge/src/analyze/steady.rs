//! The warm-up of a run: the time until its throughput and responses settle.

use serde::Serialize;
use stats::mean::{SeriesMean, mean};
use stats::steady::mser;

use super::seconds::Seconds;

/// Least number of seconds that are combined in batches of five (MSER-5). In shorter series each second is a batch: its
/// mean is one of many operations already.
const FIVES_FROM: usize = 100;
/// Least difference between the means before and after a cut, in standard errors, with which the cut is made.
const SIGMAS: f64 = 3.0;
/// Series with fewer seconds in which something ended, as a share of all, are skipped: a handshake
/// that is made once has no steady state.
const COVERAGE_MIN: f64 = 0.5;

/// The warm-up: the beginning of a run, which figures leave out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WarmUp {
    /// Length of the warm-up, from the start of the analysis.
    pub cut_ns: u64,
    /// True if the user gave the length; else it was detected.
    pub is_given: bool,
    /// The warm-up that each series by itself would have.
    pub series: Vec<SettlingTime>,
}

/// The time at which one series settles.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SettlingTime {
    /// `throughput`, or the name of a measure whose mean response it is.
    pub name: String,
    /// Time until it settles, from the start of the analysis.
    pub cut_ns: u64,
    /// True if by White's rule the series has not settled by half time, and the halves of what remains after the cut
    /// differ.
    pub is_late: bool,
}

/// The warm-up: the longest that any series needs, or the one given.
pub(super) fn warm_up(seconds: &Seconds, given_ns: Option<u64>) -> WarmUp {
    let series: Vec<SettlingTime> = all(seconds)
        .into_iter()
        .filter_map(|(name, points)| settling_time(seconds, name, &points))
        .collect();
    let found_ns = series.iter().map(|one| one.cut_ns).max().unwrap_or(0);
    WarmUp { cut_ns: given_ns.unwrap_or(found_ns), is_given: given_ns.is_some(), series }
}

/// Values by slot: throughput, then the mean response of each measure.
fn all(seconds: &Seconds) -> Vec<(String, Vec<(usize, f64)>)> {
    let throughput = |(place, slot): (usize, &super::seconds::Slot)| {
        (place, main_succeeded(seconds, place) as f64 / slot.seconds())
    };
    let mut all =
        vec![("throughput".to_owned(), seconds.slots.iter().enumerate().map(throughput).collect())];
    for (measure, cells) in seconds.info.measures.iter().zip(&seconds.cells) {
        let means = cells.iter().enumerate();
        let points = means.filter_map(|(place, cell)| Some((place, cell.mean_ns()?)));
        all.push((measure.name.clone(), points.collect()));
    }
    all
}

/// Requests and handshakes that succeeded in a slot.
pub(super) fn main_succeeded(seconds: &Seconds, place: usize) -> u64 {
    let measures = (0..seconds.cells.len()).filter(|&measure| seconds.is_main(measure));
    measures.map(|measure| seconds.cells[measure][place].count).sum()
}

fn settling_time(seconds: &Seconds, name: String, points: &[(usize, f64)]) -> Option<SettlingTime> {
    if (points.len() as f64) < COVERAGE_MIN * seconds.slots.len() as f64 {
        return None;
    }
    let values: Vec<f64> = points.iter().map(|point| point.1).collect();
    let batch = if values.len() >= FIVES_FROM { 5 } else { 1 };
    let found = mser(&values, batch)?;
    let differs = |at: usize| differ(&values[..at], &values[at..]);
    let cut = if differs(found.cut) { found.cut } else { 0 };
    let kept = &values[cut..];
    let start_ns = seconds.slots[points[cut].0].start_ns;
    Some(SettlingTime {
        name,
        cut_ns: if cut == 0 { 0 } else { start_ns - seconds.start_ns() },
        is_late: found.is_late && differ(&kept[..kept.len() / 2], &kept[kept.len() / 2..]),
    })
}

/// True if the difference of the means is greater than the scatter of the kept values explains, allowing for their
/// autocorrelation. The scatter of the excluded values is of another kind, and does not count.
fn differ(left_out: &[f64], kept: &[f64]) -> bool {
    let Some(known) = SeriesMean::compute(kept).filter(|_| !left_out.is_empty()) else {
        return false;
    };
    let mean = mean(left_out);
    let share = kept.len() as f64 / left_out.len() as f64;
    (mean - known.mean).abs() > SIGMAS * known.error * (1.0 + share).sqrt()
}
