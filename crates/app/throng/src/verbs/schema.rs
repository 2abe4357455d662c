//! `throng schema`: the JSON Schema of scenarios, experiments, or labs.

use std::io::Write;

use crate::args::SchemaOf;
use crate::exit::{Exit, Failure, written};

#[cfg(feature = "full")]
#[expect(clippy::unnecessary_wraps, reason = "as without labs")]
fn lab_schema() -> Result<serde_json::Value, Failure> {
    Ok(lab::file::schema())
}

#[cfg(not(feature = "full"))]
fn lab_schema() -> Result<serde_json::Value, Failure> {
    Err(Failure::hinted(
        Exit::Usage,
        "this program was built without labs".to_owned(),
        "build it with its default features",
    ))
}

pub(crate) fn schema(what: SchemaOf) -> Result<Exit, Failure> {
    let schema = match what {
        SchemaOf::Scenario => scenario::schema(),
        SchemaOf::Experiment => scenario::experiment_schema(),
        SchemaOf::Lab => lab_schema()?,
    };
    let text = format!("{schema:#}");
    written(writeln!(std::io::stdout(), "{text}"))
}
