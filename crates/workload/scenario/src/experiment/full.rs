//! An experiment in full: its key `full` says what is then otherwise, as `--set` says it of a
//! scenario. The file stays one, and what is run every day is its short form.

use crate::document::diagnostic::Collector;
use crate::document::node::{Entry, Node, NodeKind};
use crate::document::suggest;

/// Puts the values of `full` where their names say: keys on the way, joined by dots, of which the
/// last may be new.
pub(super) fn replace(root: &mut Node, diagnostics: &mut Collector<'_>) {
    let Some(full) = root.get("full").cloned().filter(|node| !node.is_null()) else {
        diagnostics
            .error("no-full", &root.place, "the experiment has no key `full`")
            .hint("it contains what `--full` changes, like `full: { repetitions: 10 }`");
        return;
    };
    // What is no mapping is reported by the check of the whole.
    for entry in full.mapping().unwrap_or_default() {
        if let Err((message, hint)) = put(root, entry) {
            diagnostics.error("unknown-place", &entry.key_place, message).hint_some(hint);
        }
    }
}

fn put(root: &mut Node, wanted: &Entry) -> Result<(), (String, Option<String>)> {
    let mut node = root;
    let (way, last) = match wanted.key.rsplit_once('.') {
        Some((way, last)) => (way.split('.').collect(), last),
        None => (Vec::new(), wanted.key.as_str()),
    };
    for key in way {
        let entries = mapping(node, key)?;
        let found = entries.iter().position(|entry| entry.key == key);
        let Some(found) = found else {
            let known = entries.iter().map(|entry| entry.key.as_str());
            let hint = suggest::hint(key, "there are", known);
            return Err((format!("there is no `{key}` there"), hint));
        };
        node = &mut entries[found].value;
    }
    let entries = mapping(node, last)?;
    match entries.iter_mut().find(|entry| entry.key == last) {
        Some(entry) => entry.value = wanted.value.clone(),
        None => entries.push(Entry {
            key: last.to_owned(),
            key_place: wanted.key_place.clone(),
            value: wanted.value.clone(),
        }),
    }
    Ok(())
}

fn mapping<'n>(
    node: &'n mut Node,
    key: &str,
) -> Result<&'n mut Vec<Entry>, (String, Option<String>)> {
    match &mut node.kind {
        NodeKind::Mapping(entries) => Ok(entries),
        _ => {
            let message = format!("`{key}` cannot be set there: it is not a mapping");
            Err((message, None))
        }
    }
}
