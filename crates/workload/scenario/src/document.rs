//! Texts that people write: trees that keep places, diagnostics, and the smaller documents.
//!
//! [`yaml`] makes a tree ([`node`]) of a text, each value with its place; [`diagnostic`] says what is wrong where, and
//! [`suggest`] what was probably meant. [`csv`] reads rows of data in the same way. [`mod@meters`] and [`mod@prices`]
//! are documents that need no more than [`reader`], and [`results`] is a table of factors and responses; scenarios and experiments are read by `scenario`, labs by `lab`. The
//! crate does no I/O.

pub mod csv;
pub mod diagnostic;
pub mod meters;
pub mod node;
pub mod prices;
pub mod reader;
pub mod results;
pub mod suggest;
pub mod yaml;

pub use diagnostic::{
    Collector, DIAGNOSTICS_MAX, Diagnostic, IncludedText, Origin, Severity, render,
};
pub use meters::meters;
pub use node::Place;
pub use prices::prices;

/// A text and what to call it in messages.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The file's name.
    pub name: &'a str,
    /// The file's content.
    pub text: &'a str,
}
