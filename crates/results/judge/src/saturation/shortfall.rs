//! Requests that wait for longer and longer, although the target answers nearly as many as are due.
//!
//! The finding on a run says that a target fell behind if it answered clearly too few. A load that is sustained is answered
//! completely, but for what is in flight. Little's law (1961) knows that number: rate × response time, here of the requests
//! that were due in the first third of a phase. Above its capacity a target leaves ever more waiting. If that grows evenly
//! from the beginning, it is six times that number at the end of the phase, whatever the rate: both are proportional to time.
//! If arrivals are random, more and more wait for a while also at a target that is just fast enough. Then few wait again before
//! the end of most phases.

use std::ops::Range;

use stats::mean::mean;

use super::backlog::sum;
use crate::figures::Window;
use crate::limits::{SATURATED_BACKLOG_MIN, SATURATED_TIMES_LITTLE};

/// Two windows in each quarter of a phase: of fewer there is nothing to say.
const WINDOWS_MIN: usize = 8;

/// Requests of a phase that were not answered, and of which ever more waited.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shortfall {
    /// Requests that were due in the phase.
    pub due: f64,
    /// Requests that waited at its end.
    pub waiting: f64,
    /// Requests that are in flight by the response times of its beginning.
    pub usual: f64,
}

impl Shortfall {
    /// The finding's text, for a phase of this name.
    pub fn text(&self, phase: &str) -> String {
        format!(
            "the target did not keep up: of {} requests due in {phase} {} waited at its end, and more and more did; {} \
             are in flight by Little's law at the response times of its beginning",
            units::about(self.due),
            units::about(self.waiting),
            units::significant(self.usual, 2),
        )
    }
}

/// The requests that waited at the end of a phase of an even rate, if there were too many of them in all of its last quarter,
/// more than in the quarter before.
pub(super) fn find(windows: &[Window], phase: Range<usize>, window_s: usize) -> Option<Shortfall> {
    let own = windows.get(phase.clone())?;
    if own.len() < WINDOWS_MIN {
        return None;
    }
    let before = sum(&windows[..phase.start], |w| w.due - w.answered);
    let waiting = own.iter().scan(before, |waiting, window| {
        *waiting += window.due - window.answered;
        Some(*waiting)
    });
    let waiting: Vec<f64> = waiting.collect();
    let quarter = waiting.len() / 4;
    let (earlier, last) = waiting.split_at(waiting.len() - quarter);
    let third = &earlier[earlier.len() - quarter..];
    let due = sum(own, |w| w.due);
    let beginning = &own[..own.len().div_ceil(3)];
    let served = sum(beginning, |w| w.served);
    let response_s = sum(beginning, |w| w.served_s) / served.max(1.0);
    let usual = due / (own.len() * window_s) as f64 * response_s;
    let at_end = *last.last()?;
    let is_lasting = last.iter().all(|&waiting| waiting > SATURATED_BACKLOG_MIN);
    let is_more = at_end > SATURATED_TIMES_LITTLE * usual;
    (is_lasting && is_more && mean(last) > mean(third)).then_some(Shortfall {
        due,
        waiting: at_end,
        usual,
    })
}

#[cfg(test)]
mod tests {
    use stats::rng::{Purpose, Rng};

    use super::*;

    /// A minute of Poisson arrivals at a server that takes 10 ms for each, first come, first served.
    fn queue(rate: f64, seed: u64) -> Vec<Window> {
        let mut rng = Rng::new(seed, 0, Purpose::Value);
        let mut windows = vec![Window::default(); 60];
        let mut due_s = 0.0;
        let mut free_s = 0.0_f64;
        loop {
            due_s += -(1.0 - rng.unit()).ln() / rate;
            if due_s >= 60.0 {
                return windows;
            }
            free_s = free_s.max(due_s) + 0.010;
            let own = &mut windows[due_s as usize];
            own.due += 1.0;
            own.served += 1.0;
            own.served_s += free_s - due_s;
            if let Some(window) = windows.get_mut(free_s as usize) {
                window.answered += 1.0;
            }
        }
    }

    fn found(windows: &[Window]) -> Option<Shortfall> {
        find(windows, 0..windows.len(), 1)
    }

    #[test]
    fn a_server_above_its_capacity_falls_short_although_it_answers_nearly_all() {
        // The arrivals of one run in a hundred are as few as the server can do.
        let short = (0..20).filter(|&seed| found(&queue(108.0, seed)).is_some()).count();
        assert!(short >= 19, "{short} of 20");
        let found = found(&queue(110.0, 1)).unwrap();
        assert!(found.waiting > 300.0 && found.waiting < 0.12 * found.due, "{found:?}");
        assert!(found.usual < found.waiting / 3.0, "{found:?}");
        assert!(found.text("load").starts_with("the target did not keep up: of 6,"));
    }

    #[test]
    fn a_server_below_its_capacity_does_not_fall_short() {
        for rate in [50.0, 80.0, 90.0] {
            for seed in 0..20 {
                assert_eq!(found(&queue(rate, seed)), None, "{rate}/s, seed {seed}");
            }
        }
    }

    /// 100 a second that take 6 s each: in a minute 600 are in flight to its end, in a shorter run as well.
    #[test]
    fn long_responses_are_no_shortfall() {
        for seconds in [8, 15, 60] {
            let mut windows = vec![Window::default(); seconds];
            for second in 0..seconds {
                let own = &mut windows[second];
                (own.due, own.served, own.served_s) = (100.0, 100.0, 600.0);
                if let Some(later) = windows.get_mut(second + 6) {
                    later.answered = 100.0;
                }
            }
            assert_eq!(found(&windows), None, "{seconds} s");
        }
    }

    #[test]
    fn a_backlog_that_begins_late_is_one_of_the_phase() {
        let mut windows = queue(80.0, 3);
        for window in &mut windows[40..] {
            window.answered *= 0.9;
        }
        let late = find(&windows, 20..60, 1).unwrap();
        assert!((late.waiting - 160.0).abs() < 30.0, "{late:?}");
        // What is worked off before the end is none.
        windows[58].answered += late.waiting;
        assert_eq!(find(&windows, 20..60, 1), None);
        assert_eq!(find(&windows, 20..27, 1), None, "too few windows");
        assert_eq!(find(&windows, 50..70, 1), None, "no such windows");
    }
}
