//! `throng man DIR`: the manual pages that packages contain.

use std::path::Path;

use clap::CommandFactory;

use crate::args::Args;
use crate::exit::{Exit, Failure};

/// Writes `throng.1` and `throng-VERB.1` of each verb that `throng help` lists.
pub(crate) fn man(directory: &Path) -> Result<Exit, Failure> {
    let created = std::fs::create_dir_all(directory);
    created
        .and_then(|()| clap_mangen::generate_to(Args::command(), directory))
        .map_err(|error| Failure::new(Exit::Io, error))?;
    Ok(Exit::Passed)
}
