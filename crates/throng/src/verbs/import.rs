//! `throng import`: converts published results, or another tool's file.

mod results;
mod scenarios;

use std::path::Path;

use crate::args::ImportArgs;
use crate::exit::{Exit, Failure};

pub(crate) use results::{NO_RUN, failure, note_skipped, settings};

pub(crate) fn import(args: &ImportArgs) -> Result<Exit, Failure> {
    let dir = Path::new(&args.what);
    if args.what != "-" && !dir.exists() {
        let message = format!("cannot read {:?}: no such file or directory", args.what);
        return Err(Failure::hinted(
            Exit::NoInput,
            message,
            "give a file, - for standard input, or a directory of results",
        ));
    }
    if dir.is_dir() {
        misplaced(&args.what, "a directory", args.file.given())?;
        return results::import(dir, &args.results);
    }
    misplaced(&args.what, "a file", args.results.given())?;
    scenarios::import(&args.what, &args.file)
}

/// Refuses an option that does not apply to what is imported.
fn misplaced(what: &str, is: &str, given: Option<&str>) -> Result<(), Failure> {
    match given {
        None => Ok(()),
        Some(option) => Err(Failure::hinted(
            Exit::Usage,
            format!("{what} is {is}; {option} does not apply to it"),
            "`throng import --help` lists the options for results and for files",
        )),
    }
}
