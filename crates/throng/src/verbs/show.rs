//! `throng show RUN`: the verdict of a run that is over, or what a killed run left.

use std::io::Write;

use judge::course::Course;
use record::schema::{PROBE_MODE, Summary};
use record::{RecordError, Run};

use crate::args::ShowArgs;
use crate::exit::{Exit, Failure, written};
use crate::page;
use crate::terminal;

pub(crate) fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    let refuse = |error: RecordError| Failure::new(Exit::NoInput, error);
    let run = Run::open(&args.run).map_err(refuse)?;
    if run.info().generator.mode == PROBE_MODE {
        let probes = run.probes().map_err(refuse)?;
        let text = report::probes(&probes, run.info(), terminal::style());
        return written(write!(std::io::stdout(), "{text}"));
    }
    let summary = judged(&run, args.rest.judge_rest)?;
    let course = match (&args.html, args.json) {
        (Some(_), _) => Some(judge::course::read(&run)),
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
        // The one that the run left.
        _ => Some(args.run.join(page::FILE)).filter(|path| path.exists()),
    };
    let directory = args.run.display().to_string();
    let mut text = if args.json {
        report::json(&summary)
    } else if let Some(import) = run.import().map_err(refuse)? {
        report::imported(&summary, run.info(), &import, &directory, terminal::style())
    } else {
        report::verdict(&summary, run.info(), &directory, terminal::style())
            + &over_time(course.as_ref())
    };
    if !args.json && !run.is_complete() {
        text += &format!("\nThe record is incomplete: {}\n", run.missing().join("; "));
    }
    if let Some(path) = page.filter(|_| !args.json) {
        text += &page::line(&path);
    }
    written(write!(std::io::stdout(), "{text}"))
}

/// Lines that tell what a run did over its time, where it did anything.
fn over_time(course: Option<&Course>) -> String {
    let lines = course.map(|course| report::over_time(course, terminal::style()));
    let lines = lines.filter(|lines| !lines.is_empty());
    lines.map_or(String::new(), |lines| format!("\n{lines}"))
}

/// The run's last verdict. One that was killed before it was judged is judged now, without thresholds,
/// by what is there; so is one that is to be judged otherwise. The record stays as it is.
pub(crate) fn judged(run: &Run, judge_rest: bool) -> Result<Summary, Failure> {
    let told = run
        .summary()
        .map_err(|error| Failure::new(Exit::NoInput, error))?;
    match told {
        Some(summary) if !judge_rest => Ok(summary),
        _ => {
            judge::judge_again(run, judge_rest).map_err(|error| Failure::new(Exit::NoInput, error))
        }
    }
}
