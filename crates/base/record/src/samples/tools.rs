//! Forms of results of other tools, recognised by their content, and read with their meaning.
//!
//! Each form is a file below; a reader is a pure function of the text. What a form does not say is said in
//! [`ToolResults::absent`]; a form that has no operations, but figures of them, is refused with what it lacks.

mod benchmarks;
mod fortio;
mod gatling;
mod gatling_binary;
mod ghz;
mod hdr;
mod jmeter;
mod jmeter_xml;
mod k6;
mod lines;
mod locust;
mod recognise;
mod summaries;
mod vegeta;

use super::results::{ReadOptions, ResultsError, ToolResults};
use recognise::{Form, RecognisedContent, recognise};

pub use recognise::is_results;

/// Reads results of another tool, by the form that their content has.
///
/// # Errors
/// If the content has no form that is known, one that has no operations, or is not as its form says; the first fault
/// ends it.
pub fn read(bytes: &[u8], options: &ReadOptions) -> Result<ToolResults, ResultsError> {
    let recognised = recognise(bytes).ok_or(ResultsError::Unknown)?;
    let results = match recognised {
        RecognisedContent::Summary(summary) => return Err(summary.refusal()),
        RecognisedContent::BinaryLog => gatling_binary::read(bytes, options)?,
        RecognisedContent::Results(form) => read_form(form, text(bytes)?, options)?,
    };
    let states_unit = recognised != RecognisedContent::Results(Form::Hdr);
    match options.unit.is_some() && states_unit {
        true => Err(ResultsError::Unit { tool: results.tool }),
        false => Ok(results),
    }
}

fn read_form(form: Form, text: &str, options: &ReadOptions) -> Result<ToolResults, ResultsError> {
    match form {
        Form::JmeterCsv => jmeter::read(text, options),
        Form::JmeterXml => jmeter_xml::read(text, options),
        Form::K6Json => k6::read_json(text, options),
        Form::K6Csv => k6::read_csv(text, options),
        Form::Gatling => gatling::read(text, options),
        Form::VegetaCsv => vegeta::read_csv(text, options),
        Form::VegetaJson => vegeta::read_json(text, options),
        Form::HeyCsv => lines::read_hey(text, options),
        Form::OhaCsv => lines::read_oha(text, options),
        Form::H2loadLog => lines::read_h2load(text, options),
        Form::Tsung => lines::read_tsung(text, options),
        Form::Fortio => fortio::read(text, options),
        Form::Ghz => ghz::read(text, options),
        Form::Criterion => benchmarks::read_criterion(text, options),
        Form::GoogleBenchmark => benchmarks::read_google(text, options),
        Form::PytestBenchmark => benchmarks::read_pytest(text, options),
        Form::Locust => locust::read(text, options),
        Form::Hdr => hdr::read(text, options),
    }
}

/// The bytes as text, without a byte order mark and line ends at the end.
fn text(bytes: &[u8]) -> Result<&str, ResultsError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes[..error.valid_up_to()].iter();
        let line = before.filter(|&&byte| byte == b'\n').count() + 1;
        let problem = "not UTF-8; save the file as UTF-8 text".to_owned();
        ResultsError::Line { line, problem }
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text).trim_end_matches(['\n', '\r']))
}

#[cfg(test)]
mod tests;
