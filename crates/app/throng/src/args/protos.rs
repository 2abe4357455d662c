//! Arguments of `protos`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args as ClapArgs;

use crate::settings::parse_duration;

/// What the exit codes mean.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    listed, or written
  64   invalid command line
  65   what the server describes cannot be written
  66   a file cannot be read
  69   the server cannot be reached, or does not describe its services
  73   a file exists already, or cannot be written";

#[derive(Debug, ClapArgs)]
pub(crate) struct ProtosArgs {
    /// The server: http://HOST:PORT, or https://HOST:PORT for TLS
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Write the .proto files of all services into this directory
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Metadata of the calls, such as 'authorization: Bearer TOKEN'; may be repeated
    #[arg(long = "header", short = 'H', value_name = "HEADER")]
    pub(crate) headers: Vec<String>,
    /// A PEM file with certificate authorities to trust besides those of the system; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Vec<PathBuf>,
    /// Do not verify the server's certificate
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Longest time for the connection, and for each answer; all answers together have 30 times as long
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
}
