//! Diagnostics of a conversion.

use std::ops::Range;

use scenario::document::{Collector, Diagnostic, Place};

use crate::Leniency;

/// Collects what is to be reported of a conversion.
pub(crate) struct Diagnostics<'a> {
    pub(crate) collector: Collector<'a>,
    leniency: Leniency,
    /// An error was reported: the collector may have left it out among many others.
    has_failed: bool,
    /// The kinds of differences that were reported.
    differences: Vec<&'static str>,
}

impl<'a> Diagnostics<'a> {
    pub(crate) fn new(text: &'a str, leniency: Leniency) -> Diagnostics<'a> {
        let collector = Collector::new(text, &[]);
        Diagnostics { collector, leniency, has_failed: false, differences: Vec::new() }
    }

    /// Whether there is an error.
    pub(crate) fn has_errors(&self) -> bool {
        self.has_failed || self.collector.has_errors()
    }

    /// Something is wrong.
    pub(crate) fn error(
        &mut self,
        code: &'static str,
        at: Range<usize>,
        message: String,
    ) -> &mut Diagnostic {
        self.has_failed = true;
        self.collector.error(code, &Place::at(at), message)
    }

    /// Something has no meaning here, and the load is the same without it.
    pub(crate) fn ignored(&mut self, at: Range<usize>, message: String) -> &mut Diagnostic {
        self.collector.warning("ignored", &Place::at(at), message)
    }

    /// Something else stands in the place of what the file does not hold, or what only code can say.
    pub(crate) fn stand_in(&mut self, at: Range<usize>, message: String) -> &mut Diagnostic {
        self.collector.warning("stand-in", &Place::at(at), message)
    }

    /// A secret is not carried over: the environment has it.
    pub(crate) fn secret(&mut self, at: Range<usize>, message: String) -> &mut Diagnostic {
        self.collector.warning("secret", &Place::at(at), message)
    }

    /// A name cannot stay what it is.
    pub(crate) fn renamed(&mut self, at: Range<usize>, message: String) {
        self.collector.warning("renamed", &Place::at(at), message);
    }

    /// Something is carried over and means a little less or more here. Of each kind the first is
    /// reported.
    pub(crate) fn differs(&mut self, kind: &'static str, at: Range<usize>, message: &str) {
        if !self.differences.contains(&kind) {
            self.differences.push(kind);
            self.collector.warning("differs", &Place::at(at), message.to_owned());
        }
    }

    /// Something has no counterpart: the load would be another one.
    pub(crate) fn lost(&mut self, at: Range<usize>, message: String) -> &mut Diagnostic {
        match self.leniency {
            Leniency::Strict => {
                self.error("not-carried-over", at, message).hint("--lenient leaves it out")
            }
            Leniency::Lenient => self.collector.warning(
                "left-out",
                &Place::at(at),
                format!("{message}; it is left out"),
            ),
        }
    }
}
