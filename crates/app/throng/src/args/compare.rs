//! Arguments of `throng compare`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};
use compare::Primary;

use crate::settings::{parse_duration, parse_run, parse_share};

pub(super) const EXIT_CODES: &str = "\
With a baseline, several runs per side, made with `throng run --runs runs/old` and `--runs runs/new`:
throng compare runs/new/* --baseline runs/old/*
Without a baseline, all runs are compared with each other and grouped.

Exit codes:
  0    no difference found, or faster, or fewer errors
  1    slower, more errors, or different modes
  2    not determined: runs that cannot be trusted, a single run with --strict, nothing measured
  64   invalid command line
  65   the runs cannot be compared: different scenarios, no measure in common
  66   a run cannot be read
  74   writing failed";

#[derive(Debug, ClapArgs)]
pub(crate) struct CompareArgs {
    /// Run directories of the candidate; `last` is the newest one in runs
    #[arg(value_name = "RUN", required = true, value_parser = parse_run)]
    pub(crate) runs: Vec<PathBuf>,
    /// Run directories of the baseline
    #[arg(long, value_name = "RUN", num_args = 1.., value_parser = parse_run)]
    pub(crate) baseline: Vec<PathBuf>,
    /// Write a JUnit report with a test case per measure
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write Markdown for a pull request
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Write the report to this file as self-contained HTML
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print errors only; see the exit code for the result
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Print the comparison as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Print all figures, tests and runs as well
    #[arg(long, conflicts_with_all = ["json", "quiet"])]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) what: WhatArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// The data that is compared.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "What is compared")]
pub(crate) struct WhatArgs {
    /// Measure latency from when an operation was due, or from when it was sent
    #[arg(long, value_enum, default_value = "response")]
    pub(crate) time: TimeArg,
    /// Quantiles in percent
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "50,90,95,99",
          value_parser = parse_quantile)]
    pub(crate) quantiles: Vec<f64>,
    /// Compare this phase only
    #[arg(long, value_name = "NAME")]
    pub(crate) phase: Option<String>,
    /// Skip this much at the start of the run, or of the phase
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = parse_duration)]
    pub(crate) skip: Duration,
    /// Cut each run into windows of this length, and compare these as if each were a run
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) window: Option<Duration>,
    /// Also compare runs of different scenarios, by the measures they share, and runs that cannot be
    /// trusted
    #[arg(long)]
    pub(crate) force: bool,
}

/// How the decision is made.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "How the decision is made")]
pub(crate) struct HowArgs {
    /// Significance level: the probability of reporting any difference if there is none
    #[arg(long, value_name = "SHARE", default_value = "0.05", value_parser = parse_alpha)]
    pub(crate) alpha: f64,
    /// The figure of each step that is corrected least for all others: `mean`, or a quantile in percent
    #[arg(long, value_name = "FIGURE", default_value = "mean", value_parser = parse_primary)]
    pub(crate) primary: Primary,
    /// List failures, but decide nothing by them: faster with more errors is faster
    #[arg(long)]
    pub(crate) allow_errors: bool,
    /// Report differences up to this share of the baseline, but do not fail on them
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = parse_times)]
    pub(crate) tolerance: f64,
    /// Do not decide if a side has a single run
    #[arg(long, requires = "baseline")]
    pub(crate) strict: bool,
    /// Correction of per-operation p-values for multiple tests
    #[arg(long, value_enum, default_value = "holm")]
    pub(crate) correction: CorrectionArg,
    /// Estimate how many runs would detect a difference of this share
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = parse_detect)]
    pub(crate) detect: f64,
    /// Window of the published pipeline's median filter, in samples
    #[arg(long, value_name = "N", default_value = "20",
          value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub(crate) filter_window: u32,
    /// Standard deviations beyond which that filter replaces a sample
    #[arg(long, value_name = "SIGMAS", default_value = "2", value_parser = parse_sigmas)]
    pub(crate) filter_sigmas: f64,
    /// Bin width of the published pipeline's distribution functions
    #[arg(long, value_name = "DURATION", default_value = "1ms", value_parser = parse_bin)]
    pub(crate) bin: Duration,
    /// Compare measures whose rows need more memory than this by their histograms
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = scenario::parse_size)]
    pub(crate) memory: u64,
    /// Random seed, used if there are too many permutations of runs to enumerate
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeArg {
    /// done − due
    Response,
    /// done − sent
    Service,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CorrectionArg {
    /// Holm: controls the probability of any false positive
    Holm,
    /// Benjamini-Hochberg: controls the share of false positives
    Bh,
}

/// `99.9` or `99.9%`, strictly between 0 and 100, as a share.
fn parse_quantile(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').parse::<f64>();
    match number {
        Ok(percent) if percent > 0.0 && percent < 100.0 => Ok(percent / 100.0),
        _ => Err("expected percentages between 0 and 100, such as 50,90,99.9".to_owned()),
    }
}

/// `mean`, or a quantile as in a list of them.
pub(super) fn parse_primary(text: &str) -> Result<Primary, String> {
    match text.trim() {
        "mean" => Ok(Primary::Mean),
        percent => {
            parse_quantile(percent.trim_start_matches('p')).map(Primary::Quantile).map_err(|_| {
                "expected `mean` or a percentage between 0 and 100, such as 95".to_owned()
            })
        }
    }
}

/// A share that may exceed 100%.
fn parse_times(text: &str) -> Result<f64, String> {
    let share = parse_share(text)?;
    if (0.0..=10.0).contains(&share) {
        Ok(share)
    } else {
        Err("expected a share from 0% to 1000%, such as 1% or 0.01".to_owned())
    }
}

pub(super) fn parse_alpha(text: &str) -> Result<f64, String> {
    let alpha = parse_times(text)?;
    if (1e-6..=0.5).contains(&alpha) {
        Ok(alpha)
    } else {
        Err("expected a probability from 0.000001 to 0.5, such as 0.05".to_owned())
    }
}

pub(super) fn parse_detect(text: &str) -> Result<f64, String> {
    let share = parse_times(text)?;
    if share > 0.0 {
        Ok(share)
    } else {
        Err("a difference of 0 cannot be detected; expected a share above 0%, such as 5%"
            .to_owned())
    }
}

fn parse_sigmas(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(sigmas) if sigmas > 0.0 && sigmas <= 1000.0 => Ok(sigmas),
        _ => Err("expected a number above 0 and up to 1000, such as 2".to_owned()),
    }
}

fn parse_bin(text: &str) -> Result<Duration, String> {
    let bin = parse_duration(text)?;
    if bin.is_zero() {
        Err("expected a bin width above 0, such as 1ms".to_owned())
    } else {
        Ok(bin)
    }
}
