//! Targets that freeze, and others that are only slow.

use super::*;

/// Seconds of a closed load of 64 that gets 640 answers a second of 100 ms each.
fn closed(seconds: usize) -> Vec<Flow> {
    let second = Flow { due: 640, answered: 640, ended: 640, response_s: 64.0, ..Flow::default() };
    let mut flow = vec![second; seconds];
    flow[0].due += 64;
    flow
}

fn longest(flow: &[Flow], away: &HashSet<usize>) -> Option<Silence> {
    unexplained(flow, away).first().copied()
}

/// 100 requests a second at a server that answers 200, first come, first served, but in `frozen` seconds.
fn first_come(seconds: usize, frozen: impl Fn(usize) -> bool) -> Vec<Flow> {
    let mut flow = vec![Flow::default(); seconds];
    let mut queue = std::collections::VecDeque::new();
    for (at, second) in flow.iter_mut().enumerate() {
        second.due = 100;
        queue.extend(std::iter::repeat_n(at, 100));
        let served = if frozen(at) { 0 } else { queue.len().min(200) };
        for due in queue.drain(..served) {
            second.response_s += (at - due) as f64 + 0.01;
        }
        second.answered = served as u64;
        second.ended = served as u64;
    }
    flow
}

/// 50 users who think for a second and are answered at once, but in `frozen` seconds.
fn thinking(seconds: usize, frozen: impl Fn(usize) -> bool) -> Vec<Flow> {
    let mut flow = vec![Flow::default(); seconds];
    let mut waiting = 0;
    let mut since = 0;
    for (at, second) in flow.iter_mut().enumerate() {
        second.due = 50 - waiting;
        if frozen(at) {
            since = if waiting == 0 { at } else { since };
            waiting = 50;
            continue;
        }
        second.answered = 50;
        second.ended = 50;
        second.response_s = match waiting {
            0 => 2.5,
            _ => 50.0 * (at - since) as f64,
        };
        waiting = 0;
    }
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
        second.due = 64;
        second.ended = 64;
    }
    assert_eq!(longest(&flow, &HashSet::new()).map(|silence| silence.seconds), Some(18));
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

#[test]
fn what_is_worked_off_after_a_stall_does_not_explain_it() {
    let flow = first_come(60, |at| (10..20).contains(&at));
    let silence = longest(&flow, &HashSet::new()).unwrap();
    assert_eq!((silence.since_s, silence.seconds), (11, 9));
    assert_eq!((silence.waiting, silence.is_last), (1000, false));
}

#[test]
fn stalls_do_not_hide_each_other() {
    let two = |at| (10..20).contains(&at) || (40..51).contains(&at);
    for flow in [first_come(80, two), thinking(80, two)] {
        let silence = longest(&flow, &HashSet::new()).unwrap();
        assert_eq!((silence.since_s, silence.seconds), (41, 10));
    }
}

#[test]
fn an_earlier_stall_does_not_hide_the_stop() {
    let flow = thinking(60, |at| (10..20).contains(&at) || at >= 50);
    let found = unexplained(&flow, &HashSet::new());
    let found: Vec<_> = found.iter().map(|s| (s.since_s, s.is_last)).collect();
    assert_eq!(found, [(51, true), (11, false)]);
}

#[test]
fn long_requests_of_few_users_explain_their_silences() {
    // One user: a request of 0.1 s, a report of 6 s, and so on. The last report is under way at the end.
    let flow: Vec<Flow> = (0..46)
        .map(|at| match at % 6 {
            0 => Flow {
                due: 2,
                answered: if at == 0 { 1 } else { 2 },
                ended: if at == 0 { 1 } else { 2 },
                response_s: if at == 0 { 0.1 } else { 6.1 },
                ..Flow::default()
            },
            _ => Flow::default(),
        })
        .collect();
    assert_eq!(unexplained(&flow, &HashSet::new()), []);
}

#[test]
fn seconds_in_which_nothing_ended_any_more_belong_to_the_load() {
    let mut figures = crate::sample::with_rows(|_| {});
    figures.flow = closed(30);
    let silences = find(&figures);
    assert_eq!(silences.len(), 1, "{silences:?}");
    assert_eq!((silences[0].since_s, silences[0].is_last), (30, true));
    // Nobody waits.
    figures.flow[29].ended += 64;
    assert_eq!(find(&figures), []);
    // A record without these figures has none.
    figures.flow.clear();
    assert_eq!(find(&figures), []);
}
