//! The warm-up of a run: the time until its throughput and responses settle. What is better later is a warm-up; what is
//! worse later never is.

use record::schema::Incident;
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
    /// True if it was worse after the cut than before, or if by White's rule the series has not settled by half time, and
    /// the halves of what remains after the cut differ.
    pub is_late: bool,
}

/// The warm-up: the longest that any series needs, or the one given. Seconds of incidents are no part of it, and none is
/// looked for if the plan changes the load.
pub(super) fn warm_up(
    seconds: &Seconds,
    given_ns: Option<u64>,
    incidents: &[Incident],
    is_load_steady: bool,
) -> WarmUp {
    let is_usual = |place: usize| {
        let slot = &seconds.slots[place];
        !incidents.iter().any(|i| i.begin_ns < slot.end_ns && slot.start_ns < i.end_ns)
    };
    let series: Vec<SettlingTime> = all(seconds)
        .into_iter()
        .filter(|_| is_load_steady)
        .map(|mut series| {
            series.points.retain(|&(place, _)| is_usual(place));
            series
        })
        .filter_map(|series| settling_time(seconds, &series))
        .collect();
    let found_ns = series.iter().map(|one| one.cut_ns).max().unwrap_or(0);
    WarmUp { cut_ns: given_ns.unwrap_or(found_ns), is_given: given_ns.is_some(), series }
}

/// Values of a series by slot.
struct Settling {
    name: String,
    points: Vec<(usize, f64)>,
    /// Greater is better: throughput.
    rises: bool,
}

/// Throughput, then the mean response of each measure.
fn all(seconds: &Seconds) -> Vec<Settling> {
    let throughput = |(place, slot): (usize, &super::seconds::Slot)| {
        (place, main_succeeded(seconds, place) as f64 / slot.seconds())
    };
    let mut all = vec![Settling {
        name: "throughput".to_owned(),
        points: seconds.slots.iter().enumerate().map(throughput).collect(),
        rises: true,
    }];
    for (measure, cells) in seconds.info.measures.iter().zip(&seconds.cells) {
        let means = cells.iter().enumerate();
        let points = means.filter_map(|(place, cell)| Some((place, cell.mean_ns()?)));
        all.push(Settling { name: measure.name.clone(), points: points.collect(), rises: false });
    }
    all
}

/// Requests and handshakes that succeeded in a slot.
pub(super) fn main_succeeded(seconds: &Seconds, place: usize) -> u64 {
    let measures = (0..seconds.cells.len()).filter(|&measure| seconds.is_main(measure));
    measures.map(|measure| seconds.cells[measure][place].count).sum()
}

fn settling_time(seconds: &Seconds, series: &Settling) -> Option<SettlingTime> {
    let points = &series.points;
    if (points.len() as f64) < COVERAGE_MIN * seconds.slots.len() as f64 {
        return None;
    }
    let values: Vec<f64> = points.iter().map(|point| point.1).collect();
    let batch = if values.len() >= FIVES_FROM { 5 } else { 1 };
    let found = mser(&values, batch)?;
    let differs = differ(&values[..found.cut], &values[found.cut..]);
    // What is worse later has not settled.
    let is_better_later =
        differs && (mean(&values[found.cut..]) > mean(&values[..found.cut])) == series.rises;
    let cut = if is_better_later { found.cut } else { 0 };
    let kept = &values[cut..];
    let start_ns = seconds.slots[points[cut].0].start_ns;
    let halves_differ = differ(&kept[..kept.len() / 2], &kept[kept.len() / 2..]);
    Some(SettlingTime {
        name: series.name.clone(),
        cut_ns: if cut == 0 { 0 } else { start_ns - seconds.start_ns() },
        is_late: differs && !is_better_later || found.is_late && halves_differ,
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
