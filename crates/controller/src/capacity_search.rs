//! Finds the highest load that keeps a scenario's thresholds: one run after the other, each with a
//! load that follows from those before.
//!
//! A search has a directory of its own: `search.json` with its settings and trials, `scenario.yaml`,
//! and `runs/` with the directory of each run. The file is replaced after every trial, so a search that
//! was broken off goes on with the next one. A run that was cut short counts for nothing.

mod search;
mod state;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use engine::driver::real::monotonic_ns;
use judge::JudgeError;
use judge::capacity::{Conclusion, Ending, Outcome, Trial, conclude, judge_trial};
use plan::Plan;
use record::schema::{RunStatus, Summary};
use record::{RecordError, Run};

use crate::control::Interrupt;
use crate::inputs::ScenarioText;
use crate::run::tick::Tick;
use crate::run::{ConductError, RunRequest, conduct};
use search::{Next, next};
pub use state::{Search, SearchError};

/// Where the runs stand in a search's directory.
const RUNS: &str = "runs";
/// How long a wait between runs goes on without looking whether the user asked for the end.
const NAP: Duration = Duration::from_millis(50);

/// How to search.
#[derive(Debug)]
pub struct CapacityRequest<'a> {
    /// New, or read from its directory.
    pub search: Search,
    /// The program that serves built-in targets and is the workers.
    pub program: &'a Path,
    /// Throng's version.
    pub version: &'a str,
    /// Whether to run even where this machine cannot hold so many users.
    pub force: bool,
    pub interrupt: Arc<Interrupt>,
}

/// A scenario with a load.
#[derive(Debug)]
pub struct LoadedPlan {
    pub plan: Plan,
    /// What the plan was compiled from.
    pub scenario: ScenarioText,
}

/// What a search tells while it goes on.
#[derive(Debug)]
pub enum CapacityProgress<'a> {
    /// The next run, with its number from 1.
    Begins { number: usize, load: f64 },
    /// A second of it.
    Tick(&'a Tick<'a>),
    /// It left its record.
    Recorded {
        directory: &'a Path,
        summary: &'a Summary,
    },
    /// What came of it.
    Ended { number: usize, trial: &'a Trial },
}

/// A search that is over.
#[derive(Debug)]
pub struct SearchResult {
    pub directory: PathBuf,
    pub conclusion: Conclusion,
    /// In the order in which they were made.
    pub trials: Vec<Trial>,
}

/// Why a search could not go on. What it found so far stays in its directory.
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

/// Searches to the end, or to one of its bounds. `compile` makes the plan for a load, given as
/// `--set` takes it; its errors end the search.
pub fn search_capacity<E: From<CapacityError>>(
    request: CapacityRequest<'_>,
    mut compile: impl FnMut((String, String)) -> Result<LoadedPlan, E>,
    mut on_news: impl FnMut(CapacityProgress<'_>),
) -> Result<SearchResult, E> {
    let CapacityRequest {
        mut search,
        program,
        version,
        force,
        interrupt,
    } = request;
    let runs = search.directory.join(RUNS);
    let begun_ns = monotonic_ns();
    let mut is_first = true;
    let ending = loop {
        let load = match next(&search.bounds, &search.trials) {
            Next::Try(load) => load,
            Next::End(ending) => break ending,
        };
        let LoadedPlan { plan, scenario } = compile(search.knob.setting(load))?;
        let spent_ns = monotonic_ns().saturating_sub(begun_ns);
        if spent_ns.saturating_add(plan.end_ns()) > search.time_max_ns {
            break Ending::OutOfTime;
        }
        if !is_first {
            pause(search.pause_ns, &interrupt);
        }
        is_first = false;
        if interrupt.is_requested() {
            break Ending::Interrupted;
        }
        let number = search.trials.len() + 1;
        on_news(CapacityProgress::Begins { number, load });
        let request = RunRequest {
            plan,
            scenario,
            runs: &runs,
            program,
            version,
            workers_count: 0,
            allow_lost_workers: false,
            force,
            interrupt: Arc::clone(&interrupt),
            pause: Arc::default(),
        };
        let trial = match conduct(request, &mut |tick| on_news(CapacityProgress::Tick(tick))) {
            // A run that the user cut short says nothing of its load.
            Ok(run) if run.info.status == RunStatus::Interrupted => break Ending::Interrupted,
            Ok(run) => {
                on_news(CapacityProgress::Recorded {
                    directory: &run.directory,
                    summary: &run.summary,
                });
                trial(load, &run.directory, &run.summary).map_err(CapacityError::from)?
            }
            // More than this machine can send: a limit of the generator, found without a run.
            Err(ConductError::TooSmall(why)) => Trial {
                why: vec![why.to_string()],
                ..Trial::new(load, Outcome::Untrusted)
            },
            Err(error) => return Err(CapacityError::from(error).into()),
        };
        on_news(CapacityProgress::Ended {
            number,
            trial: &trial,
        });
        search.trials.push(trial);
        search.save().map_err(CapacityError::from)?;
    };
    let Search {
        directory,
        knob,
        bounds,
        trials,
        ..
    } = search;
    let conclusion =
        conclude(&runs, &knob, &bounds, &trials, ending).map_err(CapacityError::from)?;
    state::save_conclusion(&directory, &conclusion).map_err(CapacityError::from)?;
    Ok(SearchResult {
        directory,
        conclusion,
        trials,
    })
}

fn trial(load: f64, directory: &Path, summary: &Summary) -> Result<Trial, JudgeError> {
    judge_trial(load, &Run::open(directory)?, summary)
}

/// What the last run left behind at the target may end.
fn pause(pause_ns: u64, interrupt: &Interrupt) {
    let mut left = Duration::from_nanos(pause_ns);
    while !left.is_zero() && !interrupt.is_requested() {
        let nap = left.min(NAP);
        #[expect(clippy::disallowed_methods, reason = "a pause between two runs")]
        std::thread::sleep(nap);
        left -= nap;
    }
}
