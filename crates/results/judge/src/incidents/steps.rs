//! The steps of a run and their tags, by second.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use record::schema::SeriesRow;
use stats::mean::mean;
use stats::scan::{self, Count, Level};

use super::Search;
use super::windows::Ends;
use crate::figures::{Figures, Window, Windows};
use crate::limits::{
    INCIDENT_DUE_MIN, INCIDENT_LOAD_S, INCIDENT_SHORTFALL_MIN, OVERDUE_NS_MIN,
    RETRIED_LOAD_SHARE_MAX,
};

const SECOND_NS: u64 = 1_000_000_000;

/// A step: its own series, and those of its tags.
pub(super) struct Step {
    pub(super) series: Series,
    /// One for each value of each tag in which its measures differ.
    pub(super) parts: Vec<TagSeries>,
}

/// The operations of a step that have a tag.
pub(super) struct TagSeries {
    pub(super) key: String,
    pub(super) value: String,
    pub(super) series: Series,
}

/// Operations of one or several measures, by slots of a second or, in long runs, several.
pub(super) struct Series {
    pub(super) step: String,
    pub(super) measures: Vec<usize>,
    pub(super) slots: Vec<Window>,
    pub(super) slot_ns: u64,
    /// The end of the load, as far as the run got.
    pub(super) end_ns: u64,
    /// The mean of the logarithms of the response times of successes, by slot.
    pub(super) responses: Vec<Level>,
    /// The part of them that the load explains.
    pub(super) explained: Vec<f64>,
    /// The response times, less what the load explains.
    pub(super) unexplained: Vec<Level>,
    load: Rc<Load>,
    /// Slots from which on operations were unanswered since the run ended.
    answered_until: usize,
}

/// The operations of a time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Counts {
    pub(super) seconds: f64,
    pub(super) due: f64,
    /// Operations that succeeded or failed.
    pub(super) operations: f64,
    pub(super) errors: f64,
    pub(super) unanswered: f64,
}

/// The load of a run, by slots that all its series have in common: seconds or, in long runs, several.
struct Load {
    /// Windows of the figures that are one slot.
    joined: usize,
    slot_s: u64,
    /// The load around each slot: a mean.
    around: Vec<f64>,
    /// How many Poisson numbers it is the mean of, but for the ends of the run; infinite of users, who are counted.
    numbers: f64,
}

impl Load {
    fn of(figures: &Figures, windows: &Windows<'_>, slots_max: usize) -> Load {
        let requests: Vec<usize> = figures.requests().collect();
        let of_requests = windows.of(&requests);
        let joined = of_requests.len().div_ceil(slots_max).max(1);
        let slot_s = (windows.length_s * joined) as u64;
        let slots = thinned(&of_requests, joined);
        let is_closed = is_closed(figures);
        let due: f64 = slots.iter().map(|slot| slot.due).sum();
        // What fails is tried again, which makes the load of a failure, and no failure of the load.
        let is_retried = figures.retried_of(&requests) as f64 > RETRIED_LOAD_SHARE_MAX * due;
        let slot_ns = slot_s * SECOND_NS;
        let load = match (is_closed, is_retried) {
            (true, _) => means(figures, slots.len(), slot_ns, |row| row.users),
            (false, true) => means(figures, slots.len(), slot_ns, |row| row.users_fell_due),
            (false, false) => slots.iter().map(|slot| slot.due).collect(),
        };
        let near = (INCIDENT_LOAD_S / 2).div_ceil(slot_s) as usize;
        let around = (0..load.len()).map(|slot| {
            let near = &load[slot.saturating_sub(near)..(slot + near + 1).min(load.len())];
            mean(near)
        });
        let numbers = if is_closed { f64::INFINITY } else { (2 * near + 1) as f64 };
        Load { joined, slot_s, around: around.collect(), numbers }
    }
}

