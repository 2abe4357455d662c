//! The price list of a lab.

use std::collections::BTreeMap;
use std::path::Path;

use lab::LabFile;
use lab::file::Price;
use scenario::document::Source;
use scenario::document::prices::{Hourly, hourly};

use crate::exit::{Exit, Failure};
use crate::source;

/// The hourly prices of the list that a lab's file names, relative to it; `None`: it names none.
///
/// # Errors
/// The list cannot be read or used; its diagnostics are printed.
pub(super) fn prices_of(lab: &Path, name: Option<&str>) -> Result<Option<Hourly>, Failure> {
    let Some(name) = name else { return Ok(None) };
    let path = lab.parent().unwrap_or(Path::new(".")).join(name);
    let text = source::read(&path.display().to_string())?;
    let (hourly, diagnostics) = hourly(Source { name: &text.name, text: &text.text });
    source::print_diagnostics(&text, &diagnostics);
    match hourly {
        Some(hourly) => Ok(Some(hourly)),
        None => Err(Failure::hinted(
            Exit::Data,
            format!("{} cannot be used", path.display()),
            "docs/meters.md says how a price list is written",
        )),
    }
}

/// Refuses a lab whose hosts have prices that its list does not have.
///
/// # Errors
/// The list cannot be used, or lacks a price.
pub(super) fn check(path: &Path, lab: &LabFile) -> Result<(), Failure> {
    let Some(hourly) = prices_of(path, lab.prices.as_deref())? else {
        return Ok(());
    };
    for price in lab.hosts.iter().filter_map(|host| host.price.as_ref()) {
        check_price(path, price, "hourly price", &hourly.per_hour)?;
    }
    for price in [&lab.traffic.regions, &lab.traffic.users].into_iter().flatten() {
        check_price(path, price, "price for GB", &hourly.per_gb)?;
    }
    Ok(())
}

fn check_price(
    path: &Path,
    price: &Price,
    called: &str,
    known: &BTreeMap<String, String>,
) -> Result<(), Failure> {
    if known.contains_key(&price.name) {
        return Ok(());
    }
    let message = format!(
        "{}:{}: the price list has no {called} `{}`",
        path.display(),
        price.line,
        price.name
    );
    let names = known.keys().map(String::as_str);
    let hint = scenario::document::suggest::hint(&price.name, "the prices are", names);
    let hint = hint.unwrap_or_else(|| "add it to the list".to_owned());
    Err(Failure::hinted(Exit::Data, message, &hint))
}
