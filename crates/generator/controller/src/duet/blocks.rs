//! One block: a run in this process, or one of two processes that run at once.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::ScopedJoinHandle;

use machine::contention::Contention;
use machine::thread::{CoreSet, core_halves};
use record::schema::RunStatus;
use record::{Durability, RecordError, Run};
use workers::with_causes;

use super::state::{BlockRecord, BlockRole, DuetState, RUNS};
use super::{CompileError, Conductor, DuetProgress};
use crate::run::{ConductError, conduct};
use crate::shares::machine_shares;

/// A block to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    /// Number of its pair, from 1.
    pub(super) number: u64,
    pub(super) role: BlockRole,
    /// The seed of its users.
    pub(super) seed: u64,
}

/// Why a block was not made.
#[derive(Debug)]
pub(super) enum BlockError {
    /// The user requested the end.
    Interrupted,
    /// Why, in words.
    Failed { why: String },
    /// The record cannot be written; neither could the next one.
    Record(RecordError),
    /// The scenario is not the one that the duet was begun with; neither would it be for the next one.
    Changed { what: String },
}

impl From<CompileError> for BlockError {
    fn from(error: CompileError) -> BlockError {
        match error {
            CompileError::Changed { what } => BlockError::Changed { what },
            CompileError::Failed { why } => BlockError::Failed { why },
        }
    }
}

impl BlockError {
    fn failed(why: String) -> BlockError {
        BlockError::Failed { why }
    }
}

impl Block {
    fn record(&self, directory: String, begun: &Contention) -> BlockRecord {
        let shares = machine_shares(begun);
        BlockRecord { pair: self.number, role: self.role, directory, shares }
    }

    /// The overrides of its run.
    fn overrides(&self, state: &DuetState) -> Vec<(String, String)> {
        let mut overrides = state.target(self.role).overrides.clone();
        overrides.push(("seed".to_owned(), self.seed.to_string()));
        overrides
    }
}

impl Conductor<'_> {
    /// Makes a block in this process, while no other one runs.
    pub(super) fn in_turn(
        &self,
        block: &Block,
        state: &DuetState,
        watch: &mut dyn FnMut(DuetProgress<'_>),
    ) -> Result<BlockRecord, BlockError> {
        let compiled = (self.compile)(state.target(block.role), &block.overrides(state))?;
        let runs = self.request.directory.join(RUNS);
        let run = self.request.series.run(compiled, &runs);
        let begun = Contention::now();
        let conducted = conduct(run, &mut |tick| watch(DuetProgress::Tick(tick)));
        let conducted = conducted.map_err(|error| match error {
            ConductError::Record(error) => BlockError::Record(error),
            other => BlockError::failed(with_causes(&other)),
        })?;
        match conducted.info.status {
            RunStatus::Complete | RunStatus::Until => {
                Ok(block.record(format!("{RUNS}/{}", file_name(&conducted.directory)), &begun))
            }
            RunStatus::Interrupted => Err(BlockError::Interrupted),
            RunStatus::Running | RunStatus::Aborted | RunStatus::Failed => {
                let first = conducted.summary.findings.first();
                let why = first.map_or_else(String::new, |finding| finding.text.clone());
                Err(BlockError::failed(why))
            }
        }
    }

    /// Makes blocks at once, each in a process of its own on its half of the cores.
    pub(super) fn on_halves(
        &self,
        blocks: [Option<Block>; 2],
        state: &DuetState,
    ) -> Result<Vec<BlockRecord>, BlockError> {
        let halves = core_halves();
        let halves =
            halves.ok_or_else(|| BlockError::failed("one core cannot be divided".to_owned()))?;
        self.check_unchanged(&blocks, state)?;
        let series = &self.request.series;
        let place = ProcessPlace {
            program: series.program,
            directory: self.request.directory,
            force: series.force,
            durability: series.durability,
        };
        let made: Vec<Result<BlockRecord, BlockError>> = std::thread::scope(|scope| {
            let both = blocks.into_iter().zip(halves);
            let started: Vec<_> = both
                .filter_map(|(block, cores)| {
                    let block = block?;
                    Some(scope.spawn(move || place.run(&block, &cores, state)))
                })
                .collect();
            let joined = started.into_iter().map(ScopedJoinHandle::join);
            let panicked = |_| Err(BlockError::failed("its thread panicked".to_owned()));
            joined.map(|ended| ended.unwrap_or_else(panicked)).collect()
        });
        if series.interrupt.is_requested() {
            return Err(BlockError::Interrupted);
        }
        // Their processes have read the scenarios after they were checked.
        self.check_unchanged(&blocks, state)?;
        made.into_iter().collect()
    }

    /// Whether the scenarios of these blocks are those that the duet was begun with, with all that they read.
    fn check_unchanged(
        &self,
        blocks: &[Option<Block>; 2],
        state: &DuetState,
    ) -> Result<(), BlockError> {
        for block in blocks.iter().flatten() {
            (self.compile)(state.target(block.role), &block.overrides(state))?;
        }
        Ok(())
    }
}

/// The place and the settings of blocks that run at once.
#[derive(Debug, Clone, Copy)]
struct ProcessPlace<'a> {
    program: &'a Path,
    /// The duet's directory.
    directory: &'a Path,
    force: bool,
    durability: Durability,
}

impl ProcessPlace<'_> {
    /// Makes a block in a process of its own, which stays on these cores with its target, if that is built in.
    fn run(
        self,
        block: &Block,
        cores: &CoreSet,
        state: &DuetState,
    ) -> Result<BlockRecord, BlockError> {
        // The process inherits the cores of the thread that starts it.
        cores.confine();
        let folder = format!("{RUNS}/{}-{}", block.number, block.role.name());
        let runs = self.directory.join(&folder);
        let mut command = Command::new(self.program);
        command.arg("run").arg(&state.target(block.role).file);
        for (key, value) in block.overrides(state) {
            command.arg("--set").arg(format!("{key}={value}"));
        }
        command.arg("--runs").arg(&runs).arg("--quiet");
        command.args(self.force.then_some("--force"));
        let is_durable = self.durability == Durability::PowerCut;
        command.args(is_durable.then_some("--durable"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let begun = Contention::now();
        let output = command.output().map_err(|error| BlockError::failed(error.to_string()))?;
        match ended_run(&runs) {
            Some(name) => Ok(block.record(format!("{folder}/{name}"), &begun)),
            None => Err(BlockError::failed(message(&output))),
        }
    }
}

/// True of a run that ended as its scenario says: by its plan, or by its `until`.
fn is_whole(status: RunStatus) -> bool {
    matches!(status, RunStatus::Complete | RunStatus::Until)
}

/// The last run in a directory that came to its end.
pub(super) fn ended_run(runs: &Path) -> Option<String> {
    let entries = std::fs::read_dir(runs).ok()?;
    let names = entries.filter_map(|entry| {
        let path = entry.ok()?.path();
        let run = Run::open(&path).ok()?;
        is_whole(run.info().status).then(|| file_name(&path))
    });
    names.max()
}

/// The last words of a process that made no run.
fn message(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.next_back().map_or_else(|| format!("it ended with {}", output.status), str::to_owned)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
