//! `throng schema`: the JSON Schema of scenarios, or of experiments.

use std::io::Write;

use crate::args::SchemaOf;
use crate::exit::{Exit, Failure, written};

pub(crate) fn schema(what: SchemaOf) -> Result<Exit, Failure> {
    let schema = match what {
        SchemaOf::Scenario => scenario::schema(),
        SchemaOf::Experiment => scenario::experiment_schema(),
    };
    let text = format!("{schema:#}");
    written(writeln!(std::io::stdout(), "{text}"))
}
