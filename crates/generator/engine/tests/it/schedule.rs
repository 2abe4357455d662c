//! The engine's rules of arrivals and timers, without a driver.

mod recorded;
mod shares;
