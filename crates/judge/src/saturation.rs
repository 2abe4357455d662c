//! Did the target fall behind? Requests that are due faster than they are answered wait in a backlog that
//! grows as long as that lasts, however well the generator keeps to its schedule.
//!
//! The backlog of a second is what was due until its end minus what had ended by then. It also grows in a
//! ramp, by Little's law (1961): rate × response time. So it counts as saturation only far above what the
//! response times of the beginning would explain.

use record::schema::{Finding, SeriesRow, Severity, Verdict};

use crate::decided;
use crate::figures::{self, Figures, Flow};
use crate::finding::finding;
use crate::health::{FELL_BEHIND, LAG};
use crate::limits::{
    SATURATED_ANSWERED_MAX, SATURATED_BACKLOG_MIN, SATURATED_SECONDS_MIN, SATURATED_TIMES_LITTLE,
    SATURATED_Z, SLOW_CONNECTS_S_MIN, SLOW_CONNECTS_TIMES,
};
use crate::silence;

/// The code of the finding.
const CODE: &str = "target-saturated";

/// A target that did not keep up.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Saturation {
    /// From this second on the backlog grew.
    since_s: usize,
    /// Requests due per second from then to the end of the last phase.
    due_per_s: f64,
    /// Requests answered per second in that time.
    answered_per_s: f64,
    /// Requests that waited at the end of the last phase.
    backlog: u64,
}

/// The finding, if the target fell behind.
pub(crate) fn found(figures: &Figures) -> Option<Finding> {
    let flow = &figures.planned_flow();
    let held = figures.series.iter().any(|row| row.users_held > 0);
    let saturation = match held && connects_slowed(flow) {
        true => saturation(&with_unstarted(figures, flow)),
        false => saturation(flow),
    }?;
    let share = 1.0 - saturation.answered_per_s / saturation.due_per_s;
    let text = format!(
        "the target fell behind from {} s on: of {} due it answered {}, {} less; {} waited when the last phase ended",
        saturation.since_s,
        units::rate(saturation.due_per_s),
        units::rate(saturation.answered_per_s),
        units::share(share),
        units::counted(saturation.backlog, "request"),
    );
    Some(
        finding(Severity::Warning, CODE, text)
            .with("since_s", saturation.since_s as f64)
            .with("due_per_s", saturation.due_per_s)
            .with("answered_per_s", saturation.answered_per_s)
            .with("backlog", saturation.backlog as f64)
            .done(),
    )
}

/// Puts what a target did not keep up with first. Findings that blame the generator though its loops had CPU
/// are the target's then.
pub(crate) fn blame(figures: &Figures, findings: &mut Vec<Finding>) {
    let is_waiting = |f: &Finding| {
        f.severity == Severity::Fatal
            && matches!(f.code.as_str(), "connecting-limit" | LAG | decided::CODE)
    };
    let own = findings.iter().any(|f| {
        f.severity == Severity::Fatal && f.code.starts_with("generator-") && !is_waiting(f)
    });
    if own {
        // With both at once nothing is known of the target.
        return;
    }
    let silences = silence::found(figures);
    let stopped = silences.iter().find(|silence| silence.is_last);
    let stopped_s = stopped.map(|silence| silence.since_s as f64);
    // A target that stopped has fallen behind since: that says less.
    let since = |f: &Finding| f.evidence.get("since_s").copied().unwrap_or(0.0);
    let saturated = found(figures).filter(|f| stopped_s.is_none_or(|at| since(f) < at));
    let limits: Vec<Finding> = silences
        .iter()
        .map(silence::finding_of)
        .chain(saturated)
        .collect();
    if limits.iter().any(fails_to_keep_up) {
        for late in findings.iter_mut().filter(|f| is_waiting(f)) {
            late.severity = Severity::Warning;
            late.text = late
                .text
                .replace(FELL_BEHIND, "the generator waited for the target");
        }
    }
    findings.splice(0..0, limits);
}

/// True of findings that say that the target did not do what was due to the end.
pub fn fails_to_keep_up(finding: &Finding) -> bool {
    finding.is_overload()
}

/// What a verdict becomes if the target fell behind or stopped: not passed, unless the scenario expects that.
pub(crate) fn verdict(figures: &Figures, findings: &[Finding], verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Passed
            if findings.iter().any(fails_to_keep_up) && !figures.info.expects_overload =>
        {
            Verdict::Failed
        }
        other => other,
    }
}

