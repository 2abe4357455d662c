//! `tally.json`: how operations and sessions ended.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// `tally.json`: how operations began and ended, by phase and measure. Written last at each checkpoint, so
/// that the figures of a killed run end where it does; a measurement belongs to the phase it ended in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Which intervals it counts: those that ended by then, since the run's start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ns: Option<u64>,
    /// Those in which something began or ended.
    pub phases: Vec<PhaseTally>,
    /// Operations begun, by measure.
    #[serde(default)]
    pub begun: Vec<u64>,
    /// Operations that were due, by measure; empty in records that do not say so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub due: Vec<u64>,
    /// Those of them that never began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub never_begun: Vec<NeverBegun>,
    /// Attempts that failed and were tried again (`retry`), by measure: that of the step that failed, and that of all
    /// attempts. Empty if there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retried: Vec<u64>,
    /// Sessions that did not reach the end of their program.
    #[serde(default)]
    pub endings: Vec<UnfinishedSessions>,
    /// The generator's own work, by step and kind; empty if no step computes anything that may take long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_work: Vec<StepWork>,
    /// Users by region, in the order of `RunInfo::regions`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<RegionTally>,
    /// Figures of each worker, in the order of `RunInfo::workers`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerTally>,
}

/// A worker so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkerTally {
    /// Connections, requests and handshakes that ended.
    pub ended: u64,
    /// Those of them that failed.
    pub errors: u64,
    /// How late its operations began: the 99th percentile.
    pub lag_p99_ns: u64,
    /// The busiest second of any of its loops.
    pub busy_max_percent: u32,
}

/// The users of a region so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RegionTally {
    /// Users that started, each once.
    pub started: u64,
    /// Those whose first connection was made.
    pub connected: u64,
    /// Sessions that started, including those that a closed population restarted.
    pub sessions: u64,
    /// Sessions that came to the end of their program.
    pub finished: u64,
    /// Sessions that ended because a step failed.
    pub failed: u64,
    /// Sessions that ended because the generator had no file, port or memory for a step.
    pub stopped: u64,
    /// Sessions that were cut off at the end of the run.
    pub cut_off: u64,
    /// Users that were not started for lack of files, ports or memory.
    pub refused: u64,
}

/// Sessions that did not reach the end of their program, of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ts_rs::TS)]
pub struct UnfinishedSessions {
    /// Index into `RunInfo::sessions`.
    pub session: u16,
    /// Index into `RunInfo::measures`: the step that the sessions were in, or would have come to next.
    pub step: Option<u16>,
    /// State of their users.
    pub state: UserState,
    /// Why they ended.
    pub end: SessionEnd,
    /// [`crate::Outcome::name`] of the failure that ended them; `None`: they were cut off, or the record does not say.
    #[serde(default)]
    pub outcome: Option<String>,
    /// The step that failed, if it is no operation and has no measure: "`set` of `code`".
    #[serde(default)]
    pub own_step: Option<String>,
    /// How many.
    pub users: u64,
}

impl UnfinishedSessions {
    /// Adds them to those of their kind, or to the list.
    pub fn add_to(&self, all: &mut Vec<UnfinishedSessions>) {
        let is_same = |known: &&mut UnfinishedSessions| {
            known.session == self.session
                && known.step == self.step
                && known.state == self.state
                && known.end == self.end
                && known.outcome == self.outcome
                && known.own_step == self.own_step
        };
        match all.iter_mut().find(is_same) {
            Some(known) => known.users += self.users,
            None => all.push(self.clone()),
        }
    }
}

/// The generator's own work for a step: users waited for that, and not for the target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepWork {
    /// The purpose of the work.
    pub kind: WorkKind,
    /// Index into `RunInfo::measures`; `None`: the step is no operation.
    pub measure: Option<u16>,
    /// Index into `RunInfo::sessions`, of a step that is no operation.
    pub session: Option<u16>,
    /// That step: "`set` of `token`".
    pub own_step: Option<String>,
    /// The number of times that it was done.
    pub count: u64,
    /// The time that it took in all.
    pub total_ns: u64,
    /// The longest of them.
    pub max_ns: u64,
}

impl StepWork {
    /// Adds it to what is known of its step, or to the list.
    pub fn add_to(&self, all: &mut Vec<StepWork>) {
        let is_same = |known: &&mut StepWork| {
            known.kind == self.kind
                && known.measure == self.measure
                && known.session == self.session
                && known.own_step == self.own_step
        };
        match all.iter_mut().find(is_same) {
            Some(known) => {
                known.count += self.count;
                known.total_ns = known.total_ns.saturating_add(self.total_ns);
                known.max_ns = known.max_ns.max(self.max_ns);
            }
            None => all.push(self.clone()),
        }
    }
}

/// A kind of the generator's own work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkKind {
    /// To run a step that is no operation: `js`, or a `set` that signs a token.
    Step,
    /// To make a request or message: its body, its signature, its encryption.
    Encoding,
    /// To decompress an answer, or to read the messages of a call.
    Decoding,
    /// To find in an answer what is saved or checked.
    Save,
}

/// Operations of a step that were due and never began, for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeverBegun {
    /// Index into `RunInfo::measures`.
    pub measure: u16,
    /// Why they did not begin.
    pub why: WhyNot,
    /// How many.
    pub operations: u64,
}

/// Why an operation that was due never began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhyNot {
    /// The user was busy until the end: the step before was in flight, or its pause was not over.
    Busy,
    /// The user was free before the end, and the generator did not come to it.
    Late,
    /// The session of the operation failed before.
    Failed,
    /// A limit of the generator stopped its session before.
    Stopped,
}

impl WhyNot {
    /// All reasons, in the order in which they are counted.
    pub const ALL: [WhyNot; 4] = [WhyNot::Busy, WhyNot::Late, WhyNot::Failed, WhyNot::Stopped];

    /// As it stands in files.
    pub fn name(self) -> &'static str {
        match self {
            WhyNot::Busy => "busy",
            WhyNot::Late => "late",
            WhyNot::Failed => "failed",
            WhyNot::Stopped => "stopped",
        }
    }
}

/// Why a session did not reach the end of its program.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ts_rs::TS,
)]
#[serde(rename_all = "snake_case")]
pub enum SessionEnd {
    /// A step failed.
    Failed,
    /// The generator had no file, port or memory for a step.
    Stopped,
    /// The run was over.
    CutOff,
}

/// The state of a user when its session ends.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ts_rs::TS,
)]
#[serde(rename_all = "snake_case")]
pub enum UserState {
    /// It thinks, or waits for its pace, before the step.
    Thinking,
    /// It waits for a connection.
    Connecting,
    /// It waits to try its connection again.
    Retrying,
    /// It waits for an answer or a message.
    Waiting,
    /// It is about to do the step.
    Working,
}

/// Operations that began in a phase, and those that ended in it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PhaseTally {
    /// Index into `RunInfo::phases`.
    pub phase: u32,
    /// Those of which something began or ended.
    pub measures: Vec<MeasureTally>,
}

/// The operations of a measure.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MeasureTally {
    /// Index into `RunInfo::measures`.
    pub measure: u16,
    /// Operations that began.
    #[serde(default)]
    pub begun: u64,
    /// Operations that ended, by [`crate::Outcome::name`].
    pub outcomes: BTreeMap<String, u64>,
}
