//! The scenario's text as a tree that remembers where everything stands.

use std::ops::Range;

/// A place: bytes of the scenario's text, or of an override's `key=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Bytes.
    pub span: Range<usize>,
    /// The override's number; `None`: the scenario's own text.
    pub set: Option<usize>,
}

impl Place {
    /// A place in the scenario's own text.
    pub fn at(span: Range<usize>) -> Place {
        Place { span, set: None }
    }
}

/// A value with its place.
#[derive(Debug, Clone)]
pub struct Node {
    /// The value's place.
    pub place: Place,
    /// The value.
    pub kind: NodeKind,
}

/// Kinds of values.
#[derive(Debug, Clone)]
pub enum NodeKind {
    /// A single value.
    Scalar(Scalar),
    /// A list.
    Sequence(Vec<Node>),
    /// Keys with values, in their order.
    Mapping(Vec<Entry>),
}

/// One pair of a mapping.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The key's place.
    pub key_place: Place,
    /// The value behind the key.
    pub value: Node,
}

/// A word, number or text.
#[derive(Debug, Clone)]
pub struct Scalar {
    /// The text without quotes and escapes.
    pub text: String,
    /// True where quotes or a block style make it text, whatever it looks like.
    pub quoted: bool,
    /// The place of the first byte, if the source shows the text byte by byte.
    pub verbatim: Option<usize>,
}

impl Node {
    /// The single value, if it is one.
    pub fn scalar(&self) -> Option<&Scalar> {
        match &self.kind {
            NodeKind::Scalar(scalar) => Some(scalar),
            NodeKind::Sequence(_) | NodeKind::Mapping(_) => None,
        }
    }

    /// The text, if the value is a scalar.
    pub fn text(&self) -> Option<&str> {
        self.scalar().map(|s| s.text.as_str())
    }

    /// The items, if the value is a list.
    pub fn sequence(&self) -> Option<&[Node]> {
        match &self.kind {
            NodeKind::Sequence(items) => Some(items),
            NodeKind::Scalar(_) | NodeKind::Mapping(_) => None,
        }
    }

    /// The pairs, if the value is a mapping.
    pub fn mapping(&self) -> Option<&[Entry]> {
        match &self.kind {
            NodeKind::Mapping(entries) => Some(entries),
            NodeKind::Scalar(_) | NodeKind::Sequence(_) => None,
        }
    }

    /// The value of a key, if it is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.mapping()?.iter().find(|e| e.key == key).map(|e| &e.value)
    }

    /// Nothing was written: `key:`, `~` or `null`.
    pub fn is_null(&self) -> bool {
        self.scalar().is_some_and(|s| !s.quoted && matches!(&*s.text, "" | "~" | "null"))
    }

    /// The kind of value, for messages.
    pub fn described(&self) -> &'static str {
        match &self.kind {
            NodeKind::Scalar(_) if self.is_null() => "nothing",
            NodeKind::Scalar(_) => "a single value",
            NodeKind::Sequence(_) => "a list",
            NodeKind::Mapping(_) => "a mapping",
        }
    }

    /// Moves all its places, which are in a file, by this many bytes.
    pub(crate) fn move_by(&mut self, by: usize) {
        let move_place = |place: &mut Place| {
            place.span = place.span.start + by..place.span.end + by;
        };
        move_place(&mut self.place);
        match &mut self.kind {
            NodeKind::Scalar(scalar) => scalar.verbatim = scalar.verbatim.map(|at| at + by),
            NodeKind::Sequence(items) => items.iter_mut().for_each(|item| item.move_by(by)),
            NodeKind::Mapping(entries) => {
                for entry in entries {
                    move_place(&mut entry.key_place);
                    entry.value.move_by(by);
                }
            }
        }
    }

    /// The place of some bytes of its text; the whole scalar where the source does not show them.
    pub fn part(&self, range: &Range<usize>) -> Place {
        match self.scalar().and_then(|s| s.verbatim) {
            Some(first) => {
                Place { span: first + range.start..first + range.end, set: self.place.set }
            }
            None => self.place.clone(),
        }
    }
}
