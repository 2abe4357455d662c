//! Systems, and addresses of stores, caches and buses, in a program that was built without them: errors.

use std::path::{Path, PathBuf};

use market::Backing;

use crate::args::ads::AdsArgs;
use crate::args::balancer::BalancerArgs;
use crate::args::market::BackingArgs;
use crate::args::queue::QueueArgs;
use crate::exit::{Exit, Failure};
use crate::full::without;

pub(super) fn ads(_: &AdsArgs) -> Result<Exit, Failure> {
    Err(no_system())
}

pub(super) fn balancer(_: &BalancerArgs) -> Result<Exit, Failure> {
    Err(no_system())
}

pub(super) fn queue(_: &QueueArgs) -> Result<Exit, Failure> {
    Err(no_system())
}

fn no_system() -> Failure {
    without("the ads, the queue and the balancer")
}

pub(super) fn file(given: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    match given {
        None => Ok(None),
        Some(_) => Err(no_store()),
    }
}

pub(super) fn backing(args: &BackingArgs) -> Result<Backing, Failure> {
    let given =
        [&args.store, &args.store_read, &args.ledger, &args.cache, &args.cache_read, &args.bus];
    match given.into_iter().flatten().all(|it| it == "memory") {
        true => Ok(Backing::default()),
        false => Err(no_store()),
    }
}

fn no_store() -> Failure {
    without("stores, caches and buses: it keeps everything in memory")
}
