//! Arguments of `throng model`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use model::{LinePart, Rule};

use crate::args::ads::AboveOneArg;
use crate::settings::{parse_duration, parse_load, parse_part};

const EXIT_CODES: &str = "\
Exit codes:
  0    the model was written; check: its own log, or the table, agrees with it
  1    check: it does not agree
  64   the command line is wrong
  65   the log's format is unknown, too many lines are bad, or no request is left
  66   a file cannot be read
  73   the directory cannot be created
  74   writing failed";

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct ModelArgs {
    #[command(subcommand)]
    pub(crate) check: Option<ModelVerb>,
    /// Access logs in any order, plain or compressed with gzip, zstd or xz; or the directory of one run
    #[arg(required = true, value_name = "LOG")]
    pub(crate) logs: Vec<PathBuf>,
    /// Directory for scenario.yaml, model.json and report.md
    #[arg(short, long, value_name = "DIR", required = true)]
    pub(crate) out: Option<PathBuf>,
    /// Format of the lines [default: detected from the first ones]
    #[arg(long = "as", value_name = "FORMAT")]
    pub(crate) format: Option<LogFormat>,
    /// Your own nginx log_format
    #[arg(long, value_name = "TEXT", conflicts_with = "format")]
    pub(crate) log_format: Option<String>,
    /// Name of a field in the log, as in time=ts; may be repeated
    #[arg(long = "field", value_name = "MEANING=NAME", value_parser = parse_field)]
    pub(crate) fields: Vec<(String, String)>,
    /// What identifies a user, as in query:user_id [default: address+agent]
    #[arg(long, value_name = "PART")]
    pub(crate) key: Option<LinePart>,
    /// What separates kinds of sessions, as in path=^/publishers/([^/]+)/
    #[arg(long, value_name = "PART[=REGEX]")]
    pub(crate) segment: Option<LinePart>,
    /// Maximum number of segments with a model of their own; smaller ones share one [default: 40]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=200))]
    pub(crate) segments_max: Option<u16>,
    /// A session ends after this time without a request [default: found in the log]
    #[arg(long, value_name = "DURATION", value_parser = parse_gap)]
    pub(crate) gap: Option<std::time::Duration>,
    /// A class of requests: those whose "METHOD target" matches; may be repeated
    #[arg(long = "class", value_name = "NAME=REGEX")]
    pub(crate) classes: Vec<Rule>,
    /// Maximum number of classes for the other requests [default: 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) classes_max: Option<u16>,
    /// Leave out lines whose part matches, as in agent=(?i)bot; may be repeated
    #[arg(long, value_name = "PART=REGEX")]
    pub(crate) without: Vec<LinePart>,
    /// Leave out robots by their agents, and users with far more requests than others have
    #[arg(long)]
    pub(crate) without_robots: bool,
    /// Time zone of times without one, as in Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE")]
    pub(crate) zone: Option<String>,
    /// Fail if the share of bad lines is above this, or that of lines without a request above this and above 10%
    /// [default: 1%]
    #[arg(long, value_name = "SHARE", value_parser = parse_part)]
    pub(crate) bad_max: Option<f64>,
    /// How users arrive [default: the simplest process that the log does not reject]
    #[arg(long, value_name = "PROCESS")]
    pub(crate) arrivals: Option<ArrivalsArg>,
    /// What users do: a Markov chain of classes, or recorded sessions [default: chain]
    #[arg(long, value_name = "KIND")]
    pub(crate) behaviour: Option<BehaviourArg>,
    /// With --behaviour sequences: maximum number of recorded sessions of each segment [default: as many as the
    /// scenario has room for, about 8,000 requests]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=8_000))]
    pub(crate) sequences: Option<u16>,
    /// With --as counts: the time that each number covers [default: 1s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) bin: Option<std::time::Duration>,
    /// With --as counts: local time of the first number, as in 1995-07-01T00:00:00
    #[arg(long, value_name = "TIME")]
    pub(crate) begin: Option<String>,
    /// Also write the model as a Tsung configuration
    #[arg(long, value_name = "FILE")]
    pub(crate) tsung: Option<PathBuf>,
    /// Seed of all random draws
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) threads: Option<u16>,
    /// Print nothing but errors
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Print model.json instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

