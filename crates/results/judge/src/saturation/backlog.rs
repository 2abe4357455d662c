//! A backlog that grows: requests that are due faster than they are answered.
//!
//! The backlog of a window is what was due until its end and had no answer by then. It also grows in a ramp, by
//! Little's law (1961): rate × response time. So it counts only far above what the response times of the
//! beginning would explain.
//!
//! A target may be busy with other work when a run begins. Then the responses of the beginning are long, and explain too
//! much. So arrivals are also compared with completions one by one: if all requests took as long as those due first, each
//! would be answered that much later than it was due. A target that answers fewer than that, ever more so to the end,
//! falls behind, however long its responses were at first.
//!
//! Requests that wait when the run ends are backlog, too: its drain may be shorter than that. But those that the target loses
//! have no answer either. They wait for longer than answers take. A share of all requests that is lost, the same from the
//! first second on, is no backlog. A target that falls behind answers the first ones, later ones more and more slowly,
//! and then some, or all, too late for their time limit.

use stats::student::two_sided_t;

use crate::figures::Window;
use crate::limits::{
    FADING_ANSWERS_MIN, FADING_TIMES_FASTEST, FADING_WAIT_SHARE_MIN, FADING_Z,
    SATURATED_ANSWERED_MAX, SATURATED_BACKLOG_MIN, SATURATED_CONFIDENCE, SATURATED_FIRST_SHARE_MAX,
    SATURATED_SECONDS_MIN, SATURATED_STEADY_WINDOWS_MIN, SATURATED_TIMES_LITTLE, SATURATED_Z,
};

/// Requests and handshakes of one step, or of all.
#[derive(Debug, Clone, Default)]
pub(super) struct Stream {
    /// The windows until the last phase ends.
    pub(super) windows: Vec<Window>,
    /// Length of a window.
    pub(super) window_s: usize,
    /// Requests that still waited when the run ended, and for no longer than answers take.
    pub(super) in_flight: f64,
    /// Some of those due are users that could not start, as the target was slow to accept connections.
    pub(super) is_held: bool,
}

/// Times of single requests.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Times {
    /// Time of the fastest answer, in seconds.
    pub(super) fastest_s: f64,
    /// Time for which half of the requests that were never answered were waited for at least, in seconds.
    pub(super) waited_s: f64,
}

/// A backlog that grew to the end of the last phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Backlog {
    /// The second from which on it grew.
    pub(super) since_s: usize,
    /// Requests due per second from then to the end of the last phase.
    pub(super) due_per_s: f64,
    /// Requests answered per second in that time.
    pub(super) answered_per_s: f64,
    /// Requests that ended in that time without an answer.
    pub(super) given_up: u64,
    /// Requests that waited at the end of the last phase.
    pub(super) waiting: u64,
    /// The time that the requests due first had to wait, in seconds, if the backlog is no more than that explains, but grew.
    pub(super) first_s: Option<f64>,
    /// Answers came too late for the time limits. A target that does no more than that seems to stop until this second
    /// at the latest.
    pub(super) too_late_s: Option<f64>,
    /// The run is too short to say whether it grew.
    pub(super) is_short: bool,
}

/// The backlog of a stream, if it has one that grows. `times` is called where it matters.
pub(super) fn find(stream: &Stream, times: impl FnOnce() -> Times) -> Option<Backlog> {
    let windows = &stream.windows;
    let first_s = first_response_s(windows);
    let above = grows_above_usual(stream, first_s);
    let is_steady = above.is_none();
    let since = above.or_else(|| grows_steadily(stream, first_s?))?;
    let rest = &windows[since..];
    let backlog = sum(windows, |w| w.due - w.answered);
    let lost = sum(windows, |w| w.due - w.served) - stream.in_flight;
    let mut too_late = None;
    if !stream.is_held && 2.0 * lost >= backlog {
        let onset = fading_from(windows)?;
        let times = times();
        let way = decline(windows, onset, times, first_s)?;
        let given_up = sum(windows, |w| w.ended - w.answered);
        let is_late = way == Decline::Slowly && 2.0 * given_up >= lost;
        let last_s = ((onset + 2) * stream.window_s) as f64 + times.waited_s;
        too_late = is_late.then_some(last_s);
    }
    let seconds = (rest.len() * stream.window_s) as f64;
    Some(Backlog {
        since_s: since * stream.window_s,
        due_per_s: sum(rest, |w| w.due) / seconds,
        answered_per_s: sum(rest, |w| w.answered) / seconds,
        given_up: sum(rest, |w| w.ended - w.answered).round() as u64,
        waiting: sum(windows, |w| w.due - w.ended).round() as u64,
        first_s: first_s.filter(|_| is_steady),
        too_late_s: too_late,
        is_short: stream.is_short(),
    })
}

