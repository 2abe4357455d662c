//! Converts another tool's file to a scenario.

use std::io::Write;

use convert::har;

use crate::args::{FileArgs, Statics};
use crate::exit::{Exit, Failure, written};
use crate::{imports, source};

/// Converts a file to a scenario.
pub(super) fn import(file: &str, args: &FileArgs) -> Result<Exit, Failure> {
    let bytes = source::read_bytes(file, har::TEXT_BYTES_MAX as u64)?;
    let text = if imports::is_xml(&bytes) {
        source::from_tsung(file, &bytes, args.tsung.leniency())?
    } else if bytes.trim_ascii_start().starts_with(b"{") {
        source::from_har(file, bytes, &recording(args))?
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
