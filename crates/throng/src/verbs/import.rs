//! `throng import`: of a directory, results that others published; of a file, what was written for
//! or recorded by another tool.

mod results;
mod scenarios;

use std::path::Path;

use crate::args::ImportArgs;
use crate::exit::{Exit, Failure};

pub(crate) use results::{failure, settings};

pub(crate) fn import(args: &ImportArgs) -> Result<Exit, Failure> {
    let dir = Path::new(&args.what);
    if args.what != "-" && !dir.exists() {
        let message = format!(
            "cannot read {:?}: there is no such file or directory",
            args.what
        );
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
    misplaced(&args.what, "no directory", args.results.given())?;
    scenarios::import(&args.what, &args.file)
}

/// An option that says nothing of what is imported was meant for something else.
fn misplaced(what: &str, is: &str, given: Option<&str>) -> Result<(), Failure> {
    match given {
        None => Ok(()),
        Some(option) => Err(Failure::hinted(
            Exit::Usage,
            format!("{what} is {is}, and {option} has no meaning for it"),
            "`throng import --help` tells the options of results and of files",
        )),
    }
}
