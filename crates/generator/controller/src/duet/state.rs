//! The record of a duet: `duet.json`.

use std::path::Path;

use compare::disturbed::{DisturbedBlock, MachineShares, disturbance, may_repeat};
use compare::duet::{DuetRun, DuetSettings, DuetSide, Interleave};
use compare::{Options, Primary, Time};
use record::schema::Verdict;
use record::whole::{read_json, write_json};
use record::{RecordError, Run};
use serde::{Deserialize, Serialize};
use workers::hex_digest;

/// The file in the duet's directory.
pub const DUET_FILE: &str = "duet.json";
/// The run directories, in the duet's directory.
pub(super) const RUNS: &str = "runs";
/// The format of that file; raised when an old reader would misread a new file.
const FORMAT: u32 = 1;

/// A duet and its blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DuetState {
    pub format: u32,
    /// Throng's version that began it.
    pub throng: String,
    pub old: DuetTarget,
    pub new: DuetTarget,
    /// The digest of both scenarios with all that they read; a different digest is a different duet.
    pub digest: String,
    /// The seed of the order, and of the first pair's users.
    pub seed: u64,
    pub interleave: Interleave,
    /// The smallest relative difference that matters.
    pub difference: f64,
    /// The probability of a false decision at any look.
    pub alpha: f64,
    /// The quantile that is compared; `None`: the mean.
    pub quantile: Option<f64>,
    /// True if service times are compared.
    pub service_times: bool,
    pub phase: Option<String>,
    pub skip_ns: u64,
    pub allow_errors: bool,
    /// In the order in which they were made, pair by pair.
    pub blocks: Vec<BlockRecord>,
    /// Numbers of the pairs of both targets that could not be made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<u64>,
    /// Pairs of both targets during which somebody else had the machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed: Vec<DisturbedBlock>,
}

/// One of the two targets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DuetTarget {
    /// The scenario's file.
    pub file: String,
    pub overrides: Vec<(String, String)>,
}

/// The role of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockRole {
    /// The old target in a pair with the new one.
    Old,
    /// The new target.
    New,
    /// The old target in a pair with itself.
    SelfFirst,
    /// The old target in the same pair, in the place of the new one.
    SelfSecond,
    /// The old target alone, before it runs beside itself.
    Alone,
}

impl BlockRole {
    /// `old`, `new`, `self-first`, `self-second`, `alone`.
    pub fn name(self) -> &'static str {
        match self {
            BlockRole::Old => "old",
            BlockRole::New => "new",
            BlockRole::SelfFirst => "self-first",
            BlockRole::SelfSecond => "self-second",
            BlockRole::Alone => "alone",
        }
    }

    fn side(self) -> DuetSide {
        match self {
            BlockRole::Old => DuetSide::Old,
            BlockRole::New => DuetSide::New,
            BlockRole::SelfFirst | BlockRole::SelfSecond => DuetSide::SelfCheck,
            BlockRole::Alone => DuetSide::Alone,
        }
    }

    /// True of pairs of the old target with itself.
    fn is_self(self) -> bool {
        matches!(self, BlockRole::SelfFirst | BlockRole::SelfSecond | BlockRole::Alone)
    }
}

/// A block that was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockRecord {
    /// Number of the pair, from 1; those of the old target with itself are counted by themselves.
    pub pair: u64,
    pub role: BlockRole,
    /// The run's directory in that of the duet.
    pub directory: String,
    /// How much of its time others had this machine.
    #[serde(default)]
    pub shares: MachineShares,
}

impl DuetState {
    /// A duet without blocks yet, of these scenarios: their texts with the digests of all that they read.
    /// `settings.how` has the figures and the level.
    pub fn new(
        [old, new]: [DuetTarget; 2],
        sources: [&str; 2],
        seed: u64,
        settings: &DuetSettings,
        throng: &str,
    ) -> DuetState {
        let how = &settings.how;
        DuetState {
            format: FORMAT,
            throng: throng.to_owned(),
            old,
            new,
            digest: digest(sources),
            seed,
            interleave: settings.interleave,
            difference: settings.difference,
            alpha: how.alpha,
            quantile: match how.primary {
                Primary::Mean => None,
                Primary::Quantile(q) => Some(q),
            },
            service_times: how.time == Time::Service,
            phase: how.phase.clone(),
            skip_ns: how.skip_ns,
            allow_errors: how.allow_errors,
            blocks: Vec::new(),
            failed: Vec::new(),
            disturbed: Vec::new(),
        }
    }

