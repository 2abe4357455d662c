//! `throng experiment FILE`: run by a design, and show what the factors do.

mod open;
mod progress;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use compare::experiment::{Analysis, ResponseAnalysis, UntilDecided};
use controller::experiment::{
    ExperimentError, ExperimentRequest, ExperimentState, Lock, LockError, PlannedRun, RunStage,
    STATE_FILE, analyze_runs, conduct_experiment,
};
use record::RecordError;
use report::Page;
use scenario::experiment::Table;

use crate::args::{ExperimentArgs, UntilArg, nanoseconds};
use crate::exit::{Exit, Failure, print_text};
use crate::verbs::export::{cannot_create, write};
use crate::verbs::run::series_settings;
use crate::{page, source, terminal};
use open::RunnableExperiment;
use progress::Watcher;

/// Confidence of intervals unless --confidence says otherwise.
const CONFIDENCE: f64 = 0.95;
/// File of the analysis, in the experiment's directory.
const ANALYSIS_FILE: &str = "analysis.json";
/// The experiment's and the scenario's texts, kept beside the runs.
const EXPERIMENT_COPY: &str = "experiment.yaml";
const SCENARIO_COPY: &str = "scenario.yaml";

pub(crate) fn experiment(args: &ExperimentArgs) -> Result<Exit, Failure> {
    if let Some(path) = &args.analyze {
        return if path.is_dir() {
            analyze_directory(args, path)
        } else {
            analyze_table(args, path)
        };
    }
    let (file, full, directory) = place(args)?;
    let opened = RunnableExperiment::open(&file, full)?;
    let directory = directory.unwrap_or_else(|| {
        let in_full = if full { "-full" } else { "" };
        let name = format!("{}{in_full}", opened.experiment.name);
        Path::new("experiments").join(record::file_name(&name))
    });
    if args.plan {
        return print_text(&plan(&directory, &opened)?);
    }
    // Before the state is read, which another process may be about to replace.
    let _lock = Lock::take(&directory).map_err(locked)?;
    let begun = begun(&directory, &opened, args)?;
    let conducted = conduct(args, &opened, &directory, begun)?;
    let exit = finish(args, &opened.experiment, &directory, &conducted.state)?;
    Ok(if conducted.lacks_pages { Exit::Io } else { exit })
}

/// The planned runs, and how far they are. An experiment with another file or text that stands in the directory is no
/// reason not to look: it prevents the runs, and the plan says so.
fn plan(directory: &Path, opened: &RunnableExperiment) -> Result<String, Failure> {
    let found = ExperimentState::read(directory).map_err(refused)?;
    let is_other = |state: &ExperimentState| {
        state.digest != opened.state().digest || !state.fits(&opened.experiment)
    };
    match found {
        Some(other) if is_other(&other) => Ok(format!(
            "{}  it holds an experiment that was begun with {} as it was then, {} of its {} runs made: give --dir for \
             this one\n",
            progress::plan(opened, directory, None),
            other.file,
            other.count(RunStage::Done),
            other.runs.len()
        )),
        own => Ok(progress::plan(opened, directory, own.as_ref())),
    }
}

/// An experiment whose runs have been made, as far as they were.
struct ConductedExperiment {
    state: ExperimentState,
    /// The page of a run could not be written.
    lacks_pages: bool,
}

/// The experiment's file, whether it is run in full, and its directory where that was given.
fn place(args: &ExperimentArgs) -> Result<(String, bool, Option<PathBuf>), Failure> {
    match (&args.file, &args.resume) {
        (Some(file), _) => Ok((file.clone(), args.full, args.dir.clone())),
        (None, Some(directory)) => {
            let state = known(directory)?;
            Ok((state.file, state.full, Some(directory.clone())))
        }
        (None, None) => Err(Failure::hinted(
            Exit::Usage,
            "no experiment is named".to_owned(),
            "give an experiment's file",
        )),
    }
}

/// The state of the experiment in a directory, which must be there.
fn known(directory: &Path) -> Result<ExperimentState, Failure> {
    ExperimentState::read(directory).map_err(refused)?.ok_or_else(|| {
        Failure::hinted(
            Exit::NoInput,
            format!("{} holds no {STATE_FILE}", directory.display()),
            "give the directory of an existing experiment",
        )
    })
}

