//! What `throng model` was asked.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use model::{LinePart, Rule};

use super::ads::AboveOneArg;
use crate::settings::{parse_duration, parse_load, parse_part, parse_rate};

pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0    the model is there; check: it makes a log like the one it was made from, or is as stated
  1    check: it does not, or is not
  64   the command line is wrong
  65   the log's format is not known, too many lines are bad, or nothing is left to model
  66   a file cannot be read
  73   the directory cannot be made
  74   writing failed";

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct ModelArgs {
    #[command(subcommand)]
    pub(crate) check: Option<ModelVerb>,
    /// Access logs, in any order, packed with gzip, zstd or xz or not; or one run's directory
    #[arg(required = true, value_name = "LOG")]
    pub(crate) logs: Vec<PathBuf>,
    /// Where scenario.yaml, model.json and report.md are written
    #[arg(short, long, value_name = "DIR", required = true)]
    pub(crate) out: Option<PathBuf>,
    /// How lines are written [default: told from the first ones]
    #[arg(long = "as", value_name = "FORMAT")]
    pub(crate) format: Option<LogFormat>,
    /// nginx's log_format, when it is one of your own
    #[arg(long, value_name = "TEXT", conflicts_with = "format")]
    pub(crate) log_format: Option<String>,
    /// What the log calls something, as time=ts; may be given again
    #[arg(long = "field", value_name = "MEANING=NAME", value_parser = parse_field)]
    pub(crate) fields: Vec<(String, String)>,
    /// What one user's lines have in common, as query:user_id [default: address+agent]
    #[arg(long, value_name = "PART")]
    pub(crate) key: Option<LinePart>,
    /// What sessions are told apart by, as path=^/publishers/([^/]+)/
    #[arg(long, value_name = "PART[=REGEX]")]
    pub(crate) segment: Option<LinePart>,
    /// Segments with a model of their own; the smaller ones are put together [default: 40]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=200))]
    pub(crate) segments_max: Option<u16>,
    /// A session ends when nothing was asked for so long [default: found in the log]
    #[arg(long, value_name = "DURATION", value_parser = parse_gap)]
    pub(crate) gap: Option<std::time::Duration>,
    /// A class of requests of your own: those whose METHOD and target match; may be given again
    #[arg(long = "class", value_name = "NAME=REGEX")]
    pub(crate) classes: Vec<Rule>,
    /// Classes that the other requests are put together to [default: 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) classes_max: Option<u16>,
    /// Leave out lines of which this part matches, as agent=(?i)bot; may be given again
    #[arg(long, value_name = "PART=REGEX")]
    pub(crate) without: Vec<LinePart>,
    /// Where the clock hung that names no zone, as Europe/Berlin
    #[arg(long, value_name = "ZONE")]
    pub(crate) zone: Option<String>,
    /// The share of bad lines above which there is no model [default: 1%]
    #[arg(long, value_name = "SHARE", value_parser = parse_part)]
    pub(crate) bad_max: Option<f64>,
    /// How users arrive [default: the simplest way that the log does not refuse]
    #[arg(long, value_name = "LAW")]
    pub(crate) arrivals: Option<ArrivalsArg>,
    /// What users do: a chain of classes, or sessions as they were [default: chain]
    #[arg(long, value_name = "KIND")]
    pub(crate) behaviour: Option<BehaviourArg>,
    /// With --as counts: how long each number counts [default: 1s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) bin: Option<std::time::Duration>,
    /// With --as counts: what the clock showed at the first, as 1995-07-01T00:00:00
    #[arg(long, value_name = "TIME")]
    pub(crate) begin: Option<String>,
    /// Write the crowd as a file of Tsung's, too
    #[arg(long, value_name = "FILE")]
    pub(crate) tsung: Option<PathBuf>,
    /// Of all draws
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Threads [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) threads: Option<u16>,
    /// Print nothing but errors
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Print model.json instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelVerb {
    /// Run a model in virtual time, model the log that it makes, and test it against the first; or test it
    /// against rates and probabilities that are known
    Check(ModelCheckArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ModelCheckArgs {
    /// The directory that `throng model` made
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// About so many sessions are simulated
    #[arg(long, value_name = "N", default_value = "5000", value_parser = clap::value_parser!(u32).range(100..=200_000))]
    pub(crate) sessions: u32,
    /// Another seed than the scenario's
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Nothing is run: test the model against the rates and probabilities of a CSV table, a row a segment
    #[arg(long, value_name = "TABLE", requires = "rate", conflicts_with_all = ["sessions", "seed"])]
    pub(crate) against: Option<PathBuf>,
    /// Print what was found as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reference: ReferenceArgs,
}

/// What the table says, and how.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "With --against")]
pub(crate) struct ReferenceArgs {
    /// Sessions a second of all segments together, as 35.8/s
    #[arg(long, value_name = "RATE", requires = "against", value_parser = parse_rate)]
    pub(crate) rate: Option<f64>,
    /// The column with each segment's share of them
    #[arg(
        long,
        value_name = "COLUMN",
        requires = "against",
        default_value = "share"
    )]
    pub(crate) share: String,
    /// Classes in the order that sessions come to them, as ad,impression,click; the column of each but the
    /// first has the probability that it follows
    #[arg(
        long,
        value_name = "CLASSES",
        requires = "against",
        value_delimiter = ','
    )]
    pub(crate) path: Vec<String>,
    /// The crowd in the log was so many times as fast as the table's
    #[arg(long, value_name = "TIMES", requires = "against", default_value = "1", value_parser = parse_load)]
    pub(crate) speed: f64,
    /// A probability above 1 in the table
    #[arg(
        long,
        value_name = "HOW",
        requires = "against",
        default_value = "refuse"
    )]
    pub(crate) above_one: AboveOneArg,
}

/// Formats that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Apache's and nginx's combined, or common
    Combined,
    /// A JSON object a line
    Json,
    /// CSV with a first row of names
    Csv,
    /// W3C extended, as of IIS and CloudFront
    W3c,
    /// AWS application load balancer
    Alb,
    /// Tsung's dumptraffic="protocol"
    Tsung,
    /// Numbers: how many requests each second had
    Counts,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ArrivalsArg {
    /// A Poisson process of one rate
    Poisson,
    /// A Poisson process whose rate follows the clock
    Cycle,
    /// As often as recorded
    Trace,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum BehaviourArg {
    /// A Markov chain of classes with think times
    Chain,
    /// Recorded sessions, drawn whole
    Sequences,
}

fn parse_field(text: &str) -> Result<(String, String), String> {
    let (meaning, name) = text
        .split_once('=')
        .ok_or("expected MEANING=NAME, such as time=ts")?;
    if !model::MEANINGS.contains(&meaning) {
        return Err(format!(
            "no field means {meaning:?}; they are {}",
            model::MEANINGS.join(", ")
        ));
    }
    Ok((meaning.to_owned(), name.to_owned()))
}

/// The longest that a scenario's users can think.
fn parse_gap(text: &str) -> Result<std::time::Duration, String> {
    const DAYS_MAX: u64 = 366;
    let gap = parse_duration(text)?;
    if gap > std::time::Duration::from_secs(DAYS_MAX * 86_400) {
        return Err(format!("nobody waits for longer than {DAYS_MAX}d"));
    }
    Ok(gap)
}
