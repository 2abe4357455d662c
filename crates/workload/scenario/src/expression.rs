//! Reads the language inside ${…}: expressions, templates, and paths into JSON.
//!
//! [`expression`], [`lone_expression`] and [`template`] make [`plan::expr`]'s types of the tokens that `lex` finds;
//! a [`Scope`] says what names mean. `functions` has the table of all functions; those that are more than a call when a
//! scenario is compiled are in `special`. [`json_path`] reads paths that name one place in JSON.

mod functions;
pub mod json_path;
mod lex;
mod parse;
mod special;

pub use lex::ExprError;
pub use parse::{Scope, expression, is_function, is_name, lone_expression, reserved_as, template};
