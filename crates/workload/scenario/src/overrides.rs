//! `--set key=value`: a parameter's value, or a place of the tree.
//!
//! A place is named by the keys on the way to it and by the numbers of list items, from 0:
//! `seed`, `options.timeout`, `arrivals.1.hold`. All on the way must be there, but for `options`
//! and its mappings; the last key may be new, and whether it is a known one is checked with all
//! others.

use crate::document::diagnostic::Collector;
use crate::document::node::{Entry, Node, NodeKind, Place};
use crate::document::{suggest, yaml};
use crate::keys::DOCUMENT;

/// Changes the tree as the overrides say, in their order.
pub(crate) fn apply(
    root: &mut Node,
    overrides: &[(String, String)],
    diagnostics: &mut Collector<'_>,
) {
    for (index, (key, value)) in overrides.iter().enumerate() {
        let mut node = yaml::parse_value(value);
        moved(&mut node, key.len() + 1, index);
        let key_place = Place { span: 0..key.len(), set: Some(index) };
        let path = path(root, key);
        if let Err(Unknown { message, hint }) = put(root, &path, &key_place, node) {
            diagnostics.error("unknown-set", &key_place, message).hint_some(hint);
        }
    }
}

struct Unknown {
    message: String,
    hint: Option<String>,
}

/// The keys on the way: a parameter's name is short for its place.
fn path<'k>(root: &Node, key: &'k str) -> Vec<&'k str> {
    let is_param = root.get("params").is_some_and(|params| params.get(key).is_some());
    if is_param { vec!["params", key] } else { key.split('.').collect() }
}

fn put(root: &mut Node, path: &[&str], key_place: &Place, value: Node) -> Result<(), Unknown> {
    let Some((&last, way)) = path.split_last() else {
        return Ok(());
    };
    known_beginning(root, path)?;
    if path[0] == "include" {
        return Err(Unknown {
            message: "`include` cannot be overridden: files are read before".to_owned(),
            hint: Some("override what they bring, such as a parameter".to_owned()),
        });
    }
    let mut node = root;
    for (depth, key) in way.iter().enumerate() {
        let may_make = path[0] == "options";
        node = step(node, key, &path[..depth], may_make, key_place)?;
    }
    let parent = &path[..path.len() - 1];
    let free = !matches!(parent, ["params" | "sessions" | "messages"]);
    if let NodeKind::Mapping(entries) = &mut node.kind {
        if let Some(entry) = entries.iter_mut().find(|entry| entry.key == last) {
            entry.value = value;
            return Ok(());
        }
        if free {
            let key = last.to_owned();
            entries.push(Entry { key, key_place: key_place.clone(), value });
            return Ok(());
        }
    }
    *step(node, last, parent, false, key_place)? = value;
    Ok(())
}

/// The first key must be one of the scenario's, or the name of a parameter.
fn known_beginning(root: &Node, path: &[&str]) -> Result<(), Unknown> {
    let first = path[0];
    if DOCUMENT.key(first).is_some() && root.mapping().is_some() {
        return Ok(());
    }
    let params = root.get("params").and_then(Node::mapping).unwrap_or_default();
    let known = params
        .iter()
        .map(|entry| entry.key.as_str())
        .chain(DOCUMENT.names().map(|name| -> &str { name }));
    Err(Unknown {
        message: format!("there is no parameter and no key `{first}`"),
        hint: suggest::hint(first, "there are", known),
    })
}

/// The child of that key or number.
fn step<'n>(
    node: &'n mut Node,
    key: &str,
    way: &[&str],
    may_make: bool,
    key_place: &Place,
) -> Result<&'n mut Node, Unknown> {
    let at =
        if way.is_empty() { "the scenario".to_owned() } else { format!("`{}`", way.join(".")) };
    if may_make && node.is_null() {
        node.kind = NodeKind::Mapping(Vec::new());
    }
    match &mut node.kind {
        NodeKind::Mapping(entries) => {
            let found = entries.iter().position(|entry| entry.key == key);
            if let Some(found) = found {
                return Ok(&mut entries[found].value);
            }
            if may_make {
                let kind = NodeKind::Mapping(Vec::new());
                let value = Node { place: key_place.clone(), kind };
                entries.push(Entry { key: key.to_owned(), key_place: key_place.clone(), value });
                let last = entries.len() - 1;
                return Ok(&mut entries[last].value);
            }
            let known = entries.iter().map(|entry| entry.key.as_str());
            Err(Unknown {
                message: format!("there is no `{key}` in {at}"),
                hint: suggest::hint(key, "there are", known),
            })
        }
        NodeKind::Sequence(items) => {
            let count = items.len();
            let found = key.parse().ok().filter(|&index: &usize| index < count);
            found.map(|index| &mut items[index]).ok_or_else(|| Unknown {
                message: format!("there is no item `{key}` in {at}"),
                hint: Some(format!("its items are numbered from 0, and there are {count}")),
            })
        }
        NodeKind::Scalar(_) => Err(Unknown {
            message: format!("{at} is a single value and has no `{key}`"),
            hint: None,
        }),
    }
}

/// Puts a value's places into the text `key=value` of its override.
fn moved(node: &mut Node, by: usize, index: usize) {
    node.move_by(by);
    put_in(node, index);
}

fn put_in(node: &mut Node, index: usize) {
    node.place.set = Some(index);
    match &mut node.kind {
        NodeKind::Scalar(_) => {}
        NodeKind::Sequence(items) => items.iter_mut().for_each(|item| put_in(item, index)),
        NodeKind::Mapping(entries) => {
            for entry in entries {
                entry.key_place.set = Some(index);
                put_in(&mut entry.value, index);
            }
        }
    }
}
