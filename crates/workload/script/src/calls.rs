//! Calls of scripts: their inputs, and their failures.

use stats::rng::Rng;

/// Largest text of a script, in bytes.
pub const SCRIPT_BYTES_MAX: usize = 256 << 10;

/// Most modules that scripts import.
pub const IMPORTS_MAX: usize = 64;

/// The limits of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// CPU time of a call, in nanoseconds.
    pub time_max_ns: u64,
    /// Memory of a context, in bytes.
    pub memory_bytes_max: usize,
}

/// Lines that calls have written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Console {
    /// The lines that are kept, [`Console::LINES_MAX`] at most.
    pub lines: Vec<ConsoleLine>,
    /// How many were too many.
    pub dropped: u64,
}

impl Console {
    /// Most lines that are kept until they are taken.
    pub const LINES_MAX: usize = 100;
}

/// A line that a call has written by `console.log` or its like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleLine {
    /// The run's clock: milliseconds since the Unix epoch.
    pub unix_ms: i64,
    /// The first 1,000 characters of the line.
    pub text: String,
}

/// The values that a call may look at besides its arguments.
#[derive(Debug)]
pub struct Surroundings<'a> {
    /// The run's clock: milliseconds since the Unix epoch.
    pub now_ms: i64,
    /// The stream from which `Math.random` draws.
    pub rng: &'a mut Rng,
}

/// An error in a script or step, found when it is loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// In words.
    pub message: String,
    /// The file that the place is in, if it is not the only one.
    pub file: Option<String>,
    /// Line and column, from 1, as far as they are known.
    pub place: Option<(u32, u32)>,
}

/// Why a call has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Failure(pub String);
