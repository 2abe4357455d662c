//! The services that QuickJS asks for during a call: the clock, random numbers, and the limit on its time.

use std::cell::{Cell, RefCell};

use machine::clock::thread_cpu_ns;
use stats::rng::Rng;

use crate::calls::{Console, ConsoleLine, Surroundings};

/// How far one built-in function may take a call beyond its time.
const OVERSHOOT_NS_MAX: u64 = 5_000_000;

/// Whether a built-in function that has work before it may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// Begin.
    Fits,
    /// Nothing: the call's time is over.
    Over,
    /// Not begin: there is more to do than time is left.
    TooMuch,
}

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
    /// Lines that were not taken yet.
    console: RefCell<Console>,
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

    /// True if the call used more time than it may. QuickJS looks every 10,000 jumps and calls, and built-in functions
    /// look by [`State::look`].
    pub(crate) fn is_over(&self) -> bool {
        let over = self.used_ns() > self.time_max_ns.get();
        self.exceeded.set(self.exceeded.get() || over);
        over
    }

    /// Whether a built-in function that may take this much time may begin.
    pub(crate) fn look(&self, ahead_ns: u64) -> Look {
        if self.is_over() {
            return Look::Over;
        }
        match ahead_ns > self.left_ns() {
            true => Look::TooMuch,
            false => Look::Fits,
        }
    }

    /// The time that a built-in function may take.
    pub(crate) fn left_ns(&self) -> u64 {
        let most_ns = self.time_max_ns.get().saturating_add(OVERSHOOT_NS_MAX);
        most_ns.saturating_sub(self.used_ns())
    }

    /// The time of the call. The first look starts the clock, so that short calls need not read it. It is the thread's
    /// CPU time: a loop that does not run is no fault of the script.
    fn used_ns(&self) -> u64 {
        let now_ns = thread_cpu_ns();
        let seen_ns = self.seen_ns.get().unwrap_or(now_ns);
        self.seen_ns.set(Some(seen_ns));
        now_ns.saturating_sub(seen_ns)
    }

    /// Whether that ended the call.
    pub(crate) fn exceeded(&self) -> bool {
        self.exceeded.get()
    }

    /// `None`: there is no clock while a script is loaded.
    pub(crate) fn now_ms(&self) -> Option<i64> {
        self.now_ms.get()
    }

    /// A call writes a line. False: a script is being loaded.
    pub(crate) fn write(&self, text: String) -> bool {
        let Some(unix_ms) = self.now_ms.get() else {
            return false;
        };
        let mut console = self.console.borrow_mut();
        match console.lines.len() < Console::LINES_MAX {
            true => console.lines.push(ConsoleLine { unix_ms, text }),
            false => console.dropped += 1,
        }
        true
    }

    /// The lines since this was last called.
    pub(crate) fn take_console(&self) -> Console {
        self.console.take()
    }

    /// A number from 0 up to 1, from the user's stream; `None` while a script is loaded.
    pub(crate) fn random(&self) -> Option<f64> {
        let mut rng = self.rng.get()?;
        let drawn = rng.unit();
        self.rng.set(Some(rng));
        Some(drawn)
    }
}
