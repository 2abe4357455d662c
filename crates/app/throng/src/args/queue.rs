//! The command line of `throng serve queue`.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};

use super::serve::{ListenArgs, ProcessArgs};
use crate::settings::{parse_address, parse_duration, parse_size};

#[derive(Debug, ClapArgs)]
pub(crate) struct QueueArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// Serve /metrics and /healthz on this address [default: nowhere]
    #[arg(long, value_name = "ADDR", value_parser = parse_address)]
    pub(crate) metrics: Option<SocketAddr>,
    /// Threads that read requests and write answers [default: one per core, at least 2]
    #[arg(long, value_name = "N")]
    pub(crate) frontends: Option<usize>,
    /// Middlewares on the address, each a process with --frontends threads and --connections workers; more than
    /// one need a store [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) processes: Option<u16>,
    #[command(flatten)]
    pub(crate) process: ProcessArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// How waiting pops learn of messages: from the database, which costs each send, or by looking
    #[arg(long, value_enum, default_value_t = WaitArg::Poll)]
    pub(crate) wait: WaitArg,
    /// How often waiting pops look [default: 100ms]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) poll_every: Option<Duration>,
    /// End each answer with the times of its request
    #[arg(long, value_enum, num_args = 0..=1, default_value_t = SwitchArg::Off, default_missing_value = "on")]
    pub(crate) timing: SwitchArg,
}

/// Where messages are, and how they are taken.
#[derive(Debug, ClapArgs)]
pub(crate) struct StoreArgs {
    /// Keep queues and messages in postgres://USER:PASSWORD@HOST:PORT/DATABASE; env:NAME reads the address
    /// from an environment variable [default: memory]
    #[arg(long, value_name = "URL")]
    pub(crate) store: Option<String>,
    /// Workers, each with a connection of its own to the store [default: 16]
    #[arg(long, value_name = "N")]
    pub(crate) connections: Option<usize>,
    /// How long a request waits for a worker, and a worker for the store [default: 5s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) store_wait: Option<Duration>,
    /// Whether a pop waits for a row that another one has locked, or takes the next
    #[arg(long, value_enum, default_value_t = PopArg::Skip)]
    pub(crate) pop: PopArg,
    /// Whether an answer waits until the database's log is on disk
    #[arg(long, value_enum, default_value_t = SwitchArg::On)]
    pub(crate) durable: SwitchArg,
    /// Make the tables, or migrate older ones, and exit
    #[arg(long, requires = "store")]
    pub(crate) init: bool,
    /// Drop the tables and exit; with --init, make new ones
    #[arg(long, requires = "store")]
    pub(crate) drop: bool,
    /// Begin with this number of messages, instead of those that are there
    #[arg(long, value_name = "N")]
    pub(crate) fill: Option<u64>,
    /// Queues that --fill makes, numbered from 1 [default: 20]
    #[arg(long, value_name = "N", requires = "fill")]
    pub(crate) queues: Option<u32>,
    /// Size of the texts of --fill [default: 200B]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, requires = "fill")]
    pub(crate) length: Option<usize>,
    /// Address the messages of --fill to the receivers 1 to N in turn; 0: to anybody [default: 0]
    #[arg(long, value_name = "N", requires = "fill")]
    pub(crate) receivers: Option<u32>,
    /// Leave out an index of the table of messages, or none
    #[arg(long, value_enum, value_name = "INDEX", requires = "fill")]
    pub(crate) without_index: Option<IndexArg>,
}

/// What bounds the middleware.
#[derive(Debug, ClapArgs)]
pub(crate) struct LimitArgs {
    /// Maximum number of requests that wait for a worker; then no more are read [default: 1024]
    #[arg(long, value_name = "N")]
    pub(crate) queue_max: Option<usize>,
    /// Maximum size of a payload [default: 64KiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) payload_max: Option<usize>,
    /// Maximum number of clients' connections [default: 10000]
    #[arg(long, value_name = "N")]
    pub(crate) connections_max: Option<usize>,
    /// Maximum time from the first to the last byte of a frame [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) frame_timeout: Option<Duration>,
    /// Disconnect clients that read nothing of an answer for this long [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) write_timeout: Option<Duration>,
}

/// How waiting pops learn of messages.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum WaitArg {
    Notify,
    Poll,
}

/// How pops lock.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum PopArg {
    Lock,
    Skip,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SwitchArg {
    On,
    Off,
}

/// An index of the table of messages.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum IndexArg {
    None,
    Queue,
    Receiver,
    Sender,
}
