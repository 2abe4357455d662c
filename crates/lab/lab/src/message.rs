//! Messages between a lab and its callers: one JSON object a line, over a socket in the lab's directory.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::events::Event;

/// Longest line, in bytes: the environment of a command is in it.
pub const LINE_BYTES_MAX: u64 = 4 << 20;

/// A request of a caller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// How the lab is.
    Status,
    /// Run a command on a host. Its standard input, output and error come with the message (`SCM_RIGHTS`).
    Exec {
        /// The host's name.
        host: String,
        /// The command.
        command: Vec<String>,
        /// Environment of the command.
        environment: BTreeMap<String, String>,
        /// Working directory of the command.
        folder: PathBuf,
    },
    /// Send this signal to the running command.
    Signal(i32),
    /// A run is about to begin: scaling groups are to be at what they desire.
    Prepare {
        /// Groups in place of the file's, as `scaling` has them.
        scaling: Option<String>,
    },
    /// The number of a service's instances, in each of its regions or in one.
    Scale {
        /// The service's name.
        service: String,
        /// The region's name.
        region: Option<String>,
        /// How many.
        count: u32,
    },
    /// While events follow: the run's users.
    Crowd {
        /// Users that are there.
        users: u64,
        /// Users that arrived per second.
        arrivals_per_s: f64,
    },
    /// A run has begun at this time: faults with times begin, and all events follow. They end with the connection.
    Follow {
        /// Since the Unix epoch, in nanoseconds.
        unix_ns: u64,
    },
    /// A fault, as a list item of `faults` has it, without `at`.
    Fault(String),
    /// The end of a fault.
    Repair(u32),
    /// Measure the network with this many datagrams between each two regions.
    Calibrate {
        /// Ten milliseconds apart.
        packets: u32,
    },
    /// End everything.
    Down,
}

/// A reply of the lab.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// Answer to `Status`.
    Status(Box<Status>),
    /// A command has ended with this code; 128 and the signal's number if one ended it.
    Exited(i32),
    /// An event, after `Follow`.
    Event(Event),
    /// A fault began and has this number.
    Fault(u32),
    /// Answer to `Calibrate`, for each two regions.
    Calibrated(Vec<PairStatus>),
    /// It is done.
    Done,
    /// It cannot be done, and why.
    Refused(String),
}

/// How a lab is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Name of the lab.
    pub lab: String,
    /// How many of the machine's seconds an emulated one lasts.
    pub dilation: u32,
    /// The file it was made from.
    pub file: String,
    /// Since the Unix epoch.
    pub up_since_unix_ns: u64,
    /// Names of regions.
    pub regions: Vec<String>,
    /// All hosts.
    pub hosts: Vec<HostStatus>,
    /// All instances of services.
    pub instances: Vec<InstanceStatus>,
    /// All scaling groups.
    pub groups: Vec<GroupStatus>,
    /// URL of the lab's page of metrics, on the host that conducts.
    pub metrics: String,
    /// The file of the price list, relative to `file`.
    pub prices: Option<String>,
    /// Names of prices for what hosts send.
    pub traffic: TrafficPricesStatus,
    /// Overrides of the lab's run: key and value.
    pub sets: BTreeMap<String, String>,
    /// Environment variables of the lab's run.
    pub environment: BTreeMap<String, String>,
    /// The network.
    pub network: NetworkStatus,
    /// Queries that the name servers got.
    #[serde(default)]
    pub names: Vec<NameStatus>,
    /// Faults that have begun and not ended: number and text.
    pub faults: Vec<(u32, String)>,
}

/// Names of prices for what hosts send.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrafficPricesStatus {
    /// To hosts of other regions.
    pub regions: Option<String>,
    /// To users.
    pub users: Option<String>,
}

