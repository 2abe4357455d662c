//! Runs the functions and steps of a scenario that are written in JavaScript.
//!
//! A [`Context`] is QuickJS with one scenario's functions, for one thread. [`Context::load`] reads a script and says what
//! its top level declares; [`Context::new`] makes the context of a loop from a compiled plan. What goes in and comes out
//! are values of the scenario's language. A script has no file, socket or timer; modules are texts that are given with it. Its clock is the run's, its random
//! numbers are the user's, and each call has limits on time, memory and stack.
//!
//! | file | subject |
//! |---|---|
//! | `calls` | what calls are given, and what goes wrong |
//! | `quickjs/context` | loading, calls and steps |
//! | `quickjs/bindings` | what the top level of a script declares |
//! | `quickjs/modules` | which texts are modules, and where their imports lead |
//! | `quickjs/step` | the code around the text of a step |
//! | `quickjs/values` | values of both languages |
//! | `quickjs/state` | clock, random numbers, lines and limits of a call |
//! | `quickjs/failure` | what went wrong, and where |
//! | `quickjs/prelude.js` | what scripts find beside the language, and what they do not |
//! | `no_quickjs` | a program without the feature `full` has no JavaScript: each script is an error |

mod calls;
#[cfg(feature = "full")]
mod quickjs;
#[cfg(not(feature = "full"))]
#[path = "no_quickjs.rs"]
mod quickjs;

pub use calls::{
    Console, ConsoleLine, Failure, Fault, IMPORTS_MAX, Limits, SCRIPT_BYTES_MAX, Surroundings,
};
pub use quickjs::{Context, FAULT_HINT};
