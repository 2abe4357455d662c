//! `throng import`: converts published results, results or samples of another tool, or another tool's scenario.

mod results;
mod samples;
pub(crate) mod scenarios;

use std::path::Path;

use crate::args::full::ImportArgs;
use crate::exit::{Exit, Failure};

pub(crate) use results::{NO_RUN, failure, note_skipped, settings};

pub(crate) fn import(args: &ImportArgs) -> Result<Exit, Failure> {
    for what in &args.what {
        if what != "-" && !Path::new(what).exists() {
            let message = format!("cannot read {what:?}: no such file or directory");
            return Err(Failure::hinted(
                Exit::NoInput,
                message,
                "give a file, - for standard input, or a directory of results",
            ));
        }
    }
    let for_samples = args.samples.given();
    if for_samples.is_some() || samples::are_results(&args.what) {
        for what in &args.what {
            if Path::new(what).is_dir() {
                misplaced(what, "a directory", for_samples)?;
            }
            misplaced(what, "a file of results or samples", args.file.given())?;
        }
        return samples::import(&args.what, &args.samples, &args.results);
    }
    let [what] = args.what.as_slice() else {
        return Err(Failure::hinted(
            Exit::Usage,
            format!("{} inputs are given, but one is imported at a time", args.what.len()),
            "only results of another tool and samples may be several files; say what samples are with --measure NAME \
             --unit ms",
        ));
    };
    let dir = Path::new(what);
    if dir.is_dir() {
        misplaced(what, "a directory", args.file.given())?;
        return results::import(dir, &args.results);
    }
    misplaced(what, "a file", args.results.given())?;
    scenarios::import(what, &args.file)
}

/// Refuses an option that does not apply to what is imported.
fn misplaced(what: &str, is: &str, given: Option<&str>) -> Result<(), Failure> {
    match given {
        None => Ok(()),
        Some(option) => Err(Failure::hinted(
            Exit::Usage,
            format!("{what} is {is}; {option} does not apply to it"),
            "`throng import --help` lists the options for results, samples and files",
        )),
    }
}
