//! Arguments of `try`.

use std::time::Duration;

use clap::Args as ClapArgs;

use super::{SetArgs, TsungArgs};
use crate::settings::parse_duration;

pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    every step succeeded, as far as the user came
  1    a step failed, or a check did not hold
  64 and above as for `throng run`";

#[derive(Debug, ClapArgs)]
pub(crate) struct TryArgs {
    /// The scenario or Tsung file; - reads standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// The session to run [default: the one with the largest weight]
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// The user's number: its random values and its row of data are those of this user of a run
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) user: u64,
    /// Stop after this many steps
    #[arg(long, value_name = "K", default_value_t = 100)]
    pub(crate) steps: u64,
    /// Stop after this time
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "5m")]
    pub(crate) time_limit: Duration,
    /// Print bodies and messages in full
    #[arg(long)]
    pub(crate) full: bool,
    /// Print one JSON object for each event instead of text
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) sets: SetArgs,
    #[command(flatten)]
    pub(crate) tsung: TsungArgs,
}
