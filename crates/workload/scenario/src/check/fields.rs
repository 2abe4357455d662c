//! Mappings with known keys.

use crate::keys::{DOCUMENT, Default, Key, Kind, Table, other_tools};

use super::{Checker, translation};
use crate::document::node::{Entry, Node, NodeKind, Place, Scalar};
use crate::document::suggest;

/// A mapping's entries, known to be keys of its table.
pub(crate) struct Fields<'n> {
    table: &'static Table,
    entries: Vec<Field<'n>>,
    place: Place,
}

/// An entry, and the key that it has or was meant to have.
struct Field<'n> {
    name: &'static str,
    entry: &'n Entry,
}

impl<'n> Fields<'n> {
    /// The value of a key, if it is written.
    pub(crate) fn get(&self, name: &str) -> Option<&'n Node> {
        debug_assert!(self.table.key(name).is_some(), "{name} is no key of {}", self.table.name);
        self.entries.iter().find(|field| field.name == name).map(|field| &field.entry.value)
    }

    /// A mapping in which nothing is written.
    pub(crate) fn empty(table: &'static Table) -> Fields<'n> {
        Fields { table, entries: Vec::new(), place: Place::at(0..0) }
    }

    /// The place of the first key besides the given one.
    pub(crate) fn other_than(&self, name: &str) -> Option<&'n Place> {
        self.entries.iter().find(|field| field.name != name).map(|field| &field.entry.key_place)
    }

    /// The place of the mapping.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// The place of a key, if it is written.
    pub(crate) fn key_place(&self, name: &str) -> Option<&'n Place> {
        self.entries.iter().find(|field| field.name == name).map(|field| &field.entry.key_place)
    }

    /// The value of a key, or of the default that its table says.
    pub(crate) fn get_or_default(&self, name: &str) -> Option<DefaultedNode<'n>> {
        if let Some(node) = self.get(name) {
            return Some(DefaultedNode::Written(node));
        }
        match self.table.key(name)?.default {
            Default::Text(text) => Some(DefaultedNode::Default(Box::new(Node {
                place: Place::at(0..0),
                kind: NodeKind::Scalar(Scalar {
                    text: text.to_owned(),
                    quoted: false,
                    verbatim: None,
                }),
            }))),
            Default::Required
            | Default::RequiredWithout(_)
            | Default::Absent
            | Default::Said(_) => None,
        }
    }
}

/// A value that was written, or the default in its place.
pub(crate) enum DefaultedNode<'n> {
    Written(&'n Node),
    Default(Box<Node>),
}

impl std::ops::Deref for DefaultedNode<'_> {
    type Target = Node;

    fn deref(&self) -> &Node {
        match self {
            DefaultedNode::Written(node) => node,
            DefaultedNode::Default(node) => node,
        }
    }
}

/// Advice on what to write instead of a word that is no key.
pub(super) type Advice = fn(&str) -> Option<String>;

fn hint_for_key(table: &'static Table, written: &str, advice: Advice) -> Option<String> {
    other_tools::hint_for_key(table, written).or_else(|| advice(written))
}

/// The key of the table that a word misspells. What stands behind the word is then taken as that of the key, so that
/// nothing is blamed for the lack of it.
pub(super) fn misspelt(
    table: &'static Table,
    written: &str,
    advice: Advice,
) -> Option<&'static str> {
    if table.key(written).is_some() || hint_for_key(table, written, advice).is_some() {
        return None;
    }
    // `timeout_max` may be another setting than `timeout`.
    let is_extended = |name: &&str| {
        written.strip_prefix(*name).is_some_and(|added| added.starts_with(['_', '-']))
    };
    suggest::nearest(written, table.names()).filter(|name| !is_extended(name))
}

/// True unless a value has another shape than the key wants: then a word was no misspelling of it, or the value would be
/// blamed for the word.
pub(super) fn may_stand_behind(value: &Node, table: &'static Table, name: &str) -> bool {
    table.key(name).is_none_or(|key| has_shape(value, &key.kind))
}

fn has_shape(value: &Node, kind: &Kind) -> bool {
    match kind {
        Kind::Map(_) | Kind::Mapping(_) => value.is_null() || value.mapping().is_some(),
        Kind::List(_) | Kind::Steps => value.is_null() || value.sequence().is_some(),
        Kind::Any(kinds) => kinds.iter().any(|kind| has_shape(value, kind)),
        Kind::OneOrMore(kind) => value.sequence().is_some() || has_shape(value, kind),
        _ => true,
    }
}

