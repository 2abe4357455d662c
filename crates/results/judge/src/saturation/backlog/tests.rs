//! Queues whose capacity is known, and targets that lose requests without being slow.

use std::collections::VecDeque;

use super::*;
use crate::limits::SATURATED_WAIT_QUANTILE;

/// A queue, first come, first served, worked out in steps of a hundredth of a second.
#[derive(Clone, Copy)]
struct Queue {
    /// Answers a second.
    capacity: f64,
    /// Every answer takes that much longer.
    delay_s: f64,
    /// Time after which a request is given up. It is worked on nevertheless, for nobody, unless the queue notices.
    limit_s: f64,
    notices: bool,
    /// Number of requests of a hundred that are never answered.
    leak: u64,
    /// Time that the run lets requests wait after its load.
    drain_s: f64,
    /// Time for which it works on what came before the run.
    busy_s: f64,
}

/// Requests that were due at one moment, as many as still wait.
#[derive(Clone, Copy)]
struct Waiting {
    due_s: f64,
    n: f64,
}

const FAST: Queue = Queue {
    capacity: 480.0,
    delay_s: 0.0,
    limit_s: 1000.0,
    notices: false,
    leak: 0,
    drain_s: 0.0,
    busy_s: 0.0,
};

const STEPS: usize = 100;

/// Steps a second.
const PER_S: f64 = STEPS as f64;

impl Queue {
    /// The backlog found of a run with this number of requests due in each second.
    fn found(self, seconds: usize, due: impl Fn(usize) -> f64) -> Option<Backlog> {
        let windows = vec![Window::default(); seconds];
        let mut stream = Stream { windows, window_s: 1, ..Stream::default() };
        let mut times = Vec::new();
        let mut waits = Waits::default();
        let mut count = 0;
        let mut lose = |n: f64| n * ((count_up(&mut count) < self.leak) as u8 as f64);
        let mut queue: VecDeque<Waiting> = VecDeque::new();
        let end_s = seconds as f64 + self.drain_s;
        for step in 0..(end_s * PER_S) as usize {
            let now_s = step as f64 / PER_S;
            if step / STEPS < seconds {
                let n = due(step / STEPS) / PER_S;
                stream.windows[step / STEPS].due += n;
                let lost = lose(n);
                let due = |n| Waiting { due_s: now_s, n };
                give_up(&mut stream, &mut waits, due(lost), self.limit_s, end_s);
                queue.push_back(due(n - lost));
            }
            let mut left = if now_s < self.busy_s { 0.0 } else { self.capacity / PER_S };
            while let Some(front) = queue.front_mut().filter(|_| left > 0.0) {
                let response_s = now_s - front.due_s + self.delay_s + 0.002;
                let is_late = response_s > self.limit_s;
                let taken = if is_late && self.notices { front.n } else { front.n.min(left) };
                left -= if is_late && self.notices { 0.0 } else { taken };
                front.n -= taken;
                let due_s = front.due_s;
                if front.n <= 1e-9 {
                    queue.pop_front();
                }
                if is_late || due_s + response_s > end_s {
                    let late = Waiting { due_s, n: taken };
                    give_up(&mut stream, &mut waits, late, self.limit_s, end_s);
                    continue;
                }
                let cohort = &mut stream.windows[due_s as usize];
                cohort.served += taken;
                cohort.served_s += taken * response_s;
                times.push(response_s);
                if let Some(window) = stream.windows.get_mut((due_s + response_s) as usize) {
                    window.answered += taken;
                    window.ended += taken;
                    window.answered_s += taken * response_s;
                }
            }
        }
        for waiting in queue {
            give_up(&mut stream, &mut waits, waiting, self.limit_s, end_s);
        }
        let of = |mut all: Vec<f64>, share: f64| {
            all.sort_by(f64::total_cmp);
            all.get((all.len() as f64 * share) as usize).copied().unwrap_or(0.0)
        };
        let longest_s = of(times.clone(), SATURATED_WAIT_QUANTILE);
        let in_flight = waits.at_end.iter().filter(|(wait_s, _)| *wait_s <= longest_s);
        stream.in_flight = in_flight.map(|(_, n)| n).sum();
        let times = Times { fastest_s: of(times, 0.0), waited_s: of(waits.all_s, 0.5) };
        find(&stream, || times)
    }
}

/// 0 to 99, again and again.
fn count_up(count: &mut u64) -> u64 {
    *count = (*count + 37) % 100;
    *count
}

/// How long requests waited that were not answered.
#[derive(Default)]
struct Waits {
    all_s: Vec<f64>,
    /// Those that the end of the run cut off, with their numbers.
    at_end: Vec<(f64, f64)>,
}

/// Requests that wait until their time limit, or the end of the run.
fn give_up(stream: &mut Stream, waits: &mut Waits, requests: Waiting, limit_s: f64, end_s: f64) {
    let Waiting { due_s, n } = requests;
    if n > 0.0 {
        waits.all_s.push(limit_s.min(end_s - due_s));
    }
    if due_s + limit_s >= end_s {
        waits.at_end.push((end_s - due_s, n));
    } else if let Some(window) = stream.windows.get_mut((due_s + limit_s) as usize) {
        window.ended += n;
    }
}

