//! Times in which a target answered nothing although requests waited for it. Under closed load such a time has
//! no arrivals either, so that it shows neither in response times nor in a backlog that grows.

use std::collections::HashSet;

use record::schema::{Finding, Severity};

use crate::figures::{Figures, Flow};
use crate::finding::finding;
use crate::limits::{
    SILENT_ANSWERS_EXPECTED_MIN, SILENT_CLOSED_LATE_NS_MAX, SILENT_SECONDS_MIN,
    SILENT_TIMES_RESPONSE,
};

/// The code of a silence that lasted to the end of the last phase.
pub(crate) const STOPPED: &str = "target-stopped";

/// The code of one after which the target went on.
const STALLED: &str = "target-stalled";

/// Seconds in a row in which nothing was answered although requests waited all the time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Silence {
    /// Its first second.
    pub(crate) since_s: usize,
    seconds: usize,
    /// Requests that waited when it ended.
    waiting: u64,
    /// It lasted to the end of the last phase.
    pub(crate) is_last: bool,
}

/// The longest silence that response times and chance do not explain.
pub(crate) fn found(figures: &Figures) -> Option<Silence> {
    let planned_s = figures.planned_end_ns().min(figures.ended_ns()) / 1_000_000_000;
    let flow = figures.flow.get(..planned_s as usize)?;
    // A generator that did not run either knows nothing of the target.
    let away = figures
        .series
        .iter()
        .filter(|row| row.closed_late_ns > SILENT_CLOSED_LATE_NS_MAX);
    let away: HashSet<usize> = away
        .map(|row| (row.start_ns / 1_000_000_000) as usize)
        .collect();
    longest(flow, &away)
}

/// What a silence says of the target.
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
fn longest(flow: &[Flow], away: &HashSet<usize>) -> Option<Silence> {
    let mut longest: Option<Silence> = None;
    let mut backlog: u64 = 0;
    let mut current: Option<Silence> = None;
    let mut waited_s = 0.0;
    for (at, second) in flow.iter().enumerate() {
        let before = backlog;
        backlog = (backlog + second.due).saturating_sub(second.ended);
        if second.answered > 0 || before == 0 || away.contains(&at) {
            (current, waited_s) = (None, 0.0);
            continue;
        }
        waited_s += before as f64;
        let silence = Silence {
            since_s: current.map_or(at, |silence| silence.since_s),
            seconds: current.map_or(1, |silence| silence.seconds + 1),
            waiting: backlog,
            is_last: at + 1 == flow.len(),
        };
        current = Some(silence);
        let is_longest = longest.is_none_or(|known| silence.seconds > known.seconds);
        if is_longest && is_unexplained(flow, &silence, waited_s) {
            longest = Some(silence);
        }
    }
    longest
}

/// True of a silence that is long for a target with these response times: as many requests, waiting for as
/// long, would otherwise have had answers. `waited_s`: requests × seconds.
fn is_unexplained(flow: &[Flow], silence: &Silence, waited_s: f64) -> bool {
    // The answers right after a silence are late because of it.
    let after = silence.since_s + silence.seconds;
    let others = flow
        .iter()
        .enumerate()
        .filter(|(at, second)| second.answered > 0 && !(silence.since_s..=after).contains(at));
    let slowest_s = others
        .map(|(_, second)| second.response_s / second.answered as f64)
        .reduce(f64::max);
    slowest_s.is_some_and(|slowest_s| {
        silence.seconds >= SILENT_SECONDS_MIN
            && silence.seconds as f64 >= SILENT_TIMES_RESPONSE * slowest_s
            && waited_s >= SILENT_ANSWERS_EXPECTED_MIN * slowest_s
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds of a closed load of 64 that gets 640 answers a second of 100 ms each.
    fn closed(seconds: usize) -> Vec<Flow> {
        let second = Flow {
            due: 640,
            answered: 640,
            ended: 640,
            response_s: 64.0,
            ..Flow::default()
        };
        let mut flow = vec![second; seconds];
        flow[0].due += 64;
        flow
    }

    fn freeze(flow: &mut [Flow]) {
        for second in flow {
            *second = Flow::default();
        }
    }

    #[test]
    fn a_closed_load_that_gets_no_more_answers_is_a_silence() {
        let mut flow = closed(30);
        assert_eq!(longest(&flow, &HashSet::new()), None);
        freeze(&mut flow[12..]);
        let silence = longest(&flow, &HashSet::new()).unwrap();
        assert_eq!((silence.since_s, silence.seconds), (12, 18));
        assert_eq!((silence.waiting, silence.is_last), (64, true));
    }

    #[test]
    fn a_stall_ends_with_the_next_answer() {
        let mut flow = closed(30);
        freeze(&mut flow[12..17]);
        flow[17].response_s = 64.0 * 5.1;
        let silence = longest(&flow, &HashSet::new()).unwrap();
        assert_eq!((silence.since_s, silence.seconds), (12, 5));
        assert!(!silence.is_last);
        let mut short = closed(30);
        freeze(&mut short[12..13]);
        assert_eq!(longest(&short, &HashSet::new()), None);
    }

    #[test]
    fn a_generator_that_did_not_run_knows_of_no_silence() {
        let mut flow = closed(30);
        freeze(&mut flow[12..17]);
        flow[17].response_s = 64.0 * 5.1;
        let away = HashSet::from([12, 13, 14, 15]);
        assert_eq!(longest(&flow, &away), None);
        // A shorter silence of the target's remains.
        freeze(&mut flow[20..23]);
        let silence = longest(&flow, &away).unwrap();
        assert_eq!((silence.since_s, silence.seconds), (20, 3));
    }

    #[test]
    fn timeouts_do_not_end_a_silence() {
        let mut flow = closed(30);
        freeze(&mut flow[12..]);
        for second in &mut flow[13..] {
            (second.due, second.ended) = (64, 64);
        }
        assert_eq!(
            longest(&flow, &HashSet::new()).map(|silence| silence.seconds),
            Some(18)
        );
    }

    #[test]
    fn response_times_and_pauses_explain_a_silence() {
        // One user whose requests take 4 s each: three seconds of four have no answer.
        let slow: Vec<Flow> = (0..60)
            .map(|at| Flow {
                due: u64::from(at % 4 == 0),
                answered: u64::from(at % 4 == 3),
                ended: u64::from(at % 4 == 3),
                response_s: if at % 4 == 3 { 4.0 } else { 0.0 },
                ..Flow::default()
            })
            .collect();
        assert_eq!(longest(&slow, &HashSet::new()), None);
        // Nobody waits while all think.
        let mut idle = closed(30);
        idle[11].ended += 64;
        idle[11].answered += 64;
        freeze(&mut idle[12..20]);
        assert_eq!(longest(&idle, &HashSet::new()), None);
    }

    #[test]
    fn a_target_that_never_answered_is_not_silent_but_dead() {
        let mut flow = closed(30);
        freeze(&mut flow);
        flow[0].due = 64;
        assert_eq!(longest(&flow, &HashSet::new()), None);
    }
}
