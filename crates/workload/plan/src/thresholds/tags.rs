//! Measures by their tags, as thresholds and figures write them: `area=checkout, group=pay`.

use std::collections::BTreeSet;
use std::ops::Range;

use super::error::FigureError;
use super::parse::{MeasureTags, UNKNOWN_TAG};
use crate::measures::{all_tags, has_tag};

/// The text without quotes around it.
pub(super) fn unquoted(text: &str) -> &str {
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inner.unwrap_or(text)
}

/// The places of those that are wanted; `None`: there are none.
pub(super) fn places(
    all: &[MeasureTags<'_>],
    wanted: impl Fn(&MeasureTags<'_>) -> bool,
) -> Option<Vec<usize>> {
    let found = all.iter().enumerate().filter(|(_, tagged)| wanted(tagged));
    let found: Vec<usize> = found.map(|(place, _)| place).collect();
    (!found.is_empty()).then_some(found)
}

/// The places of the requests that have all these tags; `None`: there are none, or no tags are written.
pub(super) fn find(all: &[MeasureTags<'_>], written: &str) -> Option<Vec<usize>> {
    let pairs = pairs(written)?;
    places(all, |tagged| tagged.is_request && has_all(tagged, &pairs))
}

/// The measures among these that have all of the tags; `None`: none has.
pub(super) fn with_all(
    all: &[MeasureTags<'_>],
    mut places: Vec<usize>,
    written: &str,
) -> Option<Vec<usize>> {
    let pairs = pairs(written)?;
    places.retain(|&place| all.get(place).is_some_and(|tagged| has_all(tagged, &pairs)));
    (!places.is_empty()).then_some(places)
}

/// Whether tags are written.
pub(super) fn are(written: &str) -> bool {
    pairs(written).is_some()
}

fn has_all(tagged: &MeasureTags<'_>, pairs: &[(&str, &str)]) -> bool {
    pairs.iter().all(|(key, value)| has_tag(tagged.tags, key, value))
}

/// Keys and values; `None`: something else is written.
fn pairs(written: &str) -> Option<Vec<(&str, &str)>> {
    let pairs = written.split(',').map(|pair| {
        let (key, value) = pair.split_once('=')?;
        Some((key.trim(), unquoted(value.trim())))
    });
    pairs.collect()
}

/// The error about tags that no request has; `None` if no tags are written, or there are none at
/// all.
pub(super) fn unknown(
    all: &[MeasureTags<'_>],
    written: &str,
    span: &Range<usize>,
) -> Option<FigureError> {
    let pairs = pairs(written)?;
    let known = known(all);
    if known.is_empty() {
        return None;
    }
    let exists = |(key, value): (&str, &str)| {
        let has_it = |tagged: &MeasureTags<'_>| has_tag(tagged.tags, key, value);
        all.iter().any(has_it)
    };
    let Some((key, value)) = pairs.iter().copied().find(|&pair| !exists(pair)) else {
        let message = match pairs.len() {
            1 => format!("no request has the tag `{written}`"),
            _ => format!("no request has all of the tags `{written}`"),
        };
        let error = FigureError::new(span.clone(), message);
        return Some(FigureError { code: UNKNOWN_TAG, ..error });
    };
    let of_key: Vec<String> = known
        .iter()
        .filter(|(known, _)| *known == key)
        .map(|(_, value)| format!("{key}={value}"))
        .collect();
    let names = match of_key.is_empty() {
        false => of_key,
        true => known.iter().map(|(key, value)| format!("{key}={value}")).collect(),
    };
    let name = format!("{key}={value}");
    let message = format!("no step has the tag `{name}`");
    let names = names.iter().map(String::as_str);
    Some(FigureError::unknown(UNKNOWN_TAG, span.clone(), message, &name, "the tags are", names))
}

/// The tags of all, each once.
fn known<'t>(all: &[MeasureTags<'t>]) -> BTreeSet<(&'t str, &'t str)> {
    all.iter().flat_map(|tagged| all_tags(tagged.tags)).collect()
}
