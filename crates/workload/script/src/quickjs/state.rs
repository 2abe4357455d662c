//! What QuickJS asks for during a call: the clock, random numbers, and the limit on its time.

use std::cell::Cell;

use machine::clock::thread_cpu_ns;
use stats::rng::Rng;

use crate::calls::Surroundings;

/// Shared by a context and by what QuickJS calls back.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// `None`: a script is being loaded, which no user does.
    now_ms: Cell<Option<i64>>,
    rng: Cell<Option<Rng>>,
    time_max_ns: Cell<u64>,
    /// CPU time of the thread when a call was looked at first.
    seen_ns: Cell<Option<u64>>,
    exceeded: Cell<bool>,
}

impl State {
    /// A script is loaded from now on, within this time.
    pub(crate) fn begin_loading(&self, time_max_ns: u64) {
        self.now_ms.set(None);
        self.rng.set(None);
        self.limit(time_max_ns);
    }

    /// A call begins.
    pub(crate) fn begin(&self, surroundings: &Surroundings<'_>, time_max_ns: u64) {
        self.now_ms.set(Some(surroundings.now_ms));
        self.rng.set(Some(*surroundings.rng));
        self.limit(time_max_ns);
    }

    fn limit(&self, time_max_ns: u64) {
        self.time_max_ns.set(time_max_ns);
        self.seen_ns.set(None);
        self.exceeded.set(false);
    }

    /// It has ended: what it drew is drawn.
    pub(crate) fn end(&self, surroundings: &mut Surroundings<'_>) {
        if let Some(rng) = self.rng.get() {
            *surroundings.rng = rng;
        }
    }

    /// True if the call used more time than it may. QuickJS looks every 10,000 jumps and calls; the first look starts
    /// the clock, so that short calls need not read it. It is the thread's CPU time: a loop that does not run is no
    /// fault of the script.
    pub(crate) fn is_over(&self) -> bool {
        let now_ns = thread_cpu_ns();
        let Some(seen_ns) = self.seen_ns.get() else {
            self.seen_ns.set(Some(now_ns));
            return false;
        };
        let over = now_ns.saturating_sub(seen_ns) > self.time_max_ns.get();
        self.exceeded.set(self.exceeded.get() || over);
        over
    }

    /// Whether that ended the call.
    pub(crate) fn exceeded(&self) -> bool {
        self.exceeded.get()
    }

    /// `None`: there is no clock while a script is loaded.
    pub(crate) fn now_ms(&self) -> Option<i64> {
        self.now_ms.get()
    }

    /// A number from 0 up to 1, from the user's stream; `None` while a script is loaded.
    pub(crate) fn random(&self) -> Option<f64> {
        let mut rng = self.rng.get()?;
        let drawn = rng.unit();
        self.rng.set(Some(rng));
        Some(drawn)
    }
}
