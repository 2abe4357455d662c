//! A loop's thread and its core: time, CPU, sleep.

use engine::measure::LoopCpu;
use machine::clock::{Dilation, monotonic_ns};
use machine::procfs::ThreadSchedule;
use rustix::thread::nanosleep;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// An interval between two readings of a thread's CPU figures, or the part of one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) length_ns: u64,
    /// The time within it in which the thread had nothing to do.
    pub(super) idle_ns: u64,
}

/// Reads the calling thread's CPU figures as differences.
pub(super) struct CpuMeter {
    /// `None`: this kernel does not have it.
    schedule: Option<ThreadSchedule>,
    /// Used and waited so far, without what no interval was given yet. On the process's clock, so that they add up with
    /// the time that the loop was idle.
    used_ns: u64,
    waited_ns: u64,
}

impl CpuMeter {
    pub(super) fn new() -> CpuMeter {
        let mut meter = CpuMeter { schedule: ThreadSchedule::open(), used_ns: 0, waited_ns: 0 };
        (meter.used_ns, meter.waited_ns) = meter.totals();
        meter
    }

    /// The thread's totals: CPU time, and time in which it was ready and did not run.
    fn totals(&mut self) -> (u64, u64) {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        let used_ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
        let schedule = self.schedule.as_mut();
        let waited_ns = schedule.and_then(ThreadSchedule::waited_ns);
        let shown_ns = |ns| Dilation::of_process().shrink_ns(ns);
        (shown_ns(used_ns), waited_ns.map_or(self.waited_ns, shown_ns))
    }

    /// Figures of `closed` intervals since the last reading, one after the other. `open`: what has passed of the next
    /// one, whose share the next reading has.
    ///
    /// CPU time is divided by the time in which the loop was not idle, and waiting for a core by all time: nothing more
    /// is known of what happened between two readings.
    pub(super) fn read(&mut self, closed: &[Span], open: Span) -> Vec<LoopCpu> {
        let (used_ns, waited_ns) = self.totals();
        let used = divide_spans(used_ns.saturating_sub(self.used_ns), closed, open, Span::busy_ns);
        let waited = divide_spans(waited_ns.saturating_sub(self.waited_ns), closed, open, |span| {
            span.length_ns
        });
        self.used_ns = used_ns.saturating_sub(used.open_ns);
        self.waited_ns = waited_ns.saturating_sub(waited.open_ns);
        let each = closed.iter().zip(used.closed_ns.iter().zip(&waited.closed_ns));
        let each = each.map(|(span, (&used_ns, &waited_ns))| LoopCpu {
            used_ns,
            waited_ns,
            idle_ns: span.idle_ns,
        });
        each.collect()
    }
}

impl Span {
    fn busy_ns(self) -> u64 {
        self.length_ns.saturating_sub(self.idle_ns)
    }
}

/// A time divided among intervals.
struct Shares {
    closed_ns: Vec<u64>,
    open_ns: u64,
}

/// Divides a time in proportion to what `weight` says of each interval. What is open has no more than its length: it
/// may be a moment after a second of which nothing but a few moments were busy.
fn divide_spans(total_ns: u64, closed: &[Span], open: Span, weight: fn(Span) -> u64) -> Shares {
    let weights: Vec<u64> = closed.iter().map(|&span| weight(span)).collect();
    let all = [weights.iter().sum::<u64>(), weight(open)];
    let open_ns = divide(total_ns, &all)[1].min(open.length_ns);
    Shares { closed_ns: divide(total_ns - open_ns, &weights), open_ns }
}

/// Divides a time in proportion to `weights`, without a remainder; all of it to the first if none has any weight.
fn divide(total_ns: u64, weights: &[u64]) -> Vec<u64> {
    let sum: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
    let mut passed = 0;
    let mut given_ns = 0;
    let each = weights.iter().map(|&weight| {
        passed += u128::from(weight);
        let until_ns = match sum {
            0 => total_ns,
            // At most the total, since what passed is at most the sum.
            _ => (u128::from(total_ns) * passed / sum) as u64,
        };
        let share_ns = until_ns - given_ns;
        given_ns = until_ns;
        share_ns
    });
    each.collect()
}

/// Lets the calling thread's sleeps end when they should. By default the kernel may wake a thread
/// 50 µs late, to save wake-ups (PR_SET_TIMERSLACK in prctl(2)).
pub(super) fn wake_on_time() {
    #[expect(unsafe_code, reason = "rustix has no call for the timer slack")]
    // SAFETY: takes numbers only and changes nothing but this thread's timer slack. It cannot
    // fail with a value above zero.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
    }
}

/// Sleeps for so long on the process's clock.
pub(super) fn sleep(time_ns: u64) {
    // Woken early by a signal: then the caller looks at its sockets early.
    let _ = nanosleep(&timespec(time_ns));
}

/// A time on the process's clock, as the kernel is to wait for it.
pub(super) fn timespec(time_ns: u64) -> Timespec {
    let machine_ns = Dilation::of_process().stretch_ns(time_ns);
    Timespec {
        tv_sec: (machine_ns / 1_000_000_000) as i64,
        tv_nsec: (machine_ns % 1_000_000_000) as i64,
    }
}

/// Sleeps until that clock shows `at_ns`, however long it is.
pub(super) fn sleep_until(at_ns: u64) {
    const PIECE_NS: u64 = 500_000_000;
    loop {
        let left_ns = at_ns.saturating_sub(monotonic_ns());
        if left_ns == 0 {
            return;
        }
        sleep(left_ns.min(PIECE_NS));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn a_time_is_divided_without_a_remainder() {
        assert_eq!(divide(10, &[1, 1, 1]), [3, 3, 4]);
        assert_eq!(divide(34, &[10, 20, 4]), [10, 20, 4]);
        assert_eq!(divide(7, &[0, 0]), [7, 0]);
        assert_eq!(divide(1 << 62, &[1 << 62, 1 << 62]), [1 << 61, 1 << 61]);
    }

    #[test]
    fn a_moment_after_an_idle_second_has_little_of_its_cpu_time() {
        let second = Span { length_ns: S, idle_ns: S - 60_000 };
        let moment = Span { length_ns: 30_000, idle_ns: 0 };
        // 100 ms of it were spent waiting for due times without sleeping.
        let shares = divide_spans(S / 10, &[second], moment, Span::busy_ns);
        assert_eq!((shares.closed_ns, shares.open_ns), (vec![S / 10 - 30_000], 30_000));
    }

    /// The loop worked for two and a half seconds without a look at its intervals.
    #[test]
    fn cpu_time_is_of_the_seconds_in_which_a_loop_worked() {
        let mut meter = CpuMeter { schedule: None, used_ns: 0, waited_ns: 0 };
        let (used_ns, _) = meter.totals();
        let span = |length_ns, idle_ns| Span { length_ns, idle_ns };
        let closed = [span(S, S), span(S, S / 2), span(S, 0)];
        let figures = meter.read(&closed, span(S / 2, 0));
        assert_eq!(figures[0].used_ns, 0);
        assert!(figures[2].used_ns >= used_ns / 2, "{figures:?}");
        assert!(figures[1].used_ns.abs_diff(figures[2].used_ns / 2) <= 1, "{figures:?}");
        assert_eq!([0, 1, 2].map(|at: usize| figures[at].idle_ns), [S, S / 2, 0]);
        // What belongs to the open second is left for its own reading.
        let next = meter.read(&[span(S, 0)], span(0, 0));
        assert!(next[0].used_ns + 1 >= figures[1].used_ns, "{figures:?} {next:?}");
    }
}