fn saturation(flow: &[Flow]) -> Option<Saturation> {
    if flow.len() < SATURATED_SECONDS_MIN {
        return None;
    }
    let backlogs: Vec<f64> = flow
        .iter()
        .scan(0.0, |backlog, second| {
            *backlog += second.due as f64 - second.ended as f64;
            Some(*backlog)
        })
        .collect();
    let late = &flow[flow.len() / 2..];
    let due: u64 = late.iter().map(|second| second.due).sum();
    let answered: u64 = late.iter().map(|second| second.answered).sum();
    if answered as f64 >= SATURATED_ANSWERED_MAX * due as f64 {
        return None;
    }
    let rate = answered as f64 / late.len() as f64;
    let explained =
        SATURATED_BACKLOG_MIN.max(SATURATED_TIMES_LITTLE * rate * early_response_s(flow));
    let backlog = *backlogs.last()?;
    if backlog <= explained {
        return None;
    }
    let since_s = backlogs
        .iter()
        .rposition(|&waiting| waiting <= explained.min(backlog / 4.0));
    let since_s = since_s.map_or(0, |at| at + 1).min(flow.len() - 1);
    let rest = &flow[since_s..];
    if !grows(rest) {
        return None;
    }
    let per_s = |count: u64| count as f64 / rest.len() as f64;
    Some(Saturation {
        since_s,
        due_per_s: per_s(rest.iter().map(|second| second.due).sum()),
        answered_per_s: per_s(rest.iter().map(|second| second.answered).sum()),
        backlog: backlog as u64,
    })
}

/// True if connections took far longer in the second half than at the beginning, or none was established.
fn connects_slowed(flow: &[Flow]) -> bool {
    let mean_s = |seconds: &[Flow]| {
        let connected: u64 = seconds.iter().map(|second| second.connected).sum();
        let time_s: f64 = seconds.iter().map(|second| second.connect_s).sum();
        (connected > 0).then(|| time_s / connected as f64)
    };
    let Some(first) = flow.iter().position(|second| second.connected > 0) else {
        return true;
    };
    let early_s = mean_s(&flow[first..=first]).unwrap_or(0.0);
    mean_s(&flow[flow.len() / 2..])
        .is_none_or(|late_s| late_s >= SLOW_CONNECTS_S_MIN.max(SLOW_CONNECTS_TIMES * early_s))
}

/// The flow with a request more for each user who never started. Users start in order, so those who did not
/// were the last to be due.
fn with_unstarted(figures: &Figures, flow: &[Flow]) -> Vec<Flow> {
    let second = |row: &SeriesRow| (row.start_ns / 1_000_000_000) as usize;
    let rows = figures.series.iter().rev();
    let rows = rows.filter(|row| second(row) < flow.len());
    let behind = |row: &SeriesRow| {
        figures.due_of_rest(row) - figures::users_begun(std::iter::once(row)) as f64
    };
    let mut unstarted = rows.clone().map(behind).sum::<f64>().max(0.0) as u64;
    let mut flow = flow.to_vec();
    for row in rows {
        let due = row.users_due.min(unstarted);
        flow[second(row)].due += due;
        unstarted -= due;
    }
    flow
}

/// The median of the seconds' mean response times in the first third that has any.
fn early_response_s(flow: &[Flow]) -> f64 {
    let means = flow.iter().filter(|second| second.answered > 0);
    let mut means: Vec<f64> = means
        .map(|second| second.response_s / second.answered as f64)
        .take(flow.len().div_ceil(3))
        .collect();
    means.sort_by(f64::total_cmp);
    means.get(means.len() / 2).copied().unwrap_or(0.0)
}

