//! The scenario's text as a tree that remembers where everything stands.

use std::ops::Range;

/// Where something stands: bytes of the scenario's text, or of an override's `key=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub(crate) span: Range<usize>,
    /// The override's number; `None`: the scenario's own text.
    pub(crate) set: Option<usize>,
}

impl Place {
    /// A place in the scenario's own text.
    pub fn at(span: Range<usize>) -> Place {
        Place { span, set: None }
    }
}

/// A value with its place.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) kind: NodeKind,
}

#[derive(Debug, Clone)]
pub(crate) enum NodeKind {
    Scalar(Scalar),
    Sequence(Vec<Node>),
    Mapping(Vec<Entry>),
}

/// One pair of a mapping.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_place: Place,
    pub(crate) value: Node,
}

/// A word, number or text.
#[derive(Debug, Clone)]
pub(crate) struct Scalar {
    pub(crate) text: String,
    /// True where quotes or a block style make it text, whatever it looks like.
    pub(crate) quoted: bool,
    /// Where its first byte stands, if the source shows it byte by byte.
    pub(crate) verbatim: Option<usize>,
}

impl Node {
    pub(crate) fn scalar(&self) -> Option<&Scalar> {
        match &self.kind {
            NodeKind::Scalar(scalar) => Some(scalar),
            NodeKind::Sequence(_) | NodeKind::Mapping(_) => None,
        }
    }

    /// Its text, if it is a scalar.
    pub(crate) fn text(&self) -> Option<&str> {
        self.scalar().map(|s| s.text.as_str())
    }

    pub(crate) fn sequence(&self) -> Option<&[Node]> {
        match &self.kind {
            NodeKind::Sequence(items) => Some(items),
            NodeKind::Scalar(_) | NodeKind::Mapping(_) => None,
        }
    }

    pub(crate) fn mapping(&self) -> Option<&[Entry]> {
        match &self.kind {
            NodeKind::Mapping(entries) => Some(entries),
            NodeKind::Scalar(_) | NodeKind::Sequence(_) => None,
        }
    }

    /// The value of a key, if it is a mapping that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.mapping()?
            .iter()
            .find(|e| e.key == key)
            .map(|e| &e.value)
    }

    /// Nothing was written: `key:`, `~` or `null`.
    pub(crate) fn is_null(&self) -> bool {
        self.scalar()
            .is_some_and(|s| !s.quoted && matches!(&*s.text, "" | "~" | "null"))
    }

    /// What kind of thing it is, for messages.
    pub(crate) fn described(&self) -> &'static str {
        match &self.kind {
            NodeKind::Scalar(_) if self.is_null() => "nothing",
            NodeKind::Scalar(_) => "a single value",
            NodeKind::Sequence(_) => "a list",
            NodeKind::Mapping(_) => "a mapping",
        }
    }

    /// The place of some bytes of its text; the whole scalar where the source does not show them.
    pub(crate) fn part(&self, range: &Range<usize>) -> Place {
        match self.scalar().and_then(|s| s.verbatim) {
            Some(first) => Place {
                span: first + range.start..first + range.end,
                set: self.place.set,
            },
            None => self.place.clone(),
        }
    }
}
