//! The flag that stops loops from outside.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::deals::Deals;

/// A flag that stops loops, or their arrivals, from outside. Shared by all of them; its levels only
/// rise, a pause comes and goes.
#[derive(Debug, Default)]
pub struct StopFlag {
    level: AtomicU8,
    paused: AtomicBool,
    /// Which users start here, and until when.
    pub deals: Deals,
}

/// No more users start.
const CLOSED: u8 = 1;
/// No step begins any more.
const DRAINING: u8 = 2;
/// Operations in flight have a second left as well.
const CUT_SHORT: u8 = 3;
/// Loops return at once.
pub(super) const ABORTED: u8 = 4;

impl StopFlag {
    /// Users that fall due are refused; users that are present continue.
    pub fn close_arrivals(&self) {
        self.level.fetch_max(CLOSED, Ordering::Relaxed);
    }

    /// No step begins any more; operations in flight may end.
    pub fn drain(&self) {
        self.level.fetch_max(DRAINING, Ordering::Relaxed);
    }

    /// No step begins any more; operations in flight may end within a second.
    pub fn cut_short(&self) {
        self.level.fetch_max(CUT_SHORT, Ordering::Relaxed);
    }

    /// Loops return as soon as they notice.
    pub fn abort(&self) {
        self.level.fetch_max(ABORTED, Ordering::Relaxed);
    }

    /// True once arrivals are closed.
    pub fn is_closed(&self) -> bool {
        self.level() >= CLOSED
    }

    /// True once no step begins any more.
    pub fn is_draining(&self) -> bool {
        self.level() >= DRAINING
    }

    /// True once operations in flight have a second left.
    pub fn is_cut_short(&self) -> bool {
        self.level() >= CUT_SHORT
    }

    /// No user starts while this holds; users that fall due are skipped.
    pub fn pause_arrivals(&self, paused: bool) {
        self.paused.store(paused, Ordering::Relaxed);
    }

    /// True while arrivals are paused.
    pub fn is_paused(&self) -> bool {
        self.paused.load(Ordering::Relaxed)
    }

    /// The level; 0: not raised.
    pub fn level(&self) -> u8 {
        self.level.load(Ordering::Relaxed)
    }

    /// Raises it to at least this level of another flag.
    pub fn raise(&self, level: u8) {
        self.level.fetch_max(level, Ordering::Relaxed);
    }
}
