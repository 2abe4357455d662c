//! The windows of a step, in all that it can be worse in, put together.
//!
//! The scan finds them to the slot. Their ends are then found to a part of one, by how much of the window's excess is in
//! the slots at them, and responses are counted from when operations were due.

use std::ops::Range;

use record::schema::IncidentKind;
use stats::scan::{self, Count, Rules};

use super::steps::{Counts, Series, Step, TagSeries};
use crate::limits::{
    INCIDENT_ALPHA, INCIDENT_ENDS_NS, INCIDENT_ERRORS_MIN, INCIDENT_OPERATIONS_MIN,
    INCIDENT_RESPONSE_TIMES, INCIDENT_SHORT_NS, INCIDENT_SHORT_RESPONSE_TIMES,
    INCIDENT_SHORTFALL_MIN, INCIDENT_THROUGHPUT_SLOTS_MIN, WARM_UP_BEFORE_NS,
};

/// In what a step can be worse.
const KINDS: f64 = 4.0;
/// Less of a window's usual excess is in no slot beside it.
const EXCESS_BESIDE_MIN: f64 = 0.3;
/// A slot with more of it is in the window as a whole.
const EXCESS_WHOLE_MIN: f64 = 0.7;
/// An end that is no further from that of a slot, in slots, is there.
const SNAP: f64 = 0.25;
/// Answers that take longer than this came when the window was over, and say when that was.
const LONG_NS: f64 = 1e9;

/// A window in which a step, or one tag of it, was worse.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct IncidentWindow {
    pub(super) step: String,
    /// `key=value`.
    pub(super) tag: Option<String>,
    pub(super) measures: Vec<usize>,
    /// The clearest first.
    pub(super) kinds: Vec<IncidentKind>,
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
    pub(super) to_the_end: bool,
    /// The step, or the tag of it, in the window.
    pub(super) during: Counts,
    /// The step, or the tag of it, outside of all its windows.
    pub(super) usual: Counts,
    /// Both ends of all its windows, since the run's start.
    pub(super) all: Vec<Ends>,
}

impl IncidentWindow {
    /// Whether it is of the same step and tag.
    fn is_of(&self, other: &IncidentWindow) -> bool {
        self.measures == other.measures
    }

    /// Whether more operations failed, or were not answered, for longer than this.
    pub(super) fn has_failures_for(&self, longer_than_ns: u64) -> bool {
        let is_failure =
            |kind: &IncidentKind| matches!(kind, IncidentKind::Errors | IncidentKind::Unanswered);
        self.kinds.iter().any(is_failure) && self.end_ns > self.begin_ns + longer_than_ns
    }

    /// Whether answers took longer from its beginning to the end of the load, and nothing else.
    pub(super) fn is_slow_to_the_end(&self) -> bool {
        self.to_the_end && self.kinds == [IncidentKind::Response]
    }

    fn is_near(&self, other: &IncidentWindow) -> bool {
        self.begin_ns <= other.end_ns.saturating_add(INCIDENT_ENDS_NS)
            && other.begin_ns <= self.end_ns.saturating_add(INCIDENT_ENDS_NS)
    }

    fn overlaps(&self, other: &IncidentWindow) -> bool {
        self.begin_ns < other.end_ns && other.begin_ns < self.end_ns
    }
}

/// The level of each test, so that all of a run together keep theirs (Bonferroni).
pub(super) fn alpha(series: usize) -> f64 {
    INCIDENT_ALPHA / (KINDS * series.max(1) as f64)
}

