//! The steps of a run and their tags, by second.

use std::collections::BTreeMap;

use stats::scan::{Count, Level};

use crate::figures::{Figures, Window};
use crate::limits::{INCIDENT_LOAD_S, INCIDENT_SERIES_MAX, INCIDENT_SLOTS_MAX, OVERDUE_NS_MIN};

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
    /// Requests of all steps that were due around each slot.
    load: Vec<f64>,
    /// Slots from which on operations were unanswered since the run ended.
    answered_until: usize,
}

/// What is counted in a time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Counts {
    pub(super) seconds: f64,
    pub(super) due: f64,
    /// Those that succeeded or failed.
    pub(super) operations: f64,
    pub(super) errors: f64,
    pub(super) unanswered: f64,
}

/// The steps with the most operations, with their tags.
pub(super) fn all(figures: &Figures) -> Vec<Step> {
    let mut groups: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (number, info) in figures.info.measures.iter().enumerate() {
        let is_counted = matches!(info.kind.as_str(), "connect" | "request" | "handshake");
        let is_known = figures.windows.get(number).is_some_and(|windows| !windows.is_empty());
        if is_counted && is_known && !info.waits {
            let name = info.shared_name.as_deref().unwrap_or(&info.name);
            groups.entry((info.kind.as_str(), name)).or_default().push(number);
        }
    }
    let steps = groups.into_iter().map(|((_, name), measures)| {
        let series = Series::of(figures, name.to_owned(), measures);
        let operations: f64 = series.slots.iter().map(|slot| slot.ended).sum();
        (operations, series)
    });
    let mut steps: Vec<(f64, Series)> = steps.collect();
    steps.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut left = INCIDENT_SERIES_MAX;
    let mut all = Vec::new();
    for (_, series) in steps {
        let mut parts = parts(figures, &series);
        if left == 0 {
            break;
        }
        parts.truncate(left - 1);
        left -= 1 + parts.len();
        all.push(Step { series, parts });
    }
    all
}

/// The tags in which the measures of a step differ.
fn parts(figures: &Figures, step: &Series) -> Vec<TagSeries> {
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
            series: Series::of(figures, step.step.clone(), measures),
        })
        .collect()
}

impl Series {
    pub(super) fn of(figures: &Figures, step: String, measures: Vec<usize>) -> Series {
        let windows = figures.planned_windows(&measures);
        let joined = windows.len().div_ceil(INCIDENT_SLOTS_MAX).max(1);
        let slot_s = (figures.window_s() * joined) as u64;
        let requests: Vec<usize> = figures.requests().collect();
        let due = thinned(&figures.planned_windows(&requests), joined);
        let near = (INCIDENT_LOAD_S / 2).div_ceil(slot_s) as usize;
        let load = (0..due.len()).map(|slot| {
            let near = &due[slot.saturating_sub(near)..(slot + near + 1).min(due.len())];
            near.iter().map(|slot| slot.due).sum::<f64>() / near.len() as f64
        });
        let slot_ns = slot_s * SECOND_NS;
        let until_ns = answered_until_ns(figures, &measures);
        Series {
            step,
            slots: thinned(&windows, joined),
            slot_ns,
            end_ns: figures.planned_end_ns().min(figures.ended_ns()),
            load: load.collect(),
            answered_until: (until_ns / slot_ns) as usize,
            measures,
        }
    }

    /// The mean of the logarithms of the response times of successes, by slot.
    pub(super) fn responses(&self) -> Vec<Level> {
        let level = |slot: &Window| {
            let weight = (slot.answered - slot.failed).max(0.0);
            let value = if weight > 0.0 { slot.succeeded_ln / weight } else { 0.0 };
            Level { value, weight }
        };
        self.slots.iter().map(level).collect()
    }

    /// The same, less what the load explains.
    pub(super) fn unexplained_responses(&self) -> Vec<Level> {
        let levels = self.responses();
        let explained = stats::scan::explained_by_load(&levels, &self.load);
        let pairs = levels.iter().zip(explained);
        pairs.map(|(level, of)| Level { value: level.value - of, ..*level }).collect()
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

    /// By how many fewer operations ended than were due, in parts of those that are usually due. Operations that are in
    /// flight at the beginning and at the end of the load are due and not ended, or the other way round: these slots
    /// have no level.
    pub(super) fn shortfalls(&self) -> Vec<Level> {
        let due: Vec<f64> =
            self.slots.iter().map(|slot| slot.due).filter(|&due| due > 0.0).collect();
        let usual = stats::order::median(&due).unwrap_or(0.0);
        let longest_s = self.slots.iter().filter_map(Window::mean_response_s).fold(0.0, f64::max);
        let edge = 1 + (longest_s * 1e9 / self.slot_ns as f64).ceil() as usize;
        let inner = edge..self.slots.len().saturating_sub(edge);
        let level = |(number, slot): (usize, &Window)| match inner.contains(&number) && usual > 0.0
        {
            true => Level { value: (slot.due - slot.ended) / usual, weight: 1.0 },
            false => Level::default(),
        };
        self.slots.iter().enumerate().map(level).collect()
    }

    /// Operations that were due in a slot and never answered. What the end of the run cut off is none of them.
    pub(super) fn unanswered(&self, slot: usize) -> f64 {
        let missing = self.slots[slot].due - self.slots[slot].served;
        // Both are sums of parts.
        if slot < self.answered_until && missing > 1e-6 { missing } else { 0.0 }
    }

    /// What is counted within these times, slots that reach out of them by their part.
    pub(super) fn counts_within(&self, spans: &[(u64, u64)]) -> Counts {
        let mut sum = Counts::default();
        for number in 0..self.slots.len() {
            let start_ns = number as u64 * self.slot_ns;
            let end_ns = start_ns + self.slot_ns;
            let inside = spans.iter().map(|&(from_ns, to_ns)| {
                to_ns.min(end_ns).saturating_sub(from_ns.max(start_ns)) as f64
            });
            let share = (inside.sum::<f64>() / self.slot_ns as f64).min(1.0);
            sum.add(&self.counts(number), share);
        }
        sum
    }

    /// What is counted outside of these times, without slots that are partly within them.
    pub(super) fn counts_without(&self, spans: &[(u64, u64)]) -> Counts {
        let mut sum = Counts::default();
        for number in 0..self.slots.len() {
            let start_ns = number as u64 * self.slot_ns;
            let end_ns = start_ns + self.slot_ns;
            let touches =
                spans.iter().any(|&(from_ns, to_ns)| from_ns < end_ns && start_ns < to_ns);
            if !touches {
                sum.add(&self.counts(number), 1.0);
            }
        }
        sum
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
