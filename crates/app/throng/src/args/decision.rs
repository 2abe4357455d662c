//! Arguments that `throng compare` and `throng duet` have in common: which times are compared, how it is decided, and where
//! the result goes.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};
use compare::{Options, Primary, Time};

use crate::settings::{parse_duration, parse_share};

/// The times that are compared.
#[derive(Debug, ClapArgs)]
pub(crate) struct TimesArgs {
    /// Measure latency from when an operation was due, or from when it was sent
    #[arg(long, value_enum, default_value = "response")]
    time: TimeArg,
    /// Compare this phase only
    #[arg(long, value_name = "NAME")]
    phase: Option<String>,
    /// Skip this much at the start of each run, or of the phase
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = parse_duration)]
    skip: Duration,
}

/// The level of a decision, and what it is about.
#[derive(Debug, ClapArgs)]
pub(crate) struct LevelArgs {
    /// Significance level: the probability of reporting any difference if there is none
    #[arg(long, value_name = "SHARE", default_value = "0.05", value_parser = parse_alpha)]
    alpha: f64,
    /// The figure of each step that comes first: `mean`, or a quantile in percent
    #[arg(long, value_name = "FIGURE", default_value = "mean", value_parser = parse_primary)]
    primary: Primary,
    /// List failures, but decide nothing by them: faster with more errors is faster
    #[arg(long)]
    allow_errors: bool,
}

/// Where a result goes.
#[derive(Debug, ClapArgs)]
pub(crate) struct ResultArgs {
    /// Write a JUnit report with a test case per step
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
    /// Print the result as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TimeArg {
    /// done − due
    Response,
    /// done − sent
    Service,
}

impl TimesArgs {
    /// Options with these times and this level, and the primary figure as the only quantile.
    pub(crate) fn options(&self, level: &LevelArgs) -> Options {
        let mut options = Options {
            alpha: level.alpha,
            primary: level.primary,
            allow_errors: level.allow_errors,
            phase: self.phase.clone(),
            skip_ns: nanoseconds(self.skip),
            time: match self.time {
                TimeArg::Response => Time::Response,
                TimeArg::Service => Time::Service,
            },
            ..Options::default()
        };
        if let Primary::Quantile(q) = level.primary {
            options.quantiles = vec![q];
        }
        options
    }
}

/// A time in nanoseconds, as many as there can be.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// `99.9` or `99.9%`, strictly between 0 and 100, as a share.
pub(super) fn parse_quantile(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').parse::<f64>();
    match number {
        Ok(percent) if percent > 0.0 && percent < 100.0 => Ok(percent / 100.0),
        _ => Err("expected percentages between 0 and 100, such as 50,90,99.9".to_owned()),
    }
}

/// `mean`, or a quantile as in a list of them.
fn parse_primary(text: &str) -> Result<Primary, String> {
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
pub(super) fn parse_times(text: &str) -> Result<f64, String> {
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
