//! `throng worker`: runs part of the load for the controller that started it.

use std::io::BufRead;

use workers::WorkError;

use crate::args::WorkerArgs;
use crate::exit::{Exit, Failure};

/// Longest token, in bytes.
const TOKEN_BYTES_MAX: u64 = 256;

pub(crate) fn worker(args: &WorkerArgs) -> Result<Exit, Failure> {
    let mut token = String::new();
    let read = std::io::Read::take(std::io::stdin().lock(), TOKEN_BYTES_MAX).read_line(&mut token);
    read.map_err(|error| Failure::new(Exit::NoInput, error))?;
    match workers::serve(args.connect, token.trim_end(), env!("CARGO_PKG_VERSION")) {
        Ok(()) => Ok(Exit::Passed),
        // The controller received the error and prints it.
        Err(WorkError::Unable(_)) => Ok(Exit::System),
        Err(error) => Err(Failure::new(Exit::Unavailable, error)),
    }
}
