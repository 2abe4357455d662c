//! Arguments of `throng duet`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};
use controller::duet::PAIRS_MAX;

use super::decision::{LevelArgs, ResultArgs, TimesArgs, parse_detect};
use super::{DurableArgs, SetArgs};
use crate::settings::parse_duration;

pub(super) const EXIT_CODES: &str = "\
Two files, or one file and two targets:
throng duet old.yaml new.yaml
throng duet shop.yaml --target http://127.0.0.1:8080 --target http://127.0.0.1:8081

Exit codes:
  0    no difference that matters, or faster
  1    slower, or more errors
  2    undecided: the budget is used up, or runs cannot be trusted
  64   invalid command line
  65   invalid scenario, or a pair that does not fit into the budget
  others as for `throng run`";

#[derive(Debug, ClapArgs)]
pub(crate) struct DuetArgs {
    /// The scenario of the old target and that of the new one; one file for both with --target
    #[arg(value_name = "FILE", num_args = 1..=2, required_unless_present_any = ["analyze", "resume"],
          conflicts_with_all = ["analyze", "resume"])]
    pub(crate) files: Vec<String>,
    /// The old target, and given once more the new one; sets `target` of the file
    #[arg(long = "target", value_name = "URL", conflicts_with_all = ["analyze", "resume"])]
    pub(crate) targets: Vec<String>,
    #[command(flatten)]
    pub(crate) sets: SetArgs,
    /// How the blocks of a pair follow each other. The order is drawn for each pair
    #[arg(long, value_enum, default_value = "abba")]
    pub(crate) interleave: InterleaveArg,
    /// Stop once it is `decided`, or after this number of pairs, at most 2,000
    #[arg(long, value_name = "decided|N", default_value = "decided", value_parser = parse_until)]
    pub(crate) until: Until,
    /// Begin no pair that would end after this time
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = parse_duration)]
    pub(crate) budget: Duration,
    /// Pairs of the old target with itself, which come first and show the noise
    #[arg(long, value_name = "N", default_value = "2",
          value_parser = clap::value_parser!(u64).range(0..=100))]
    pub(crate) self_pairs: u64,
    /// Pause between two blocks
    #[arg(long, value_name = "DURATION", default_value = "500ms", value_parser = parse_duration)]
    pub(crate) pause: Duration,
    /// Seed of the order, and of the users of the first pair; each pair has the next one
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
    /// Directory of the duet [default: duets/NAME-N]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["analyze", "resume"])]
    pub(crate) dir: Option<PathBuf>,
    /// Add pairs to the duet in this directory, with another budget: what is certain stays valid. It decides as it
    /// began
    #[arg(long, value_name = "DIR", conflicts_with = "analyze")]
    pub(crate) resume: Option<PathBuf>,
    /// Analyse the duet in this directory again, without a run
    #[arg(long, value_name = "DIR")]
    pub(crate) analyze: Option<PathBuf>,
    /// Run even if this machine cannot hold that many users
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) durable: DurableArgs,
    #[command(flatten)]
    pub(crate) result: ResultArgs,
    #[command(flatten)]
    pub(crate) how: DuetHowArgs,
}

/// How the decision is made; what is analysed or resumed keeps its own.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "How the decision is made")]
pub(crate) struct DuetHowArgs {
    /// The smallest difference that matters, as a share of the old target's time
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = parse_detect)]
    pub(crate) difference: f64,
    #[command(flatten)]
    pub(crate) level: LevelArgs,
    #[command(flatten)]
    pub(crate) times: TimesArgs,
}

/// How the blocks of a pair follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InterleaveArg {
    /// Both at once, each on half of the cores
    Simultaneous,
    /// One after the other
    Ab,
    /// Old, new, new, old, or the reverse: a steady drift of the machine cancels out
    Abba,
}

/// When a duet ends before its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// As soon as it is decided.
    Decided,
    /// After this number of pairs.
    Pairs(u64),
}

fn parse_until(text: &str) -> Result<Until, String> {
    match text {
        "decided" => Ok(Until::Decided),
        number => match number.parse::<u64>() {
            Ok(pairs) if pairs > PAIRS_MAX => Err(format!("a duet has at most {PAIRS_MAX} pairs")),
            Ok(pairs) if pairs > 0 => Ok(Until::Pairs(pairs)),
            _ => Err("expected `decided` or a number of pairs, such as 20".to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duet_ends_when_it_is_decided_or_after_pairs() {
        assert_eq!(parse_until("decided"), Ok(Until::Decided));
        assert_eq!(parse_until("20"), Ok(Until::Pairs(20)));
        assert!(parse_until("0").is_err() && parse_until("soon").is_err());
        // No duet has more: whoever asks for them learns it before.
        assert_eq!(parse_until("2000"), Ok(Until::Pairs(PAIRS_MAX)));
        assert_eq!(parse_until("2001"), Err("a duet has at most 2000 pairs".to_owned()));
    }
}