/// The value of a key of a mapping, also where the key is misspelt.
pub(super) fn value_meant<'n>(
    node: &'n Node,
    table: &'static Table,
    name: &str,
) -> Option<&'n Node> {
    let mut entries = node.mapping()?.iter();
    let is_meant = |entry: &&Entry| misspelt(table, &entry.key, |_| None) == Some(name);
    node.get(name).or_else(|| entries.find(is_meant).map(|entry| &entry.value))
}

impl Checker<'_> {
    /// The entries of a mapping; reports unknown and missing keys. `called`: how
    /// messages call the mapping.
    pub(crate) fn fields<'n>(
        &mut self,
        node: &'n Node,
        table: &'static Table,
        called: &str,
    ) -> Option<Fields<'n>> {
        self.fields_advised(node, table, called, |_| None)
    }

    /// As [`Checker::fields`], with further advice on what to write instead of a word that is no key.
    pub(super) fn fields_advised<'n>(
        &mut self,
        node: &'n Node,
        table: &'static Table,
        called: &str,
        advice: Advice,
    ) -> Option<Fields<'n>> {
        let Some(entries) = node.mapping() else {
            self.expected(node, &format!("a mapping ({called})"));
            return None;
        };
        let known = self.known_entries(entries, table, called, advice);
        let fields = Fields { table, entries: known, place: node.place.clone() };
        // Who misspelt a key has not left it out.
        let is_document = std::ptr::eq(table, &DOCUMENT);
        let meant = |name: &str| {
            let elsewhere = is_document && translation::means_key(name, entries);
            elsewhere
                || entries.iter().any(|entry| {
                    let written = entry.key.as_str();
                    let meant = || match hint_for_key(table, written, advice) {
                        Some(_) => other_tools::key_meant(table, written),
                        None => suggest::nearest(written, table.names()),
                    };
                    table.key(written).is_none() && meant() == Some(name)
                })
        };
        self.missing_keys(&fields, called, meant);
        Some(fields)
    }

    fn known_entries<'n>(
        &mut self,
        entries: &'n [Entry],
        table: &'static Table,
        called: &str,
        advice: Advice,
    ) -> Vec<Field<'n>> {
        let mut known: Vec<Field<'n>> = Vec::new();
        for entry in entries {
            if let Some(key) = table.key(&entry.key) {
                known.push(Field { name: key.name, entry });
                continue;
            }
            if let Some(name) = misspelt(table, &entry.key, advice) {
                let is_written = entries.iter().any(|other| other.key == name);
                if !is_written
                    && may_stand_behind(&entry.value, table, name)
                    && known.iter().all(|field| field.name != name)
                {
                    known.push(Field { name, entry });
                }
            }
            // The name of a step or phase has been looked at before.
            if self.diagnostics.is_reported(&entry.key_place) {
                continue;
            }
            let message = format!("unknown key `{}` in {called}", entry.key);
            let hint = translation::line_meant(table, entry, entries)
                .or_else(|| translation::key_meant(table, entry))
                .or_else(|| hint_for_key(table, &entry.key, advice))
                .or_else(|| suggest::hint(&entry.key, "the keys here are", table.names()));
            self.diagnostics.error("unknown-key", &entry.key_place, message).hint_some(hint);
        }
        known
    }

    fn missing_keys(&mut self, fields: &Fields<'_>, called: &str, meant: impl Fn(&str) -> bool) {
        let is_written = |name| fields.get(name).is_some_and(|node| !node.is_null());
        let required = |key: &&'static Key| match key.default {
            Default::Required => true,
            Default::RequiredWithout(other) => !is_written(other),
            Default::Absent | Default::Text(_) | Default::Said(_) => false,
        };
        for key in fields.table.keys().filter(required) {
            if fields.get(key.name).is_some() || meant(key.name) {
                continue;
            }
            let message = format!("`{}` is missing in {called}", key.name);
            let hint = format!("write it like `{}: {}`", key.name, key.kind.example());
            self.diagnostics.error("missing-key", &fields.place, message).hint(hint);
        }
    }
}
