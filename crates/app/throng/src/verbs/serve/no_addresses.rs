//! Addresses of stores, caches and buses in a program that was built without them: errors.

use std::path::{Path, PathBuf};

use market::Backing;

use crate::args::market::BackingArgs;
use crate::exit::{Exit, Failure};

pub(super) fn file(given: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    match given {
        None => Ok(None),
        Some(_) => Err(none()),
    }
}

pub(super) fn backing(args: &BackingArgs) -> Result<Backing, Failure> {
    let given =
        [&args.store, &args.store_read, &args.ledger, &args.cache, &args.cache_read, &args.bus];
    match given.into_iter().flatten().all(|it| it == "memory") {
        true => Ok(Backing::default()),
        false => Err(none()),
    }
}

fn none() -> Failure {
    without(
        "this program was built without stores, caches and buses: it keeps everything in memory",
    )
}

/// The error of a program that lacks the feature of all systems.
pub(super) fn without(message: &str) -> Failure {
    Failure::hinted(Exit::Usage, message.to_owned(), "build it with its default features")
}