#[test]
fn a_server_below_its_capacity_is_not_saturated() {
    assert_eq!(FAST.found(60, |_| 400.0), None);
    assert_eq!(FAST.found(3, |_| 400.0), None);
    assert_eq!(FAST.found(40, |at| 10.0 * at as f64), None);
    // A ramp with long response times has a growing backlog by Little's law.
    let slow = Queue { delay_s: 3.0, ..FAST };
    assert_eq!(slow.found(40, |at| 10.0 * at as f64), None);
    // A run hardly longer than a response says nothing.
    for seconds in [2, 3, 4, 5] {
        assert_eq!(slow.found(seconds, |_| 100.0), None);
    }
    assert_eq!(FAST.found(60, |_| 0.0), None);
}

/// Half of the requests take 10 ms, the others 9 s. What is answered early is fast, and ever more wait for 9 s.
#[test]
fn responses_that_are_long_from_the_first_on_are_no_backlog() {
    let mut windows = vec![Window::default(); 10];
    for second in 0..10 {
        windows[second].due = 100.0;
        windows[second].served = 100.0;
        windows[second].served_s = 50.0 * 0.01 + 50.0 * 9.0;
        windows[second].answered += 50.0;
        windows[second].answered_s += 50.0 * 0.01;
        windows[second].ended += 50.0;
        if let Some(later) = windows.get_mut(second + 9) {
            later.answered += 50.0;
            later.answered_s += 50.0 * 9.0;
            later.ended += 50.0;
        }
    }
    let stream = Stream { windows, window_s: 1, ..Stream::default() };
    assert_eq!(find(&stream, Times::default), None);
}

#[test]
fn a_server_above_its_capacity_falls_behind_at_once() {
    for (seconds, drain_s) in [(3, 0.0), (4, 0.0), (8, 0.0), (60, 0.0), (8, 30.0)] {
        let slow = Queue { capacity: 433.0, drain_s, ..FAST };
        let found = slow.found(seconds, |_| 1000.0).unwrap();
        assert!(found.since_s <= seconds / 4 + 1, "{found:?}");
        assert!((found.answered_per_s - 433.0).abs() < 6.0, "{found:?}");
        let waiting = 567.0 * seconds as f64;
        assert!((found.waiting as f64 - waiting).abs() < 6.0, "{found:?}");
        assert_eq!((found.given_up, found.is_short), (0, false));
    }
}

/// Of 112 requests a second it answers 100. 720 wait at the end of the load, and a drain of 2 s is enough for 200.
#[test]
fn a_backlog_is_none_the_less_one_if_the_run_does_not_wait_for_it() {
    for drain_s in [0.0, 1.0, 2.0, 3.0, 5.0, 7.0, 30.0] {
        let slow = Queue { capacity: 100.0, drain_s, ..FAST };
        for (rate, waiting) in [(107.0, 420.0), (112.0, 720.0), (150.0, 3000.0)] {
            let found = slow.found(60, |_| rate);
            let found = found.unwrap_or_else(|| panic!("{rate}/s, {drain_s} s of drain"));
            assert!(found.since_s <= 5, "{found:?}");
            assert!((found.answered_per_s - 100.0).abs() < 1.0, "{found:?}");
            assert!((found.waiting as f64 - waiting).abs() < 3.0, "{found:?}");
            assert_eq!((found.given_up, found.too_late_s, found.is_short), (0, None, false));
        }
    }
    // The same after a while.
    let slow = Queue { capacity: 100.0, drain_s: 2.0, ..FAST };
    let found = slow.found(60, |at| if at < 30 { 80.0 } else { 130.0 }).unwrap();
    assert!((30..=33).contains(&found.since_s), "{found:?}");
}

#[test]
fn a_server_that_is_busy_when_the_run_begins_falls_behind() {
    for busy_s in [2.0, 7.0, 20.0] {
        for drain_s in [0.0, 2.0, 30.0] {
            let busy = Queue { capacity: 100.0, busy_s, drain_s, ..FAST };
            let found = busy.found(60, |_| 115.0);
            let found =
                found.unwrap_or_else(|| panic!("busy for {busy_s} s, {drain_s} s of drain"));
            assert!(found.since_s as f64 <= busy_s + 4.0, "{found:?}");
            assert!((found.due_per_s - 115.0).abs() < 1.0, "{found:?}");
            assert!((found.answered_per_s - 100.0).abs() < 6.0, "{found:?}");
            // All of those due and not answered, those of the first seconds included.
            let waiting = 60.0 * 115.0 - (60.0 - busy_s) * 100.0;
            assert!((found.waiting as f64 - waiting).abs() < 3.0, "{found:?}");
        }
    }
    let busy = Queue { capacity: 100.0, busy_s: 7.0, drain_s: 2.0, ..FAST };
    let first_s = busy.found(60, |_| 115.0).unwrap().first_s.unwrap();
    assert!((first_s - 7.1).abs() < 0.1, "{first_s}");
    // A time limit of 10 s is reached by those due from 20 s on.
    let found = Queue { limit_s: 10.0, ..busy }.found(60, |_| 115.0).unwrap();
    assert!(found.too_late_s.is_some() && found.given_up > 1000, "{found:?}");
    // It keeps up with as many as it can do, and works off what came before.
    for rate in [50.0, 90.0, 100.0] {
        assert_eq!(busy.found(60, |_| rate), None, "{rate}/s");
    }
}

