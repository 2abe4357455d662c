//! The progress of an experiment: `experiment.json`.

use std::path::Path;

use compare::disturbed::{DisturbedBlock, MachineShares, disturbance, may_repeat};
use compare::experiment::UntilDecided;
use record::schema::{RunStatus, Verdict};
use record::whole::{read_json, write_json};
use record::{RecordError, Run};
use scenario::Experiment;
use serde::{Deserialize, Serialize};
use workers::hex_digest;

use super::order::{PlannedRun, repetition};

/// The file in the experiment's directory.
pub const STATE_FILE: &str = "experiment.json";
/// The run directories, in the experiment's directory.
pub(super) const RUNS: &str = "runs";
/// The format of that file; raised when an old reader would misread a new file.
const FORMAT: u32 = 1;

/// An experiment and its runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentState {
    pub format: u32,
    pub name: String,
    /// Throng's version that began it.
    pub throng: String,
    /// The experiment's file.
    pub file: String,
    /// True if it is run in full.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub full: bool,
    /// The digest of all that the runs are derived from; a different digest is a different experiment.
    pub digest: String,
    /// The seed of the order.
    pub seed: u64,
    /// In their order.
    pub runs: Vec<RunRecord>,
    /// Directories of runs that do not count: those that were repeated, and those that existed before the
    /// experiment began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub discarded: Vec<String>,
    /// It ends once it is decided; `None`: its repetitions are counted in its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<UntilDecided>,
    /// Repetitions during which somebody else had the machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed: Vec<DisturbedBlock>,
}

/// A run of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// From 1, in the order in which runs are made.
    pub number: usize,
    /// From 1.
    pub repetition: u32,
    /// The level of each factor, from 0.
    pub cell: Vec<usize>,
    /// The levels as they are written.
    pub levels: Vec<String>,
    /// The scenario's seed; `None`: the experiment sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    pub stage: RunStage,
    /// The run's directory in that of the experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// How much of its time others had this machine.
    #[serde(default, skip_serializing_if = "MachineShares::is_unknown")]
    pub shares: MachineShares,
}

/// The stage of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStage {
    /// Not made yet.
    Pending,
    /// Made and judged.
    Done,
    /// It failed.
    Failed,
}

impl ExperimentState {
    /// An experiment without runs yet. `texts`: all that its runs are derived from.
    pub fn new(
        experiment: &Experiment,
        runs: &[PlannedRun],
        file: &str,
        throng: &str,
        texts: &[&str],
    ) -> ExperimentState {
        let runs = runs.iter().map(|run| RunRecord::planned(experiment, run));
        ExperimentState {
            format: FORMAT,
            name: experiment.name.clone(),
            throng: throng.to_owned(),
            file: file.to_owned(),
            full: false,
            digest: digest(texts),
            seed: experiment.seed,
            runs: runs.collect(),
            discarded: Vec::new(),
            until: None,
            disturbed: Vec::new(),
        }
    }

    /// The same experiment, of which no run was made yet, if it ends once it is decided: it begins with one repetition.
    pub fn until_decided(mut self, until: UntilDecided) -> ExperimentState {
        self.runs.retain(|run| run.repetition == 1);
        self.until = Some(until);
        self
    }

    /// Repetitions that were begun.
    pub fn repetitions(&self) -> u32 {
        self.runs.iter().map(|run| run.repetition).max().unwrap_or(0)
    }

    /// Those among them that were not made again.
    pub(super) fn repetitions_counted(&self) -> u32 {
        let all = 1..=self.repetitions();
        all.filter(|&number| !self.is_repeated(number)).count() as u32
    }

    /// True of a repetition that was disturbed and made again.
    pub(super) fn is_repeated(&self, repetition: u32) -> bool {
        let is_it = |one: &DisturbedBlock| one.repeated && one.block == u64::from(repetition);
        self.disturbed.iter().any(is_it)
    }

    /// Adds the runs of the next repetition.
    pub(super) fn add_repetition(&mut self, experiment: &Experiment) {
        let next = self.repetitions() + 1;
        let runs = repetition(experiment, next);
        self.runs.extend(runs.iter().map(|run| RunRecord::planned(experiment, run)));
    }

    /// Notes that the last repetition, which has ended, was disturbed, if it was.
    pub(super) fn note_disturbance(&mut self) {
        let last = self.repetitions();
        let shares = |number: u32| {
            let own = self.runs.iter().filter(|run| run.repetition == number);
            MachineShares::greatest(own.map(|run| run.shares))
        };
        let before: Vec<MachineShares> = (1..last).map(shares).collect();
        let is_known = self.disturbed.iter().any(|one| one.block == u64::from(last));
        let Some(why) = disturbance(&before, shares(last)).filter(|_| !is_known) else {
            return;
        };
        let repeated = self.disturbed.iter().filter(|one| one.repeated).count() as u64;
        let counted = u64::from(last - 1).saturating_sub(repeated);
        let repeated = may_repeat(repeated, counted);
        self.disturbed.push(DisturbedBlock { block: u64::from(last), why, repeated });
    }