    /// The state in a duet's directory; `None`: there is none.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or has another format.
    pub fn read(directory: &Path) -> Result<Option<DuetState>, RecordError> {
        let path = directory.join(DUET_FILE);
        let state: Option<DuetState> = read_json(&path)?;
        match state {
            Some(state) if state.format != FORMAT => {
                Err(RecordError::Format { path, found: state.format, reads: FORMAT })
            }
            state => Ok(state),
        }
    }

    /// True if the duet was begun with these scenarios, given as for [`DuetState::new`].
    pub fn fits(&self, sources: [&str; 2]) -> bool {
        self.digest == digest(sources)
    }

    /// Replaces the file.
    ///
    /// # Errors
    /// An error of the system.
    pub fn write(&self, directory: &Path) -> Result<(), RecordError> {
        write_json(&directory.join(DUET_FILE), self)
    }

    /// The decision to be made, and how blocks are read for it.
    pub fn settings(&self) -> DuetSettings {
        let mut how = Options {
            alpha: self.alpha,
            phase: self.phase.clone(),
            skip_ns: self.skip_ns,
            allow_errors: self.allow_errors,
            time: if self.service_times { Time::Service } else { Time::Response },
            ..Options::default()
        };
        if let Some(q) = self.quantile {
            how.primary = Primary::Quantile(q);
            how.quantiles = vec![q];
        }
        DuetSettings { difference: self.difference, interleave: self.interleave, how }
    }

    /// The target that a block of this role runs.
    pub fn target(&self, role: BlockRole) -> &DuetTarget {
        match role {
            BlockRole::New => &self.new,
            BlockRole::Old | BlockRole::SelfFirst | BlockRole::SelfSecond | BlockRole::Alone => {
                &self.old
            }
        }
    }

    /// The number of pairs with blocks of this role, without those that were repeated.
    pub fn count(&self, role: BlockRole) -> u64 {
        let own = self.blocks.iter().filter(|block| block.role == role);
        let blocks = own.filter(|block| !self.is_repeated(block)).count();
        (blocks / self.interleave.blocks_count()) as u64
    }

    /// True of a block whose pair was disturbed and made again.
    pub(super) fn is_repeated(&self, block: &BlockRecord) -> bool {
        let is_its = |one: &DisturbedBlock| one.repeated && one.block == block.pair;
        !block.role.is_self() && self.disturbed.iter().any(is_its)
    }

    /// Notes that the pair which these blocks make was disturbed, if it was, before they are added.
    pub(super) fn note_disturbance(&mut self, pair: &[BlockRecord]) {
        let shares =
            |blocks: &[BlockRecord]| MachineShares::greatest(blocks.iter().map(|one| one.shares));
        let before: Vec<MachineShares> = self.pairs().map(shares).collect();
        let [first, ..] = pair else {
            return;
        };
        let Some(why) = disturbance(&before, shares(pair)).filter(|_| !first.role.is_self()) else {
            return;
        };
        let repeated = self.disturbed.iter().filter(|one| one.repeated).count() as u64;
        let repeated = may_repeat(repeated, self.count(BlockRole::Old));
        self.disturbed.push(DisturbedBlock { block: first.pair, why, repeated });
    }

    /// The number of the last pair with this role, 0 before the first. A pair that failed has its number for itself: runs of
    /// it may be there.
    pub(super) fn last_pair(&self, role: BlockRole) -> u64 {
        let own = self.blocks.iter().filter(|block| block.role == role);
        let failed = self.failed.iter().copied().filter(|_| !role.is_self());
        own.map(|block| block.pair).chain(failed).max().unwrap_or(0)
    }

    /// The blocks pair by pair.
    pub(super) fn pairs(&self) -> impl Iterator<Item = &[BlockRecord]> {
        let is_one = |a: &BlockRecord, b: &BlockRecord| {
            a.pair == b.pair && a.role.is_self() == b.role.is_self()
        };
        self.blocks.chunk_by(is_one)
    }

    /// The runs as the result lists them.
    pub(super) fn runs(&self, directory: &Path) -> Vec<DuetRun> {
        let run = |block: &BlockRecord| {
            let path = directory.join(&block.directory);
            let summary = Run::open(&path).and_then(|run| run.summary());
            let summary = summary.ok().flatten();
            DuetRun {
                pair: block.pair,
                side: block.role.side(),
                directory: path.display().to_string(),
                trusted: summary.is_some_and(|one| one.verdict != Verdict::Untrusted),
            }
        };
        self.blocks.iter().map(run).collect()
    }
}

/// The digest of two texts, which differs from that of other texts with the same concatenation.
fn digest(texts: [&str; 2]) -> String {
    hex_digest(&texts.map(hex_digest).join(" "))
}
