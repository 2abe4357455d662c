//! `events.jsonl`: what happened, line by line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::RunStatus;

/// One line of `events.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Since the run's start.
    pub at_ns: u64,
    /// The event itself.
    #[serde(flatten)]
    pub what: EventKind,
}

/// The end of steps that run once, and their operations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OnceEnded {
    /// `setup` or `teardown`.
    pub what: String,
    /// How they ended.
    pub end: OnceEnd,
    /// The step at which they ended, unless they finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// How long they took.
    pub took_ns: u64,
    /// Steps that failed, those aside that were tried again.
    pub errors: u64,
    /// Their operations, in the order in which they ended. They count in none of the run's figures.
    pub operations: Vec<OnceOperation>,
    /// Further operations.
    #[serde(default, skip_serializing_if = "is_none")]
    pub operations_left_out: u64,
}

/// True of a count that is left out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// How steps that run once ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnceEnd {
    /// All were done.
    Finished,
    /// A step failed.
    Failed,
    /// The generator had no file, port or memory for a step.
    Stopped,
    /// Their limit of time had passed.
    TimeLimit,
    /// The user requested the end.
    Interrupted,
}

/// One operation of steps that run once. Times are nanoseconds since these steps began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnceOperation {
    /// The name of its measure.
    pub name: String,
    /// When it was due.
    pub due_ns: u64,
    /// When the generator began it.
    pub sent_ns: u64,
    /// When it ended.
    pub done_ns: u64,
    /// [`crate::Outcome::name`].
    pub outcome: String,
    /// The HTTP status; 0: none.
    pub status: u16,
}

/// A percentile of a run in progress, and how well it was known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownFigure {
    /// As written, with how precise it was to be: `p95(checkout) ± 2%`.
    pub text: String,
    /// True if it was as precise as that.
    pub is_known: bool,
    /// The percentile; left out if there was none, or it was among operations that were never answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_ns: Option<u64>,
    /// The lower end of its interval; with the intervals of all looks, it holds the truth at 95 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_ns: Option<u64>,
    /// The upper end, unless it was among operations that were never answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_ns: Option<u64>,
}

