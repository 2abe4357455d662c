//! Conducts a duet: blocks of two targets in turn, or both at once, until a decision or the end of the budget.
//!
//! `duet.json`, which is replaced after each pair, and the run directories record what is done. Each block is a run of its
//! own. The members of a pair have the same seed, and so the same users; their order is drawn, for the decision rests on that.

mod blocks;
mod state;

use std::path::Path;
use std::time::Duration;

use compare::CompareError;
use compare::disturbed::DisturbedBlock;
use compare::duet::{BlockFigures, BlockPair, Duet, DuetResult, Interleave};
use machine::clock::monotonic_ns;
use machine::thread::core_halves;
use record::{RecordError, Run};
use stats::rng::{Purpose, Rng};

use crate::control::pause;
use crate::run::tick::Tick;
use crate::series::{CompiledPlan, SeriesSettings};
use blocks::{Block, BlockError};

pub use state::{BlockRecord, BlockRole, DUET_FILE, DuetState, DuetTarget};

/// This number of consecutive pairs that failed ends the duet: the next ones would fail as well.
const FAILURES_MAX: u32 = 3;
/// Pairs of a duet at most: the evidence is computed from all of them after each.
pub const PAIRS_MAX: u64 = 2_000;
/// Distance of the seeds of pairs of the old target with itself from those of the others.
const SELF_SEEDS: u64 = 1 << 32;

/// Compiles the plan of a target with these overrides.
pub type CompileTarget<'a> =
    dyn Fn(&DuetTarget, &[(String, String)]) -> Result<CompiledPlan, CompileError> + 'a;

/// Why the plan of a target was not compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompileError {
    /// A file or a variable that the duet was begun with is another one now.
    Changed {
        /// The file or variable in words.
        what: String,
    },
    /// The scenario does not compile.
    Failed {
        /// Why, in words.
        why: String,
    },
}

/// A duet to conduct.
#[derive(Debug)]
pub struct DuetRequest<'a> {
    /// The duet's directory, which exists.
    pub directory: &'a Path,
    /// The settings of its runs. The program also runs blocks at once.
    pub series: SeriesSettings<'a>,
    /// Pairs of the old target with itself, which come first.
    pub self_pairs: u64,
    /// Stop once it is decided.
    pub until_decided: bool,
    /// Pairs at most.
    pub pairs_max: u64,
    /// No pair begins that would end after this time.
    pub budget: Duration,
    /// The pause between two blocks.
    pub pause: Duration,
}

