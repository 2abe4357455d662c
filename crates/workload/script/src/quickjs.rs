//! QuickJS, and all that knows it.

mod bindings;
mod context;
mod failure;
mod modules;
mod state;
mod step;
mod values;

#[cfg(test)]
mod tests;

pub use context::Context;

/// What to do about a [`Fault`](crate::Fault).
pub const FAULT_HINT: &str =
    "it is JavaScript without promises, timers, files and sockets; see docs/scripts.md";