/// The incidents of a step: of tags where others of their key were not worse meanwhile, and of the step as a whole.
pub(super) fn of_step(step: &Step, alpha: f64) -> Vec<IncidentWindow> {
    let whole = of_series(&step.series, None, alpha);
    let by_tag: Vec<(&TagSeries, Vec<IncidentWindow>)> = step
        .parts
        .iter()
        .map(|part| {
            let tag = format!("{}={}", part.key, part.value);
            (part, of_series(&part.series, Some(&tag), alpha))
        })
        .collect();
    let mut own: Vec<IncidentWindow> = Vec::new();
    for (part, found) in &by_tag {
        let others =
            by_tag.iter().filter(|(other, _)| other.key == part.key && other.value != part.value);
        let others: Vec<&IncidentWindow> = others.flat_map(|(_, found)| found).collect();
        let alone = found.iter().filter(|window| !others.iter().any(|o| o.overlaps(window)));
        // The same operations may have several tags.
        let is_known = |window: &&IncidentWindow| {
            own.iter().any(|known| known.is_of(window) && known.begin_ns == window.begin_ns)
        };
        let new: Vec<IncidentWindow> = alone.filter(|window| !is_known(window)).cloned().collect();
        own.extend(new);
    }
    let of_all = whole.into_iter().filter(|window| !own.iter().any(|tag| tag.overlaps(window)));
    let of_all: Vec<IncidentWindow> = of_all.collect();
    of_all.into_iter().chain(own).collect()
}

/// The windows in which a series is worse.
fn of_series(series: &Series, tag: Option<&str>, alpha: f64) -> Vec<IncidentWindow> {
    let found = |kind, ends: Ends| IncidentWindow {
        step: series.step.clone(),
        tag: tag.map(str::to_owned),
        measures: series.measures.clone(),
        kinds: vec![kind],
        begin_ns: ends.begin_ns,
        end_ns: ends.end_ns.min(series.end_ns),
        to_the_end: ends.end_ns >= series.end_ns.saturating_sub(series.slot_ns),
        during: Counts::default(),
        usual: Counts::default(),
        all: Vec::new(),
    };
    let mut all: Vec<IncidentWindow> = Vec::new();
    let unanswered = more_hits(series, &series.silences(), alpha).into_iter();
    all.extend(unanswered.map(|ends| found(IncidentKind::Unanswered, ends)));
    let failed = more_hits(series, &series.failures(), alpha).into_iter();
    all.extend(failed.map(|ends| found(IncidentKind::Errors, ends)));
    let slow = slow(series, alpha).into_iter();
    all.extend(slow.map(|ends| found(IncidentKind::Response, ends)));
    let short = short(series, alpha).into_iter();
    all.extend(short.map(|ends| found(IncidentKind::Throughput, ends)));
    counted(series, joined(all))
}

/// The windows of a series with what is counted in and outside of them.
fn counted(series: &Series, mut found: Vec<IncidentWindow>) -> Vec<IncidentWindow> {
    let ends = |window: &IncidentWindow| Ends { begin_ns: window.begin_ns, end_ns: window.end_ns };
    let all: Vec<Ends> = found.iter().map(ends).collect();
    let usual = series.counts_without(&all);
    for window in &mut found {
        window.during = series.counts_within(&ends(window));
        window.usual = usual;
        window.all.clone_from(&all);
    }
    found
}

/// Windows that overlap or nearly do, as one each; what was found first is the clearest.
fn joined(all: Vec<IncidentWindow>) -> Vec<IncidentWindow> {
    let mut joined: Vec<IncidentWindow> = Vec::new();
    for mut window in all {
        while let Some(near) = joined.iter().position(|known| known.is_near(&window)) {
            let mut known = joined.remove(near);
            for kind in window.kinds {
                if !known.kinds.contains(&kind) {
                    known.kinds.push(kind);
                }
            }
            known.begin_ns = known.begin_ns.min(window.begin_ns);
            known.end_ns = known.end_ns.max(window.end_ns);
            known.to_the_end |= window.to_the_end;
            window = known;
        }
        window.kinds.sort_by_key(|kind| telling(*kind));
        joined.push(window);
    }
    joined.sort_by_key(|window| window.begin_ns);
    joined
}

