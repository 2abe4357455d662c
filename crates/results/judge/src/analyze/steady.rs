//! The warm-up of a run: the time until its throughput and responses settle.
//!
//! What is better later is a warm-up; what is worse later never is. A warm-up begins with the first second and improves from
//! there. A series that is steady first, worse in the middle and then as before has no warm-up: the rule for the cut would
//! leave out the worse seconds with everything before them, so they are taken out, and the cut is looked for again. What is
//! worse from the first seconds on, before it was steady for three of them, and better later cannot be told from a warm-up,
//! and is one.

use record::schema::Incident;
use serde::Serialize;
use stats::mean::SeriesMean;
use stats::steady::mser;

use super::SECONDS_MIN;
use super::seconds::{Seconds, Slot};

/// Least number of seconds that are combined in batches of five (MSER-5). In shorter series each second is a batch: its
/// mean is one of many operations already.
const FIVES_FROM: usize = 100;
/// Least difference between the means before and after a cut, in standard errors, with which the cut is made.
const SIGMAS: f64 = 3.0;
/// Series with fewer seconds in which something ended, as a share of all, are skipped: a handshake
/// that is made once has no steady state.
const COVERAGE_MIN: f64 = 0.5;
/// Seconds in a row that are as later ones, from which on a series was steady; the judge asks for as many before it calls a
/// slow window an incident (`WARM_UP_BEFORE_NS`).
const STEADY_MIN: usize = 3;
/// Operations that were due in an incident are answered for this long after it.
const ANSWERS_NS: u64 = 1_000_000_000;

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
    /// True if it was worse after the cut than before; if by White's rule the series has not settled by half time, and the
    /// halves of what remains after the cut differ; or if less than [`SECONDS_MIN`] remain after the cut.
    pub is_late: bool,
}

/// The warm-up: the longest of those that leave enough to analyse, or the one given. Seconds of incidents are no part of it,
/// and none is looked for if the plan changes the load.
pub(super) fn warm_up(
    seconds: &Seconds,
    given_ns: Option<u64>,
    incidents: &[Incident],
    is_load_steady: bool,
) -> WarmUp {
    let is_usual = |slot: &Slot| {
        let answered_ns = |incident: &Incident| incident.end_ns.saturating_add(ANSWERS_NS);
        !incidents.iter().any(|i| i.begin_ns < slot.end_ns && slot.start_ns < answered_ns(i))
    };
    let series: Vec<SettlingTime> = all(seconds)
        .into_iter()
        .filter(|_| is_load_steady)
        .map(|mut series| {
            series.points.retain(|point| is_usual(&seconds.slots[point.place]));
            series
        })
        .filter_map(|series| settling_time(seconds, series))
        .collect();
    let possible = series.iter().filter(|one| leaves_enough(seconds, one.cut_ns));
    let found_ns = possible.map(|one| one.cut_ns).max().unwrap_or(0);
    WarmUp { cut_ns: given_ns.unwrap_or(found_ns), is_given: given_ns.is_some(), series }
}

/// Whether a warm-up of this length leaves enough seconds to analyse.
fn leaves_enough(seconds: &Seconds, cut_ns: u64) -> bool {
    seconds.from(cut_ns).len() >= SECONDS_MIN
}

/// Values of a series by slot.
struct SlotSeries {
    name: String,
    points: Vec<Point>,
}

/// A value of a series in one slot; less is better.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    place: usize,
    value: f64,
}

/// Throughput, then the mean response of each measure.
fn all(seconds: &Seconds) -> Vec<SlotSeries> {
    // Of throughput more is better.
    let throughput = |(place, slot): (usize, &Slot)| Point {
        place,
        value: -(main_succeeded(seconds, place) as f64) / slot.seconds(),
    };
    let mut all = vec![SlotSeries {
        name: "throughput".to_owned(),
        points: seconds.slots.iter().enumerate().map(throughput).collect(),
    }];
    for (measure, cells) in seconds.info.measures.iter().zip(&seconds.cells) {
        let means = cells.iter().enumerate();
        let points = means.filter_map(|(place, cell)| {
            let value = cell.mean_ns()?;
            Some(Point { place, value })
        });
        all.push(SlotSeries { name: measure.name.clone(), points: points.collect() });
    }
    all
}

