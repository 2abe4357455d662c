//! Times in which a target answered nothing although requests waited for it. Under closed load such a time has
//! no arrivals either, so that it shows neither in response times nor in a backlog that grows.

use std::collections::HashSet;

use record::schema::{Finding, Severity};

use crate::figures::{Figures, Flow};
use crate::finding::finding;
use crate::limits::{
    SILENT_ANSWERS_EXPECTED_MIN, SILENT_CLOSED_LATE_NS_MAX, SILENT_SECONDS_MIN,
    SILENT_STOP_ANSWERS_MIN, SILENT_STOP_WAITING_MIN, SILENT_TIMES_RESPONSE,
};

/// The code of a silence that lasted to the end of the last phase.
pub(crate) const STOPPED: &str = "target-stopped";

/// The code of one after which the target went on.
const STALLED: &str = "target-stalled";

/// Seconds in a row in which nothing was answered although requests waited all the time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Silence {
    /// The first second.
    pub(crate) since_s: usize,
    seconds: usize,
    /// Requests × seconds that they waited in it.
    waited_s: u64,
    /// Requests that waited when it ended.
    waiting: u64,
    /// It lasted to the end of the last phase.
    pub(crate) is_last: bool,
}

/// Silences that response times and chance do not explain: the one that lasted to the end first, then the longest
/// of the others.
pub(crate) fn find(figures: &Figures) -> Vec<Silence> {
    let flow = figures.planned_flow();
    // A generator that did not run either knows nothing of the target.
    let away = figures.series.iter().filter(|row| row.closed_late_ns > SILENT_CLOSED_LATE_NS_MAX);
    let away: HashSet<usize> = away.map(|row| (row.start_ns / 1_000_000_000) as usize).collect();
    unexplained(&flow, &away)
}

/// The finding of a silence.
pub(crate) fn finding_of(silence: &Silence) -> Finding {
    let waiting = units::counted(silence.waiting, "request");
    let (code, text) = if silence.is_last {
        let text = format!(
            "the target stopped answering after {} s: nothing was answered in the last {} s of the load, and \
             {waiting} waited at its end",
            silence.since_s, silence.seconds
        );
        (STOPPED, text)
    } else {
        let text = format!(
            "the target answered nothing from {} s to {} s, although requests waited, {waiting} at the end of \
             that time",
            silence.since_s,
            silence.since_s + silence.seconds
        );
        (STALLED, text)
    };
    finding(Severity::Warning, code, text)
        .with("since_s", silence.since_s as f64)
        .with("seconds", silence.seconds as f64)
        .with("waiting", silence.waiting as f64)
        .done()
}

/// `away`: seconds in which the generator did not run.
fn unexplained(flow: &[Flow], away: &HashSet<usize>) -> Vec<Silence> {
    let longest = LongestResponses::of(flow);
    let mut stopped = None;
    let mut stalled: Option<Silence> = None;
    for silence in silences(flow, away) {
        if !longest.is_unexplained(&silence) {
            continue;
        }
        if silence.is_last {
            stopped = Some(silence);
        } else if stalled.is_none_or(|known| silence.seconds > known.seconds) {
            stalled = Some(silence);
        }
    }
    stopped.into_iter().chain(stalled).collect()
}

/// All times in which nothing was answered although requests waited, and the generator ran.
fn silences(flow: &[Flow], away: &HashSet<usize>) -> Vec<Silence> {
    let waiting = waiting(flow);
    let mut all = Vec::new();
    let mut current: Option<Silence> = None;
    for (at, second) in flow.iter().enumerate() {
        if second.answered > 0 || waiting[at] == 0 || away.contains(&at) {
            all.extend(current.take());
            continue;
        }
        let so_far = current.unwrap_or(Silence {
            since_s: at,
            seconds: 0,
            waited_s: 0,
            waiting: 0,
            is_last: false,
        });
        current = Some(Silence {
            seconds: so_far.seconds + 1,
            waited_s: so_far.waited_s + waiting[at],
            waiting: waiting[at + 1],
            is_last: at + 1 == flow.len(),
            ..so_far
        });
    }
    all.extend(current);
    all
}

/// Requests that waited at the beginning of each second, and at the end of the last.
fn waiting(flow: &[Flow]) -> Vec<u64> {
    let ends = flow.iter().scan(0_u64, |waiting, second| {
        *waiting = (*waiting + second.due).saturating_sub(second.ended);
        Some(*waiting)
    });
    std::iter::once(0).chain(ends).collect()
}

