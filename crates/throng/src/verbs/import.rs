//! `throng import FILE`: what was written for or recorded by another tool, as a scenario.

use std::io::Write;

use scenario::Source;
use scenario::foreign::{self, har};

use crate::args::{ImportArgs, Statics};
use crate::exit::{Exit, Failure, written};
use crate::source::{self, Text};

pub(crate) fn import(args: &ImportArgs) -> Result<Exit, Failure> {
    let bytes = source::read_bytes(&args.file, har::TEXT_BYTES_MAX as u64)?;
    let text = if foreign::is_xml(&bytes) {
        source::from_tsung(&args.file, &bytes, args.foreign.leniency())?
    } else if bytes.trim_ascii_start().starts_with(b"{") {
        recording(args, bytes)?
    } else {
        return Err(Failure::hinted(
            Exit::Data,
            format!("{} is nothing that can be imported", args.file),
            "give a Tsung file (XML) or a browser's recording (HAR, JSON)",
        ));
    };
    match &args.output {
        None => written(write!(std::io::stdout(), "{}", text.text)),
        Some(path) => {
            let mut temporary = path.as_os_str().to_owned();
            temporary.push(".tmp");
            let result = std::fs::write(&temporary, &text.text)
                .and_then(|()| std::fs::rename(&temporary, path));
            result.map_err(|error| {
                let message = format!("cannot write {}: {error}", path.display());
                Failure::hinted(
                    Exit::CannotCreate,
                    message,
                    "give another place with --output",
                )
            })?;
            Ok(Exit::Passed)
        }
    }
}

fn recording(args: &ImportArgs, bytes: Vec<u8>) -> Result<Text, Failure> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let message = format!("{} is no recording: {}", args.file, error.utf8_error());
        Failure::hinted(Exit::Data, message, "HAR files are UTF-8")
    })?;
    let settings = har::Settings {
        statics: match args.statics {
            Statics::Keep => har::Statics::Keep,
            Statics::Group => har::Statics::Group,
            Statics::Skip => har::Statics::Skip,
        },
        third_parties: args.third_parties,
    };
    let source = Source {
        name: &args.file,
        text: &text,
    };
    let (converted, diagnostics) = har::har(source, &settings);
    source::converted_text(&args.file, text, converted, &diagnostics)
}