/// The state that stands in the directory already. What the runs follow from must not have changed.
fn begun(
    directory: &Path,
    opened: &RunnableExperiment,
    args: &ExperimentArgs,
) -> Result<Option<ExperimentState>, Failure> {
    let state = ExperimentState::read(directory).map_err(refused)?;
    let fresh = opened.state();
    match state {
        Some(state) if args.resume.is_none() && state.until != until(args) => {
            Err(otherwise(&state, directory))
        }
        Some(state) if state.digest != fresh.digest => Err(Failure::hinted(
            Exit::Data,
            format!(
                "{}, its scenario or a file that this names has changed since the experiment in {} was \
                 begun: {} of its {} runs were made as it was",
                opened.text.name,
                directory.display(),
                state.count(RunStage::Done),
                state.runs.len()
            ),
            "begin another with --dir, or undo the change; what was begun with stands beside the \
             runs",
        )),
        Some(state) if !state.fits(&opened.experiment) => Err(unfit(&opened.text.name, directory)),
        state => Ok(state),
    }
}

/// When the experiment is to end, if its repetitions are not counted beforehand.
fn until(args: &ExperimentArgs) -> Option<UntilDecided> {
    args.until.until.map(|UntilArg::Decided| UntilDecided { difference: args.until.difference })
}

/// The experiment in the directory ends in another way.
fn otherwise(state: &ExperimentState, directory: &Path) -> Failure {
    let how = match state.until {
        Some(until) => {
            // 7 % as a binary fraction, times 100, is 7.000000000000001.
            let percent = (1e8 * until.difference).round() / 1e6;
            format!("--until decided --difference {percent}%")
        }
        None => "a number of repetitions".to_owned(),
    };
    Failure::hinted(
        Exit::Data,
        format!("the experiment in {} was begun with {how}", directory.display()),
        "--resume continues as it was begun; --dir begins another one",
    )
}

/// The time in which an experiment that ends once it is decided may begin repetitions. One must fit.
fn budget(
    args: &ExperimentArgs,
    opened: &RunnableExperiment,
    state: &ExperimentState,
) -> Result<Duration, Failure> {
    let budget = args.until.budget;
    let first: Vec<PlannedRun> =
        opened.runs.iter().filter(|run| run.repetition == 1).cloned().collect();
    let each = opened.length(&first);
    if state.until.is_some() && u128::from(each.most_ns) > budget.as_nanos() {
        return Err(Failure::hinted(
            Exit::Data,
            format!(
                "a repetition takes {}, and the budget is {}",
                each.shown(),
                units::span(nanoseconds(budget))
            ),
            "make the runs shorter, or raise --budget: eight repetitions decide little, thirty most",
        ));
    }
    Ok(budget)
}

fn unfit(experiment: &str, directory: &Path) -> Failure {
    Failure::hinted(
        Exit::Data,
        format!("{experiment} and {} do not fit", directory.join(STATE_FILE).display()),
        "one of them was changed after the experiment was begun",
    )
}

fn conduct(
    args: &ExperimentArgs,
    opened: &RunnableExperiment,
    directory: &Path,
    begun: Option<ExperimentState>,
) -> Result<ConductedExperiment, Failure> {
    let is_new = begun.is_none();
    let mut state = begun.unwrap_or_else(|| match until(args) {
        Some(until) => opened.state().until_decided(until),
        None => opened.state(),
    });
    if args.retry {
        state.retry();
    }
    let program = std::env::current_exe().map_err(|error| Failure::new(Exit::System, error))?;
    let request = ExperimentRequest {
        experiment: &opened.experiment,
        scenario: &opened.scenario.text,
        is_new,
        directory,
        series: series_settings(&program, args.force, args.durable.durability())?,
        budget: budget(args, opened, &state)?,
    };
    if is_new {
        let keep = |name: &str, text: &str| {
            record::whole::write(&directory.join(name), text.as_bytes()).map_err(refused)
        };
        keep(EXPERIMENT_COPY, &opened.text.text)?;
        keep(SCENARIO_COPY, &opened.scenario.text)?;
    }
    let mut watcher = Watcher::new(opened, &state, directory, args.quiet || args.json);
    let conducted = conduct_experiment(
        &request,
        state,
        &|overrides| opened.compile(overrides),
        &mut |progress| watcher.report(&progress),
    );
    let state = conducted.map_err(|error| match error {
        ExperimentError::Record(error) => refused(error),
        failing @ ExperimentError::Failing { .. } => Failure::hinted(
            Exit::Unavailable,
            failing.to_string(),
            "fix it and give the same command: --retry repeats runs that failed",
        ),
    })?;
    Ok(ConductedExperiment { state, lacks_pages: watcher.lacks_pages })
}

