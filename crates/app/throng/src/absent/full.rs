//! Stand-in for the crates that only the whole program has: what needs them is an error that says so.

use std::ops::Range;

use clap::builder::{NonEmptyStringValueParser, TypedValueParser};
use record::Import;
use record::schema::{RunInfo, Summary, Tally};
use report::TsungRequest;
use scenario::document::Diagnostic;

use crate::exit::{Exit, Failure};

/// The error of a program that lacks `what`.
pub(crate) fn without(what: &str) -> Failure {
    Failure::hinted(
        Exit::Usage,
        format!("this program was built without {what}"),
        "build it with its default features",
    )
}

/// The error of a program without imports.
pub(crate) fn without_imports() -> Failure {
    without("imports: other tools' files, and published results")
}

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

pub(crate) fn from_tsung(
    _: &str,
    _: &[u8],
    _: Leniency,
    _: &dyn Fn(&str) -> Result<String, String>,
) -> Result<(String, Option<Conversion>, Vec<Diagnostic>), Failure> {
    Err(without_imports())
}

pub(crate) fn scenario_text(converted: &Conversion) -> &str {
    match *converted {}
}

pub(crate) fn tsung_requests(converted: &Conversion) -> Vec<TsungRequest> {
    match *converted {}
}

pub(crate) fn judge_import(_: &RunInfo, _: &Import, _: &Tally) -> Result<Summary, Failure> {
    Err(without_imports())
}

pub(crate) fn import_text(
    _: &Summary,
    _: &RunInfo,
    _: &Import,
    _: &str,
) -> Result<String, Failure> {
    Err(without_imports())
}

pub(crate) fn lab_schema() -> Result<serde_json::Value, Failure> {
    Err(without("labs"))
}

/// There is no policy: the verb says so, whatever the name.
pub(crate) fn policies() -> impl TypedValueParser<Value = String> {
    NonEmptyStringValueParser::new()
}
