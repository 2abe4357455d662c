//! The command line of `throng serve market`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};

use super::serve::{ListenArgs, ProcessArgs};
use crate::settings::{parse_duration, parse_part, parse_size};

#[derive(Debug, ClapArgs)]
pub(crate) struct MarketArgs {
    /// Part of the market that this process is [default: all of it]
    #[arg(value_enum)]
    pub(crate) part: Option<PartArg>,
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// API processes on the address, with --threads threads each; more than one need a database and a bus
    /// [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) processes: Option<u16>,
    #[command(flatten)]
    pub(crate) process: ProcessArgs,
    #[command(flatten)]
    pub(crate) backing: BackingArgs,
    /// API process that a relay passes requests on to
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) upstream: Option<String>,
    /// Minimum number of serving threads [default: one per core, at least 2]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Expected concurrent connections; starts as many threads as their open files require
    #[arg(long, value_name = "N")]
    pub(crate) connections: Option<usize>,
    /// Number of games [default: 4]
    #[arg(long, value_name = "N")]
    pub(crate) games: Option<u32>,
    /// Minimum interval between two distributions of a game [default: 3s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) batch: Option<Duration>,
    /// Pad distributions with spaces to this size, such as 4KiB
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) broadcast_size: Option<usize>,
    /// Mean time between two goals of a game [default: 45s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) goal_every: Option<Duration>,
    /// Balance of a new account in cents [default: 100000]
    #[arg(long, value_name = "CENTS")]
    pub(crate) starting_balance: Option<u64>,
    /// Random seed of the event feed [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Questions of users and rules that may be open at a time; users then have friends, too [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) questions: Option<u32>,
    /// Pose a question after events, such as 'goal:same:Does the same side score again?'; may be repeated
    #[arg(long = "rule", value_name = "AFTER:YES:QUESTION", requires = "questions")]
    pub(crate) rules: Vec<String>,
    /// Word by which administrators report events and decide questions; env:NAME reads it from an environment variable
    #[arg(long, value_name = "TOKEN")]
    pub(crate) admin_token: Option<String>,
    /// Play no events: administrators report them
    #[arg(long, conflicts_with_all = ["goal_every", "replay"])]
    pub(crate) no_feed: bool,
    /// Replay the events in this file of JSON lines instead; docs/market.md describes it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["goal_every", "seed"])]
    pub(crate) replay: Option<PathBuf>,
    /// Replay this many times as fast as recorded [default: 1]
    #[arg(long, value_name = "TIMES", requires = "replay")]
    pub(crate) speed: Option<f64>,
    /// Publish distributions in batches, or one after each prediction
    #[arg(long, value_enum, default_value_t = BroadcastArg::Batched)]
    pub(crate) broadcast: BroadcastArg,
    /// Whether the reply to `pools` lists each prediction
    #[arg(long, value_enum, default_value_t = ListingArg::Lean)]
    pub(crate) pools: ListingArg,
    /// Whether distributions list each prediction
    #[arg(long, value_enum, default_value_t = ListingArg::Lean)]
    pub(crate) distribution: ListingArg,
    /// Ping connections that were idle for this long; 0s disables it [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) ping_after: Option<Duration>,
    /// Close connections between two requests after this long on average, so that their users connect again
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) connection_life: Option<Duration>,
    /// Speak TLS, with this certificate and those between it and its authority (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Fault injection: delay some responses by this much
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) delay: Option<Duration>,
    /// Share of requests to delay, such as 10% [default: 100%]
    #[arg(long, value_name = "SHARE", value_parser = parse_part, requires = "delay")]
    pub(crate) delay_share: Option<f64>,
}

/// Where the state is, and what connects the processes.
#[derive(Debug, ClapArgs)]
pub(crate) struct BackingArgs {
    /// Keep games, pools, accounts and predictions in mysql://USER:PASSWORD@HOST:PORT/DATABASE or in
    /// postgres://…; env:NAME reads the address from an environment variable [default: memory]
    #[arg(long, value_name = "URL")]
    pub(crate) store: Option<String>,
    /// Replica of the store, for reads that may be a little behind
    #[arg(long, value_name = "URL", requires = "store")]
    pub(crate) store_read: Option<String>,
    /// Connections per process to the store and to its replica [default: 16]
    #[arg(long, value_name = "N", requires = "store")]
    pub(crate) store_connections: Option<usize>,
    /// How long a request waits for the store, the cache, the bus or a relay's API process before it is refused
    /// [default: 5s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) store_wait: Option<Duration>,
    /// Regional ledger, a database like the store: an API process keeps its users' accounts there and accepts their
    /// predictions there; the store takes them afterwards
    #[arg(long, value_name = "URL", requires = "store")]
    pub(crate) ledger: Option<String>,
    /// How long a ledger accepts predictions without hearing of the store [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, requires = "ledger")]
    pub(crate) ledger_alone: Option<Duration>,
    /// Whether a request waits for the store by itself, or the process's only thread does
    #[arg(long, value_enum, default_value_t = DriverArg::Async)]
    pub(crate) driver: DriverArg,
    /// Whether the queries of a request are sent together or one after the other
    #[arg(long, value_enum, default_value_t = QueriesArg::Pipelined)]
    pub(crate) queries: QueriesArg,
    /// Cache games, open pools and sessions in redis://:PASSWORD@HOST:PORT/NUMBER, or env:NAME
    #[arg(long, value_name = "URL", requires = "store")]
    pub(crate) cache: Option<String>,
    /// Replica of the cache
    #[arg(long, value_name = "URL", requires = "cache")]
    pub(crate) cache_read: Option<String>,
    /// Pass messages between processes through redis://:PASSWORD@HOST:PORT/NUMBER or
    /// nats://USER:PASSWORD@HOST:PORT, or env:NAME
    #[arg(long, value_name = "URL", requires = "store")]
    pub(crate) bus: Option<String>,
    /// How API processes agree on who publishes a distribution; racing needs a bus in Redis
    #[arg(long, value_enum, default_value_t = BatchClaimArg::Atomic)]
    pub(crate) batch_claim: BatchClaimArg,
    /// When a racing claim is set: before the message is made, or after
    #[arg(long, value_enum, default_value_t = ClaimSetArg::Early)]
    pub(crate) claim_set: ClaimSetArg,
}

/// Who waits for the store.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum DriverArg {
    /// Any number of requests are in flight
    Async,
    /// One thread, which waits for each query
    Blocking,
}

/// How queries are sent.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum QueriesArg {
    /// Together: one round trip for a transaction
    Pipelined,
    /// One after the other
    Sequential,
}

/// How processes agree on a batch.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum BatchClaimArg {
    /// In one step
    Atomic,
    /// Check, then set: two may publish the same
    Racing,
}

/// When a racing claim is set.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ClaimSetArg {
    Early,
    Late,
}

/// What a process does.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum PartArg {
    /// Serve users and publish distributions
    Api,
    /// Record what happens in the games
    Events,
    /// Settle the pools that events decide
    Resolver,
    /// Serve users near them, and pass their requests on to an API process
    Relay,
}

/// When distributions are published.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum BroadcastArg {
    /// At most once in the time of --batch
    Batched,
    /// After each prediction
    Each,
}

/// What is listed.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ListingArg {
    /// Sums only
    Lean,
    /// Each prediction, too
    Full,
}