impl Stream {
    fn is_short(&self) -> bool {
        self.windows.len() * self.window_s < SATURATED_SECONDS_MIN
    }
}

/// The window from which on a backlog grew to the end, far above what the response times of the beginning explain: those of
/// what was answered early, and those of the requests due first, `first_s`. Of these the slow ones have no answer yet when
/// a run is short, so that the former are too short; the latter are long if most requests of the run wait for the first
/// ones, and count as a sixth of the run at most.
fn grows_above_usual(stream: &Stream, first_s: Option<f64>) -> Option<usize> {
    let windows = &stream.windows;
    let behind: Vec<f64> = windows
        .iter()
        .scan(0.0, |behind, window| {
            *behind += window.due - window.answered;
            Some(*behind)
        })
        .collect();
    let late = &windows[windows.len() / 2..];
    if !answers_too_few(late) {
        return None;
    }
    let rate = sum(late, |w| w.due) / (late.len() * stream.window_s) as f64;
    let little = |response_s: f64| SATURATED_TIMES_LITTLE * rate * response_s;
    let early = EarlyResponses::of(windows);
    let backlog = *behind.last()?;
    let first_max_s = (windows.len() * stream.window_s) as f64 * SATURATED_FIRST_SHARE_MAX;
    let usual_s = early.median_s.max(first_s.unwrap_or(0.0).min(first_max_s));
    if backlog <= SATURATED_BACKLOG_MIN.max(little(usual_s)) {
        return None;
    }
    let few = SATURATED_BACKLOG_MIN.max(little(early.shortest_s)).min(backlog / 4.0);
    let since = behind.iter().rposition(|&waiting| waiting <= few);
    let since = since.map_or(0, |at| at + 1).min(windows.len() - 1);
    (stream.is_short() || grows(&windows[since..])).then_some(since)
}

/// The window from which on fewer were answered, to the end, than if all took as long as those due first: `first_s`.
fn grows_steadily(stream: &Stream, first_s: f64) -> Option<usize> {
    let windows = &stream.windows;
    let sums = |of: fn(&Window) -> f64| -> Vec<f64> {
        let sums = windows.iter().scan(0.0, |sum, window| {
            *sum += of(window);
            Some(*sum)
        });
        std::iter::once(0.0).chain(sums).collect()
    };
    let due = sums(|w| w.due);
    let answered = sums(|w| w.answered);
    let delay = first_s / stream.window_s as f64;
    // What was due until then, in windows: evenly within each.
    let due_until = |at: f64| {
        let at = at.max(0.0);
        let whole = (at as usize).min(windows.len());
        due[whole] + windows.get(whole).map_or(0.0, |w| w.due * at.fract())
    };
    let expected = |at: usize| due_until(at as f64 - delay);
    let from = (delay.ceil() as usize).min(windows.len());
    let few = (from..windows.len())
        .rposition(|at| expected(at + 1) - answered[at + 1] <= SATURATED_BACKLOG_MIN);
    let since = few.map_or(from, |place| from + place + 1);
    let rest = windows[since..].iter().zip(since..);
    let rest = rest.map(|(w, at)| Window { due: expected(at + 1) - expected(at), ..*w });
    let rest: Vec<Window> = rest.collect();
    let (early, late) = rest.split_at(rest.len() / 2);
    let is_long = early.len() >= SATURATED_STEADY_WINDOWS_MIN;
    (is_long && answers_too_few(late) && rises(early) && rises(late)).then_some(since)
}

/// True if a smaller share of what was due was answered than a target leaves waiting that keeps up.
fn answers_too_few(windows: &[Window]) -> bool {
    sum(windows, |w| w.answered) < SATURATED_ANSWERED_MAX * sum(windows, |w| w.due)
}

/// The mean response time of the requests that were due first, those of the first window and of more if it had few;
/// `None`: there were too few.
fn first_response_s(windows: &[Window]) -> Option<f64> {
    let mut first = Window::default();
    let first = windows.iter().find_map(|window| {
        first.add(window);
        (first.served >= SATURATED_BACKLOG_MIN).then_some(first)
    })?;
    Some(first.served_s / first.served)
}

