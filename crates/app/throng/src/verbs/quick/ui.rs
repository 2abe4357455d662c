//! `throng ui DIR`: past results in a browser: a list, reports, and comparisons.

mod progress;

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use compare::index::{self, Entry, Index, Kind, Listing, State};
use compare::{Options, Step, compare_with_progress};
use controller::experiment::analyze_runs;
use live::{Comparison, ComparisonRequest, NoteRefusal, Progress, Results, ResultsPages};
use machine::clock;
use record::{Note, Run};
use report::{Page, RunReport};

use crate::args::UiArgs;
use crate::exit::{Exit, Failure, written};
use crate::page;
use crate::pages::listener;
use crate::verbs::{duet, experiment, model, show};
use progress::ProgressPages;

/// Larger reports are not served.
const REPORT_BYTES_MAX: u64 = 256 << 20;

pub(crate) fn ui(args: &UiArgs) -> Result<Exit, Failure> {
    let listener = listener::open(&args.listen, "--listen 127.0.0.1:7701")?;
    let results = Directory::open(&args.directory)?;
    let pages = ResultsPages {
        html: report::html::INDEX_HTML.to_owned(),
        script: report::html::SCRIPT,
        style: report::html::STYLE,
    };
    let (end, ended) = channel();
    ctrlc::set_handler(move || {
        // The receiver lives as long as the process.
        let _ = end.send(());
    })
    .map_err(|error| Failure::new(Exit::System, error))?;
    let _server = live::serve_results(listener.socket, listener.access, pages, results)
        .map_err(|error| Failure::new(Exit::System, error))?;
    written(writeln!(std::io::stdout(), "results    {}", listener.url))?;
    let _ = ended.recv();
    Ok(Exit::Passed)
}

/// A directory of results.
struct Directory {
    /// Path of the directory as the user wrote it.
    name: String,
    /// The canonical path, to check that entries are below it.
    root: PathBuf,
    index: Mutex<Index>,
    /// The entries of the last listing, by id.
    entries: Mutex<HashMap<String, Entry>>,
    /// The pages of runs in progress.
    in_progress: Mutex<ProgressPages>,
}

impl Directory {
    fn open(directory: &Path) -> Result<Directory, Failure> {
        let refuse = |error: std::io::Error| {
            Failure::hinted(
                Exit::NoInput,
                format!("cannot read {}: {error}", directory.display()),
                "give the directory that contains the runs, as in throng ui runs",
            )
        };
        let root = directory.canonicalize().map_err(refuse)?;
        let results = Directory {
            name: directory.display().to_string(),
            index: Mutex::new(Index::new(&root)),
            root,
            entries: Mutex::default(),
            in_progress: Mutex::default(),
        };
        results.refresh().map_err(refuse)?;
        Ok(results)
    }

    /// Lists the current results.
    fn refresh(&self) -> std::io::Result<Listing> {
        let listing = {
            let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
            index.list(now_unix_ms())?
        };
        let entries = listing.entries.iter();
        let entries = entries.map(|entry| (entry.id.clone(), entry.clone())).collect();
        *self.entries.lock().unwrap_or_else(PoisonError::into_inner) = entries;
        Ok(listing)
    }

    /// The document of the page of a run in progress, which is not made at each request.
    fn document_so_far(&self, entry: &Entry) -> Result<String, Failure> {
        let mut pages = self.in_progress.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
            pages.retain(|id| entries.get(id).is_some_and(|known| known.state == State::Running));
        }
        let make = || progress_page(entry).map(|page| page.json().to_owned());
        pages.document(&entry.id, clock::monotonic_ns, make)
    }

    /// The entry of an id, which may be newer than the last listing. Directories may have been replaced since,
    /// so it is checked again that the entry is below the root.
    fn entry(&self, id: &str) -> Option<Entry> {
        let known = || {
            let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
            entries.get(id).cloned()
        };
        let entry = known().or_else(|| {
            self.refresh().ok()?;
            known()
        })?;
        let path = entry.location.canonicalize().ok()?;
        path.starts_with(&self.root).then_some(entry)
    }
}

/// Milliseconds since the Unix epoch.
#[expect(
    clippy::disallowed_methods,
    reason = "a run whose files were changed just now is in progress"
)]
fn now_unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

impl Results for Directory {
    fn list(&self) -> String {
        let listing = self.refresh().unwrap_or_else(|error| Listing {
            entries: Vec::new(),
            omitted: vec![format!("the directory cannot be read: {error}")],
        });
        Page::index(&listing, &self.name, page::VERSION).json().to_owned()
    }

    fn report(&self, id: &str) -> Option<Result<Vec<u8>, String>> {
        let entry = self.entry(id)?;
        let file = match entry.kind {
            Kind::Page => entry.location.clone(),
            _ => entry.location.join(page::FILE),
        };
        let note = match entry.kind {
            Kind::Run => Note::read(&entry.location),
            _ => Note::default(),
        };
        let made = match std::fs::symlink_metadata(&file) {
            Ok(about) if about.is_file() && about.len() <= REPORT_BYTES_MAX => {
                regular::read(&file, REPORT_BYTES_MAX).map_err(|error| error.to_string())
            }
            Ok(about) if about.is_file() => Err("the file is too large".to_owned()),
            _ => match make_report(&entry) {
                Ok(page) => Ok(page.html().into_bytes()),
                Err(failure) => Err(failure.to_string()),
            },
        };
        Some(made.map(|html| match note.text() {
            Some(note) => report::html::with_note(&html, note),
            None => html,
        }))
    }

