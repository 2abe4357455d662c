//! `throng run FILE|URL`: run a scenario and print its verdict.

mod k6_exit;
mod k6_summary;
mod tsung_log;

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use controller::{
    ConductError, Conducted, Control, FleetError, Interrupt, Machines, NetnsError, Pause,
    PoolError, RecordSettings, RunRequest, ScenarioText, SeriesSettings, WorkersError,
};
use record::schema::Verdict;
use record::{Durability, RecordError};
use report::{Page, VerdictText};
use signal_hook::consts::{SIGUSR1, SIGUSR2};

use crate::args::fleet::{OnLossArg, RowsArg};
use crate::args::{ResultFiles, RunArgs};
use crate::exit::{Exit, Failure, print_text};
use crate::exports;
use crate::full;
use crate::page::{self, AfterRun};
use crate::pages::{self, LivePage};
use crate::source::{self, CompiledScenario, Text};
use crate::terminal::{self, View};
use crate::verbs;
use crate::verbs::export::write;

pub(crate) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    check_results(&args.results)?;
    check_rows(args)?;
    let text = scenario_text(args)?;
    let overrides = [&text.sets[..], &args.sets.sets].concat();
    let CompiledScenario { plan, inputs } = source::compile(&text, &overrides)?;
    let requests = text.original;
    let requests = requests.map(|(_, converted)| full::tsung_requests(&converted));
    let program = std::env::current_exe().map_err(|error| Failure::new(Exit::System, error))?;
    let interrupt = interrupt()?;
    let pause = pause()?;
    let thresholds = plan.thresholds.clone();
    let script = plan.k6.clone();
    let view = Rc::new(RefCell::new(View::new(args.quiet || args.json)));
    let fleet = verbs::fleet::of_run(&args.fleet, &text.name, &plan, &interrupt, &view)?;
    let continues = args.fleet.on_loss != OnLossArg::Fail;
    let request = RunRequest {
        plan,
        scenario: ScenarioText { name: text.name, text: text.text, overrides, inputs },
        version: env!("CARGO_PKG_VERSION"),
        machines: Machines {
            program: &program,
            workers_count: args.workers,
            fleet,
            netns: args.netns.clone(),
            lab: verbs::lab::surroundings()?,
            force: args.force,
        },
        record: RecordSettings {
            runs: &args.runs,
            durability: args.durable.durability(),
            allow_lost_workers: args.lost_workers.allow_lost_workers || continues,
        },
        control: Control { interrupt: Arc::clone(&interrupt), pause: Arc::clone(&pause) },
    };
    let live = args.ui.as_deref();
    let live = live.map(|address| LivePage::open(address, thresholds, &interrupt, &pause));
    let mut live = live.transpose()?;
    let mut exports = exports::start(&args.exports)?;
    let conducted = controller::conduct(request, &mut |tick| {
        view.borrow_mut().tick(tick);
        if let Some(live) = &mut live {
            live.tick(tick);
        }
        if let Some(exports) = &mut exports {
            exports.second(tick);
        }
    });
    view.borrow_mut().end();
    if let Some(exports) = exports {
        exports.end();
    }
    let made = match &conducted {
        Ok(ended) => page::after_run(&ended.directory, &ended.summary),
        Err(_) => Ok(AfterRun::default()),
    };
    if let Some(live) = live {
        live.end(page_of(&made));
    }
    let conducted = conducted.map_err(failure)?;
    let log = match &args.tsung_log {
        Some(path) => tsung_log::write(path, &conducted.directory, requests),
        None => Ok(()),
    };
    let shown = Shown { json: args.json, quiet: args.quiet, full: args.full };
    let mut code = conclude(shown, &args.results, &conducted, made, log)?;
    let Some(script) = script else {
        return Ok(code);
    };
    if args.k6.k6_exit_codes {
        code = k6_exit::code(&script, &conducted, code)?;
    }
    match k6_summary::conclude(args, &script, &conducted) {
        Err(failure) => {
            let failed = failure.print();
            // As in k6, whose codes say nothing of it.
            Ok(if args.k6.k6_exit_codes { code } else { failed })
        }
        Ok(()) => Ok(code),
    }
}

/// How the result of a run is printed.
#[derive(Clone, Copy)]
pub(crate) struct Shown {
    pub(crate) json: bool,
    /// Nothing is.
    pub(crate) quiet: bool,
    /// All there is to say, not only what a reader wants first.
    pub(crate) full: bool,
}

/// A page that could be made.
fn page_of(made: &Result<AfterRun, Failure>) -> Option<&Page> {
    made.as_ref().ok()?.page.as_ref().map(|written| &written.page)
}

/// Writes the files that were requested, and prints the verdict. `made`: the run's course, and the page beside the record;
/// `log`: whether another file could be written. The record is complete and its verdict shown, whatever else cannot be
/// written: that decides the exit code.
pub(crate) fn conclude(
    shown: Shown,
    files: &ResultFiles,
    conducted: &Conducted,
    made: Result<AfterRun, Failure>,
    log: Result<(), Failure>,
) -> Result<Exit, Failure> {
    let results = write_results(files, conducted, page_of(&made));
    print(shown, conducted, made.as_ref().ok())?;
    let mut code = exit(conducted.summary.verdict);
    for failure in [made.map(drop), results, log].into_iter().filter_map(Result::err) {
        code = failure.print();
    }
    Ok(code)
}

