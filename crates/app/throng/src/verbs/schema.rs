//! `throng schema`: the JSON Schema of scenarios, experiments, or labs.

use std::io::Write;

use crate::args::SchemaOf;
use crate::exit::{Exit, Failure, written};
use crate::full;

pub(crate) fn schema(what: SchemaOf) -> Result<Exit, Failure> {
    let schema = match what {
        SchemaOf::Scenario => scenario::schema(),
        SchemaOf::Experiment => scenario::experiment_schema(),
        SchemaOf::Lab => full::lab_schema()?,
    };
    let text = format!("{schema:#}");
    written(writeln!(std::io::stdout(), "{text}"))
}
