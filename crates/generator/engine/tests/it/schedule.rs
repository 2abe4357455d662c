//! The engine's rules that need no driver. Those that need one are tests of the crate `driver`.

mod recorded;
mod shares;
