//! Where a run settles, and what to leave out before.

use serde::Serialize;
use stats::mean::{SeriesMean, mean};
use stats::steady::mser;

use super::seconds::Seconds;

/// From this many seconds on, five make a batch (MSER-5); below, each is one: a second's mean is one of
/// many operations already.
const FIVES_FROM: usize = 100;
/// A cut is made where what it leaves out differs from what it keeps by this many standard errors.
const SIGMAS: f64 = 3.0;
/// Series with fewer seconds in which something ended, as a share of all, are skipped: a handshake
/// that is made once has no steady state.
const COVERAGE_MIN: f64 = 0.5;

/// What to leave out at the beginning.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WarmUp {
    /// So much, from where the analysis begins.
    pub cut_ns: u64,
    /// True where the user said so; else it was found.
    pub is_given: bool,
    /// Each series that was asked, with what it would have.
    pub series: Vec<Settled>,
}

/// Where one series settles.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Settled {
    /// `throughput`, or the name of a measure whose mean response it is.
    pub name: String,
    /// So much it takes, from where the analysis begins.
    pub cut_ns: u64,
    /// True where by White's rule it has not settled by half time, and its later half is not like
    /// what was before.
    pub is_late: bool,
}

/// The warm-up: the longest that any series needs, or the one given.
pub(super) fn warm_up(seconds: &Seconds, given_ns: Option<u64>) -> WarmUp {
    let series: Vec<Settled> = all(seconds)
        .into_iter()
        .filter_map(|(name, points)| settled(seconds, name, &points))
        .collect();
    let found_ns = series.iter().map(|one| one.cut_ns).max().unwrap_or(0);
    WarmUp {
        cut_ns: given_ns.unwrap_or(found_ns),
        is_given: given_ns.is_some(),
        series,
    }
}

/// Values by slot: throughput, then the mean response of each measure.
fn all(seconds: &Seconds) -> Vec<(String, Vec<(usize, f64)>)> {
    let throughput = |(place, slot): (usize, &super::seconds::Slot)| {
        (
            place,
            main_succeeded(seconds, place) as f64 / slot.seconds(),
        )
    };
    let mut all = vec![(
        "throughput".to_owned(),
        seconds.slots.iter().enumerate().map(throughput).collect(),
    )];
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
    measures
        .map(|measure| seconds.cells[measure][place].count)
        .sum()
}

fn settled(seconds: &Seconds, name: String, points: &[(usize, f64)]) -> Option<Settled> {
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
    Some(Settled {
        name,
        cut_ns: if cut == 0 {
            0
        } else {
            start_ns - seconds.start_ns()
        },
        is_late: found.is_late && differ(&kept[..kept.len() / 2], &kept[kept.len() / 2..]),
    })
}

/// True where the mean of what is excluded lies farther from that of what is kept than the scatter of
/// what is kept explains, neighbours being alike. What is excluded has a scatter of its own kind.
fn differ(left_out: &[f64], kept: &[f64]) -> bool {
    let Some(known) = SeriesMean::compute(kept).filter(|_| !left_out.is_empty()) else {
        return false;
    };
    let mean = mean(left_out);
    let share = kept.len() as f64 / left_out.len() as f64;
    (mean - known.mean).abs() > SIGMAS * known.error * (1.0 + share).sqrt()
}
