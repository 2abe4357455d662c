//! Operations that ended in an interval, by the seconds in which they were due and ended.

use stats::hist::LogHistogram;

use super::windows::Window;

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;
/// Longest interval over which operations are spread.
const EVEN_NS_MAX: u64 = 10 * SECOND;

/// Operations of a measure that ended in an interval in the same way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndedOperations<'t> {
    pub(crate) start_ns: u64,
    /// Length of the interval.
    pub(crate) len_ns: u64,
    /// Their response times.
    pub(crate) times: &'t LogHistogram,
    /// The target answered them, with success or with a failure.
    pub(crate) is_answered: bool,
    /// It answered them with a failure.
    pub(crate) is_failure: bool,
    /// The share of them that their users gave up, 0 to 1.
    pub(crate) interrupted: f64,
}

impl EndedOperations<'_> {
    /// The second in which they ended.
    pub(crate) fn second(&self) -> usize {
        (self.start_ns / SECOND) as usize
    }

    /// Tells what is to be added to the window of each second, one after the other and in any order.
    pub(crate) fn by_second(&self, mut add: impl FnMut(usize, &Window)) {
        let ended = self.second();
        let count = self.times.count();
        let mut own = Window { ended: count as f64, ..Window::default() };
        for (_, response_ns, count) in self.times.iter() {
            if self.is_answered && !self.is_failure {
                let ln = (response_ns.max(1) as f64).ln();
                own.succeeded_ln += ln * count as f64;
                own.succeeded_ln_squares += ln * ln * count as f64;
            }
            for (second, share) in due_in(self.start_ns, self.len_ns, response_ns) {
                let due = share * count as f64;
                let served = if self.is_answered { due } else { 0.0 };
                let served_s = served * response_ns as f64 / 1e9;
                let interrupted = self.interrupted * due;
                let part = Window { due, served, served_s, interrupted, ..Window::default() };
                add(second.min(ended), &part);
            }
        }
        if self.is_answered {
            own.answered = count as f64;
            own.answered_s = self.times.mean() * count as f64 / 1e9;
            own.failed = if self.is_failure { count as f64 } else { 0.0 };
        }
        add(ended, &own);
    }
}

/// The seconds in which operations that ended in an interval were due, and the share of them in each: they ended
/// evenly over the interval, as far as is known.
fn due_in(
    start_ns: u64,
    len_ns: u64,
    response_ns: u64,
) -> impl Iterator<Item = (usize, f64)> + use<> {
    let from_ns = start_ns as f64 - response_ns as f64;
    // Only imported results have longer ones.
    let length_ns = len_ns.clamp(1, EVEN_NS_MAX) as f64;
    let until_ns = from_ns + length_ns;
    let second = |ns: f64| (ns / SECOND as f64).max(0.0) as usize;
    (second(from_ns)..=second(until_ns)).map(move |at| {
        // Due times before the run count to its first second.
        let begin_ns = match at {
            0 => f64::NEG_INFINITY,
            _ => (at as u64 * SECOND) as f64,
        };
        let end_ns = ((at as u64 + 1) * SECOND) as f64;
        let overlap_ns = (until_ns.min(end_ns) - from_ns.max(begin_ns)).max(0.0);
        (at, overlap_ns / length_ns)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_were_due_evenly_over_the_length_of_their_interval() {
        let shares = |start_s: u64, response_ms: u64| {
            due_in(start_s * SECOND, SECOND, response_ms * 1_000_000).collect::<Vec<_>>()
        };
        assert_eq!(shares(5, 0), [(5, 1.0), (6, 0.0)]);
        assert_eq!(shares(5, 250), [(4, 0.25), (5, 0.75)]);
        assert_eq!(shares(5, 2250), [(2, 0.25), (3, 0.75)]);
        // Before the run nothing is due.
        assert_eq!(shares(1, 1500), [(0, 1.0)]);
        assert_eq!(shares(0, 4000), [(0, 1.0)]);
    }
}