/// Requests and handshakes that succeeded in a slot.
pub(super) fn main_succeeded(seconds: &Seconds, place: usize) -> u64 {
    let measures = (0..seconds.cells.len()).filter(|&measure| seconds.is_main(measure));
    measures.map(|measure| seconds.cells[measure][place].count).sum()
}

fn settling_time(seconds: &Seconds, series: SlotSeries) -> Option<SettlingTime> {
    let SlotSeries { name, points } = series;
    if (points.len() as f64) < COVERAGE_MIN * seconds.slots.len() as f64 {
        return None;
    }
    let settled = settle(points)?;
    let from_ns = |place: usize| seconds.slots[place].start_ns - seconds.start_ns();
    let cut_ns = settled.from.map_or(0, from_ns);
    let is_late = settled.is_late || !leaves_enough(seconds, cut_ns);
    Some(SettlingTime { name, cut_ns, is_late })
}

/// The end of a series' warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SettlingSlot {
    /// The slot with which its warm-up ends; `None`: it has none.
    from: Option<usize>,
    /// It was worse after the cut than before, or has not settled by half time.
    is_late: bool,
}

/// Cuts off the warm-up of a series; `None` if it is too short to say.
fn settle(mut points: Vec<Point>) -> Option<SettlingSlot> {
    loop {
        let values: Vec<f64> = points.iter().map(|point| point.value).collect();
        let batch = if values.len() >= FIVES_FROM { 5 } else { 1 };
        let found = mser(&values, batch)?;
        let (first, later) = values.split_at(found.cut);
        let worse = sigmas(first, later, scatter(later));
        if worse > SIGMAS
            && let Some(begin) = worsening(first, later)
        {
            points.drain(begin..found.cut);
            continue;
        }
        let cut = if worse > SIGMAS { found.cut } else { 0 };
        let kept = &values[cut..];
        let (one, other) = kept.split_at(kept.len() / 2);
        let halves_differ = sigmas(one, other, scatter(other)).abs() > SIGMAS;
        return Some(SettlingSlot {
            from: points.get(cut).map(|point| point.place).filter(|_| cut > 0),
            // What is worse later has not settled.
            is_late: worse < -SIGMAS || found.is_late && halves_differ,
        });
    }
}

/// The place among these first values from which on they are worse although they were as later ones for a while before;
/// `None`: they only improve. Of several such places it is the one that is the clearest.
fn worsening(first: &[f64], later: &[f64]) -> Option<usize> {
    let scatter = scatter(later);
    let later = Group::of(later);
    // From the end, so that each sum is the one before and a value.
    let mut rest = Group::default();
    let clear = (STEADY_MIN..first.len()).rev().filter_map(|begin| {
        rest.add(first[begin]);
        let before = Group::of(&first[begin - STEADY_MIN..begin]);
        let was_steady = before.sigmas_above(later, scatter) <= SIGMAS;
        let worse = rest.sigmas_above(before, scatter);
        (was_steady && worse > SIGMAS).then_some((begin, worse))
    });
    // The last one of several that are as clear.
    let clearest = clear.reduce(|found, other| if other.1 > found.1 { other } else { found });
    clearest.map(|(begin, _)| begin)
}

/// By how many standard errors the mean of some values is above that of others; 0 if there are none. `scatter` is the
/// standard deviation of single values.
fn sigmas(these: &[f64], others: &[f64], scatter: f64) -> f64 {
    Group::of(these).sigmas_above(Group::of(others), scatter)
}

/// Values by their number and sum.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    count: f64,
    sum: f64,
}

impl Group {
    fn of(values: &[f64]) -> Group {
        Group { count: values.len() as f64, sum: values.iter().sum() }
    }

    fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
    }

    /// As [`sigmas`].
    fn sigmas_above(self, others: Group, scatter: f64) -> f64 {
        if self.count == 0.0 || others.count == 0.0 {
            return 0.0;
        }
        let difference = self.sum / self.count - others.sum / others.count;
        if difference == 0.0 {
            return 0.0;
        }
        difference / (scatter * (1.0 / self.count + 1.0 / others.count).sqrt())
    }
}

/// The standard deviation that independent values would have whose mean is known as well. The scatter of excluded values is
/// of another kind, and does not count. Infinite of fewer than two values, which differ from nothing.
fn scatter(values: &[f64]) -> f64 {
    let known = SeriesMean::compute(values);
    known.map_or(f64::INFINITY, |known| known.error * (values.len() as f64).sqrt())
}

#[cfg(test)]
mod tests;