/// Refuses what requires rows that the run does not have.
fn check_rows(args: &RunArgs) -> Result<(), Failure> {
    if args.tsung_log.is_none() || args.fleet.rows == RowsArg::Fetch {
        return Ok(());
    }
    Err(Failure::hinted(
        Exit::Usage,
        "--tsung-log is made of rows, which --rows fetch alone brings to the record in the course of the run".to_owned(),
        "leave out --rows, or --tsung-log",
    ))
}

/// The exit code of a verdict.
fn exit(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Measured | Verdict::Passed => Exit::Passed,
        Verdict::Failed => Exit::Failed,
        Verdict::Untrusted => Exit::Untrusted,
    }
}

/// Writes the files that were requested beside the record.
fn write_results(
    files: &ResultFiles,
    conducted: &Conducted,
    page: Option<&Page>,
) -> Result<(), Failure> {
    let summary = &conducted.summary;
    if let Some(path) = &files.junit {
        write(path, &report::run_junit(summary, &conducted.info))?;
    }
    if let Some(path) = &files.markdown {
        write(path, &report::run_markdown(summary, &conducted.info))?;
    }
    match (&files.html, page) {
        (Some(path), Some(page)) => page::write(page, path),
        // The report failed, and said why.
        _ => Ok(()),
    }
}

/// Refuses files that could not be written after the run.
pub(crate) fn check_results(files: &ResultFiles) -> Result<(), Failure> {
    if files.html.is_some() {
        pages::check()?;
    }
    let all = [&files.junit, &files.markdown, &files.html];
    for path in all.into_iter().flatten() {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if folder.is_some_and(|folder| !folder.is_dir()) {
            return Err(Failure::hinted(
                Exit::CannotCreate,
                format!("{} cannot be written: its directory does not exist", path.display()),
                "create the directory first",
            ));
        }
    }
    Ok(())
}

fn scenario_text(args: &RunArgs) -> Result<Text, Failure> {
    if source::is_url(&args.what) {
        return source::for_url(&args.what, &args.load);
    }
    if let Some(url) = intended_url(&args.what) {
        let shown = args.what.rsplit_once('@').map_or(&*args.what, |(_, host)| host);
        return Err(Failure::hinted(
            Exit::Usage,
            format!("{shown:?} is neither a file nor a URL"),
            &format!("did you mean {url}?"),
        ));
    }
    let load = &args.load;
    if source::is_script(&args.what)
        && load.rate.is_none()
        && load.method.is_none()
        && load.headers.is_empty()
        && load.body.is_none()
    {
        let mut k6 = args.k6.clone();
        k6.vus = load.users;
        k6.load_duration.clone_from(&load.duration);
        return source::scenario_or_script(&args.what, args.tsung.leniency(), &k6);
    }
    if args.k6.is_given() {
        return Err(Failure::hinted(
            Exit::Usage,
            "--iterations, --env, --k6-exit-codes, --summary-export and --allow-write apply to scripts of k6 only"
                .to_owned(),
            "a scenario has `iterations` for it, and params for what varies: --set NAME=VALUE",
        ));
    }
    let given = load.users.is_some()
        || load.rate.is_some()
        || load.duration.is_some()
        || load.method.is_some()
        || !load.headers.is_empty()
        || load.body.is_some();
    if given {
        return Err(Failure::hinted(
            Exit::Usage,
            "--users, --rate, --duration, --method, --header and --body apply to a URL only"
                .to_owned(),
            "a scenario has keys for them; --set overrides any of its values",
        ));
    }
    source::scenario(&args.what, args.tsung.leniency())
}

/// The URL that a missing file name with a missing or mistyped scheme probably stands for.
fn intended_url(what: &str) -> Option<String> {
    let host = |rest: &str| {
        let host = rest.split(['/', '?']).next().unwrap_or_default();
        let port = host.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
        host == "localhost" || matches!(port, Some(Ok(_)))
    };
    let rest = match what.split_once(":/") {
        Some((scheme, rest)) if scheme.chars().all(|c| c.is_ascii_alphabetic()) => {
            rest.trim_start_matches('/')
        }
        _ if host(what) => what,
        _ => return None,
    };
    (!rest.is_empty() && !Path::new(what).exists()).then(|| format!("http://{rest}"))
}

/// The first Ctrl-C ends the run in good order, the second at once. The record then stays as it is,
/// marked as incomplete; a built-in target ends with this process.
pub(crate) fn interrupt() -> Result<Arc<Interrupt>, Failure> {
    let interrupt = Arc::new(Interrupt::default());
    let requested = Arc::clone(&interrupt);
    ctrlc::set_handler(move || {
        if requested.request() > 1 {
            std::process::exit(Exit::Interrupted as i32);
        }
    })
    .map_err(|error| Failure::new(Exit::System, error))?;
    Ok(interrupt)
}

