//! `throng schema`: the JSON Schema of scenarios.

use std::io::Write;

use crate::exit::{Exit, Failure, written};

pub(crate) fn schema() -> Result<Exit, Failure> {
    let text = format!("{:#}", scenario::schema());
    written(writeln!(std::io::stdout(), "{text}"))
}