pub(super) fn sum(windows: &[Window], of: impl Fn(&Window) -> f64) -> f64 {
    windows.iter().map(of).sum()
}

/// Mean response times of the windows of the first third that have any.
struct EarlyResponses {
    shortest_s: f64,
    /// The shorter one of two in the middle.
    median_s: f64,
}

impl EarlyResponses {
    fn of(windows: &[Window]) -> EarlyResponses {
        let means = windows.iter().filter_map(Window::mean_response_s);
        let mut means: Vec<f64> = means.take(windows.len().div_ceil(3)).collect();
        means.sort_by(f64::total_cmp);
        let at = |rank: usize| means.get(rank).copied().unwrap_or(0.0);
        EarlyResponses { shortest_s: at(0), median_s: at(means.len().saturating_sub(1) / 2) }
    }
}

/// True if more was due than answered, a window of these with another: the mean of the differences is above 0 by
/// more than they scatter, or their sum by more than random counts do. The backlog itself is their sum, so its own
/// points depend on each other.
fn grows(windows: &[Window]) -> bool {
    let grown = sum(windows, |w| w.due - w.answered);
    let random = sum(windows, |w| w.due + w.answered).sqrt();
    windows.len() >= 2 && (rises(windows) || grown > SATURATED_Z * random)
}

/// The first of these reasons alone.
fn rises(windows: &[Window]) -> bool {
    if windows.len() < 2 {
        return false;
    }
    let count = windows.len() as f64;
    let mean = sum(windows, |w| w.due - w.answered) / count;
    let squares = sum(windows, |w| (w.due - w.answered - mean).powi(2));
    let error = (squares / (count - 1.0) / count).sqrt();
    mean > two_sided_t(SATURATED_CONFIDENCE, count - 1.0) * error
}

/// The window from which on a smaller share of what was due was ever answered, to the end; `None` if the share did
/// not fall. It is the one before which most more were answered than by the mean share.
fn fading_from(windows: &[Window]) -> Option<usize> {
    let share_of = |part: &[Window]| sum(part, |w| w.served) / sum(part, |w| w.due);
    let share = share_of(windows);
    let more = windows.iter().scan(0.0, |more, window| {
        *more += window.served - share * window.due;
        Some(*more)
    });
    let last = windows.len().checked_sub(1)?;
    let (at, _) = more.take(last).enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (early, late) = windows.split_at(at + 1);
    let before = share_of(early);
    let after = share_of(late);
    let inverse = 1.0 / sum(early, |w| w.due) + 1.0 / sum(late, |w| w.due);
    let error = (share * (1.0 - share) * inverse).sqrt();
    let end = share_of(&windows[windows.len() - windows.len().div_ceil(4)..]);
    // Shares of nothing are no numbers, and compare as false.
    (before - after > FADING_Z * error && end <= (before + after) / 2.0).then_some(at + 1)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decline {
    /// Answers took longer until they were too late.
    Slowly,
    /// Then there were none.
    AtOnce,
}

/// The way in which answers went missing from a window on; `None`: not because the target fell behind. Who is refused, or
/// whose answer is lost by a target that is as fast as ever, waits for nothing.
fn decline(windows: &[Window], from: usize, times: Times, first_s: Option<f64>) -> Option<Decline> {
    let mean_s = sum(windows, |w| w.served_s) / sum(windows, |w| w.served);
    if times.waited_s < FADING_WAIT_SHARE_MIN * mean_s {
        return None;
    }
    // The last window before has answers that just came in time.
    let last = windows[from - 1..].iter();
    let last = last.filter(|w| w.served >= FADING_ANSWERS_MIN);
    let slowest_s = last.map(|w| w.served_s / w.served).fold(0.0, f64::max);
    let long_s = FADING_WAIT_SHARE_MIN * times.waited_s;
    // The fastest are slow, too, if the target was busy from the first second on.
    let is_slower = slowest_s >= FADING_TIMES_FASTEST * times.fastest_s
        || first_s.is_some_and(|first_s| slowest_s - first_s >= long_s);
    if slowest_s >= long_s && is_slower {
        return Some(Decline::Slowly);
    }
    let is_silent = sum(&windows[from..], |w| w.answered) == 0.0;
    is_silent.then_some(Decline::AtOnce)
}

#[cfg(test)]
mod tests;