/// The order of the kinds of an incident. What is unanswered has failed, too.
fn telling(kind: IncidentKind) -> u8 {
    match kind {
        IncidentKind::Unanswered => 0,
        IncidentKind::Errors => 1,
        IncidentKind::Response => 2,
        IncidentKind::Throughput => 3,
    }
}

/// Both ends of a window, since the run's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
}

impl Ends {
    /// Whether a moment is between them.
    pub(super) fn hold(&self, at_ns: u64) -> bool {
        (self.begin_ns..self.end_ns).contains(&at_ns)
    }
}

/// Times in which a greater share of these is hits.
fn more_hits(series: &Series, counts: &[Count], alpha: f64) -> Vec<Ends> {
    let rules = Rules { alpha, least: INCIDENT_ERRORS_MIN, shortest: 1 };
    let windows = without_edges(&scan::counts(counts, &rules));
    let found = windows.iter().map(|window| {
        let excess = counts.iter().map(|count| count.hits - window.outside * count.of);
        ends(series, &window.seconds, &excess.collect::<Vec<_>>(), 0.0)
    });
    found.collect()
}

/// Windows without those of one slot that touch one that is worse: the slot in which that one begins or ends is partly in
/// it, and says when.
fn without_edges(windows: &[scan::Window]) -> Vec<scan::Window> {
    let is_edge = |window: &&scan::Window| {
        let mut others = windows.iter();
        window.seconds.len() == 1
            && others.any(|other| {
                let touches = other.seconds.start == window.seconds.end
                    || other.seconds.end == window.seconds.start;
                touches && other.inside > window.inside
            })
    };
    windows.iter().filter(|window| !is_edge(window)).cloned().collect()
}

/// Times of slow answers, but for those of a warm-up.
fn slow(series: &Series, alpha: f64) -> Vec<Ends> {
    let levels = &series.unexplained;
    let rules = Rules { alpha, least: INCIDENT_RESPONSE_TIMES.ln(), shortest: 1 };
    let windows = without_edges(&scan::levels_under_load(
        &series.responses,
        &series.explained,
        &series.load(),
        &rules,
    ));
    let lasting = windows.iter().filter(|window| {
        let slow = series.slow_operations(&window.seconds, window.outside);
        slow >= INCIDENT_OPERATIONS_MIN
            && is_noticed(series, window)
            && !is_warm_up(series, levels, window)
    });
    let found = lasting.map(|window| {
        let seconds = silent_before(series, window.seconds.clone());
        let height = window.inside - window.outside;
        // Slow answers of each slot, as far as its level says how many they are.
        let excess: Vec<f64> = levels
            .iter()
            .map(|level| level.weight * ((level.value - window.outside) / height).clamp(0.0, 1.0))
            .collect();
        let inside = &series.responses[window.seconds.clone()];
        let answers: f64 = inside.iter().map(|level| level.weight).sum();
        let sum: f64 = inside.iter().map(|level| level.weight * level.value).sum();
        let usual_ns = (sum / answers.max(1.0)).exp();
        match seconds == window.seconds {
            true => ends(series, &seconds, &excess, usual_ns),
            // Nothing ended in its first slots: what was due in them ended later.
            false => {
                let end = ends(series, &window.seconds, &excess, 0.0);
                Ends { begin_ns: seconds.start as u64 * series.slot_ns, ..end }
            }
        }
    });
    found.collect()
}

/// True of a window of slow answers but for a short one in which they took little longer.
fn is_noticed(series: &Series, window: &scan::Window) -> bool {
    let length_ns = window.seconds.len() as u64 * series.slot_ns;
    let least = INCIDENT_SHORT_RESPONSE_TIMES.ln();
    length_ns >= INCIDENT_SHORT_NS || window.inside - window.outside >= least
}

/// A window with the slots before it in which nothing ended although something was due.
fn silent_before(series: &Series, mut seconds: Range<usize>) -> Range<usize> {
    let is_silent = |slot: usize| series.slots[slot].ended < 0.5 && series.slots[slot].due >= 0.5;
    while seconds.start > 0 && is_silent(seconds.start - 1) {
        seconds.start -= 1;
    }
    seconds
}

