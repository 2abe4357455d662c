//! `throng show RUN`: the verdict of a finished run, or the results of a killed one.

use std::io::Write;

use judge::course::Course;
use record::samples::NO_CLOCK;
use record::schema::{PROBE_MODE, Summary};
use record::{Import, RecordError, Run};
use report::VerdictText;

use crate::args::ShowArgs;
use crate::exit::{Exit, Failure, written};
use crate::full;
use crate::page;
use crate::terminal;
use crate::verbs::note;

pub(crate) fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    let refuse = |error: RecordError| Failure::new(Exit::NoInput, error);
    let run = Run::open(&args.run).map_err(refuse)?;
    if is_of_probes(&run) && args.html.is_none() && !args.lost_workers.allow_lost_workers {
        let probes = run.probes().map_err(refuse)?;
        let text = if args.json {
            report::probes_json(&probes, run.info())
        } else {
            report::probes(&probes, run.info(), terminal::style()) + &note::line(&run)
        };
        return written(write!(std::io::stdout(), "{text}"));
    }
    let summary = judged(&run, args.lost_workers.allow_lost_workers)?;
    let course = match (&args.html, args.json) {
        (Some(_), _) => Some(judge::course::read(&run, &summary)),
        (None, false) => Some(judge::course::outline(&run)),
        (None, true) => None,
    };
    let course = course.transpose().map_err(refuse)?;
    let page = match (&args.html, &course) {
        (Some(path), Some(course)) => {
            let path = path.clone().unwrap_or_else(|| args.run.join(page::FILE));
            page::write(&page::of_run(&run, &summary, course)?, &path)?;
            Some(path)
        }
        // The one that the run wrote.
        _ => Some(args.run.join(page::FILE)).filter(|path| path.exists()),
    };
    let directory = args.run.display().to_string();
    let mut text = if args.json {
        report::run_json(&summary, &directory)
    } else if let Some(import) = published(&run)? {
        full::import_text(&summary, run.info(), &import, &directory)?
    } else {
        let course = course.as_ref().filter(|_| run.info().clock != NO_CLOCK);
        let text = VerdictText {
            summary: &summary,
            info: run.info(),
            directory: &directory,
            course,
            full: args.full,
            columns: terminal::columns(),
        };
        report::verdict(&text, terminal::style()) + &over_time(course.filter(|_| args.full))
    };
    if !args.json && !run.is_complete() {
        text += &format!("\nThe record is incomplete: {}\n", run.missing().join("; "));
    }
    if let Some(path) = page.filter(|_| !args.json) {
        text += &page::line(&path);
    }
    if !args.json {
        text += &note::line(&run);
    }
    written(write!(std::io::stdout(), "{text}"))
}

/// Lines that show a run over time, if it did anything.
fn over_time(course: Option<&Course>) -> String {
    let lines =
        course.map(|course| report::over_time(course, terminal::columns(), terminal::style()));
    let lines = lines.filter(|lines| !lines.is_empty());
    lines.map_or(String::new(), |lines| format!("\n{lines}"))
}

/// True if the directory was recorded by `throng probe` and holds no run.
pub(crate) fn is_of_probes(run: &Run) -> bool {
    run.info().generator.mode == PROBE_MODE
}

/// The run's last verdict. A run that was killed before it was judged is judged now, without thresholds,
/// by what it left; so is one judged with different options. The record is not changed. A recording of
/// probes has no verdict.
pub(crate) fn judged(run: &Run, allow_lost_workers: bool) -> Result<Summary, Failure> {
    if is_of_probes(run) {
        let directory = run.path().display();
        return Err(Failure::hinted(
            Exit::Data,
            format!("{directory} holds probes only: there are no requests to judge"),
            "throng show summarises them, also with --json; throng export --csv writes their values",
        ));
    }
    let summary = run.summary().map_err(|error| Failure::new(Exit::NoInput, error))?;
    match summary {
        Some(summary) if !allow_lost_workers => Ok(summary),
        _ => judge_again(run, allow_lost_workers),
    }
}

/// The import, if the run holds published results; imported samples are read like a run.
fn published(run: &Run) -> Result<Option<Import>, Failure> {
    let import = run.import();
    let import = import.map_err(|error| Failure::new(Exit::NoInput, error))?;
    Ok(import.filter(|import| !import.has_operations()))
}

/// Judges a run again from its record; imported results by rules of their own.
pub(crate) fn judge_again(run: &Run, allow_lost_workers: bool) -> Result<Summary, Failure> {
    let refuse = |error: RecordError| Failure::new(Exit::NoInput, error);
    if let Some(import) = published(run)? {
        let tally = run.tally().map_err(refuse)?.unwrap_or_default();
        return full::judge_import(run.info(), &import, &tally);
    }
    judge::judge_again(run, allow_lost_workers).map_err(|error| Failure::new(Exit::NoInput, error))
}
