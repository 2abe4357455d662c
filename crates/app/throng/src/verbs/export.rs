//! `throng export RUN`: converts a finished run.

use std::io::Write;
use std::path::{Path, PathBuf};

use record::{Run, write_whole};

use crate::args::ExportRunArgs;
use crate::exit::{Exit, Failure, written};
use crate::verbs::show::{is_of_probes, judged};

pub(crate) fn export(args: &ExportRunArgs) -> Result<Exit, Failure> {
    let forms = [("--json", &args.json), ("--junit", &args.junit), ("--markdown", &args.markdown)];
    let is_output = |path: &Option<PathBuf>| path.as_deref() == Some(Path::new("-"));
    let printed = forms.iter().filter(|(_, path)| is_output(path));
    let printed: Vec<String> = printed.map(|(name, _)| format!("{name} -")).collect();
    if printed.len() > 1 {
        return Err(Failure::hinted(
            Exit::Usage,
            format!("{} write to standard output", printed.join(" and ")),
            "give all but one of them a file",
        ));
    }
    let refuse = |error| Failure::new(Exit::NoInput, error);
    let run = Run::open(&args.run).map_err(refuse)?;
    // A recording of probes has values and no verdict.
    let wants_verdict = forms.iter().any(|(_, path)| path.is_some());
    let values_only = is_of_probes(&run) && !wants_verdict;
    let summary = match values_only {
        true => None,
        false => Some(judged(&run, false)?),
    };
    if let (Some(path), Some(summary)) = (&args.json, &summary) {
        write(path, &report::json(summary))?;
    }
    if let (Some(path), Some(summary)) = (&args.junit, &summary) {
        write(path, &report::run_junit(summary, run.info()))?;
    }
    if let (Some(path), Some(summary)) = (&args.markdown, &summary) {
        write(path, &report::run_markdown(summary, run.info()))?;
    }
    let Some(folder) = &args.csv else {
        return Ok(Exit::Passed);
    };
    std::fs::create_dir_all(folder).map_err(|error| cannot_create(folder, &error))?;
    if let Some(summary) = &summary {
        let measures = report::measures_csv(summary, run.info());
        write(&folder.join("measures.csv"), &measures)?;
        if !summary.errors.is_empty() {
            write(&folder.join("errors.csv"), &report::errors_csv(&summary.errors))?;
        }
        if !summary.metrics.is_empty() {
            write(&folder.join("metrics.csv"), &report::metrics_csv(&summary.metrics))?;
        }
        let series = run.series().map_err(refuse)?;
        write(&folder.join("series.csv"), &report::series_csv(&series))?;
    }
    let probes = run.probes().map_err(refuse)?;
    if !probes.list.is_empty() {
        write(&folder.join("probes.csv"), &report::probes_csv(&probes))?;
    }
    Ok(Exit::Passed)
}

/// A directory for tables cannot be made.
pub(crate) fn cannot_create(folder: &Path, error: &std::io::Error) -> Failure {
    let message = format!("cannot create {}: {error}", folder.display());
    Failure::hinted(Exit::CannotCreate, message, "give another directory")
}

/// Writes a complete file; `-` is standard output.
pub(crate) fn write(path: &Path, text: &str) -> Result<Exit, Failure> {
    if path == Path::new("-") {
        return written(write!(std::io::stdout(), "{text}"));
    }
    write_whole(path, text.as_bytes()).map_err(|error| Failure::new(Exit::Io, error))?;
    Ok(Exit::Passed)
}
