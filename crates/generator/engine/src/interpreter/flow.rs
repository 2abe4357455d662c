//! The continuation after an instruction.

use plan::Pc;

/// The continuation after an instruction.
pub(crate) enum Flow {
    /// The next one.
    Next,
    /// That one.
    Jump(Pc),
    /// Nothing, until the user's wait ends.
    Wait,
    /// The session is over.
    End,
    /// The step cannot be done, which is counted, and the session cannot continue.
    Fail,
    /// The same for lack of memory of the generator.
    NoMemory,
}
