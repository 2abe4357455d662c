//! Addresses of stores, caches and buses.

use std::path::{Path, PathBuf};

use market::{Backing, BusAddress};
use server::database::{ServerAddress, StoreAddress};

use crate::args::market::BackingArgs;
use crate::exit::{Exit, Failure};

/// The file of a store; an error in a program without stores.
pub(crate) fn file(given: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    Ok(given.map(Path::to_owned))
}

/// Store and bus behind a market.
pub(crate) fn backing(args: &BackingArgs) -> Result<Backing, Failure> {
    let mut backing = Backing::default();
    backing.store = args.store.as_deref().map(store).transpose()?.flatten();
    backing.store_read = args.store_read.as_deref().map(store).transpose()?.flatten();
    backing.ledger = args.ledger.as_deref().map(store).transpose()?.flatten();
    backing.cache = args.cache.as_deref().map(redis).transpose()?;
    backing.cache_read = args.cache_read.as_deref().map(redis).transpose()?;
    backing.bus = args.bus.as_deref().map(bus).transpose()?;
    Ok(backing)
}

/// A database server; `memory` is none.
fn store(text: &str) -> Result<Option<ServerAddress>, Failure> {
    let text = given(text)?;
    if text == "memory" {
        return Ok(None);
    }
    match StoreAddress::parse(&text).map_err(|error| Failure::new(Exit::Usage, error))? {
        StoreAddress::Server(address) => Ok(Some(address)),
        StoreAddress::File(path) => Err(Failure::hinted(
            Exit::Usage,
            format!("{} is not the address of a database server", path.display()),
            "--store expects mysql://…, postgres://… or memory",
        )),
    }
}

fn redis(text: &str) -> Result<ServerAddress, Failure> {
    ServerAddress::cache(&given(text)?).map_err(|error| Failure::new(Exit::Usage, error))
}

fn bus(text: &str) -> Result<BusAddress, Failure> {
    BusAddress::parse(&given(text)?).map_err(|error| Failure::new(Exit::Usage, error))
}

/// An address, or with `env:` what a variable of the environment says: command lines can be read by all
/// users of a machine.
pub(super) fn given(text: &str) -> Result<String, Failure> {
    let Some(name) = text.strip_prefix("env:") else {
        return Ok(text.to_owned());
    };
    let wrong = |why: &dyn std::fmt::Display| {
        Failure::hinted(
            Exit::Usage,
            format!("{text}: {why}"),
            "set the variable to the address of the server",
        )
    };
    let address = std::env::var(name).map_err(|error| wrong(&error))?;
    match address.is_empty() {
        true => Err(wrong(&"environment variable is empty")),
        false => Ok(address),
    }
}
