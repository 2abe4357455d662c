//! Run directories of results that others published.

use std::path::Path;

use record::RecordError;
use thesis::{DetectedRuns, ImportError, ImportedRun, Settings};

use crate::args::full::{Layout, ResultsArgs};
use crate::exit::{Exit, Failure, print_note, print_text};
use crate::settings::RUNS;
use crate::terminal;

/// Name for a directory with `clients/`, for the message that one has none.
pub(crate) const NO_RUN: &str = "a directory with the results of a run";

/// The directory's results, each as a run directory.
pub(super) fn import(dir: &Path, args: &ResultsArgs) -> Result<Exit, Failure> {
    // There is one layout so far, and it is detected.
    let (None | Some(Layout::Thesis)) = args.layout;
    let DetectedRuns { runs, skipped } = thesis::detect(dir).map_err(failure)?;
    if args.start.is_some() && runs.len() > 1 {
        return Err(Failure::hinted(
            Exit::Usage,
            format!(
                "{} contains the results of {} runs, but --start applies to one",
                dir.display(),
                runs.len()
            ),
            "import them one at a time",
        ));
    }
    if !args.quiet {
        skipped.iter().for_each(|path| note_skipped(path, NO_RUN));
    }
    for results in runs {
        let imported = thesis::read(&results, &settings(&results, args.start)).map_err(failure)?;
        let text = write(&imported, args)?;
        if !args.quiet {
            print_text(&text)?;
        }
    }
    Ok(Exit::Passed)
}

/// Notes on standard error that something among results is not imported, and what it is not.
pub(crate) fn note_skipped(path: &Path, is_not: &str) {
    let name = path.file_name().unwrap_or(path.as_os_str());
    print_note(&format!("note: skipped: {} is not {is_not}", name.to_string_lossy()));
}

/// Settings that the results do not contain: the start of the thesis's runs is known.
pub(crate) fn settings(results: &Path, start: Option<u64>) -> Settings {
    let name = results.file_name().map(|name| name.to_string_lossy());
    let known = name.and_then(|name| thesis::start(&name));
    Settings {
        started_unix_ns: start.or_else(|| thesis::parse_time(known?).ok()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Makes the run directory, and returns the text on it.
fn write(imported: &ImportedRun, args: &ResultsArgs) -> Result<String, Failure> {
    let dir =
        imported.write(args.runs.as_deref().unwrap_or(Path::new(RUNS))).map_err(not_written)?;
    let ImportedRun { info, import, tally, .. } = imported;
    let summary = thesis::judge(info, import, tally);
    dir.write_summary(&summary).map_err(|error| Failure::new(Exit::Io, error))?;
    let directory = dir.path().display().to_string();
    Ok(thesis::render_results(&summary, info, import, &directory, terminal::style()) + "\n")
}

/// Why a run directory was not made, and what to end with.
pub(super) fn not_written(error: RecordError) -> Failure {
    match error {
        RecordError::Exists { .. } => Failure::hinted(
            Exit::CannotCreate,
            format!("these results have already been imported: {error}"),
            "remove the directory, or choose another one with --runs",
        ),
        RecordError::Io { action: "create", .. } => Failure::new(Exit::CannotCreate, error),
        error => Failure::new(Exit::Io, error),
    }
}

/// Failure for an error in the results, with its exit code.
pub(crate) fn failure(error: ImportError) -> Failure {
    let exit = match &error {
        ImportError::Read { .. } => Exit::NoInput,
        ImportError::TooLarge { .. }
        | ImportError::TooMany { .. }
        | ImportError::Unknown { .. }
        | ImportError::NoReport { .. }
        | ImportError::NoStart { .. } => Exit::Data,
    };
    Failure::new(exit, error)
}
