//! Arguments of `throng trend`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::settings::RUNS;

pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0    no figure became worse in the last runs
  1    a figure became worse
  2    there are too few runs to say: a change shows after ten at the earliest
  64   invalid command line
  66   there is no such directory, or no run of that name";

#[derive(Debug, ClapArgs)]
pub(crate) struct TrendArgs {
    /// Directory that is searched for runs, at any depth
    #[arg(value_name = "DIR", default_value = RUNS)]
    pub(crate) directory: PathBuf,
    /// The scenario's name [default: that of the newest run]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// A change fails if it begins among this number of last runs: an older one has been reported before
    #[arg(long, value_name = "N", default_value = "6",
          value_parser = clap::value_parser!(u32).range(1..=200))]
    pub(crate) recent: u32,
    /// Print errors only; see the exit code for the result
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Print the trend as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}
