//! The command line of `throng serve ads`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};

use super::serve::{ListenArgs, ProcessArgs};
use crate::settings::{parse_duration, parse_part};

#[derive(Debug, ClapArgs)]
pub(crate) struct AdsArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// Number of serving threads, at most 256 [default: one per core, at least 2]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Serve only these publishers: CSV with the columns publisher, session_probability,
    /// impression, redeem, click and convert [default: any publisher]
    #[arg(long, value_name = "FILE")]
    pub(crate) publishers: Option<PathBuf>,
    /// How to treat a probability above 1 in that file
    #[arg(long, value_enum, default_value_t = AboveOneArg::Refuse)]
    pub(crate) above_one: AboveOneArg,
    /// Number of ads [default: 50000]
    #[arg(long, value_name = "N")]
    pub(crate) ads: Option<usize>,
    /// Number of ads in a short list, which most publishers have [default: 50]
    #[arg(long, value_name = "N")]
    pub(crate) short_list: Option<usize>,
    /// Number of ads in a long list [default: 20000]
    #[arg(long, value_name = "N")]
    pub(crate) long_list: Option<usize>,
    /// Share of publishers with long lists [default: 30%]
    #[arg(long, value_name = "SHARE", value_parser = parse_part)]
    pub(crate) long_share: Option<f64>,
    /// Maximum impressions per campaign [default: 1000000]
    #[arg(long, value_name = "N")]
    pub(crate) campaign_limit: Option<u32>,
    /// Offers kept for events; the oldest are dropped first [default: 1000000]
    #[arg(long, value_name = "N")]
    pub(crate) offers: Option<usize>,
    /// Processes on the address, with --threads threads each; more than one need a database server and a
    /// cache [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) processes: Option<u16>,
    #[command(flatten)]
    pub(crate) process: ProcessArgs,
    /// Keep records in this SQLite file, in mysql://USER:PASSWORD@HOST:PORT/DATABASE or in postgres://…;
    /// env:NAME reads the address from an environment variable [default: nothing is recorded]
    #[arg(long, value_name = "PATH|URL")]
    pub(crate) store: Option<String>,
    /// Connections per process to a database server [default: 8]
    #[arg(long, value_name = "N")]
    pub(crate) store_connections: Option<usize>,
    /// How long a request waits for a database server or the cache before it is refused [default: 5s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) store_wait: Option<Duration>,
    /// Share counts and offers with other processes in redis://:PASSWORD@HOST:PORT/NUMBER, or env:NAME;
    /// only with a database server [default: kept in this process]
    #[arg(long, value_name = "URL")]
    pub(crate) cache: Option<String>,
    /// With a store, answer when the record is on disk, or at once
    #[arg(long, value_enum, default_value_t = WritesArg::Sync)]
    pub(crate) writes: WritesArg,
    /// Write an access log [default: none]
    #[arg(long, value_name = "PATH")]
    pub(crate) access_log: Option<PathBuf>,
    /// Format of the access log
    #[arg(long, value_enum, default_value_t = LogFormatArg::Combined)]
    pub(crate) log_format: LogFormatArg,
    /// Random seed of the ads and of the publishers with long lists [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// How a probability above 1 is treated.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum AboveOneArg {
    Refuse,
    /// Use 1 instead and print a warning
    TakeAsOne,
}

/// When a request is answered.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum WritesArg {
    Sync,
    Async,
}

/// How lines of the access log are written.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LogFormatArg {
    Combined,
    Json,
}
