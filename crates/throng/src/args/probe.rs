//! What was typed about the server's side, and about the forms in which others want a run.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args as ClapArgs;

use crate::settings::{parse_address, parse_duration};

pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0    all were asked
  64   the command line is wrong
  65   a probe is wrong
  66   a file cannot be read
  69   a source did not answer
  71   the address cannot be listened on";

/// Who is told of a run while it goes on.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Exports")]
pub(crate) struct ExportArgs {
    /// Serve the run's figures for Prometheus at /metrics of this address, as 127.0.0.1:9979; a port
    /// alone is one of loopback
    #[arg(long, value_name = "ADDR", value_parser = parse_address)]
    pub(crate) prometheus: Option<SocketAddr>,
    /// Post them each second as OpenTelemetry metrics (OTLP/HTTP, JSON), as http://127.0.0.1:4318
    #[arg(long, value_name = "URL", value_parser = export::check_otlp)]
    pub(crate) otlp: Option<String>,
    /// Send them each second to a StatsD server
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) statsd: Option<String>,
}

#[derive(Debug, ClapArgs)]
#[command(group(clap::ArgGroup::new("forms").required(true).multiple(true)))]
pub(crate) struct ExportRunArgs {
    /// The run's directory
    pub(crate) run: PathBuf,
    /// Write measures.csv, series.csv and, where there were probes, probes.csv to this directory
    #[arg(long, value_name = "DIR", group = "forms")]
    pub(crate) csv: Option<PathBuf>,
    /// Write the summary as JSON; - is standard output
    #[arg(long, value_name = "FILE", group = "forms")]
    pub(crate) json: Option<PathBuf>,
    /// Write JUnit XML: a test case a threshold, and one for whether the run can be trusted
    #[arg(long, value_name = "FILE", group = "forms")]
    pub(crate) junit: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ProbeArgs {
    /// Entries of a scenario's `probes`, as host or 'process: { port: 8080 }' [default: host]
    #[arg(value_name = "PROBE", conflicts_with = "file")]
    pub(crate) probes: Vec<String>,
    /// Take the probes of this scenario
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<String>,
    /// Serve what they tell at /metrics of this address until stopped, for the `prometheus` probe of
    /// a run elsewhere; a port alone is one of loopback
    #[arg(long, value_name = "ADDR", value_parser = parse_address, conflicts_with_all = ["time", "output"])]
    pub(crate) serve: Option<SocketAddr>,
    /// Record what they tell for so long
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) time: Option<Duration>,
    /// Where the directory of what is recorded is made [default: runs]
    #[arg(short, long, value_name = "DIR", requires = "time")]
    pub(crate) output: Option<PathBuf>,
}
