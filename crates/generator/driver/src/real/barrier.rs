//! The run's zero: settled once all loops are there, and waited for by them.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The run's zero on both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zero {
    /// On this machine's monotonic clock; see [`machine::clock`].
    pub monotonic_ns: u64,
    /// Nanoseconds since the Unix epoch, by the controller's clock.
    pub unix_ns: u64,
}

/// The barrier at which loops wait for the run's zero. Making room for users takes a loop
/// milliseconds, and more where many loops share a core: a zero that was fixed before would be over
/// before they are there.
#[derive(Debug, Default)]
pub struct StartBarrier {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    arrived_count: u32,
    zero: Option<Zero>,
    given_up: bool,
}

impl StartBarrier {
    /// Waits until this many loops are ready, at most for `timeout`. False if they are not, or if one
    /// of them has given up.
    pub fn await_loops(&self, count: u32, timeout: Duration) -> bool {
        let waiting = |state: &mut State| !state.given_up && state.arrived_count < count;
        let (state, _) = self
            .changed
            .wait_timeout_while(self.state(), timeout, waiting)
            .unwrap_or_else(PoisonError::into_inner);
        !state.given_up && state.arrived_count >= count
    }

    /// Lets the loops begin at `zero`.
    pub fn open(&self, zero: Zero) {
        self.state().zero.get_or_insert(zero);
        self.changed.notify_all();
    }

    /// There will be no start: loops that wait now or later return at once. Loops that have started
    /// already are not affected.
    pub fn give_up(&self) {
        self.state().given_up = true;
        self.changed.notify_all();
    }

    /// A loop that is getting ready.
    pub(super) fn join(&self) -> Participant<'_> {
        Participant { barrier: self, ready: false }
    }

    /// Nothing that holds the lock can panic between two states.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A loop at the barrier. If it ends before it is ready, the others would wait for ever, so the start
/// is given up.
#[derive(Debug)]
pub(super) struct Participant<'a> {
    barrier: &'a StartBarrier,
    ready: bool,
}

impl Participant<'_> {
    /// The loop is ready. Waits for the zero; `None` if there will be none.
    pub(super) fn wait(mut self) -> Option<Zero> {
        self.ready = true;
        let mut state = self.barrier.state();
        state.arrived_count += 1;
        self.barrier.changed.notify_all();
        let waiting = |state: &mut State| !state.given_up && state.zero.is_none();
        let state = self.barrier.changed.wait_while(state, waiting);
        state.unwrap_or_else(PoisonError::into_inner).zero
    }
}

impl Drop for Participant<'_> {
    fn drop(&mut self) {
        if !self.ready {
            self.barrier.give_up();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZERO: Zero = Zero { monotonic_ns: 5, unix_ns: 7 };
    const TIMEOUT: Duration = Duration::from_secs(60);

    #[test]
    fn ready_loops_start_at_the_same_zero() {
        let barrier = StartBarrier::default();
        std::thread::scope(|scope| {
            let loops: Vec<_> = (0..3).map(|_| scope.spawn(|| barrier.join().wait())).collect();
            assert!(barrier.await_loops(3, TIMEOUT));
            barrier.open(ZERO);
            for waited in loops {
                assert_eq!(waited.join().unwrap(), Some(ZERO));
            }
        });
    }

    #[test]
    fn a_loop_that_fails_to_get_ready_cancels_the_start() {
        let barrier = StartBarrier::default();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| barrier.join().wait());
            drop(barrier.join());
            assert!(!barrier.await_loops(2, TIMEOUT));
            assert_eq!(other.join().unwrap(), None);
        });
    }

    #[test]
    fn waiting_times_out() {
        let barrier = StartBarrier::default();
        assert!(!barrier.await_loops(1, Duration::ZERO));
    }
}
