//! Conducts an experiment: its runs one after the other, in an order drawn from its seed.
//!
//! `experiment.json`, which is replaced after each run, and the run directories record what is done.
//! If the process ends, however that comes, the next one resumes with the first run that is missing. The runs of each
//! repetition are a block, and each block is shuffled by itself: conditions that change slowly affect all combinations
//! alike (Box, Hunter and Hunter, "Statistics for Experimenters", 1978, on randomised blocks).

mod analysis;
mod hook;
mod lock;
mod order;
mod state;

pub use analysis::{analyze_runs, analyze_table};
pub use hook::HookError;
pub use lock::{Lock, LockError};
pub use order::{PlannedRun, order, time_ns};
pub use state::{ExperimentState, RunRecord, RunStage, STATE_FILE};

use std::path::{Path, PathBuf};
use std::time::Duration;

use compare::disturbed::DisturbedBlock;
use compare::experiment::ExperimentDecision;
use machine::clock::monotonic_ns;
use machine::contention::Contention;
use record::RecordError;
use record::schema::{RunStatus, Summary};
use scenario::Experiment;
use scenario::experiment::{REPETITIONS_MAX, RUNS_MAX};
use workers::{hex_digest, with_causes};

use analysis::decide_runs;

use crate::control;
use crate::run::tick::Tick;
use crate::run::{ConductError, Conducted, conduct};
use crate::series::{CompiledPlan, SeriesSettings};
use crate::shares::machine_shares;

/// This number of consecutive failed runs ends the experiment: the next ones would fail as well.
const FAILURES_MAX: u32 = 3;

/// An experiment to conduct.
#[derive(Debug)]
pub struct ExperimentRequest<'a> {
    pub experiment: &'a Experiment,
    /// The scenario's text.
    pub scenario: &'a str,
    /// No run was made yet: other contents of its directory are not part of it.
    pub is_new: bool,
    /// The experiment's directory; it is created if it is missing.
    pub directory: &'a Path,
    pub series: SeriesSettings<'a>,
    /// Of an experiment that ends once it is decided: no repetition begins that would end after this time.
    pub budget: Duration,
}

/// The progress of an experiment.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A warm-up run begins, which does not count.
    WarmUp { number: u32, of: u32 },
    /// A run begins.
    Begun { run: &'a RunRecord },
    /// A second of it.
    Tick(&'a Tick<'a>),
    /// It ended, this long after it began.
    Ended { directory: &'a Path, summary: &'a Summary, took_ns: u64 },
    /// All runs of a repetition are made, of an experiment that ends once it is decided, and this is known now.
    Decision(&'a ExperimentDecision),
    /// Somebody else had the machine in the last repetition.
    Disturbed(&'a DisturbedBlock),
    /// It could not be made.
    Failed { run: &'a RunRecord, why: &'a str },
}

/// Why an experiment ended early. Its runs so far are kept.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("{FAILURES_MAX} consecutive runs failed; the last: {why}")]
    Failing { why: String },
}

/// Why a run was not made.
enum RunError {
    /// The user requested the end.
    Interrupted,
    /// Why, in words, and its directory, if there is one.
    Failed { why: String, directory: Option<PathBuf> },
    /// The record cannot be written; neither could the next one.
    Record(RecordError),
}

impl RunError {
    /// The run has no directory.
    fn failed(why: String) -> RunError {
        RunError::Failed { why, directory: None }
    }
}

/// Compiles the plan of a combination's overrides; the error says why it cannot.
pub type Compile<'a> = dyn Fn(&[(String, String)]) -> Result<CompiledPlan, String> + 'a;

/// Makes the runs that are pending in `state`, and returns the new state.
///
/// # Errors
/// Further runs would fail as well.
pub fn conduct_experiment(
    request: &ExperimentRequest<'_>,
    state: ExperimentState,
    compile: &Compile<'_>,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<ExperimentState, ExperimentError> {
    let mut conductor = Conductor {
        runs: request.directory.join(state::RUNS),
        state,
        request,
        compile,
        begun_ns: monotonic_ns(),
        repetition_ns: None,
        longest_ns: 0,
    };
    if request.is_new {
        conductor.state.discard_strangers(&conductor.runs);
    } else {
        conductor.adopt()?;
    }
    conductor.save()?;
    if conductor.has_next(watch)? && conductor.warm_up(watch)? {
        conductor.all(watch)?;
    }
    Ok(conductor.state)
}

struct Conductor<'a> {
    request: &'a ExperimentRequest<'a>,
    runs: PathBuf,
    state: ExperimentState,
    compile: &'a Compile<'a>,
    begun_ns: u64,
    /// When the first run of this repetition began.
    repetition_ns: Option<u64>,
    /// The time that the longest repetition took.
    longest_ns: u64,
}

