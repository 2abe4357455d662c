//! Converts other tools' files to scenarios.
//!
//! [`Format`] says which tool a file is of; each tool has a module. A converter makes the text of a scenario, which then
//! goes the way of every scenario. What it decided stands in the text as comments; what it cannot carry over is reported
//! with its place and is an error unless the caller is [lenient](Leniency). Of each line it remembers where in the
//! original it came from, so that what the scenario's own check says can be shown there.

pub mod bruno;
mod collection;
pub mod curl;
mod diagnostics;
mod draft;
mod format;
pub mod har;
pub mod insomnia;
pub mod jmeter;
mod json;
mod names;
pub mod openapi;
pub mod postman;
mod request;
mod secrets;
mod template;
pub mod tsung;
mod writer;
mod xml;
mod xpath;

use std::ops::Range;

pub use draft::problems;
pub use format::Format;
pub use xml::{DecodeError, decode, is_xml};

/// Treatment of parts that have no counterpart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leniency {
    /// They are errors.
    Strict,
    /// They are left out with a warning.
    Lenient,
}

/// The scenario converted from a file of another tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversion {
    /// YAML.
    pub text: String,
    /// For each line of the text the bytes of the original it was made of.
    lines: Vec<Range<usize>>,
    /// Properties of requests that the other tool knows and the scenario does not state, by
    /// measure.
    pub requests: Vec<tsung::Request>,
}

impl Conversion {
    /// Bytes of the original that a place of the scenario comes from; `line` counts from 1.
    pub fn origin(&self, line: usize) -> Option<Range<usize>> {
        self.lines.get(line.checked_sub(1)?).cloned()
    }
}
