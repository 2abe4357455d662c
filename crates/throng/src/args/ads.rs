//! The command line of `throng serve ads`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};

use super::ListenArgs;
use crate::settings::{parse_duration, parse_part};

#[derive(Debug, ClapArgs)]
pub(crate) struct AdsArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// App servers behind the address, a thread each, at most 256 [default: one for each core, and at least 2]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Serve only these publishers: CSV with the columns publisher, session_probability,
    /// impression, redeem, click and convert [default: any publisher]
    #[arg(long, value_name = "FILE")]
    pub(crate) publishers: Option<PathBuf>,
    /// What to do about a probability above 1 in that file
    #[arg(long, value_enum, default_value_t = AboveOneArg::Refuse)]
    pub(crate) above_one: AboveOneArg,
    /// All ads [default: 50000]
    #[arg(long, value_name = "N")]
    pub(crate) ads: Option<usize>,
    /// Ads that most publishers choose among [default: 50]
    #[arg(long, value_name = "N")]
    pub(crate) short_list: Option<usize>,
    /// Ads that the others choose among [default: 20000]
    #[arg(long, value_name = "N")]
    pub(crate) long_list: Option<usize>,
    /// The share of publishers with long lists [default: 30%]
    #[arg(long, value_name = "SHARE", value_parser = parse_part)]
    pub(crate) long_share: Option<f64>,
    /// How often the ads of one campaign are shown at most [default: 1000000]
    #[arg(long, value_name = "N")]
    pub(crate) campaign_limit: Option<u32>,
    /// Offers that are kept for events; the oldest go first [default: 1000000]
    #[arg(long, value_name = "N")]
    pub(crate) offers: Option<usize>,
    /// App processes behind the address, with so many threads each; more than one need a database server
    /// and a cache [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) processes: Option<u16>,
    /// One of several: what all of them are called, and where they listen.
    #[arg(long, hide = true, value_parser = parse_process)]
    pub(crate) process_of: Option<(String, SocketAddr)>,
    /// Keep records in this SQLite file, in mysql://USER:PASSWORD@HOST:PORT/DATABASE or in postgres://…;
    /// env:NAME takes what the environment variable says [default: nothing is recorded]
    #[arg(long, value_name = "PATH|URL")]
    pub(crate) store: Option<String>,
    /// Connections of each process to a database server [default: 8]
    #[arg(long, value_name = "N")]
    pub(crate) store_connections: Option<usize>,
    /// How long a request waits for a database server or the cache before it is refused [default: 5s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) store_wait: Option<Duration>,
    /// Share counts and offers with other processes in redis://:PASSWORD@HOST:PORT/NUMBER, or env:NAME;
    /// with a database server only [default: this process has them]
    #[arg(long, value_name = "URL")]
    pub(crate) cache: Option<String>,
    /// With a store, answer when a record is on the disk, or at once
    #[arg(long, value_enum, default_value_t = WritesArg::Sync)]
    pub(crate) writes: WritesArg,
    /// Write an access log [default: none]
    #[arg(long, value_name = "PATH")]
    pub(crate) access_log: Option<PathBuf>,
    /// How its lines are written
    #[arg(long, value_enum, default_value_t = LogFormatArg::Combined)]
    pub(crate) log_format: LogFormatArg,
    /// What the ads, and who has long lists, follow from [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// `GROUP@ADDR`.
fn parse_process(text: &str) -> Result<(String, SocketAddr), String> {
    let parts = text.split_once('@');
    let parts = parts.and_then(|(group, address)| Some((group.to_owned(), address.parse().ok()?)));
    parts.ok_or_else(|| "this is for processes that throng itself starts".to_owned())
}

/// What is done about a probability above 1.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum AboveOneArg {
    Refuse,
    /// It is told
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
