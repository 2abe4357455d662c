//! Converts another tool's file to a scenario.

use std::io::Write;

use convert::har;
use scenario::Source;

use crate::args::full::{FileArgs, Statics};
use crate::exit::{Exit, Failure, written};
use crate::full::is_xml;
use crate::source::{self, Text};

/// Converts a file to a scenario.
pub(super) fn import(file: &str, args: &FileArgs) -> Result<Exit, Failure> {
    let bytes = source::read_bytes(file, har::TEXT_BYTES_MAX as u64)?;
    let text = if is_xml(&bytes) {
        source::from_tsung(file, &bytes, args.tsung.leniency())?
    } else if is_json(&bytes) {
        from_har(file, bytes, &recording(args))?
    } else {
        return Err(Failure::hinted(
            Exit::Data,
            format!("{file} has no format that can be imported"),
            "give a Tsung file (XML) or a browser recording (HAR, JSON); of numbers say what they are with \
             --measure NAME --unit ms",
        ));
    };
    match &args.output {
        None => written(write!(std::io::stdout(), "{}", text.text)),
        Some(path) => {
            record::write_whole(path, text.text.as_bytes()).map_err(|error| {
                let hint = "choose another file with --output";
                Failure::unwritten(Exit::CannotCreate, &error, hint)
            })?;
            Ok(Exit::Passed)
        }
    }
}

/// Whether a file's beginning is that of an object in JSON.
fn is_json(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    text.trim_ascii_start().starts_with(b"{")
}

/// Converts a browser recording to a scenario.
fn from_har(name: &str, bytes: Vec<u8>, settings: &har::Settings) -> Result<Text, Failure> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let message = format!("{name} is not a browser recording: {}", error.utf8_error());
        Failure::hinted(Exit::Data, message, "HAR files are UTF-8")
    })?;
    let (converted, diagnostics) = har::convert(Source { name, text: &text }, settings);
    source::converted_text(name, text, converted, &diagnostics)
}

fn recording(args: &FileArgs) -> har::Settings {
    har::Settings {
        statics: match args.statics.unwrap_or(Statics::Group) {
            Statics::Keep => har::Statics::Keep,
            Statics::Group => har::Statics::Group,
            Statics::Skip => har::Statics::Skip,
        },
        third_parties: args.third_parties,
        cached: args.cached,
    }
}
