//! When users start, which of them are whose, and the timers they wait for.

pub mod arrivals;
pub mod share;
pub mod wheel;