    fn progress(&self, id: &str) -> Option<Result<String, String>> {
        // Whether it is over is known from a new listing.
        if let Err(error) = self.refresh() {
            return Some(Err(error.to_string()));
        }
        let entry = self.entry(id).filter(|entry| entry.kind == Kind::Run)?;
        let document = match entry.state {
            State::Running => self.document_so_far(&entry),
            _ => make_report(&entry).map(|page| page.json().to_owned()),
        };
        Some(document.map_err(|failure| failure.to_string()))
    }

    fn trend(&self, id: &str) -> Option<String> {
        let entries: Vec<Entry> = {
            let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
            entries.values().cloned().collect()
        };
        let trend = index::trend(&entries, id)?;
        Some(Page::trend(&trend, page::VERSION).json().to_owned())
    }

    fn write_note(&self, id: &str, text: &str) -> Option<Result<Option<String>, NoteRefusal>> {
        let entry = self.entry(id).filter(|entry| entry.kind == Kind::Run)?;
        let note = match Note::parse(text) {
            Ok(note) => note,
            Err(error) => return Some(Err(NoteRefusal::Text(error.to_string()))),
        };
        let written = note.write(&entry.location);
        Some(match written {
            Ok(()) => Ok(note.text().map(str::to_owned)),
            Err(error) => Err(NoteRefusal::Disk(Failure::new(Exit::Io, error).to_string())),
        })
    }

    fn compare(
        &self,
        request: &ComparisonRequest,
        report: &mut dyn FnMut(Progress),
    ) -> Result<Comparison, String> {
        let open = |ids: &[String]| -> Result<Vec<Run>, String> {
            let runs = ids.iter().map(|id| {
                let entry = self.entry(id).filter(|entry| entry.kind == Kind::Run);
                let entry = entry.ok_or("one of the runs no longer exists")?;
                Run::open(&entry.location)
                    .map_err(|error| Failure::new(Exit::NoInput, error).to_string())
            });
            runs.collect()
        };
        let options = Options { force: request.force, curves: true, ..Options::default() };
        let mut step = |step: Step<'_>| report(progress(step));
        let runs = open(&request.runs)?;
        let baseline = open(&request.baseline)?;
        let comparison = compare_with_progress(&runs, &baseline, &options, &mut step)
            .map_err(|error| Failure::new(Exit::Data, error).to_string())?;
        let page = Page::comparison(&comparison, page::VERSION);
        Ok(Comparison { document: page.json().to_owned(), html: page.html() })
    }
}

fn progress(step: Step<'_>) -> Progress {
    match step {
        Step::Reading { number, of } => {
            Progress { what: "reading runs".to_owned(), done: number, total: of }
        }
        Step::Comparing { number, of, measure } => {
            Progress { what: format!("comparing {measure}"), done: number, total: of }
        }
    }
}

/// Makes the report of a result that has none.
fn make_report(entry: &Entry) -> Result<Page, Failure> {
    match entry.kind {
        Kind::Run => {
            let run =
                Run::open(&entry.location).map_err(|error| Failure::new(Exit::NoInput, error))?;
            let summary = show::judged(&run, false)?;
            let course = judge::course::read(&run, &summary);
            let course = course.map_err(|error| Failure::new(Exit::NoInput, error))?;
            page::of_run(&run, &summary, &course)
        }
        Kind::Experiment => experiment_page(&entry.location),
        Kind::Duet => duet::page_of(&entry.location),
        Kind::Model => model::page_of(&entry.location),
        Kind::Search => Err(Failure::hinted(
            Exit::NoInput,
            "the search was interrupted".to_owned(),
            "throng capacity --resume finishes it and writes a report",
        )),
        Kind::Page => Err(Failure::hinted(
            Exit::NoInput,
            "the file no longer exists".to_owned(),
            "reload the list",
        )),
    }
}

/// The page of a run in progress, from the checkpoints that it has written so far. Its thresholds are judged when it is
/// over.
fn progress_page(entry: &Entry) -> Result<Page, Failure> {
    let refuse = |error: record::RecordError| Failure::new(Exit::NoInput, error);
    let run = Run::open(&entry.location).map_err(refuse)?;
    let (figures, summary) = judge::judge_in_progress(&run).map_err(refuse)?;
    let course = judge::course::read(&run, &summary).map_err(refuse)?;
    let report = RunReport {
        info: run.info(),
        summary: &summary,
        course: &course,
        events: &figures.events,
        missing: &[],
        import: None,
    };
    Ok(Page::so_far(&report, figures.ended_ns(), page::VERSION))
}

/// The page of the experiment in a directory, as far as it got. Nothing is written.
fn experiment_page(directory: &Path) -> Result<Page, Failure> {
    let (experiment, state) = experiment::stored(directory)?;
    let analysis = analyze_runs(&experiment, &state, directory);
    Ok(Page::experiment(&analysis, page::VERSION))
}