/// The longest mean response times of seconds up to each one, and from each one on, without those that are long
/// because the target had stopped.
struct LongestResponses {
    /// Times up to each second, without it.
    before: Vec<Option<f64>>,
    /// Times from each second on, with it.
    from: Vec<Option<f64>>,
}

impl LongestResponses {
    fn of(flow: &[Flow]) -> LongestResponses {
        let late = late_after_stops(flow);
        let means: Vec<Option<f64>> = flow
            .iter()
            .zip(late)
            .map(|(second, late)| second.mean_response_s().filter(|_| !late))
            .collect();
        let longer = |longest: &mut Option<f64>, mean: &Option<f64>| {
            *longest = match (*longest, *mean) {
                (Some(a), Some(b)) => Some(a.max(b)),
                (a, b) => a.or(b),
            };
            Some(*longest)
        };
        let before = std::iter::once(None).chain(means.iter().scan(None, longer));
        let from = std::iter::once(None).chain(means.iter().rev().scan(None, longer));
        let mut from: Vec<Option<f64>> = from.collect();
        from.reverse();
        LongestResponses { before: before.collect(), from }
    }

    /// True of a silence that is long for a target with these response times: as many requests, waiting for as
    /// long, would otherwise have had answers.
    fn is_unexplained(&self, silence: &Silence) -> bool {
        // The answers right after a silence are late because of it.
        let after = silence.since_s + silence.seconds + 1;
        let later = self.from.get(after).copied().flatten();
        let slowest_s = match (self.before[silence.since_s], later) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        slowest_s.is_some_and(|slowest_s| {
            silence.seconds >= SILENT_SECONDS_MIN
                && silence.seconds as f64 >= SILENT_TIMES_RESPONSE * slowest_s
                && silence.waited_s as f64 >= SILENT_ANSWERS_EXPECTED_MIN * slowest_s
        })
    }
}

/// Seconds whose answers are late because the target had stopped: what waited through that time, and what is due
/// until that is worked off. They do not say how long a response usually takes.
///
/// A stop is a silence that no mixture of short and long requests makes: many waited, and by the usual number of a
/// second far more answers were to be expected than chance keeps away. Where few wait, long requests make silences
/// themselves, and their times must count.
fn late_after_stops(flow: &[Flow]) -> Vec<bool> {
    let answered = usually_answered(flow);
    let waiting = waiting(flow);
    let mut stops = silences(flow, &HashSet::new())
        .into_iter()
        .filter(|silence| silence.is_stop(answered))
        .peekable();
    let mut last: Option<Recovery> = None;
    let mut late = Vec::with_capacity(flow.len());
    for (at, second) in flow.iter().enumerate() {
        if let Some(stop) = stops.next_if(|stop| stop.since_s + stop.seconds == at) {
            last = Some(Recovery {
                since_s: at as f64,
                few: waiting[stop.since_s],
                most: waiting[at].max(waiting[at + 1]),
                is_over: false,
            });
        }
        late.push(last.as_mut().is_some_and(|last| {
            last.is_over |= waiting[at] <= last.few || waiting[at] > last.most;
            let waited_s = second.mean_response_s().unwrap_or(0.0);
            !last.is_over || at as f64 - waited_s < last.since_s
        }));
    }
    late
}

/// The time after a stop, until what waited is worked off.
struct Recovery {
    since_s: f64,
    /// Number that waited before the stop: with as many again, the rest is worked off.
    few: u64,
    /// Number that waited after the stop. If more do, that has another cause.
    most: u64,
    is_over: bool,
}

/// The median of the answers of a second, of those that had any.
fn usually_answered(flow: &[Flow]) -> u64 {
    let answered = flow.iter().map(|second| second.answered);
    let mut answered: Vec<u64> = answered.filter(|&answered| answered > 0).collect();
    answered.sort_unstable();
    answered.get(answered.len() / 2).copied().unwrap_or(0)
}

impl Silence {
    fn is_stop(&self, usually_answered: u64) -> bool {
        let seconds = self.seconds as u64;
        self.waited_s >= SILENT_STOP_WAITING_MIN * seconds
            && usually_answered * seconds >= SILENT_STOP_ANSWERS_MIN
    }
}

#[cfg(test)]
mod tests;
