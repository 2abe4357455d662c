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

/// The hint for a [`Fault`](crate::Fault).
pub const FAULT_HINT: &str =
    "it is JavaScript without promises, timers, files and sockets; see docs/scripts.md";