/// Whether all users are those of populations. They wait for their answers: more of them make responses longer, and these
/// keep requests from being due. Of other users, requests that are due are the load, or with many retries the users that
/// are due.
fn is_closed(figures: &Figures) -> bool {
    let kinds = || figures.info.phases.iter().map(|phase| phase.kind.as_str());
    let is_population = |kind: &str| kind.starts_with("closed");
    kinds().any(is_population) && kinds().all(|kind| is_population(kind) || kind == "hold")
}

/// The mean of a column of the rows in each slot.
fn means(
    figures: &Figures,
    slots: usize,
    slot_ns: u64,
    column: impl Fn(&SeriesRow) -> u64,
) -> Vec<f64> {
    let mut sums = vec![0.0; slots];
    let mut rows = vec![0.0; slots];
    for row in &figures.series {
        let slot = (u64::midpoint(row.start_ns, row.end_ns) / slot_ns) as usize;
        if slot < slots {
            sums[slot] += column(row) as f64;
            rows[slot] += 1.0;
        }
    }
    sums.iter().zip(rows).map(|(sum, rows)| sum / f64::max(rows, 1.0)).collect()
}

/// The steps with the most operations, with their tags.
pub(super) fn all(figures: &Figures, windows: &Windows<'_>, search: Search) -> Vec<Step> {
    let load = Rc::new(Load::of(figures, windows, search.slots_max));
    let mut groups: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (number, info) in figures.info.measures.iter().enumerate() {
        let is_counted = matches!(info.kind.as_str(), "connect" | "request" | "handshake");
        let is_known = windows.by_measure.get(number).is_some_and(|own| !own.is_empty());
        if is_counted && is_known && !info.waits {
            let name = info.shared_name.as_deref().unwrap_or(&info.name);
            groups.entry((info.kind.as_str(), name)).or_default().push(number);
        }
    }
    let steps = groups.into_iter().map(|((_, name), measures)| {
        let series = Series::of(figures, windows, &load, name.to_owned(), measures);
        let operations: f64 = series.slots.iter().map(|slot| slot.ended).sum();
        (operations, series)
    });
    let mut steps: Vec<(f64, Series)> = steps.collect();
    steps.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut left = search.series_max;
    let mut all = Vec::new();
    for (_, series) in steps {
        if left == 0 {
            break;
        }
        let mut parts = parts(figures, windows, &load, &series);
        parts.truncate(left - 1);
        left -= 1 + parts.len();
        all.push(Step { series, parts });
    }
    all
}

/// The tags in which the measures of a step differ.
fn parts(
    figures: &Figures,
    windows: &Windows<'_>,
    load: &Rc<Load>,
    step: &Series,
) -> Vec<TagSeries> {
    if step.measures.len() < 2 {
        return Vec::new();
    }
    let mut tags: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for &measure in &step.measures {
        for (key, value) in &figures.info.measures[measure].tags {
            tags.entry((key.as_str(), value.as_str())).or_default().push(measure);
        }
    }
    let differ = tags.into_iter().filter(|(_, with)| with.len() < step.measures.len());
    differ
        .map(|((key, value), measures)| TagSeries {
            key: key.to_owned(),
            value: value.to_owned(),
            series: Series::of(figures, windows, load, step.step.clone(), measures),
        })
        .collect()
}

impl Series {
    fn of(
        figures: &Figures,
        windows: &Windows<'_>,
        load: &Rc<Load>,
        step: String,
        measures: Vec<usize>,
    ) -> Series {
        let slots = thinned(&windows.of(&measures), load.joined);
        let slot_ns = load.slot_s * SECOND_NS;
        let responses: Vec<Level> = slots.iter().map(response).collect();
        let explained = scan::explained_by_load(&responses, &load.around);
        let pairs = responses.iter().zip(&explained);
        let unexplained = pairs.map(|(level, of)| Level { value: level.value - of, ..*level });
        let until_ns = answered_until_ns(figures, &measures);
        Series {
            step,
            slot_ns,
            end_ns: figures.planned_end_ns().min(figures.ended_ns()),
            unexplained: unexplained.collect(),
            explained,
            responses,
            load: Rc::clone(load),
            answered_until: (until_ns / slot_ns) as usize,
            slots,
            measures,
        }
    }

