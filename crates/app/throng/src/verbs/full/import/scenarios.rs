//! Converts another tool's file to a scenario.

use std::io::Write;
use std::path::Path;

use convert::{Conversion, Format, bruno, curl, har, insomnia, jmeter, openapi, postman};
use scenario::{Diagnostic, Source};

use crate::args::full::{FileArgs, SessionsArg, Statics};
use crate::exit::{Exit, Failure, written};
use crate::source::{self, Text};

/// Converts a file to a scenario.
pub(super) fn import(file: &str, args: &FileArgs) -> Result<Exit, Failure> {
    let remedy = "divide it; bodies of answers that nothing is read from can be left out";
    let bytes = source::read_bytes(file, har::TEXT_BYTES_MAX as u64, remedy)?;
    let text = match Format::of(&bytes) {
        Some(Format::Tsung) => {
            let text = source::from_tsung(file, &bytes, args.tsung.leniency())?;
            // What is written must run; other importers check that themselves.
            source::compile(&text, &[])?;
            text
        }
        Some(Format::Har) => {
            let settings = recording(args.statics, args.third_parties, args.cached);
            converted(file, bytes, |source| har::convert(source, &settings))?
        }
        Some(Format::Curl) => {
            let files = source::files_beside(file);
            let settings = curl::Settings { leniency: args.tsung.leniency(), files: &files };
            converted(file, bytes, |source| curl::convert(source, &settings))?
        }
        Some(Format::Postman) => {
            let files = source::files_beside(file);
            let environment = args.environment.as_deref();
            let environment = environment.map(source::read).transpose()?;
            let settings = postman::Settings {
                leniency: args.tsung.leniency(),
                environment: environment.as_ref().map(|read| read.text.as_str()),
                files: &files,
            };
            converted(file, bytes, |source| postman::convert(source, &settings))?
        }
        Some(Format::Bruno) => {
            let files = source::files_beside(file);
            let settings = bruno::Settings { leniency: args.tsung.leniency(), files: &files };
            converted(file, bytes, |source| bruno::convert(source, &settings))?
        }
        Some(Format::Insomnia) => {
            let files = source::files_beside(file);
            let settings = insomnia::Settings {
                leniency: args.tsung.leniency(),
                environment: args.environment.as_deref(),
                files: &files,
            };
            converted(file, bytes, |source| insomnia::convert(source, &settings))?
        }
        Some(Format::PostmanEnvironment) => {
            return Err(Failure::hinted(
                Exit::Data,
                format!("{file} is an environment of Postman, which has no requests"),
                &format!("throng import COLLECTION --environment {file}"),
            ));
        }
        Some(Format::OpenApi | Format::Swagger) => {
            let settings = description(args);
            converted(file, bytes, |source| openapi::convert(source, &settings))?
        }
        Some(Format::JMeter) => {
            let files = source::files_beside(file);
            let settings = jmeter::Settings { leniency: args.tsung.leniency(), files: &files };
            let text = convert::decode(&bytes).map_err(|error| Failure::new(Exit::Data, error))?;
            converted(file, text.into_bytes(), |source| jmeter::convert(source, &settings))?
        }
        None => {
            return Err(Failure::hinted(
                Exit::Data,
                format!("{file} has no format that can be imported"),
                "docs/importing.md lists the formats; of numbers say what they are with --measure NAME --unit ms",
            ));
        }
    };
    write(&text, args.output.as_deref())
}

/// Writes a scenario to a file, or else to standard output.
pub(crate) fn write(text: &Text, output: Option<&Path>) -> Result<Exit, Failure> {
    match output {
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

/// Converts a file whose text is UTF-8.
pub(crate) fn converted(
    name: &str,
    bytes: Vec<u8>,
    convert: impl Fn(Source<'_>) -> (Option<Conversion>, Vec<Diagnostic>),
) -> Result<Text, Failure> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let message = format!("{name} cannot be imported: {}", error.utf8_error());
        Failure::hinted(Exit::Data, message, "the file must be UTF-8")
    })?;
    let (converted, diagnostics) = convert(Source { name, text: &text });
    source::converted_text(name, text, converted, &diagnostics)
}

/// How a recording becomes a scenario.
pub(crate) fn recording(
    statics: Option<Statics>,
    third_parties: bool,
    cached: bool,
) -> har::Settings {
    har::Settings {
        statics: match statics.unwrap_or(Statics::Group) {
            Statics::Keep => har::Statics::Keep,
            Statics::Group => har::Statics::Group,
            Statics::Skip => har::Statics::Skip,
        },
        third_parties,
        cached,
    }
}

fn description(args: &FileArgs) -> openapi::Settings {
    openapi::Settings {
        leniency: args.tsung.leniency(),
        by: match args.sessions.unwrap_or(SessionsArg::Tag) {
            SessionsArg::Tag => openapi::By::Tag,
            SessionsArg::Path => openapi::By::Path,
            SessionsArg::One => openapi::By::One,
        },
        all_methods: args.all_methods,
    }
}