/// The progress of a duet.
#[derive(Debug)]
pub enum DuetProgress<'a> {
    /// A block begins.
    Block {
        /// Number of the pair, from 1.
        pair: u64,
        /// The role of the block.
        role: BlockRole,
    },
    /// A second of it.
    Tick(&'a Tick<'a>),
    /// A pair of both targets ended, and this is known now.
    Pair(&'a DuetResult),
    /// Somebody else had the machine in the last pair.
    Disturbed(&'a DisturbedBlock),
    /// A pair could not be made.
    Failed {
        /// Why, in words.
        why: &'a str,
    },
}

/// Why a duet ended early, or cannot be analysed. Its pairs so far are kept.
#[derive(Debug, thiserror::Error)]
pub enum DuetError {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Compare(#[from] CompareError),
    #[error("{FAILURES_MAX} consecutive pairs failed; the last: {why}")]
    Failing { why: String },
    #[error("{what} has changed since the duet was begun")]
    Changed { what: String },
    #[error("one core cannot be divided between two targets: use --interleave abba")]
    OneCore,
}

/// Makes pairs until the duet is decided or the budget is used up, and returns what is known then.
///
/// # Errors
/// Further pairs would fail as well, or the record cannot be written or read.
pub fn conduct_duet(
    request: &DuetRequest<'_>,
    state: &mut DuetState,
    compile: &CompileTarget<'_>,
    watch: &mut dyn FnMut(DuetProgress<'_>),
) -> Result<DuetResult, DuetError> {
    if state.interleave == Interleave::Simultaneous && core_halves().is_none() {
        return Err(DuetError::OneCore);
    }
    state.write(request.directory)?;
    let mut known = KnownPairs::read(state, request.directory)?;
    let mut conductor = Conductor { request, compile, begun_ns: monotonic_ns(), longest_ns: 0 };
    let is_ended = conductor.check_itself(state, &mut known, watch)?;
    if !is_ended {
        conductor.all(state, &mut known, watch)?;
    }
    Ok(known.result(state, request.directory))
}

/// Computes the result from the runs in the directory of a duet.
///
/// # Errors
/// A run cannot be read.
pub fn analyze_duet(state: &DuetState, directory: &Path) -> Result<DuetResult, DuetError> {
    Ok(KnownPairs::read(state, directory)?.result(state, directory))
}

/// The pairs so far.
struct KnownPairs {
    both: Duet,
    itself: Duet,
    /// The old target alone and beside itself.
    alone: Duet,
}

impl KnownPairs {
    fn read(state: &DuetState, directory: &Path) -> Result<KnownPairs, DuetError> {
        let duet = || Duet::new(state.settings());
        let mut known = KnownPairs { both: duet(), itself: duet(), alone: duet() };
        for pair in state.pairs() {
            known.add(pair, state, directory)?;
        }
        Ok(known)
    }

    /// Adds a pair that is recorded, unless it was disturbed and made again.
    fn add(
        &mut self,
        pair: &[BlockRecord],
        state: &DuetState,
        directory: &Path,
    ) -> Result<(), DuetError> {
        if pair.iter().any(|block| state.is_repeated(block)) {
            return Ok(());
        }
        let how = state.settings().how;
        let read = |role: BlockRole| -> Result<Vec<BlockFigures>, DuetError> {
            let own = pair.iter().filter(|block| block.role == role);
            own.map(|block| {
                let run = Run::open(&directory.join(&block.directory))?;
                Ok(BlockFigures::read(&run, &how)?)
            })
            .collect()
        };
        let [old, new] = [read(BlockRole::Old)?, read(BlockRole::New)?];
        if !old.is_empty() && !new.is_empty() {
            self.both.add(&BlockPair { old, new });
        }
        let [first, second] = [read(BlockRole::SelfFirst)?, read(BlockRole::SelfSecond)?];
        let alone = read(BlockRole::Alone)?;
        if !alone.is_empty() && !first.is_empty() {
            self.alone.add(&BlockPair { old: alone, new: first.clone() });
        }
        if !first.is_empty() && !second.is_empty() {
            self.itself.add(&BlockPair { old: first, new: second });
        }
        Ok(())
    }

    fn result(&self, state: &DuetState, directory: &Path) -> DuetResult {
        let failed = state.failed.len() as u64;
        let result = self.both.result().with_disturbed_pairs(&state.disturbed);
        let mut result = result.with_failed_pairs(failed);
        if self.itself.pairs() > 0 {
            let alone = (self.alone.pairs() > 0).then_some(&self.alone);
            result = result.with_self_check(Duet::self_check(&self.itself, alone));
        }
        result.runs = state.runs(directory);
        result
    }
}

struct Conductor<'a> {
    request: &'a DuetRequest<'a>,
    compile: &'a CompileTarget<'a>,
    begun_ns: u64,
    /// The time that the longest pair took, of both targets or one with itself.
    longest_ns: u64,
}

impl Conductor<'_> {
    /// Makes the pairs of the old target with itself; `true`: the duet is to end.
    fn check_itself(
        &mut self,
        state: &mut DuetState,
        known: &mut KnownPairs,
        watch: &mut dyn FnMut(DuetProgress<'_>),
    ) -> Result<bool, DuetError> {
        let mut failures = 0;
        let mut number = state.last_pair(BlockRole::SelfFirst);
        let most = number + self.request.self_pairs;
        while number < most {
            if self.is_over() {
                return Ok(true);
            }
            let roles = [BlockRole::SelfFirst, BlockRole::SelfSecond];
            number += 1;
            if self.pair(number, roles, state, known, watch, &mut failures)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Makes the pairs of both targets.
    fn all(
        &mut self,
        state: &mut DuetState,
        known: &mut KnownPairs,
        watch: &mut dyn FnMut(DuetProgress<'_>),
    ) -> Result<(), DuetError> {
        let mut failures = 0;
        let mut number = state.last_pair(BlockRole::Old);
        let most = self.request.pairs_max.min(PAIRS_MAX);
        while !self.is_over() && state.count(BlockRole::Old) < most {
            number += 1;
            let pairs = known.both.pairs();
            let is_ended = self.pair(
                number,
                [BlockRole::Old, BlockRole::New],
                state,
                known,
                watch,
                &mut failures,
            )?;
            if known.both.pairs() > pairs {
                watch(DuetProgress::Pair(&known.both.result()));
            }
            if is_ended || self.request.until_decided && known.both.is_decided() {
                break;
            }
        }
        Ok(())
    }

    /// True if the user requested the end, or another pair would take longer than the budget allows.
    fn is_over(&self) -> bool {
        let taken_ns = monotonic_ns().saturating_sub(self.begun_ns);
        let left = self.request.budget.saturating_sub(Duration::from_nanos(taken_ns));
        self.request.series.interrupt.is_requested() || left < Duration::from_nanos(self.longest_ns)
    }

    /// Makes one pair and adds it to what is known; `true`: the duet is to end.
    fn pair(
        &mut self,
        number: u64,
        roles: [BlockRole; 2],
        state: &mut DuetState,
        known: &mut KnownPairs,
        watch: &mut dyn FnMut(DuetProgress<'_>),
        failures: &mut u32,
    ) -> Result<bool, DuetError> {
        let begun_ns = monotonic_ns();
        let made = self.blocks(number, roles, state, watch);
        match made {
            Ok(blocks) => {
                *failures = 0;
                state.note_disturbance(&blocks);
                if let Some(disturbed) = state.disturbed.last().filter(|one| one.block == number) {
                    watch(DuetProgress::Disturbed(disturbed));
                }
                known.add(&blocks, state, self.request.directory)?;
                state.blocks.extend(blocks);
                state.write(self.request.directory)?;
                self.longest_ns = self.longest_ns.max(monotonic_ns().saturating_sub(begun_ns));
                Ok(false)
            }
            Err(BlockError::Interrupted) => Ok(true),
            Err(BlockError::Record(error)) => Err(error.into()),
            Err(BlockError::Changed { what }) => Err(DuetError::Changed { what }),
            Err(BlockError::Failed { why }) => {
                *failures += 1;
                if roles.contains(&BlockRole::Old) {
                    state.failed.push(number);
                    state.write(self.request.directory)?;
                }
                watch(DuetProgress::Failed { why: &why });
                match *failures {
                    FAILURES_MAX => Err(DuetError::Failing { why }),
                    _ => Ok(!pause(&self.request.series.interrupt, self.request.pause)),
                }
            }
        }
    }

    /// The blocks of a pair in their order.
    fn blocks(
        &self,
        number: u64,
        roles: [BlockRole; 2],
        state: &DuetState,
        watch: &mut dyn FnMut(DuetProgress<'_>),
    ) -> Result<Vec<BlockRecord>, BlockError> {
        let is_self = roles[0] == BlockRole::SelfFirst;
        let apart = if is_self { SELF_SEEDS } else { 0 };
        let seed = state.seed.wrapping_add(apart).wrapping_add(number);
        let block = |role: BlockRole| Block { number, role, seed };
        let is_reversed = Rng::new(seed, 0, Purpose::Choice).below(2) == 1;
        let [first, second] = if is_reversed { [roles[1], roles[0]] } else { roles };
        if state.interleave == Interleave::Simultaneous {
            return self.at_once(&[block(first), block(second)], is_self, state, watch);
        }
        let order = match state.interleave {
            Interleave::Abba => vec![first, second, second, first],
            Interleave::Ab | Interleave::Simultaneous => vec![first, second],
        };
        let count = order.len();
        let mut made = Vec::with_capacity(count);
        for role in order {
            watch(DuetProgress::Block { pair: number, role });
            made.push(self.in_turn(&block(role), state, watch)?);
            // A pair that is complete counts, even if the end is requested during the pause behind it.
            if !pause(&self.request.series.interrupt, self.request.pause) && made.len() < count {
                return Err(BlockError::Interrupted);
            }
        }
        Ok(made)
    }

    /// Both blocks at once, and before the old target beside itself the old target alone.
    fn at_once(
        &self,
        both: &[Block; 2],
        is_self: bool,
        state: &DuetState,
        watch: &mut dyn FnMut(DuetProgress<'_>),
    ) -> Result<Vec<BlockRecord>, BlockError> {
        let mut made = Vec::new();
        if is_self {
            let place = usize::from(both[1].role == BlockRole::SelfFirst);
            let alone = Block { role: BlockRole::Alone, ..both[place] };
            watch(DuetProgress::Block { pair: alone.number, role: alone.role });
            // On the cores that it has beside itself.
            let mut places = [None, None];
            places[place] = Some(alone);
            made.extend(self.on_halves(places, state)?);
        }
        for block in both {
            watch(DuetProgress::Block { pair: block.number, role: block.role });
        }
        made.extend(self.on_halves(both.map(Some), state)?);
        // The pair is complete, whether the end is requested or not.
        pause(&self.request.series.interrupt, self.request.pause);
        Ok(made)
    }
}

#[cfg(test)]
mod tests;
