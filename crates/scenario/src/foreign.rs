//! What people wrote for other tools, as scenarios: Tsung's files and recordings of browsers.
//!
//! A converter makes the text of a scenario, which then goes the way of every scenario. What it
//! decided stands in the text as comments; what it cannot carry over is told with its place and
//! is an error unless the caller is [lenient](Leniency). Of each line it remembers where in the
//! original it came from, so that what the scenario's own check says can be shown there.

pub mod har;
pub mod tsung;
mod writer;
mod xml;

use std::ops::Range;

use crate::diagnostic::{Collector, Diagnostic};
use crate::node::Place;
pub use xml::{DecodeError, decode, is_xml};

/// What becomes of parts that have no counterpart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leniency {
    /// They are errors.
    Strict,
    /// They are left out with a warning.
    Lenient,
}

/// The scenario made of a foreign file.
#[derive(Debug, Clone, PartialEq)]
pub struct Converted {
    /// YAML.
    pub text: String,
    /// For each line of the text the bytes of the original it was made of.
    lines: Vec<Range<usize>>,
    /// What the other tool knew of requests and the scenario does not say, by measure.
    pub requests: Vec<tsung::Request>,
}

impl Converted {
    /// Where in the original a place of the scenario comes from; `line` counts from 1.
    pub fn origin(&self, line: usize) -> Option<Range<usize>> {
        self.lines.get(line.checked_sub(1)?).cloned()
    }
}

/// Collects what is to be told of a conversion.
struct Telling<'a> {
    told: Collector<'a>,
    leniency: Leniency,
    /// The kinds of differences that were told.
    differences: Vec<&'static str>,
}

impl<'a> Telling<'a> {
    fn new(text: &'a str, leniency: Leniency) -> Telling<'a> {
        Telling {
            told: Collector::new(text, &[]),
            leniency,
            differences: Vec::new(),
        }
    }

    /// Something is wrong.
    fn error(&mut self, code: &'static str, at: Range<usize>, message: String) -> &mut Diagnostic {
        self.told.error(code, &Place::at(at), message)
    }

    /// Something has no meaning here, and the load is the same without it.
    fn ignored(&mut self, at: Range<usize>, message: String) {
        self.told.warning("ignored", &Place::at(at), message);
    }

    /// Something is carried over and means a little less or more here. Of each kind the first is
    /// told.
    fn differs(&mut self, kind: &'static str, at: Range<usize>, message: &str) {
        if !self.differences.contains(&kind) {
            self.differences.push(kind);
            self.told
                .warning("differs", &Place::at(at), message.to_owned());
        }
    }

    /// Something has no counterpart: the load would be another one.
    fn lost(&mut self, at: Range<usize>, message: String) -> &mut Diagnostic {
        match self.leniency {
            Leniency::Strict => self
                .told
                .error("not-carried-over", &Place::at(at), message)
                .hint("--lenient leaves it out"),
            Leniency::Lenient => self.told.warning(
                "left-out",
                &Place::at(at),
                format!("{message}; it is left out"),
            ),
        }
    }
}
