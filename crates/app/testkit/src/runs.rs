//! Runs that are made by hand, so that what is in them is known.

pub mod made;
pub mod sample;

/// Nanoseconds of a second.
pub const SECOND: u64 = 1_000_000_000;
/// Nanoseconds of a millisecond.
pub const MS: u64 = 1_000_000;
/// Nanoseconds of a microsecond.
pub const US: u64 = 1_000;
