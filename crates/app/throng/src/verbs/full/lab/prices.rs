//! The price list of a lab.

use std::path::Path;

use lab::LabFile;
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
        if !hourly.per_hour.contains_key(&price.name) {
            let message = format!(
                "{}:{}: the price list has no hourly price `{}`",
                path.display(),
                price.line,
                price.name
            );
            let known = hourly.per_hour.keys().map(String::as_str);
            let hint = scenario::document::suggest::hint(&price.name, "the prices are", known);
            let hint = hint.unwrap_or_else(|| "add it to the list".to_owned());
            return Err(Failure::hinted(Exit::Data, message, &hint));
        }
    }
    Ok(())
}