    /// The state in an experiment's directory; `None`: there is none.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or has another format.
    pub fn read(directory: &Path) -> Result<Option<ExperimentState>, RecordError> {
        let path = directory.join(STATE_FILE);
        let state: Option<ExperimentState> = read_json(&path)?;
        match state {
            Some(state) if state.format != FORMAT => {
                Err(RecordError::Format { path, found: state.format, reads: FORMAT })
            }
            state => Ok(state),
        }
    }

    /// Replaces the file, and creates the directory if it is missing.
    ///
    /// # Errors
    /// An error of the system.
    pub fn write(&self, directory: &Path) -> Result<(), RecordError> {
        std::fs::create_dir_all(directory).map_err(|source| RecordError::Io {
            action: "create",
            path: directory.to_owned(),
            source,
        })?;
        write_json(&directory.join(STATE_FILE), self)
    }

    /// The index of the first pending run.
    pub fn pending(&self) -> Option<usize> {
        self.runs.iter().position(|run| run.stage == RunStage::Pending)
    }

    /// The number of runs at this stage.
    pub fn count(&self, stage: RunStage) -> usize {
        self.runs.iter().filter(|run| run.stage == stage).count()
    }

    /// True for a run directory that is part of the experiment, or known not to count.
    pub(super) fn knows(&self, name: &str) -> bool {
        let is_its = |run: &RunRecord| run.directory.as_deref() == Some(name);
        self.runs.iter().any(is_its) || self.discarded.iter().any(|discarded| discarded == name)
    }

    /// Notes that the runs below this directory which have no place here do not count.
    pub(super) fn discard_strangers(&mut self, runs: &Path) {
        for (name, _) in complete_runs(runs) {
            if !self.knows(&name) {
                self.discarded.push(name);
            }
        }
    }

    /// True if its runs are of this experiment: each with a level of each factor, as it is written.
    pub fn fits(&self, experiment: &Experiment) -> bool {
        let factors = &experiment.factors;
        self.runs.iter().all(|run| {
            let counts = [run.cell.len(), run.levels.len()];
            let mut levels = factors.iter().zip(&run.cell).zip(&run.levels);
            counts == [factors.len(); 2]
                && levels.all(|((factor, &level), text)| {
                    let level = factor.levels.get(level);
                    level.is_some_and(|level| level.text == *text)
                })
        })
    }

    /// Marks runs that failed or are untrusted as pending.
    pub fn retry(&mut self) {
        for run in &mut self.runs {
            if run.stage == RunStage::Failed || run.verdict == Some(Verdict::Untrusted) {
                run.stage = RunStage::Pending;
                self.discarded.extend(run.directory.take());
                run.verdict = None;
                run.why = None;
            }
        }
    }
}

impl RunRecord {
    fn planned(experiment: &Experiment, run: &PlannedRun) -> RunRecord {
        let levels = experiment.factors.iter().zip(&run.cell);
        RunRecord {
            number: run.number,
            repetition: run.repetition,
            cell: run.cell.clone(),
            levels: levels.map(|(factor, &level)| factor.levels[level].text.clone()).collect(),
            seed: run.seed,
            stage: RunStage::Pending,
            directory: None,
            verdict: None,
            why: None,
            shares: MachineShares::default(),
        }
    }

    /// The overrides of the run: those of all runs, the factors', and its seed.
    pub fn overrides(&self, experiment: &Experiment) -> Vec<(String, String)> {
        let mut overrides = experiment.overrides(&self.cell);
        overrides.extend(self.seed.map(|seed| ("seed".to_owned(), seed.to_string())));
        overrides
    }

    pub(super) fn end(&mut self, directory: String, verdict: Verdict) {
        self.stage = RunStage::Done;
        self.directory = Some(directory);
        self.verdict = Some(verdict);
    }

    /// It failed, possibly with a directory.
    pub(super) fn fail(&mut self, why: &str, directory: Option<String>) {
        self.stage = RunStage::Failed;
        self.directory = directory;
        self.why = Some(why.to_owned());
    }
}

/// The digest of several texts, which differs from that of other texts with the same concatenation.
fn digest(texts: &[&str]) -> String {
    let each: Vec<String> = texts.iter().map(hex_digest).collect();
    hex_digest(&each.join(" "))
}

/// A run's directory as the experiment's file names it.
pub(super) fn run_name(directory: &Path) -> String {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    format!("{RUNS}/{name}")
}

/// Runs below this directory that ended in order and were judged, by the names of theirs.
pub(super) fn complete_runs(runs: &Path) -> Vec<(String, Run)> {
    let Ok(entries) = std::fs::read_dir(runs) else {
        return Vec::new();
    };
    let mut found: Vec<(String, Run)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let run = Run::open(&entry.path()).ok()?;
            let has_ended = matches!(run.info().status, RunStatus::Complete | RunStatus::Until);
            let is_whole = run.is_complete() && has_ended;
            is_whole.then(|| (run_name(&entry.path()), run))
        })
        .collect();
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    found
}
