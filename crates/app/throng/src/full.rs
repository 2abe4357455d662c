//! Calls of the crates that only the whole program has.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use convert::tsung;
use record::Import;
use record::schema::{RunInfo, Summary, Tally};
use report::TsungRequest;
use scenario::Source;
use scenario::document::Diagnostic;

use crate::exit::{Exit, Failure};
use crate::terminal;

pub(crate) use convert::{Conversion, Leniency, is_xml};

/// Converts a Tsung file to a scenario, unless something is wrong. The first text is that of the file.
pub(crate) fn from_tsung(
    name: &str,
    bytes: &[u8],
    leniency: Leniency,
    files: &dyn Fn(&str) -> Result<String, String>,
) -> Result<(String, Option<Conversion>, Vec<Diagnostic>), Failure> {
    let xml = convert::decode(bytes).map_err(|error| Failure::new(Exit::Data, error))?;
    let settings = tsung::Settings { leniency, files };
    let (converted, diagnostics) = tsung::convert(Source { name, text: &xml }, &settings);
    Ok((xml, converted, diagnostics))
}

/// The text of the scenario that a file was converted to.
pub(crate) fn scenario_text(converted: &Conversion) -> &str {
    &converted.text
}

/// Requests of a Tsung file, as Tsung's log has them.
pub(crate) fn tsung_requests(converted: &Conversion) -> Vec<TsungRequest> {
    let requests = converted.requests.iter();
    let described = requests.map(|request| TsungRequest {
        measure: request.measure.clone(),
        tag: request.tag.clone(),
        transaction: request.transaction.clone(),
        acts_on_match: request.acts_on_match,
    });
    described.collect()
}

/// Judges published results that `throng import` made a run directory of.
#[expect(clippy::unnecessary_wraps, reason = "as without imports")]
pub(crate) fn judge_import(
    info: &RunInfo,
    import: &Import,
    tally: &Tally,
) -> Result<Summary, Failure> {
    Ok(thesis::judge(info, import, tally))
}

/// Such results as text.
#[expect(clippy::unnecessary_wraps, reason = "as without imports")]
pub(crate) fn import_text(
    summary: &Summary,
    info: &RunInfo,
    import: &Import,
    directory: &str,
) -> Result<String, Failure> {
    Ok(thesis::render_results(summary, info, import, directory, terminal::style()))
}

/// The JSON Schema of labs.
#[expect(clippy::unnecessary_wraps, reason = "as without labs")]
pub(crate) fn lab_schema() -> Result<serde_json::Value, Failure> {
    Ok(lab::file::schema())
}

/// The names of the balancer's policies, and what each chooses.
pub(crate) fn policies() -> impl TypedValueParser<Value = String> {
    let kinds = balancer::policy::Kind::all();
    let values = kinds.map(|kind| PossibleValue::new(kind.name()).help(kind.about()));
    PossibleValuesParser::new(values)
}
