//! Arguments of `throng record`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::import::Statics;
use crate::settings::parse_address;

/// The meaning of the exit codes.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    recorded and written
  64   invalid command line
  65   a scenario cannot be made of the recording, or a file of certificates holds something else
  66   a file cannot be read
  69   the address cannot be listened on
  73   a file cannot be written";

#[derive(Debug, ClapArgs)]
pub(crate) struct RecordArgs {
    /// Address to listen on, which the browser has as its proxy; a port alone means loopback, port 0 any free port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8888", value_parser = parse_address)]
    pub(crate) listen: SocketAddr,
    /// Listen on an address other than loopback: whoever reaches it sends requests from here, and is recorded
    #[arg(long)]
    pub(crate) allow_remote: bool,
    /// Write the scenario to this file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write the recording itself to this file as HTTP Archive, with all its secrets
    #[arg(long, value_name = "FILE")]
    pub(crate) har: Option<PathBuf>,
    /// Directory of the recorder's certificate authority, made if it is missing or has expired
    /// [default: a new authority, kept nowhere]
    #[arg(long, value_name = "DIR")]
    pub(crate) ca: Option<PathBuf>,
    /// A PEM file with certificate authorities of servers to trust besides those of the system; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) trust: Vec<PathBuf>,
    /// What to do with images, styles, scripts and fonts [default: group]
    #[arg(long = "static", value_name = "HOW")]
    pub(crate) statics: Option<Statics>,
    /// Keep requests to hosts other than the first one
    #[arg(long)]
    pub(crate) third_parties: bool,
    /// Also stop when standard input closes
    #[arg(long)]
    pub(crate) until_stdin_closes: bool,
}
