//! What was typed, as values.

use std::time::Duration;

/// `key=value`.
pub(crate) fn parse_set(text: &str) -> Result<(String, String), String> {
    let (key, value) = text
        .split_once('=')
        .ok_or_else(|| "expected KEY=VALUE, such as hold=5m".to_owned())?;
    if key.is_empty() {
        return Err("the key in front of = is missing".to_owned());
    }
    Ok((key.to_owned(), value.to_owned()))
}

/// A duration as scenarios write it.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    scenario::parse_duration(text).map(Duration::from_nanos)
}

/// A size as scenarios write it, in bytes.
pub(crate) fn parse_size(text: &str) -> Result<usize, String> {
    scenario::parse_size(text).map(|bytes| bytes as usize)
}

/// A percentage as scenarios write it, as a share of 1.
pub(crate) fn parse_share(text: &str) -> Result<f64, String> {
    scenario::parse_share(text)
}

/// The confidence of intervals.
pub(crate) fn parse_confidence(text: &str) -> Result<f64, String> {
    let share = scenario::parse_share(text)?;
    if scenario::experiment::CONFIDENCE.contains(&share) {
        Ok(share)
    } else {
        Err("write 50% to 99.99%".to_owned())
    }
}