impl ModelArgs {
    /// True if errors only are to be printed.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelVerb {
    /// Test a model: simulate it, model the simulated log, and compare the two; or compare the model with known
    /// rates and probabilities
    Check(ModelCheckArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ModelCheckArgs {
    /// Directory that `throng model` wrote
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Approximate number of sessions to simulate
    #[arg(long, value_name = "N", default_value = "5000", value_parser = clap::value_parser!(u32).range(100..=200_000))]
    pub(crate) sessions: u32,
    /// Seed instead of the scenario's
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Compare with the rates and probabilities of a CSV table, one row per segment, and simulate nothing
    #[arg(long, value_name = "TABLE", requires = "rate", conflicts_with_all = ["sessions", "seed"])]
    pub(crate) against: Option<PathBuf>,
    /// Print the result as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reference: ReferenceArgs,
}

/// How to read the table.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "With --against")]
pub(crate) struct ReferenceArgs {
    /// Sessions a second of all segments together, as in 35.8/s
    #[arg(long, value_name = "RATE", requires = "against", value_parser = parse_rate)]
    pub(crate) rate: Option<f64>,
    /// Column with each segment's share of the sessions
    #[arg(long, value_name = "COLUMN", requires = "against", default_value = "share")]
    pub(crate) share: String,
    /// Classes in the order of a session, as in ad,impression,click; each but the first has a column with the
    /// probability that it follows the one before
    #[arg(long, value_name = "CLASSES", requires = "against", value_delimiter = ',')]
    pub(crate) path: Vec<String>,
    /// The log's users were this many times as fast as the table's
    #[arg(long, value_name = "TIMES", requires = "against", default_value = "1", value_parser = parse_load)]
    pub(crate) speed: f64,
    /// What to do with a probability above 1
    #[arg(long, value_name = "HOW", requires = "against", default_value = "refuse")]
    pub(crate) above_one: AboveOneArg,
}

/// Formats of logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Combined or common log format of Apache and nginx
    Combined,
    /// One JSON object per line
    Json,
    /// CSV with a header row
    Csv,
    /// W3C extended log format (IIS, CloudFront)
    W3c,
    /// AWS application load balancer
    Alb,
    /// HAProxy's `option httplog`, bare or behind a head of syslog
    Haproxy,
    /// Default access log of Envoy and Istio
    Envoy,
    /// Tsung's dumptraffic="protocol"
    Tsung,
    /// Numbers of requests per second
    Counts,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ArrivalsArg {
    /// A Poisson process of one rate
    Poisson,
    /// A Poisson process whose rate follows the clock
    Cycle,
    /// As recorded
    Trace,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum BehaviourArg {
    /// A Markov chain of classes with think times
    Chain,
    /// Recorded sessions
    Sequences,
}

fn parse_field(text: &str) -> Result<(String, String), String> {
    let (meaning, name) = text.split_once('=').ok_or("expected MEANING=NAME, such as time=ts")?;
    if !model::MEANINGS.contains(&meaning) {
        return Err(format!(
            "unknown meaning {meaning:?}; the meanings are {}",
            model::MEANINGS.join(", ")
        ));
    }
    Ok((meaning.to_owned(), name.to_owned()))
}

/// A rate as scenarios write it, a second.
fn parse_rate(text: &str) -> Result<f64, String> {
    match scenario::parse_rate(text)? {
        rate if rate > 0.0 => Ok(rate),
        _ => Err("expected a rate above 0".to_owned()),
    }
}

/// At most the longest think time of a scenario.
fn parse_gap(text: &str) -> Result<std::time::Duration, String> {
    const DAYS_MAX: u64 = 366;
    let gap = parse_duration(text)?;
    if gap > std::time::Duration::from_secs(DAYS_MAX * 86_400) {
        return Err(format!("a gap is at most {DAYS_MAX}d"));
    }
    Ok(gap)
}
