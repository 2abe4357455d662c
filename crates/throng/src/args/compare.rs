//! What was typed after `throng compare`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};

use crate::settings::{parse_duration, parse_share};

pub(super) const EXIT_CODES: &str = "\
With a baseline, several runs a side, made with `throng run --runs runs/old` and `--runs runs/new`:
throng compare runs/new/* --baseline runs/old/*
Without one, all runs are compared with each other and grouped.

Exit codes:
  0    no difference seen, or faster, or fewer errors
  1    slower, more errors, or modes differ
  2    cannot be told: runs that are not to be trusted, a single run with --strict, nothing measured
  64   the command line is wrong
  65   the runs cannot be compared: other scenarios, no measure in common
  66   a run cannot be read
  74   writing failed";

#[derive(Debug, ClapArgs)]
pub(crate) struct CompareArgs {
    /// Run directories: what is judged
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// Run directories to compare with
    #[arg(long, value_name = "RUN", num_args = 1..)]
    pub(crate) baseline: Vec<PathBuf>,
    /// Write a JUnit report, a test case a measure
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write Markdown for a pull request
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Write a page of it, a self-contained HTML file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print nothing but errors; the exit code tells
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Print the comparison as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) what: WhatArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// What of the runs is compared.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "What is compared")]
pub(crate) struct WhatArgs {
    /// From when an operation was due, or from when it was sent
    #[arg(long, value_enum, default_value = "response")]
    pub(crate) time: TimeArg,
    /// Quantiles in per cent
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "50,90,95,99",
          value_parser = parse_quantile)]
    pub(crate) quantiles: Vec<f64>,
    /// Only this phase
    #[arg(long, value_name = "NAME")]
    pub(crate) phase: Option<String>,
    /// Leave out so much at the start of the run, or of the phase
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = parse_duration)]
    pub(crate) skip: Duration,
    /// Compare also runs of other scenarios, in what they have in common, and runs that are not to
    /// be trusted
    #[arg(long)]
    pub(crate) anyway: bool,
}

/// How it is decided.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "How it is decided")]
pub(crate) struct HowArgs {
    /// The chance of finding any difference where there is none
    #[arg(long, value_name = "SHARE", default_value = "0.05", value_parser = parse_alpha)]
    pub(crate) alpha: f64,
    /// Differences up to this share of the baseline's value are told and decide nothing
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = parse_times)]
    pub(crate) tolerance: f64,
    /// Decide nothing where a side has a single run
    #[arg(long, requires = "baseline")]
    pub(crate) strict: bool,
    /// How p-values of tests on operations are corrected for their number
    #[arg(long, value_enum, default_value = "holm")]
    pub(crate) correction: CorrectionArg,
    /// Tell how many further runs would show a difference of this share
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = parse_detect)]
    pub(crate) detect: f64,
    /// Samples in the window of the published pipeline's median filter
    #[arg(long, value_name = "N", default_value = "20",
          value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub(crate) filter_window: u32,
    /// Standard deviations of the window beyond which that filter replaces a sample
    #[arg(long, value_name = "SIGMAS", default_value = "2", value_parser = parse_sigmas)]
    pub(crate) filter_sigmas: f64,
    /// Bins of the published pipeline's distribution functions
    #[arg(long, value_name = "DURATION", default_value = "1ms", value_parser = parse_bin)]
    pub(crate) bin: Duration,
    /// Measures whose rows take more are compared by their histograms
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = scenario::parse_size)]
    pub(crate) memory: u64,
    /// Of random draws, where there are too many dealings of runs to go through them all
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
    /// Holm: the chance of any false finding
    Holm,
    /// Benjamini and Hochberg: the share of false ones among the findings
    Bh,
}

/// `99.9` or `99.9%`, strictly between 0 and 100, as a share.
fn parse_quantile(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').parse::<f64>();
    match number {
        Ok(percent) if percent > 0.0 && percent < 100.0 => Ok(percent / 100.0),
        _ => Err("expected per cents between 0 and 100, such as 50,90,99.9".to_owned()),
    }
}

/// A share of anything, which may be more than all of it.
fn parse_times(text: &str) -> Result<f64, String> {
    let share = parse_share(text)?;
    if (0.0..=10.0).contains(&share) {
        Ok(share)
    } else {
        Err("expected a share from 0% to 1000%, such as 1% or 0.01".to_owned())
    }
}

fn parse_alpha(text: &str) -> Result<f64, String> {
    let alpha = parse_times(text)?;
    if (1e-6..=0.5).contains(&alpha) {
        Ok(alpha)
    } else {
        Err("expected a chance from 0.000001 to 0.5, such as 0.05".to_owned())
    }
}

fn parse_detect(text: &str) -> Result<f64, String> {
    let share = parse_times(text)?;
    if share > 0.0 {
        Ok(share)
    } else {
        Err("a difference of nothing is never seen; give one such as 5%".to_owned())
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
        Err("a bin has some width, such as 1ms".to_owned())
    } else {
        Ok(bin)
    }
}
