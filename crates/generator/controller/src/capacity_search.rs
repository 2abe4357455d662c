//! Finds the highest load that keeps a scenario's thresholds: one run after the other, each with a load
//! that follows from the previous ones. Or tries all values of a setting, to find the one of greatest
//! throughput: the same search with another course.
//!
//! A search has a directory of its own: `search.json` with its settings and trials, `scenario.yaml`, and
//! `runs/` with the directory of each run. The file is replaced after every trial, so an interrupted search
//! resumes with the next one. An interrupted run does not count.

mod backlog;
mod state;
mod sweep;

use std::path::{Path, PathBuf};
use std::time::Duration;

use compare::capacity::search::{self, Next, WantedRun};
use compare::capacity::{Aim, Conclusion, Ending, Outcome, Trial, conclude, judge_trial, while_up};
use compare::sweep::{SweepConclusion, conclude_sweep};
use judge::JudgeError;
use machine::clock::{Dilation, monotonic_ns};
use plan::Target;
use record::schema::{RunStatus, Summary};
use record::{RecordError, Run};
use workers::with_causes;

use crate::control::Interrupt;
use crate::run::tick::Tick;
use crate::run::{ConductError, RunRequest, conduct};
use crate::series::{CompiledPlan, SeriesSettings};
use backlog::backlog_ns;
pub use state::{Course, Search, SearchError};

/// The runs of a search, in its directory.
const RUNS: &str = "runs";
/// The interval at which a pause between runs checks whether the user requested the end.
const NAP: Duration = Duration::from_millis(50);

/// A search to make or to resume.
#[derive(Debug)]
pub struct CapacityRequest<'a> {
    /// New, or read from its directory.
    pub search: Search,
    pub series: SeriesSettings<'a>,
}

/// The progress of a search.
#[derive(Debug)]
pub enum CapacityProgress<'a> {
    /// The target is left alone for this long, since it has not answered all requests of the last run.
    Recovers { pause_ns: u64 },
    /// The next run, with its number from 1.
    Begins { number: usize, load: f64 },
    /// A second of it.
    Tick(&'a Tick<'a>),
    /// It was recorded.
    Recorded { directory: &'a Path, summary: &'a Summary },
    /// The result of a run.
    Ended { number: usize, trial: &'a Trial },
}

/// The result of a search.
#[derive(Debug)]
pub struct SearchResult {
    pub directory: PathBuf,
    pub conclusion: SearchConclusion,
    /// In order.
    pub trials: Vec<Trial>,
}

/// The conclusion of a search, by its course.
#[derive(Debug)]
pub enum SearchConclusion {
    Knee(Conclusion),
    Sweep(SweepConclusion),
}