/// True if more was due than ended, a second of these with another: the mean of the differences is above 0
/// by more than they scatter. The backlog itself is their sum, so its own points depend on each other.
fn grows(flow: &[Flow]) -> bool {
    let count = flow.len() as f64;
    let differences = flow
        .iter()
        .map(|second| second.due as f64 - second.ended as f64);
    let mean = differences.clone().sum::<f64>() / count;
    let variance = differences.map(|d| (d - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    flow.len() >= SATURATED_SECONDS_MIN / 2 && mean > SATURATED_Z * (variance / count).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds of arrivals at a server that answers `capacity` a second, first come, first served, each
    /// after at least `response_s`.
    fn served(
        due: impl Fn(usize) -> u64,
        seconds: usize,
        capacity: u64,
        response_s: usize,
    ) -> Vec<Flow> {
        let mut flow = vec![Flow::default(); seconds];
        let mut waiting: std::collections::VecDeque<(usize, u64)> = Default::default();
        for (at, second) in flow.iter_mut().enumerate() {
            second.due = due(at);
            waiting.push_back((at, due(at)));
            let mut left = capacity;
            while let Some(front) = waiting
                .front_mut()
                .filter(|f| f.0 + response_s <= at && left > 0)
            {
                let taken = front.1.min(left);
                left -= taken;
                front.1 -= taken;
                second.answered += taken;
                second.ended += taken;
                second.response_s += taken as f64 * ((at - front.0) as f64 + 0.01);
                if front.1 == 0 {
                    waiting.pop_front();
                }
            }
        }
        flow
    }

    #[test]
    fn a_server_below_its_capacity_is_not_saturated() {
        assert_eq!(saturation(&served(|_| 400, 60, 480, 0)), None);
        assert_eq!(saturation(&served(|at| 10 * at as u64, 40, 480, 0)), None);
        // A ramp with long response times has a growing backlog by Little's law.
        assert_eq!(saturation(&served(|at| 10 * at as u64, 40, 480, 3)), None);
        assert_eq!(saturation(&served(|_| 0, 60, 480, 0)), None);
    }

    #[test]
    fn a_server_above_its_capacity_falls_behind_at_once() {
        for seconds in [8, 60] {
            let found = saturation(&served(|_| 1000, seconds, 433, 0)).unwrap();
            assert!(found.since_s <= seconds / 4 + 1, "{found:?}");
            assert!((found.answered_per_s - 433.0).abs() < 1.0, "{found:?}");
            assert_eq!(found.backlog, 567 * seconds as u64);
        }
    }

    #[test]
    fn a_ramp_saturates_where_it_passes_the_capacity() {
        let found = saturation(&served(|at| 10 * at as u64, 100, 480, 0)).unwrap();
        assert!((48..75).contains(&found.since_s), "{found:?}");
    }

    #[test]
    fn a_server_that_freezes_falls_behind() {
        let mut flow = served(|_| 100, 50, 480, 0);
        for second in &mut flow[30..] {
            (second.answered, second.ended, second.response_s) = (0, 0, 0.0);
        }
        let found = saturation(&flow).unwrap();
        assert!((30..36).contains(&found.since_s), "{found:?}");
        assert_eq!((found.backlog, found.answered_per_s), (2000, 0.0));
    }

    #[test]
    fn users_held_by_slow_connects_wait_for_the_target() {
        // 100 users a second are due. The target takes 60 of them; from 20 s on all connection attempts are in use,
        // and as many users start as are accepted.
        let held = |slow_s: f64| {
            let mut figures = crate::sample::with_rows(|row| {
                let at = row.start_ns / 1_000_000_000;
                row.users_started = if at < 20 { 100 } else { 60 };
                row.users_held = if at < 20 { 0 } else { 60 };
            });
            figures.flow = vec![Flow::default(); 60];
            for (at, second) in figures.flow.iter_mut().enumerate() {
                second.due = if at < 20 { 100 } else { 60 };
                (second.answered, second.ended, second.connected) = (60, 60, 60);
                second.response_s = 0.6;
                second.connect_s = if at == 0 { 0.006 } else { 60.0 * slow_s };
            }
            found(&figures)
        };
        let finding = held(13.0).unwrap();
        assert_eq!(finding.evidence["answered_per_s"], 60.0);
        assert_eq!(finding.evidence["due_per_s"], 100.0);
        assert_eq!(finding.evidence["backlog"], 2400.0);
        // Connects that always took as long show that the limit is a setting.
        assert_eq!(held(0.0001), None);
    }

    #[test]
    fn a_stall_that_is_made_up_for_is_no_saturation() {
        let mut flow = served(|_| 100, 60, 480, 0);
        for second in &mut flow[30..33] {
            (second.answered, second.ended) = (0, 0);
        }
        flow[33].ended += 300;
        flow[33].answered += 300;
        assert_eq!(saturation(&flow), None);
    }
}