/// Analyses what is there, writes it down and prints it.
fn finish(
    args: &ExperimentArgs,
    experiment: &scenario::Experiment,
    directory: &Path,
    state: &ExperimentState,
) -> Result<Exit, Failure> {
    let analysis = analyze_runs(experiment, state, directory);
    let text = report::json(&analysis);
    record::whole::write(&directory.join(ANALYSIS_FILE), text.as_bytes()).map_err(refused)?;
    let page = Page::experiment(&analysis, page::VERSION);
    let page = page::beside(&page, directory, args.html.as_deref())?;
    tables(args, &analysis)?;
    print(args, &analysis, page.as_deref())?;
    let pending = state.count(RunStage::Pending);
    if pending > 0 && !args.quiet {
        let line = format!(
            "{pending} of {} runs are missing; resume with: throng experiment --resume {}\n",
            state.runs.len(),
            directory.display()
        );
        // What matters has been written; nobody may be listening any more.
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
    let is_certain = match &analysis.decision {
        Some(decision) => decision.is_decided(),
        None => analysis.missing.is_empty() && analysis.left_out.is_empty(),
    };
    Ok(if is_certain { Exit::Passed } else { Exit::Untrusted })
}

/// Writes the tables of `--csv`.
fn tables(args: &ExperimentArgs, analysis: &Analysis) -> Result<(), Failure> {
    let Some(folder) = &args.csv else {
        return Ok(());
    };
    std::fs::create_dir_all(folder).map_err(|error| cannot_create(folder, &error))?;
    let means = report::experiment_means_csv(analysis);
    write(&folder.join("means.csv"), &means)?;
    let has_claims = |one: &ResponseAnalysis| {
        let published = one.published.as_ref();
        published.is_some_and(|published| !published.claims.is_empty())
    };
    if analysis.responses.iter().any(has_claims) {
        let claims = report::experiment_claims_csv(analysis);
        write(&folder.join("claims.csv"), &claims)?;
    }
    Ok(())
}

fn print(args: &ExperimentArgs, analysis: &Analysis, page: Option<&Path>) -> Result<Exit, Failure> {
    let text = if args.json {
        report::json(analysis)
    } else if args.quiet {
        return Ok(Exit::Passed);
    } else {
        report::experiment(analysis, terminal::style()) + &page.map_or(String::new(), page::line)
    };
    print_text(&text)
}

fn analyze_directory(args: &ExperimentArgs, directory: &Path) -> Result<Exit, Failure> {
    let (experiment, state) = stored(directory)?;
    finish(args, &experiment, directory, &state)
}

/// The experiment in a directory, and how far it got.
pub(crate) fn stored(directory: &Path) -> Result<(scenario::Experiment, ExperimentState), Failure> {
    let state = known(directory)?;
    let copy = directory.join(EXPERIMENT_COPY);
    record::index::check_file(&copy, u64::MAX).map_err(|why| {
        let message = format!("cannot read {}: {why}", copy.display());
        Failure::hinted(Exit::NoInput, message, "the directory is incomplete")
    })?;
    let text = source::read_named(&copy.display().to_string())?;
    let mut experiment = source::experiment(&text, state.full)?;
    // One without a name of its own is called by its file, and this is a copy.
    experiment.name.clone_from(&state.name);
    if !state.fits(&experiment) {
        return Err(unfit(&copy.display().to_string(), directory));
    }
    Ok((experiment, state))
}

fn analyze_table(args: &ExperimentArgs, path: &Path) -> Result<Exit, Failure> {
    let text = source::read(&path.display().to_string())?;
    let table = Table::read(&text.text, &args.table.responses).map_err(|error| {
        Failure::hinted(
            Exit::Data,
            format!("{}: {error}", text.name),
            "the first line names the columns; docs/experiments.md shows an example",
        )
    })?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let confidence = args.table.confidence.unwrap_or(CONFIDENCE);
    let analysis = controller::experiment::analyze_table(
        table,
        name.into_owned(),
        args.table.multiplicative,
        confidence,
    );
    if let Some(path) = &args.html {
        page::write(&Page::experiment(&analysis, page::VERSION), path)?;
    }
    tables(args, &analysis)?;
    print(args, &analysis, args.html.as_deref())
}

/// Another process has the directory of an experiment or a duet.
pub(super) fn locked(error: LockError) -> Failure {
    match error {
        LockError::Record(error) => refused(error),
        held @ LockError::Held { .. } => Failure::hinted(
            Exit::Unavailable,
            held.to_string(),
            "wait until it ends, or start another one with --dir",
        ),
    }
}

/// A directory of an experiment or a duet, or a file in it, cannot be used.
pub(super) fn refused(error: RecordError) -> Failure {
    let exit = match &error {
        RecordError::Io { action: "create", .. } => Exit::CannotCreate,
        RecordError::Io { .. } => Exit::Io,
        _ => Exit::NoInput,
    };
    Failure::new(exit, error)
}
