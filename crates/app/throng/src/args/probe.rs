//! Arguments of `throng probe` and `throng export`, and of the exports of a run.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args as ClapArgs;

use crate::settings::{parse_address, parse_duration, parse_run};

pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0    every source answered
  64   invalid command line
  65   invalid probe
  66   a file cannot be read
  69   a source did not answer
  71   cannot listen on the address";

/// Receivers of a run's metrics while it runs.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Exports")]
pub(crate) struct ExportArgs {
    /// Serve Prometheus metrics of the run at this address, such as 127.0.0.1:9979; a port alone
    /// means loopback
    #[arg(long, value_name = "ADDR", value_parser = parse_address)]
    pub(crate) prometheus: Option<SocketAddr>,
    /// Push OpenTelemetry metrics every second (OTLP/HTTP, JSON), such as to http://127.0.0.1:4318
    #[arg(long, value_name = "URL", value_parser = live::export::check_otlp)]
    pub(crate) otlp: Option<String>,
    /// Send metrics to a StatsD server every second
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) statsd: Option<String>,
}

#[derive(Debug, ClapArgs)]
#[command(group(clap::ArgGroup::new("forms").required(true).multiple(true)))]
pub(crate) struct ExportRunArgs {
    /// The run directory; `last` is the newest one in runs
    #[arg(value_parser = parse_run)]
    pub(crate) run: PathBuf,
    /// Write measures.csv, series.csv and, where there were any, errors.csv and probes.csv to this directory
    #[arg(long, value_name = "DIR", group = "forms")]
    pub(crate) csv: Option<PathBuf>,
    /// Write the summary as JSON; - for standard output
    #[arg(long, value_name = "FILE", group = "forms")]
    pub(crate) json: Option<PathBuf>,
    /// Write JUnit XML: a test case per threshold, and one for whether the run can be trusted
    #[arg(long, value_name = "FILE", group = "forms")]
    pub(crate) junit: Option<PathBuf>,
    /// Write the verdict and its table as Markdown, for a pull request
    #[arg(long, value_name = "FILE", group = "forms")]
    pub(crate) markdown: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ProbeArgs {
    /// Probes as in a scenario's `probes`, such as host or 'process: { port: 8080 }' [default: host]
    #[arg(value_name = "PROBE", conflicts_with = "file")]
    pub(crate) probes: Vec<String>,
    /// Read the probes of this scenario
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<String>,
    /// Serve the metrics at /metrics of this address until stopped, for the `prometheus` probe of a
    /// run on another machine; a port alone means loopback
    #[arg(long, value_name = "ADDR", value_parser = parse_address, conflicts_with_all = ["duration", "output"])]
    pub(crate) serve: Option<SocketAddr>,
    /// Record the metrics for this long
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) duration: Option<Duration>,
    /// Directory in which the recording's directory is created [default: runs]
    #[arg(short, long, value_name = "DIR", requires = "duration")]
    pub(crate) output: Option<PathBuf>,
}