/// True of a window before which the step was never as fast as after it: what is worse first, and better later, is a
/// warm-up. What is worse later never is one.
fn is_warm_up(series: &Series, levels: &[scan::Level], window: &scan::Window) -> bool {
    let before = &levels[..window.seconds.start];
    let after = &levels[window.seconds.end..];
    let is_answered = |level: &&scan::Level| level.weight > 0.0;
    if !after.iter().any(|level| is_answered(&level)) {
        return false;
    }
    let known = before.iter().filter(is_answered);
    let known: Vec<f64> = known.map(|level| level.value).collect();
    let least = INCIDENT_RESPONSE_TIMES.ln();
    let is_slow = stats::order::median(&known).is_some_and(|own| own - window.outside >= least);
    (known.len() as u64) * series.slot_ns < WARM_UP_BEFORE_NS || is_slow
}

/// Times in which fewer operations ended than were due.
fn short(series: &Series, alpha: f64) -> Vec<Ends> {
    let levels = series.shortfalls();
    let shortest = INCIDENT_THROUGHPUT_SLOTS_MIN;
    let rules = Rules { alpha, least: INCIDENT_SHORTFALL_MIN, shortest };
    let explained = vec![0.0; levels.len()];
    let windows = scan::levels_under_load(&levels, &explained, &series.load(), &rules);
    let several = windows.iter().filter(|w| series.missing(&w.seconds) >= INCIDENT_OPERATIONS_MIN);
    let found = several.map(|window| Ends {
        begin_ns: window.seconds.start as u64 * series.slot_ns,
        end_ns: window.seconds.end as u64 * series.slot_ns,
    });
    found.collect()
}

/// Both ends of a window, to a part of a slot, from the operations of each slot that are more than usual, and how long
/// they took: an operation counts from when it was due.
fn ends(series: &Series, seconds: &Range<usize>, excess: &[f64], response_ns: f64) -> Ends {
    let slot_ns = series.slot_ns as f64;
    let mut inner: Vec<f64> = excess[seconds.start..seconds.end].to_vec();
    if seconds.len() > 2 {
        inner.remove(0);
        inner.pop();
    }
    let usual = stats::order::median(&inner).filter(|&usual| usual > 0.0);
    let part = |slot: usize| match usual {
        Some(usual) => (excess.get(slot).copied().unwrap_or(0.0) / usual).clamp(0.0, 1.0),
        None => 0.0,
    };
    let is_known = usual.is_some() && seconds.len() > 2;
    let mut begin = seconds.start as f64;
    let mut end = seconds.end as f64;
    if is_known {
        let before = seconds.start.checked_sub(1).map_or(0.0, part);
        let first = part(seconds.start);
        if before >= EXCESS_BESIDE_MIN {
            begin -= before;
        } else if first < EXCESS_WHOLE_MIN {
            begin += 1.0 - first;
        }
        let after = if seconds.end < excess.len() { part(seconds.end) } else { 0.0 };
        let last = part(seconds.end - 1);
        if after >= EXCESS_BESIDE_MIN {
            end += after;
        } else if last < EXCESS_WHOLE_MIN {
            end -= 1.0 - last;
        }
        let waited = response_ns / slot_ns;
        begin = (begin - waited).max(0.0);
        if response_ns < LONG_NS && seconds.end < excess.len() {
            end = (end - waited).max(begin + 1.0);
        }
    }
    Ends { begin_ns: snapped_ns(begin, slot_ns), end_ns: snapped_ns(end, slot_ns) }
}

/// A place between slots, at the end of one if it is close.
fn snapped_ns(place: f64, slot_ns: f64) -> u64 {
    let whole = place.round();
    let place = if (place - whole).abs() <= SNAP { whole } else { place };
    (place * slot_ns).round() as u64
}