/// How a host is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostStatus {
    /// Name of the host.
    pub name: String,
    /// Name of the region.
    pub region: String,
    /// Address of the host.
    pub address: Ipv4Addr,
    /// Network namespace, as the host's processes see the file.
    pub namespace: PathBuf,
    /// Cores it may use.
    pub cpus: Option<f64>,
    /// CPU time so far, in seconds; `None`: it has no control group.
    pub cpu_s: Option<f64>,
    /// Memory of its processes.
    pub memory_bytes: Option<u64>,
    /// The file limits its CPU or memory, but control groups could not be written.
    #[serde(default)]
    pub is_unlimited: bool,
    /// Price of the host, by the name of a price list.
    pub price: Option<String>,
    /// For how long it was in use since the run's start; `None`: it is the lab's own.
    pub usage: Option<HostUsage>,
}

/// For how long a host was in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostUsage {
    /// Whether it is now.
    pub is_in_use: bool,
    /// Time in use, in nanoseconds.
    pub used_ns: u64,
    /// Time that is paid for, in nanoseconds.
    pub billed_ns: u64,
}

/// How a scaling group is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupStatus {
    /// The service's name.
    pub service: String,
    /// The region's name, if the service has hosts in several.
    pub region: Option<String>,
    /// The fewest instances.
    pub minimum: u32,
    /// How many there should be.
    pub desired: u32,
    /// The most.
    pub maximum: u32,
    /// How many run.
    pub running: u32,
    /// How many are on their way.
    pub launching: u32,
    /// How many are being ended.
    pub ending: u32,
}

/// The way between two regions, requested and measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairStatus {
    /// One region.
    pub from: String,
    /// The other.
    pub to: String,
    /// The round trip that was requested, without jitter.
    pub requested_ns: u64,
    /// The median of those measured; `None`: nothing came back.
    pub median_ns: Option<u64>,
    /// Their 99th percentile.
    pub p99_ns: Option<u64>,
    /// The share of round trips that links are to lose.
    pub lost_requested: f64,
    /// The share that was lost.
    pub lost: f64,
}

/// Questions for a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameStatus {
    /// The name, without `.lab`.
    pub name: String,
    /// The region that the questions came from.
    pub region: String,
    /// How many there were.
    pub questions: u64,
}

/// How an instance of a service is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceStatus {
    /// Name of the instance: the service's, with the host's behind an `@` if it has several.
    pub name: String,
    /// The host's name.
    pub host: String,
    /// In a word.
    pub state: InstanceState,
    /// Number of the process, while it runs.
    pub pid: Option<u32>,
    /// How often it was started again.
    pub restarts: u32,
}

/// In which state an instance is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InstanceState {
    /// It runs and is not ready.
    Starting,
    /// It is ready.
    Ready,
    /// It was ready, and does not answer now.
    Unwell,
    /// A fault keeps it from running.
    Killed,
    /// It has ended.
    Ended,
}

/// Figures of the network so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworkStatus {
    /// Name of the emulator: `forwarder` or `netem`.
    pub by: String,
    /// Why not netem, or what netem does in another way than the forwarder.
    #[serde(default)]
    pub why: Option<String>,
    /// Packets that passed.
    pub packets: u64,
    /// Packets lost by links.
    pub lost: u64,
    /// Packets lost because the network held as much as it can, was too slow to read them, or a host did not take them:
    /// its own fault.
    pub overflow: u64,
    /// The 99th percentile of how late packets were read or departed, in nanoseconds: the greater of both. `None`: it is
    /// not counted.
    #[serde(default)]
    pub late_p99_ns: Option<u64>,
    /// The latest packet, in nanoseconds.
    #[serde(default)]
    pub late_max_ns: Option<u64>,
    /// CPU time of the network, in seconds; `None`: it is not counted.
    #[serde(default)]
    pub cpu_s: Option<f64>,
    /// The traffic between hosts and users; `None`: it is not counted, or there are too many of them.
    #[serde(default)]
    pub flows: Option<Vec<FlowStatus>>,
}

/// The traffic from the hosts of one key and region, or from its users, to others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowStatus {
    /// Key of the senders in the file; `None`: users.
    pub from: Option<String>,
    /// Region of the senders.
    pub from_region: String,
    /// Key of the receivers in the file; `None`: users.
    pub to: Option<String>,
    /// Region of the receivers.
    pub to_region: String,
    /// Bytes, with IP headers.
    pub bytes: u64,
}
