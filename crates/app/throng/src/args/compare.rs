//! Arguments of `throng compare`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};

use super::decision::{
    LevelArgs, ResultArgs, TimesArgs, parse_detect, parse_quantile, parse_times,
};
use crate::settings::{parse_duration, parse_run};

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
    #[command(flatten)]
    pub(crate) result: ResultArgs,
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
    #[command(flatten)]
    pub(crate) times: TimesArgs,
    /// Quantiles in percent
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "50,90,95,99",
          value_parser = parse_quantile)]
    pub(crate) quantiles: Vec<f64>,
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
    #[command(flatten)]
    pub(crate) level: LevelArgs,
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
pub(crate) enum CorrectionArg {
    /// Holm: controls the probability of any false positive
    Holm,
    /// Benjamini-Hochberg: controls the share of false positives
    Bh,
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