/// The kinds of events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// A phase began.
    PhaseStarted {
        /// The phase's name.
        phase: String,
    },
    /// After the last phase: operations in flight may end.
    Draining,
    /// The run is over.
    RunEnded {
        /// How it ended.
        status: RunStatus,
    },
    /// One of the first errors of a kind at a measure.
    Error {
        /// The measure's name.
        measure: String,
        /// [`crate::Outcome::name`].
        outcome: String,
        /// The user's number in the run.
        user: u64,
        /// Description of the error.
        detail: String,
    },
    /// From here on one in `rate` rows of `requests.parquet` is kept.
    Sampling {
        /// Rows that each kept row stands for.
        rate: u32,
        /// Reason for the sampling.
        reason: String,
    },
    /// The steps have ended that run once before the users (`setup`), or after them (`teardown`).
    OnceEnded(OnceEnded),
    /// The user requested the end.
    Interrupted,
    /// A threshold did not hold that ends the run then. No further step begins.
    Aborted {
        /// The threshold as written.
        threshold: String,
        /// The value of its figure, for people.
        shown: String,
        /// The time up to then that the figure is of.
        over_ns: u64,
    },
    /// A script ended the run. No further step begins.
    ScriptAborted,
    /// The last look at the figures of `until`. No further step begins.
    Until {
        /// True if all of them are as precise as was asked for.
        is_known: bool,
        /// Looks so far.
        looks: u32,
        /// Looks that there may be.
        looks_max: u32,
        /// When the run would have ended in any case, since its start.
        at_most_ns: u64,
        /// The figures, as they were then.
        figures: Vec<KnownFigure>,
    },
    /// The user paused arrivals.
    ArrivalsPaused,
    /// The user resumed arrivals.
    ArrivalsResumed,
    /// A worker process was lost, and the run continues without its users.
    WorkerLost {
        /// Index of the worker in [`RunInfo::workers`](super::RunInfo::workers).
        worker: u32,
        /// Process number of the worker on its machine.
        pid: u32,
        /// The first of its loops.
        loops_first: u32,
        /// How many loops it ran.
        loops: u32,
        /// Until when the record holds its figures, since the run's start.
        reported_ns: u64,
        /// Users it had at that time.
        users: u64,
        /// Users it had started or refused by then, each once.
        users_begun: u64,
        /// Users it had connected by then.
        users_connected: u64,
        /// Users of its share that were still to start.
        users_due_after: u64,
        /// Reason for the loss.
        why: String,
    },
    /// The users of a lost worker that were still to start are started by loops of others.
    ShareDealt {
        /// The index of the lost worker.
        worker: u32,
        /// Users who are due from then on, since the run's start.
        from_ns: u64,
        /// How many there are.
        users: u64,
        /// Further users, due from then on, of regions that no loop is left of: nobody starts them.
        users_untaken: u64,
        /// The numbers of the loops that start them.
        loops: Vec<u32>,
    },
    /// At the end: what replies with a timestamp say of the clock that stamped a kind of messages.
    ClockCompared {
        /// The measure of these messages.
        measure: String,
        /// By how much that clock was ahead of the generator's.
        offset_ns: i64,
        /// How far the true offset may lie from it: half of the shortest round trip, and the stamps'
        /// resolution.
        bound_ns: u64,
        /// Replies that were compared.
        replies: u64,
        /// True if the messages' stamps were corrected by such offsets.
        corrected: bool,
    },
    /// Memory ran short, and from here on no user starts.
    MemoryPressure {
        /// Memory that was left, on the machine or within the limit of a control group.
        available_bytes: u64,
        /// Users that were present.
        users: u64,
    },
    /// The built-in target ended, though the run did not end it. The run ends there.
    TargetEnded {
        /// Name of the target.
        target: String,
        /// Process number of the target.
        pid: u32,
        /// With which exit status, or by which signal, in words.
        why: String,
    },
    /// A source of probes no longer answers.
    ProbeLost {
        /// Role of the source in the system.
        role: String,
        /// Name of the source.
        source: String,
        /// In words, without secrets.
        why: String,
    },
    /// A lost source of probes answers again.
    ProbeBack {
        /// Role of the source in the system.
        role: String,
        /// Name of the source.
        source: String,
        /// Queries without an answer since it was lost.
        missed: u64,
    },
    /// The queries to a source, at the run's end.
    ProbeSource {
        /// Role of the source in the system.
        role: String,
        /// Region of the source; may be empty.
        region: String,
        /// Name of the source.
        source: String,
        /// How it was queried.
        via: String,
        /// Answers.
        readings: u64,
        /// Queries without an answer.
        missed: u64,
        /// CPU time of the queries in this process.
        cpu_ns: u64,
    },
    /// A name of the target stands for other addresses than before.
    AddressesChanged {
        /// The name.
        name: String,
        /// Region whose users resolve the name; empty: all.
        region: String,
        /// Each of its addresses now, and how many resolvers give it.
        addresses: BTreeMap<String, u32>,
        /// How many resolvers there are.
        resolvers: u32,
    },
    /// A fault was made on purpose.
    FaultBegan {
        /// Different for each of the run.
        number: u32,
        /// Description of the fault.
        text: String,
    },
    /// A fault that was made on purpose is over.
    FaultEnded {
        /// The number that it had when it began.
        number: u32,
        /// Description of the fault.
        text: String,
    },
    /// At the end: what the emulated network of the lab did during the run.
    NetworkEmulated {
        /// Packets that passed.
        packets: u64,
        /// Packets that its links lost, as was wanted.
        lost: u64,
        /// Packets that it lost since it could not carry them.
        overflow: u64,
        /// The 99th percentile of how late packets departed; `None`: it was not counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        late_p99_ns: Option<u64>,
        /// The latest departure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        late_max_ns: Option<u64>,
        /// CPU time of the emulated network; `None`: it was not counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cpu_ns: Option<u64>,
    },
    /// Emulated time passes slower than the machine's; all times of the record are emulated.
    TimeDilated {
        /// How many of the machine's seconds an emulated one lasts.
        factor: u32,
    },
    /// At the end: for how long the hosts of the lab were in use.
    LabUsed {
        /// Currency of the prices; `None`: the lab has no price list.
        currency: Option<String>,
        /// All hosts.
        hosts: Vec<HostUse>,
        /// The traffic between them and users; empty: it was not counted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        flows: Vec<HostFlow>,
        /// Prices of what hosts sent.
        #[serde(default, skip_serializing_if = "TrafficPrices::are_none")]
        traffic: TrafficPrices,
    },
    /// A script has written a line (`console.log`).
    Console {
        /// The line.
        text: String,
    },
    /// Something that is no error of an operation, in words.
    Note {
        /// Text of the note.
        text: String,
    },
}

/// For how long a host of a lab was in use during a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostUse {
    /// The host's name.
    pub host: String,
    /// Name of the host's region.
    pub region: String,
    /// Time in use.
    pub used_ns: u64,
    /// Time that is paid for.
    pub billed_ns: u64,
    /// Price of an hour, digit by digit; `None`: it has no price.
    pub per_hour: Option<String>,
}

/// The traffic from hosts of one key and region, or from its users, to others during a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFlow {
    /// Key of the senders in the lab's file; `None`: users.
    pub from: Option<String>,
    /// Region of the senders.
    pub from_region: String,
    /// Key of the receivers in the lab's file; `None`: users.
    pub to: Option<String>,
    /// Region of the receivers.
    pub to_region: String,
    /// Bytes, with IP headers.
    pub bytes: u64,
}

/// Prices of a gigabyte (10⁹ bytes) that hosts sent, digit by digit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrafficPrices {
    /// To hosts of other regions; `None`: it has no price.
    pub regions: Option<String>,
    /// To users; `None`: it has no price.
    pub users: Option<String>,
}

impl TrafficPrices {
    /// Whether nothing has a price.
    pub fn are_none(&self) -> bool {
        self.regions.is_none() && self.users.is_none()
    }
}
