//! `throng export RUN`: converts a finished run.

use std::io::Write;
use std::path::{Path, PathBuf};

use record::{Run, write_whole};

use crate::args::ExportRunArgs;
use crate::exit::{Exit, Failure, written};
use crate::verbs::show::{is_of_probes, judged};

pub(crate) fn export(args: &ExportRunArgs) -> Result<Exit, Failure> {
    let to_output = |path: &Option<PathBuf>| path.as_deref() == Some(Path::new("-"));
    if to_output(&args.json) && to_output(&args.junit) {
        return Err(Failure::hinted(
            Exit::Usage,
            "--json - and --junit - both write to standard output".to_owned(),
            "give one of them a file",
        ));
    }
    let refuse = |error| Failure::new(Exit::NoInput, error);
    let run = Run::open(&args.run).map_err(refuse)?;
    // A recording of probes has values and no verdict.
    let values_only = is_of_probes(&run) && args.json.is_none() && args.junit.is_none();
    let summary = match values_only {
        true => None,
        false => Some(judged(&run, false)?),
    };
    if let (Some(path), Some(summary)) = (&args.json, &summary) {
        write(path, &report::json(summary))?;
    }
    if let (Some(path), Some(summary)) = (&args.junit, &summary) {
        write(path, &report::run_junit(summary))?;
    }
    let Some(folder) = &args.csv else {
        return Ok(Exit::Passed);
    };
    let cannot = |error: std::io::Error| {
        let message = format!("cannot create {}: {error}", folder.display());
        Failure::hinted(Exit::CannotCreate, message, "give another directory")
    };
    std::fs::create_dir_all(folder).map_err(cannot)?;
    if let Some(summary) = &summary {
        write(&folder.join("measures.csv"), &report::measures_csv(summary))?;
        let series = run.series().map_err(refuse)?;
        write(&folder.join("series.csv"), &report::series_csv(&series))?;
    }
    let probes = run.probes().map_err(refuse)?;
    if !probes.list.is_empty() {
        write(&folder.join("probes.csv"), &report::probes_csv(&probes))?;
    }
    Ok(Exit::Passed)
}

/// Writes a complete file; `-` is standard output.
fn write(path: &Path, text: &str) -> Result<Exit, Failure> {
    if path == Path::new("-") {
        return written(write!(std::io::stdout(), "{text}"));
    }
    write_whole(path, text.as_bytes()).map_err(|error| Failure::new(Exit::Io, error))?;
    Ok(Exit::Passed)
}
