//! `throng ui DIR`: past results in a browser, to look through, open and compare.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};

use judge::compare::{Options, Step, compare_telling};
use judge::shelf::{Item, Kind, Listing, Shelf};
use live::{Comparison, ComparisonRequest, Progress, Results, ResultsPages};
use record::Run;
use report::Page;

use crate::args::UiArgs;
use crate::exit::{Exit, Failure, written};
use crate::verbs::{experiment, model, show};
use crate::{page, page_listener};

/// Reports that are larger are not served.
const REPORT_BYTES_MAX: u64 = 256 << 20;

pub(crate) fn ui(args: &UiArgs) -> Result<Exit, Failure> {
    let listener = page_listener::open(&args.listen, "--listen 127.0.0.1:7701")?;
    let shelved = Shelved::open(&args.directory)?;
    let pages = ResultsPages {
        html: report::SHELF_HTML.to_owned(),
        script: report::SCRIPT,
        style: report::STYLE,
    };
    let (end, ended) = channel();
    ctrlc::set_handler(move || {
        // Whoever waits for it is this verb, which ends with the process.
        let _ = end.send(());
    })
    .map_err(|error| Failure::new(Exit::System, error))?;
    let _server = live::serve_results(listener.socket, listener.access, pages, shelved)
        .map_err(|error| Failure::new(Exit::System, error))?;
    written(writeln!(std::io::stdout(), "results    {}", listener.url))?;
    let _ = ended.recv();
    Ok(Exit::Passed)
}

/// The results below a directory.
struct Shelved {
    /// As people call it.
    name: String,
    /// Without links, so that what stands below can be told.
    root: PathBuf,
    shelf: Mutex<Shelf>,
    /// What was listed last, by id.
    items: Mutex<HashMap<String, Item>>,
}

impl Shelved {
    fn open(directory: &Path) -> Result<Shelved, Failure> {
        let refuse = |error: std::io::Error| {
            Failure::hinted(
                Exit::NoInput,
                format!("cannot look into {}: {error}", directory.display()),
                "give the directory that runs are made in, as in throng ui runs",
            )
        };
        let root = directory.canonicalize().map_err(refuse)?;
        let shelved = Shelved {
            name: directory.display().to_string(),
            shelf: Mutex::new(Shelf::new(&root)),
            root,
            items: Mutex::default(),
        };
        shelved.look().map_err(refuse)?;
        Ok(shelved)
    }

    /// Lists what is there now.
    fn look(&self) -> std::io::Result<Listing> {
        let listing = {
            let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
            shelf.list()?
        };
        let items = listing.items.iter();
        let items = items.map(|item| (item.id.clone(), item.clone())).collect();
        *self.items.lock().unwrap_or_else(PoisonError::into_inner) = items;
        Ok(listing)
    }

    /// The item of an id, which may have come since the last list. What it stands in may have been
    /// changed since, too: it still has to stand below the root.
    fn item(&self, id: &str) -> Option<Item> {
        let known = || {
            let items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
            items.get(id).cloned()
        };
        let item = known().or_else(|| {
            self.look().ok()?;
            known()
        })?;
        let path = item.path.canonicalize().ok()?;
        path.starts_with(&self.root).then_some(item)
    }
}

impl Results for Shelved {
    fn list(&self) -> String {
        let listing = self.look().unwrap_or_else(|error| Listing {
            items: Vec::new(),
            left_out: vec![format!("the directory cannot be read: {error}")],
        });
        Page::shelf(&listing, &self.name, page::VERSION)
            .json()
            .to_owned()
    }

    fn report(&self, id: &str) -> Option<Result<Vec<u8>, String>> {
        let item = self.item(id)?;
        let file = match item.kind {
            Kind::Page => item.path.clone(),
            _ => item.path.join(page::FILE),
        };
        Some(match std::fs::symlink_metadata(&file) {
            Ok(about) if about.is_file() && about.len() <= REPORT_BYTES_MAX => {
                std::fs::read(&file).map_err(|error| error.to_string())
            }
            Ok(about) if about.is_file() => Err("the file is too large".to_owned()),
            _ => match made(&item) {
                Ok(page) => Ok(page.html().into_bytes()),
                Err(failure) => Err(failure.one_line()),
            },
        })
    }

    fn compare(
        &self,
        request: &ComparisonRequest,
        report: &mut dyn FnMut(Progress),
    ) -> Result<Comparison, String> {
        let open = |ids: &[String]| -> Result<Vec<Run>, String> {
            let runs = ids.iter().map(|id| {
                let item = self.item(id).filter(|item| item.kind == Kind::Run);
                let item = item.ok_or("one of the runs is there no more")?;
                Run::open(&item.path).map_err(|error| Failure::new(Exit::NoInput, error).one_line())
            });
            runs.collect()
        };
        let options = Options {
            force: request.force,
            curves: true,
            ..Options::default()
        };
        let mut step = |step: Step<'_>| report(progress(step));
        let (runs, baseline) = (open(&request.runs)?, open(&request.baseline)?);
        let comparison = compare_telling(&runs, &baseline, &options, &mut step)
            .map_err(|error| Failure::new(Exit::Data, error).one_line())?;
        let page = Page::comparison(&comparison, page::VERSION);
        Ok(Comparison {
            document: page.json().to_owned(),
            html: page.html(),
        })
    }
}

fn progress(step: Step<'_>) -> Progress {
    match step {
        Step::Reading { number, of } => Progress {
            what: "reading runs".to_owned(),
            done: number,
            total: of,
        },
        Step::Comparing {
            number,
            of,
            measure,
        } => Progress {
            what: format!("comparing {measure}"),
            done: number,
            total: of,
        },
    }
}

/// The report of what has none.
fn made(item: &Item) -> Result<Page, Failure> {
    match item.kind {
        Kind::Run => {
            let run = Run::open(&item.path).map_err(|error| Failure::new(Exit::NoInput, error))?;
            let summary = show::judged(&run, false)?;
            let course = judge::course::read(&run);
            let course = course.map_err(|error| Failure::new(Exit::NoInput, error))?;
            page::of_run(&run, &summary, &course)
        }
        Kind::Experiment => experiment::page_of(&item.path),
        Kind::Model => model::page_of(&item.path),
        Kind::Search => Err(Failure::hinted(
            Exit::NoInput,
            "the search was broken off".to_owned(),
            "throng capacity --resume goes on with it and leaves a report",
        )),
        Kind::Page => Err(Failure::hinted(
            Exit::NoInput,
            "the file is there no more".to_owned(),
            "look at the list again",
        )),
    }
}