    /// The load of the run by slot, as well as it is known.
    pub(super) fn load(&self) -> scan::Load<'_> {
        scan::Load { by_second: &self.load.around, numbers: self.load.numbers }
    }

    /// How many operations of these slots took longer than usual: the square of the sum of what they took more, in
    /// logarithms, by the sum of its squares (Kish 1965, as the size of a sample whose weights differ). Of operations that all
    /// took twice as long it is their number; of one among many that took a hundred times as long it is one.
    /// `usual`: the unexplained level elsewhere.
    pub(super) fn slow_operations(&self, slots: &Range<usize>, usual: f64) -> f64 {
        let mut sum = 0.0;
        let mut squares = 0.0;
        for number in slots.clone() {
            let Level { value, weight } = self.responses[number];
            if weight > 0.0 {
                let expected = value - self.unexplained[number].value + usual;
                let slot = &self.slots[number];
                sum += slot.succeeded_ln - expected * weight;
                squares += slot.succeeded_ln_squares - 2.0 * expected * slot.succeeded_ln
                    + expected * expected * weight;
            }
        }
        if squares > 0.0 { sum * sum / squares } else { 0.0 }
    }

    /// How many operations were due in these slots and did not end in them, less those that ended in them and were due
    /// before.
    pub(super) fn missing(&self, slots: &Range<usize>) -> f64 {
        self.slots[slots.clone()].iter().map(|slot| slot.due - slot.ended).sum()
    }

    /// Operations that failed, among those that succeeded or failed.
    pub(super) fn failures(&self) -> Vec<Count> {
        let count = |(number, slot): (usize, &Window)| {
            let unanswered = self.unanswered(number);
            Count { hits: slot.failed + unanswered, of: slot.answered + unanswered }
        };
        self.slots.iter().enumerate().map(count).collect()
    }

    /// Operations that were never answered, among those that were due.
    pub(super) fn silences(&self) -> Vec<Count> {
        let count = |(number, slot): (usize, &Window)| Count {
            hits: self.unanswered(number),
            of: slot.due,
        };
        self.slots.iter().enumerate().map(count).collect()
    }

    /// By how many fewer operations ended than were due, in parts of those that are due, or usually due if these are more.
    /// Operations that are in flight at the beginning and at the end of the load are due and not ended, or the other way
    /// round: these slots have no level. Nor have those of a step that is done now and then. What is made up for after a
    /// shortfall scatters no more than a shortfall has to have.
    pub(super) fn shortfalls(&self) -> Vec<Level> {
        let is_due = |slot: &Window| slot.due > 0.0;
        let first = self.slots.iter().position(is_due).unwrap_or(0);
        let last = self.slots.iter().rposition(is_due).unwrap_or(0);
        let active = self.slots.get(first..=last).unwrap_or_default();
        let due: Vec<f64> = active.iter().map(|slot| slot.due).collect();
        let usual = stats::order::median(&due).unwrap_or(0.0);
        let longest_s = self.slots.iter().filter_map(Window::mean_response_s).fold(0.0, f64::max);
        let edge = 1 + (longest_s * 1e9 / self.slot_ns as f64).ceil() as usize;
        let inner = edge..self.slots.len().saturating_sub(edge);
        let is_known = |number: usize| inner.contains(&number) && usual >= INCIDENT_DUE_MIN;
        let level = |(number, slot): (usize, &Window)| match is_known(number) {
            true => {
                let share = (slot.due - slot.ended) / usual.max(slot.due);
                Level { value: share.max(-INCIDENT_SHORTFALL_MIN), weight: 1.0 }
            }
            false => Level::default(),
        };
        self.slots.iter().enumerate().map(level).collect()
    }

    /// Operations that were due in a slot and never answered. What users gave up, or the end of the run cut off, is none of
    /// them.
    pub(super) fn unanswered(&self, slot: usize) -> f64 {
        let Window { due, served, interrupted, .. } = self.slots[slot];
        let missing = due - served - interrupted;
        // Both are sums of parts.
        if slot < self.answered_until && missing > 1e-6 { missing } else { 0.0 }
    }

    /// The operations between two moments, slots that reach out of them by their part.
    pub(super) fn counts_within(&self, ends: &Ends) -> Counts {
        let mut sum = Counts::default();
        for number in 0..self.slots.len() {
            let slot = self.ends_of(number);
            let inside_ns =
                ends.end_ns.min(slot.end_ns).saturating_sub(ends.begin_ns.max(slot.begin_ns));
            sum.add(&self.counts(number), inside_ns as f64 / self.slot_ns as f64);
        }
        sum
    }

    /// The operations outside of these times, without slots that are partly within them.
    pub(super) fn counts_without(&self, times: &[Ends]) -> Counts {
        let mut sum = Counts::default();
        for number in 0..self.slots.len() {
            let slot = self.ends_of(number);
            let touches =
                times.iter().any(|time| time.begin_ns < slot.end_ns && slot.begin_ns < time.end_ns);
            if !touches {
                sum.add(&self.counts(number), 1.0);
            }
        }
        sum
    }

    fn ends_of(&self, slot: usize) -> Ends {
        let begin_ns = slot as u64 * self.slot_ns;
        Ends { begin_ns, end_ns: begin_ns + self.slot_ns }
    }

    fn counts(&self, number: usize) -> Counts {
        let slot = &self.slots[number];
        let unanswered = self.unanswered(number);
        Counts {
            seconds: self.slot_ns as f64 / 1e9,
            due: slot.due,
            operations: slot.answered + unanswered,
            errors: slot.failed + unanswered,
            unanswered,
        }
    }
}