/// The settings that the runs of a search, an experiment or a duet have in common.
pub(crate) fn series_settings(
    program: &Path,
    force: bool,
    durability: Durability,
) -> Result<SeriesSettings<'_>, Failure> {
    Ok(SeriesSettings {
        program,
        version: env!("CARGO_PKG_VERSION"),
        force,
        durability,
        lab: verbs::lab::surroundings()?,
        interrupt: interrupt()?,
    })
}

/// SIGUSR1 pauses arrivals, SIGUSR2 resumes them.
pub(crate) fn pause() -> Result<Arc<Pause>, Failure> {
    let pause = Arc::new(Pause::default());
    for (signal, wish) in [(SIGUSR1, controller::PAUSED), (SIGUSR2, controller::RESUMED)] {
        signal_hook::flag::register_usize(signal, pause.number(), wish)
            .map_err(|error| Failure::new(Exit::System, error))?;
    }
    Ok(pause)
}

/// Prints the summary: as JSON, or not at all, or as text with the path of the page.
fn print(shown: Shown, conducted: &Conducted, made: Option<&AfterRun>) -> Result<Exit, Failure> {
    let Conducted { directory, info, summary } = conducted;
    let directory = directory.display().to_string();
    let text = if shown.json {
        report::run_json(summary, &directory)
    } else if shown.quiet {
        return Ok(Exit::Passed);
    } else {
        let text = VerdictText {
            summary,
            info,
            directory: &directory,
            course: made.and_then(|made| made.course.as_ref()),
            full: shown.full,
            columns: terminal::columns(),
        };
        let page = made.and_then(|made| made.page.as_ref());
        report::verdict(&text, terminal::style())
            + &page.map_or(String::new(), |written| page::line(&written.path))
    };
    print_text(&text)
}

/// The message and exit code of a run that could not be conducted.
pub(crate) fn failure(error: ConductError) -> Failure {
    let exit = match &error {
        ConductError::Resolve { .. } => Exit::NoHost,
        ConductError::Target(_) => Exit::Unavailable,
        ConductError::Pool(PoolError::Trust(_)) => Exit::Data,
        ConductError::Pool(PoolError::Workers(WorkersError::Fleet(FleetError::BuiltIn {
            ..
        }))) => Exit::Usage,
        ConductError::Pool(_) => Exit::System,
        ConductError::Certificates { .. } => Exit::NoInput,
        ConductError::Record(RecordError::Io { action: "create", .. }) => Exit::CannotCreate,
        ConductError::Record(_) | ConductError::RowsLost { .. } | ConductError::Judge { .. } => {
            Exit::Io
        }
        ConductError::Probe(_) | ConductError::Lab(_) => Exit::Data,
        ConductError::NoLab => Exit::Usage,
        ConductError::Keep(_) | ConductError::Attach(_) => Exit::Unavailable,
        ConductError::TooSmall(_) => Exit::System,
        ConductError::Netns(NetnsError::Namespace { .. } | NetnsError::Counters { .. }) => {
            Exit::System
        }
        ConductError::Netns(_) => Exit::Usage,
    };
    let (record, rows) = match &error {
        ConductError::Record(record) => (record, String::new()),
        ConductError::RowsLost { rows, source } => {
            (source, format!("; {}", controller::counted(*rows)))
        }
        _ => return Failure::new(exit, error),
    };
    if is_file_too_large(record) {
        return Failure::hinted(
            Exit::Io,
            format!("a file became too large: {record}{rows}"),
            "raise the limit on the size of files (`ulimit -f unlimited`); `throng show` reads what was \
             written",
        );
    }
    if !record.is_disk_full() {
        return Failure::new(exit, error);
    }
    Failure::hinted(
        Exit::Io,
        format!("the disk is full: {record}{rows}"),
        "free some space, or choose another directory with --runs; `throng show` reads what was \
         written",
    )
}

/// True if a write met the limit on the size of files.
fn is_file_too_large(error: &(dyn std::error::Error + 'static)) -> bool {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut system = causes.filter_map(|error| error.downcast_ref::<std::io::Error>());
    system.any(|error| error.kind() == std::io::ErrorKind::FileTooLarge)
}

#[cfg(test)]
mod tests {
    use super::intended_url;

    #[test]
    fn recognises_urls_without_a_valid_scheme() {
        for (what, url) in [
            ("localhost:8080/hello", Some("http://localhost:8080/hello")),
            ("localhost", Some("http://localhost")),
            ("127.0.0.1:80", Some("http://127.0.0.1:80")),
            ("htp://127.0.0.1/x", Some("http://127.0.0.1/x")),
            ("http:/127.0.0.1/x", Some("http://127.0.0.1/x")),
            ("first.yaml", None),
            ("examples/first.yaml", None),
            ("-", None),
            ("", None),
        ] {
            assert_eq!(intended_url(what).as_deref(), url, "{what}");
        }
    }
}
