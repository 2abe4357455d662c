//! Scenarios converted from other tools' files.

use convert::{har, tsung};
use scenario::document::{Diagnostic, Source};

use super::{FILES_BYTES_MAX, Text, folder, print, read_input, wrong};
use crate::exit::{Exit, Failure};
use crate::imports::{Conversion, Leniency};

/// Converts a Tsung file to a scenario and prints the diagnostics of the conversion.
pub(crate) fn from_tsung(name: &str, bytes: &[u8], leniency: Leniency) -> Result<Text, Failure> {
    let xml = convert::decode(bytes).map_err(|error| Failure::new(Exit::Data, error))?;
    let folder = folder(name);
    let files = |name: &str| read_input(&folder.join(name), FILES_BYTES_MAX);
    let settings = tsung::Settings { leniency, files: &files };
    let source = Source { name, text: &xml };
    let (converted, diagnostics) = tsung::convert(source, &settings);
    converted_text(name, xml, converted, &diagnostics)
}

/// Prints the diagnostics of a conversion and returns the scenario, if there is one.
fn converted_text(
    name: &str,
    original: String,
    converted: Option<Conversion>,
    diagnostics: &[Diagnostic],
) -> Result<Text, Failure> {
    for diagnostic in diagnostics {
        print(diagnostic, diagnostic.span.clone(), name, &original);
    }
    let Some(converted) = converted else {
        return Err(wrong(
            name,
            diagnostics,
            "docs/tsung.md and docs/har.md list what is supported",
        ));
    };
    Ok(Text {
        name: name.to_owned(),
        text: converted.text.clone(),
        sets: Vec::new(),
        original: Some((original, converted)),
    })
}

/// Converts a browser recording to a scenario.
pub(crate) fn from_har(
    name: &str,
    bytes: Vec<u8>,
    settings: &har::Settings,
) -> Result<Text, Failure> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let message = format!("{name} is not a browser recording: {}", error.utf8_error());
        Failure::hinted(Exit::Data, message, "HAR files are UTF-8")
    })?;
    let (converted, diagnostics) = har::convert(Source { name, text: &text }, settings);
    converted_text(name, text, converted, &diagnostics)
}