/// Why a search stopped. Its trials so far stay in its directory.
#[derive(Debug, thiserror::Error)]
pub enum CapacityError {
    #[error(transparent)]
    Conduct(#[from] ConductError),
    #[error(transparent)]
    Search(#[from] SearchError),
    #[error("cannot judge a run of the search")]
    Judge(#[from] JudgeError),
    #[error("cannot read a run of the search")]
    Record(#[from] RecordError),
}

/// Searches until the result is known or a bound is reached. `compile` makes the plan for settings, given as
/// `--set` takes them; its errors end the search. Each run has a seed of its own, the scenario's plus the
/// number of runs before it: runs with the same crowd would be no repetitions.
pub fn search_capacity<E: From<CapacityError>>(
    request: CapacityRequest<'_>,
    mut compile: impl FnMut(&[(String, String)]) -> Result<CompiledPlan, E>,
    mut on_progress: impl FnMut(CapacityProgress<'_>),
) -> Result<SearchResult, E> {
    let CapacityRequest { mut search, series } = request;
    let runs = search.directory.join(RUNS);
    search.trials.truncate(kept(&search));
    let begun_ns = monotonic_ns();
    // The time for which the target may still be busy with the last run.
    let mut backlog_ns = None;
    let seed = compile(&[])?.plan.seed;
    let ending = loop {
        let WantedRun { load, is_longer } = match next(&search).wanted_run() {
            Ok(wanted) => wanted,
            Err(ending) => break ending,
        };
        let compiled = compile(&settings(&search, load, is_longer, seed))?;
        let spent_ns = monotonic_ns().saturating_sub(begun_ns);
        if spent_ns.saturating_add(compiled.plan.end_ns()) > search.time_max_ns {
            break Ending::OutOfTime;
        }
        if let Some(backlog_ns) = backlog_ns {
            recover(search.pause_ns, backlog_ns, &series.interrupt, &mut on_progress);
        }
        if series.interrupt.is_requested() {
            break Ending::Interrupted;
        }
        let number = search.trials.len() + 1;
        on_progress(CapacityProgress::Begins { number, load });
        let request = series.run(compiled, &runs);
        let Some(ended) = run_trial(&search.course, search.aim, load, request, &mut on_progress)?
        else {
            break Ending::Interrupted;
        };
        let trial = Trial { is_longer, ..ended.trial };
        backlog_ns = Some(ended.backlog_ns);
        on_progress(CapacityProgress::Ended { number, trial: &trial });
        search.trials.push(trial);
        search.save().map_err(CapacityError::from)?;
    };
    Ok(concluded(search, &runs, ending)?)
}

/// The number of trials that still count in a search that is resumed: a target that was down is up again.
fn kept(search: &Search) -> usize {
    match &search.course {
        Course::Knee(_) => while_up(&search.trials).len(),
        Course::Sweep(sweep) => sweep::kept(sweep, &search.trials),
    }
}

/// The settings of the next run: the load, a seed of its own, and its length if that is another one.
fn settings(search: &Search, load: f64, is_longer: bool, seed: u64) -> Vec<(String, String)> {
    let seed = seed.wrapping_add(search.trials.len() as u64);
    let mut settings = vec![search.load_setting.setting(load)];
    settings.push(("seed".to_owned(), seed.to_string()));
    settings.extend(search.longer.clone().filter(|_| is_longer));
    settings
}

/// The next load, or the end of the search.
fn next(search: &Search) -> Next {
    match &search.course {
        Course::Knee(bounds) => search::next(bounds, &search.trials),
        Course::Sweep(sweep) => sweep::next(sweep, &search.trials),
    }
}

/// A run of the search.
struct EndedTrial {
    trial: Trial,
    /// The target may be busy with it for this long; 0: it is stopped.
    backlog_ns: u64,
}

impl EndedTrial {
    /// A run that was not made.
    fn without_run(load: f64, outcome: Outcome, why: String) -> EndedTrial {
        EndedTrial { trial: Trial { why: vec![why], ..Trial::new(load, outcome) }, backlog_ns: 0 }
    }
}

/// Makes one run; `None`: the user interrupted it, so it says nothing about its load.
fn run_trial(
    course: &Course,
    aim: Aim,
    load: f64,
    request: RunRequest<'_>,
    on_progress: &mut impl FnMut(CapacityProgress<'_>),
) -> Result<Option<EndedTrial>, CapacityError> {
    let is_started = matches!(request.plan.target, Target::Builtin { .. });
    let run_ns = request.plan.end_ns();
    match conduct(request, &mut |tick| {
        on_progress(CapacityProgress::Tick(tick));
    }) {
        Ok(run) if run.info.status == RunStatus::Interrupted => Ok(None),
        Ok(run) => {
            on_progress(CapacityProgress::Recorded {
                directory: &run.directory,
                summary: &run.summary,
            });
            let backlog_ns = if is_started { 0 } else { backlog_ns(&run.summary, run_ns) };
            let trial = trial(load, &run.directory, &run.summary, aim)?;
            Ok(Some(EndedTrial { trial, backlog_ns }))
        }
        // More than this machine can send: a limit of the generator, found without a run.
        Err(ConductError::TooSmall(why)) => {
            Ok(Some(EndedTrial::without_run(load, Outcome::Untrusted, why.to_string())))
        }
        // The target may start with other values.
        Err(ConductError::Target(error)) if matches!(course, Course::Sweep(_)) => {
            let why = with_causes(&error);
            Ok(Some(EndedTrial::without_run(load, Outcome::Breaks, why)))
        }
        Err(error) => Err(error.into()),
    }
}

/// Concludes from all trials, and saves the conclusion.
fn concluded(search: Search, runs: &Path, ending: Ending) -> Result<SearchResult, CapacityError> {
    let Search { directory, load_setting, course, trials, .. } = search;
    let conclusion = match course {
        Course::Knee(bounds) => {
            let found = conclude(runs, &load_setting, &bounds, &trials, ending)?;
            state::save_conclusion(&directory, &found)?;
            SearchConclusion::Knee(found)
        }
        Course::Sweep(sweep) => {
            let found = conclude_sweep(&load_setting, &sweep, &trials, ending);
            state::save_conclusion(&directory, &found)?;
            SearchConclusion::Sweep(found)
        }
    };
    Ok(SearchResult { directory, conclusion, trials })
}

fn trial(load: f64, directory: &Path, summary: &Summary, aim: Aim) -> Result<Trial, JudgeError> {
    judge_trial(load, &Run::open(directory)?, summary, aim)
}

/// Lets the target recover from the last run, which it may be busy with for `backlog_ns`.
fn recover(
    pause_ns: u64,
    backlog_ns: u64,
    interrupt: &Interrupt,
    on_progress: &mut impl FnMut(CapacityProgress<'_>),
) {
    if backlog_ns > pause_ns {
        on_progress(CapacityProgress::Recovers { pause_ns: backlog_ns });
    }
    let pause = Duration::from_nanos(pause_ns.max(backlog_ns));
    let mut left = Dilation::of_process().stretch(pause);
    while !left.is_zero() && !interrupt.is_requested() {
        let nap = left.min(NAP);
        #[expect(clippy::disallowed_methods, reason = "a pause between two runs")]
        std::thread::sleep(nap);
        left -= nap;
    }
}