impl Counts {
    fn add(&mut self, other: &Counts, share: f64) {
        self.seconds += share * other.seconds;
        self.due += share * other.due;
        self.operations += share * other.operations;
        self.errors += share * other.errors;
        self.unanswered += share * other.unanswered;
    }
}

fn response(slot: &Window) -> Level {
    let weight = (slot.answered - slot.failed).max(0.0);
    let value = if weight > 0.0 { slot.succeeded_ln / weight } else { 0.0 };
    Level { value, weight }
}

/// Neighbours joined; the last ones are left out if they are fewer.
fn thinned(windows: &[Window], joined: usize) -> Vec<Window> {
    let sum = |part: &[Window]| {
        let mut sum = Window::default();
        part.iter().for_each(|window| sum.add(window));
        sum
    };
    windows.chunks_exact(joined).map(sum).collect()
}

/// Until when operations were due of which it is known whether they were answered: the end of the run cut off others,
/// which had waited for no longer than answers take.
fn answered_until_ns(figures: &Figures, measures: &[usize]) -> u64 {
    let mut until_ns = u64::MAX;
    for &measure in measures {
        let cell = figures.cell(None, measure);
        if cell.cut_off.is_empty() {
            continue;
        }
        let longest_ns = cell.answered_times().max().max(OVERDUE_NS_MIN);
        let cut_off = cell.cut_off.iter().map(|(_, highest_ns, _)| highest_ns);
        let waited_ns = cut_off.filter(|&waited_ns| waited_ns <= longest_ns).max();
        if let Some(waited_ns) = waited_ns {
            let before_ns = waited_ns.saturating_add(2 * SECOND_NS);
            until_ns = until_ns.min(figures.ended_ns().saturating_sub(before_ns));
        }
    }
    until_ns
}
