//! Runs the functions and steps of a scenario that are written in JavaScript.
//!
//! A [`Context`] is QuickJS with one scenario's functions, for one thread. [`Context::load`] reads a script and says what
//! its top level declares; [`Context::new`] makes the context of a loop from a compiled plan. What goes in and comes out
//! are values of the scenario's language. A script has no file, socket, module or timer. Its clock is the run's, its random
//! numbers are the user's, and each call has limits on time, memory and stack.
//!
//! | file | subject |
//! |---|---|
//! | `context` | loading, calls and steps |
//! | `bindings` | what the top level of a script declares |
//! | `step` | the code around the text of a step |
//! | `values` | values of both languages |
//! | `state` | clock, random numbers and limits of a call |
//! | `failure` | what went wrong, and where |
//! | `prelude.js` | what scripts find beside the language, and what they do not |

mod bindings;
mod context;
mod failure;
mod state;
mod step;
mod values;

#[cfg(test)]
mod tests;

pub use context::{Context, Limits, SCRIPT_BYTES_MAX};
pub use failure::{Failure, Fault};
pub use state::Surroundings;
