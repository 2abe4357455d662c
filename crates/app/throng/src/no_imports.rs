//! Stand-in for imports from other tools, in a program that was built without them.

use std::ops::Range;

use report::TsungRequest;

use crate::exit::{Exit, Failure};

/// Treatment of parts of a Tsung file that have no counterpart.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Leniency {
    Strict,
    Lenient,
}

/// A value of this type never exists.
#[derive(Debug)]
pub(crate) enum Conversion {}

impl Conversion {
    pub(crate) fn origin(&self, _line: usize) -> Option<Range<usize>> {
        match *self {}
    }
}

/// True if the file is not YAML but perhaps XML: no scenario begins like that.
pub(crate) fn is_xml(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(b"<")
}

pub(crate) fn tsung_requests(converted: &Conversion) -> Vec<TsungRequest> {
    match *converted {}
}

/// The error of a program without imports.
pub(crate) fn none() -> Failure {
    Failure::hinted(
        Exit::Usage,
        "this program was built without imports: other tools' files, and published results"
            .to_owned(),
        "build it with its default features",
    )
}
