//! Pages of reports: what they are made of, and where they are written.

use std::path::{Path, PathBuf};

use judge::course::Course;
use record::Run;
use record::schema::Summary;
use report::{Page, RunReport};

use crate::exit::{Exit, Failure};

/// What a page is called in the directory of what it shows.
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

/// Writes the page of a run that has just ended into its directory, and returns it and where it is. A page
/// that cannot be made is told and changes nothing else: the record is whole without it. `None`
/// where this program was built without pages.
pub(crate) fn after_run(directory: &Path, summary: &Summary) -> Option<(Page, PathBuf)> {
    if !cfg!(feature = "web") {
        return None;
    }
    let path = directory.join(FILE);
    let refuse = |error: record::RecordError| Failure::new(Exit::NoInput, error);
    let opened = Run::open(directory).map_err(refuse);
    let read = opened.and_then(|run| Ok((judge::course::read(&run).map_err(refuse)?, run)));
    let written = read
        .and_then(|(course, run)| of_run(&run, summary, &course))
        .and_then(|page| write(&page, &path).map(|()| page));
    match written {
        Ok(page) => Some((page, path)),
        Err(failure) => {
            failure.print();
            None
        }
    }
}

/// Writes a page where it is asked for, else into the directory of what it shows, and returns where it
/// is; `None` where nobody asked and this program was built without pages.
pub(crate) fn beside(
    page: &Page,
    directory: &Path,
    asked: Option<&Path>,
) -> Result<Option<PathBuf>, Failure> {
    if asked.is_none() && !cfg!(feature = "web") {
        return Ok(None);
    }
    let path = asked.map_or_else(|| directory.join(FILE), Path::to_owned);
    write(page, &path)?;
    Ok(Some(path))
}

/// Writes a page under a temporary name and renames it.
#[cfg(feature = "web")]
pub(crate) fn write(page: &Page, path: &Path) -> Result<(), Failure> {
    record::write_whole(path, page.html().as_bytes()).map_err(|error| Failure::new(Exit::Io, error))
}

/// There is nothing to draw it with.
#[cfg(not(feature = "web"))]
pub(crate) fn write(_: &Page, _: &Path) -> Result<(), Failure> {
    Err(none())
}

/// Why there is no page.
#[cfg(not(feature = "web"))]
pub(crate) fn none() -> Failure {
    Failure::hinted(
        Exit::Usage,
        "this program was built without pages".to_owned(),
        "build it with its default features, after scripts/web.sh",
    )
}

/// The line that says where a page is, below that of the record.
pub(crate) fn line(path: &Path) -> String {
    format!("{:<11}{}\n", "report", path.display())
}