impl Conductor<'_> {
    fn save(&self) -> Result<(), RecordError> {
        self.state.write(self.request.directory)
    }

    fn is_interrupted(&self) -> bool {
        self.request.series.interrupt.is_requested()
    }

    /// Takes runs that had ended when the process was killed before it could note them.
    fn adopt(&mut self) -> Result<(), RecordError> {
        // Seeds follow from the experiment alone, so a run of another scenario may have this one's.
        let scenario_hash = hex_digest(self.request.scenario);
        for (name, run) in state::complete_runs(&self.runs) {
            if self.state.knows(&name) || run.info().scenario_hash != scenario_hash {
                continue;
            }
            let experiment = self.request.experiment;
            let fits = |known: &&mut RunRecord| {
                known.stage == RunStage::Pending
                    && run.info().overrides == written(&known.overrides(experiment))
            };
            let Some(summary) = run.summary()? else {
                continue;
            };
            if let Some(known) = self.state.runs.iter_mut().find(fits) {
                known.end(name, summary.verdict);
            }
        }
        Ok(())
    }

    /// Makes the warm-up runs; `false`: the user requested the end.
    fn warm_up(&mut self, watch: &mut dyn FnMut(Progress<'_>)) -> Result<bool, ExperimentError> {
        let of = self.request.experiment.warm_up;
        let Some(run) = self.state.pending().map(|number| self.state.runs[number].clone()) else {
            return Ok(true);
        };
        let runs = self.request.directory.join("warm-up");
        for number in 1..=of {
            watch(Progress::WarmUp { number, of });
            match self.conduct(&run, &runs, watch) {
                Ok(_) => {}
                Err(RunError::Interrupted) => return Ok(false),
                Err(RunError::Record(error)) => return Err(error.into()),
                Err(RunError::Failed { why, .. }) => {
                    watch(Progress::Failed { run: &run, why: &why });
                }
            }
            if !self.pause() {
                return Ok(false);
            }
        }
        Ok(!self.is_interrupted())
    }

    /// True if there is a run to be made. Once all runs of a repetition are made, an experiment that ends when it is decided
    /// gets another one unless it is decided, or the budget is used up.
    fn has_next(&mut self, watch: &mut dyn FnMut(Progress<'_>)) -> Result<bool, ExperimentError> {
        if self.state.pending().is_some() {
            return Ok(true);
        }
        if self.state.until.is_none() {
            return Ok(false);
        }
        let now_ns = monotonic_ns();
        if let Some(begun_ns) = self.repetition_ns.take() {
            self.longest_ns = self.longest_ns.max(now_ns.saturating_sub(begun_ns));
        }
        let disturbed = self.state.disturbed.len();
        self.state.note_disturbance();
        for one in &self.state.disturbed[disturbed..] {
            watch(Progress::Disturbed(one));
        }
        self.save()?;
        let ExperimentRequest { experiment, directory, budget, .. } = self.request;
        let Some(decision) = decide_runs(experiment, &self.state, directory) else {
            return Ok(false);
        };
        watch(Progress::Decision(&decision));
        let left =
            budget.saturating_sub(Duration::from_nanos(now_ns.saturating_sub(self.begun_ns)));
        let runs = self.state.runs.len() + experiment.cells().len();
        let is_over = left < Duration::from_nanos(self.longest_ns)
            || left.is_zero()
            || u64::from(self.state.repetitions()) >= REPETITIONS_MAX
            || runs > RUNS_MAX;
        if decision.is_decided() || is_over || self.is_interrupted() {
            return Ok(false);
        }
        self.state.add_repetition(experiment);
        self.save()?;
        Ok(true)
    }

    fn all(&mut self, watch: &mut dyn FnMut(Progress<'_>)) -> Result<(), ExperimentError> {
        let mut failures = 0;
        while let Some(number) = self.state.pending() {
            self.repetition_ns.get_or_insert_with(monotonic_ns);
            let run = self.state.runs[number].clone();
            watch(Progress::Begun { run: &run });
            let begun_ns = monotonic_ns();
            let machine = Contention::now();
            match self.conduct(&run, &self.runs, watch) {
                Ok(Conducted { directory, summary, .. }) => {
                    failures = 0;
                    self.state.runs[number].end(state::run_name(&directory), summary.verdict);
                    self.state.runs[number].shares = machine_shares(&machine);
                    self.save()?;
                    watch(Progress::Ended {
                        directory: &directory,
                        summary: &summary,
                        took_ns: monotonic_ns().saturating_sub(begun_ns),
                    });
                }
                Err(RunError::Interrupted) => return Ok(()),
                Err(RunError::Record(error)) => return Err(error.into()),
                Err(RunError::Failed { why, directory }) => {
                    failures += 1;
                    let directory = directory.map(|directory| state::run_name(&directory));
                    self.state.runs[number].fail(&why, directory);
                    self.save()?;
                    watch(Progress::Failed { run: &run, why: &why });
                    if failures == FAILURES_MAX {
                        return Err(ExperimentError::Failing { why });
                    }
                }
            }
            if !self.has_next(watch)? || !self.pause() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// One run with what belongs before and after it.
    fn conduct(
        &self,
        run: &RunRecord,
        runs: &Path,
        watch: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Conducted, RunError> {
        if self.is_interrupted() {
            return Err(RunError::Interrupted);
        }
        let experiment = self.request.experiment;
        let hook = |command: &Option<String>| match command {
            Some(command) => {
                let interrupt = &self.request.series.interrupt;
                hook::run(command, experiment, run, interrupt).map_err(|error| {
                    // Ctrl-C ends the command as well, since the terminal sends it to all of its processes.
                    match self.is_interrupted() {
                        true => RunError::Interrupted,
                        false => RunError::failed(error.to_string()),
                    }
                })
            }
            None => Ok(()),
        };
        let compiled = (self.compile)(&run.overrides(experiment)).map_err(RunError::failed)?;
        hook(&experiment.before)?;
        let request = self.request.series.run(compiled, runs);
        let conducted = conduct(request, &mut |tick| watch(Progress::Tick(tick)));
        let after = hook(&experiment.after);
        let conducted = conducted.map_err(|error| match error {
            ConductError::Record(error) => RunError::Record(error),
            other => RunError::failed(with_causes(&other)),
        })?;
        after.map_err(|error| match error {
            RunError::Failed { why, .. } => {
                RunError::Failed { why, directory: Some(conducted.directory.clone()) }
            }
            error => error,
        })?;
        match conducted.info.status {
            RunStatus::Complete | RunStatus::Until => Ok(conducted),
            RunStatus::Interrupted => Err(RunError::Interrupted),
            RunStatus::Running | RunStatus::Aborted | RunStatus::Failed => {
                let first = conducted.summary.findings.first();
                Err(RunError::Failed {
                    why: first.map_or_else(String::new, |f| f.text.clone()),
                    directory: Some(conducted.directory),
                })
            }
        }
    }

    /// Waits between two runs; `false`: the user requested the end.
    fn pause(&self) -> bool {
        let pause = Duration::from_nanos(self.request.experiment.pause_ns);
        control::pause(&self.request.series.interrupt, pause)
    }
}

/// Overrides as `run.json` has them.
fn written(overrides: &[(String, String)]) -> Vec<String> {
    let all = overrides.iter().map(|(key, value)| format!("{key}={value}"));
    all.collect()
}

#[cfg(test)]
mod tests;
