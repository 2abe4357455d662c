//! Makes reports and writes them to files.

use std::path::{Path, PathBuf};

use judge::course::Course;
use record::Run;
use record::schema::Summary;
use report::{Page, RunReport};

use crate::exit::{Exit, Failure};
use crate::pages;

/// The file name of a report in the directory of its result.
pub(crate) const FILE: &str = "report.html";

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The page of a run.
pub(crate) fn of_run(run: &Run, summary: &Summary, course: &Course) -> Result<Page, Failure> {
    let refuse = |error: record::RecordError| Failure::new(Exit::NoInput, error);
    let import = run.import().map_err(refuse)?;
    let report = RunReport {
        info: run.info(),
        summary,
        course,
        events: &run.events().map_err(refuse)?,
        missing: &run.missing(),
        import: import.as_ref(),
    };
    Ok(Page::run(&report, VERSION))
}

/// A page in the directory of its result.
pub(crate) struct WrittenPage {
    pub(crate) page: Page,
    pub(crate) path: PathBuf,
}

/// The course and the page of a run that has just ended.
#[derive(Default)]
pub(crate) struct AfterRun {
    /// The run over time; `None` if it could not be read.
    pub(crate) course: Option<Course>,
    /// The page of the run; `None` in a program that was built without pages.
    pub(crate) page: Option<WrittenPage>,
}

/// Reads the course of a run that has just ended, and writes its page into its directory. The record is complete without
/// it, so that a failure changes nothing but the exit code.
pub(crate) fn after_run(directory: &Path, summary: &Summary) -> Result<AfterRun, Failure> {
    let refuse = |error: record::RecordError| Failure::new(Exit::Io, error);
    let run = Run::open(directory).map_err(refuse)?;
    if pages::check().is_err() {
        return Ok(AfterRun { course: judge::course::outline(&run).ok(), page: None });
    }
    let course = judge::course::read(&run, summary).map_err(refuse)?;
    let page = of_run(&run, summary, &course)?;
    let path = directory.join(FILE);
    write(&page, &path)?;
    Ok(AfterRun { course: Some(course), page: Some(WrittenPage { page, path }) })
}

/// Writes a page to the requested path, else into the directory of its result, and returns its path; `None` if
/// none was requested and this program was built without pages.
pub(crate) fn beside(
    page: &Page,
    directory: &Path,
    requested: Option<&Path>,
) -> Result<Option<PathBuf>, Failure> {
    if requested.is_none() && pages::check().is_err() {
        return Ok(None);
    }
    let path = requested.map_or_else(|| directory.join(FILE), Path::to_owned);
    write(page, &path)?;
    Ok(Some(path))
}

/// Writes a page under a temporary name and renames it.
pub(crate) fn write(page: &Page, path: &Path) -> Result<(), Failure> {
    let html = pages::html(page)?;
    record::write_whole(path, html.as_bytes()).map_err(|error| Failure::new(Exit::Io, error))
}

/// The line with the path of a page, printed below that of the record.
pub(crate) fn line(path: &Path) -> String {
    format!("{:<11}{}\n", "report", path.display())
}
