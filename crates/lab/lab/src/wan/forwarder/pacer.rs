//! When the loop sleeps and when it polls, and what that means for packets; without a clock.
//!
//! A wake-up takes tens of microseconds, more on a virtual machine whose core was idle. So the loop wakes up before a
//! departure by what the last wake-ups took, and polls until then; and a packet that woke it up is taken to have
//! arrived as long ago.

use stats::hist::LogHistogram;

/// The time of a wake-up is averaged over about as many of them.
const MEMORY: u64 = 8;
/// A wake-up that took longer met something else than an idle core; in nanoseconds.
const WAKE_NS_MAX: u64 = 150_000;
/// A shorter sleep costs more than it saves; in nanoseconds.
const SLEEP_NS_MIN: u64 = 10_000;

/// How long a wait shall last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// Only a look.
    Poll,
    /// At most this many nanoseconds.
    Sleep(u64),
    /// Until a packet comes.
    Forever,
}

/// Measurements of the loop's waits.
#[derive(Debug)]
pub(super) struct Pacer {
    /// How much later than requested the loop wakes up, on average.
    pub(super) wake_ns: u64,
    /// Time of looks that found nothing.
    pub(super) polled_ns: u64,
    /// For how long at a time nobody looked at the devices, but for sleeps.
    pub(super) away: LogHistogram,
    /// For how long before the last look. A packet that it found may have waited as long.
    pub(super) away_ns: u64,
    /// When somebody looked last.
    looked_ns: u64,
}

impl Pacer {
    pub(super) fn new() -> Pacer {
        Pacer {
            wake_ns: WAKE_NS_MAX / 4,
            polled_ns: 0,
            away: LogHistogram::new(),
            away_ns: 0,
            looked_ns: u64::MAX,
        }
    }

    pub(super) fn reset(&mut self) {
        self.polled_ns = 0;
        self.away.clear();
    }

    /// How to wait now, if the next departure is at `next_ns`.
    pub(super) fn wait(&self, now_ns: u64, next_ns: Option<u64>) -> Wait {
        match next_ns.map(|next_ns| next_ns.saturating_sub(now_ns + 2 * self.wake_ns)) {
            None => Wait::Forever,
            Some(..SLEEP_NS_MIN) => Wait::Poll,
            Some(ns) => Wait::Sleep(ns),
        }
    }

    /// Accounts for a wait from `start_ns` until now, which found nothing if `is_empty`. Returns how long ago the packets
    /// that it found arrived, in nanoseconds.
    pub(super) fn account(
        &mut self,
        wait: Wait,
        start_ns: u64,
        now_ns: u64,
        is_empty: bool,
    ) -> u64 {
        let waited_ns = now_ns - start_ns;
        let away_until_ns = if wait == Wait::Poll { now_ns } else { start_ns };
        self.away_ns = away_until_ns.saturating_sub(self.looked_ns);
        self.away.record(self.away_ns);
        self.looked_ns = now_ns;
        match wait {
            Wait::Poll if is_empty => self.polled_ns += waited_ns,
            Wait::Poll => {}
            Wait::Sleep(ns) if is_empty => {
                let late_ns = waited_ns.saturating_sub(ns).min(WAKE_NS_MAX);
                self.wake_ns = (self.wake_ns * (MEMORY - 1) + late_ns) / MEMORY;
            }
            Wait::Sleep(_) | Wait::Forever => return self.wake_ns.min(waited_ns),
        }
        0
    }
}

#[cfg(test)]
mod tests;