#[test]
fn a_run_of_two_seconds_is_too_short() {
    let found = FAST.found(2, |_| 1000.0).unwrap();
    assert!(found.is_short, "{found:?}");
    assert_eq!(FAST.found(1, |_| 400.0), None);
}

#[test]
fn a_ramp_saturates_where_it_passes_the_capacity() {
    let found = FAST.found(100, |at| 10.0 * at as f64).unwrap();
    assert!((48..75).contains(&found.since_s), "{found:?}");
}

/// A server that works on for clients that have given up answers nobody in the end; one that notices answers as many as
/// ever.
#[test]
fn answers_that_come_too_late_are_a_backlog() {
    for limit_s in [0.5, 1.0, 2.0, 6.0] {
        for rate in [600.0, 1000.0, 2000.0, 5000.0] {
            for notices in [false, true] {
                let impatient = Queue { limit_s, notices, drain_s: 1.0, ..FAST };
                let found = impatient.found(60, |_| rate);
                let found = found.unwrap_or_else(|| panic!("{limit_s} s, {rate}/s, {notices}"));
                let fell_s = limit_s * 480.0 / (rate - 480.0);
                assert!(found.since_s as f64 <= fell_s + 6.0, "{found:?}, {rate}/s");
                assert!(found.too_late_s.is_some(), "{found:?}, {rate}/s");
                assert!(found.given_up > 1000, "{found:?}");
            }
        }
    }
    let short = Queue { limit_s: 1.0, ..FAST };
    for seconds in [3, 4] {
        let found = short.found(seconds, |_| 1000.0).unwrap();
        assert!(!found.is_short && found.too_late_s.is_some(), "{found:?}");
    }
    // In a ramp from where it passes the capacity.
    let found = short.found(100, |at| 10.0 * at as f64).unwrap();
    assert!((48..75).contains(&found.since_s), "{found:?}");
}

#[test]
fn a_share_that_is_lost_is_no_backlog() {
    for (leak, limit_s) in [(2, 1.0), (5, 1.0), (46, 1.0), (10, 30.0), (46, 5.0)] {
        for delay_s in [0.0, 0.4] {
            let leaking = Queue { leak, limit_s, delay_s, drain_s: 1.0, ..FAST };
            let found = leaking.found(20, |_| 200.0);
            assert_eq!(found, None, "{leak} % lost, {limit_s} s, {delay_s} s");
        }
    }
}

/// Windows of 100 requests a second at a server that answers at once, until it freezes or loses all.
fn until(at: usize, seconds: usize, ends: bool) -> Stream {
    let window = |second: usize| {
        let served = if second < at { 100.0 } else { 0.0 };
        Window {
            due: 100.0,
            served,
            served_s: served / 100.0,
            ended: if ends { 100.0 } else { served },
            answered: served,
            answered_s: served / 100.0,
            ..Window::default()
        }
    };
    Stream { windows: (0..seconds).map(window).collect(), window_s: 1, ..Stream::default() }
}

#[test]
fn a_server_that_freezes_falls_behind() {
    let times = Times { fastest_s: 0.001, waited_s: 10.0 };
    let found = find(&until(30, 50, false), || times).unwrap();
    assert!((30..36).contains(&found.since_s), "{found:?}");
    assert_eq!((found.waiting, found.answered_per_s), (2000, 0.0));
    assert_eq!(found.too_late_s, None);
}

#[test]
fn a_server_that_refuses_all_does_not_fall_behind() {
    let times = Times { fastest_s: 0.001, waited_s: 0.0001 };
    assert_eq!(find(&until(30, 50, true), || times), None);
}

#[test]
fn a_stall_that_is_made_up_for_is_no_saturation() {
    let mut stream = until(60, 60, true);
    for window in &mut stream.windows[30..33] {
        window.answered = 0.0;
        window.ended = 0.0;
    }
    stream.windows[33].ended += 300.0;
    stream.windows[33].answered += 300.0;
    assert_eq!(find(&stream, Times::default), None);
}

#[test]
fn windows_may_be_longer_than_a_second() {
    let mut stream = until(60, 60, false);
    stream.window_s = 10;
    for window in &mut stream.windows[40..] {
        window.answered = 50.0;
        window.ended = 50.0;
    }
    let found = find(&stream, Times::default).unwrap();
    assert!((400..450).contains(&found.since_s), "{found:?}");
    assert_eq!((found.due_per_s, found.answered_per_s), (10.0, 5.0));
}
