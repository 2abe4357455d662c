//! A message as it is written → fields on the wire, as far as they are the same for every user.

use std::sync::Arc;

use grpc::{
    Field, Kind, Label, Message, Scalar, Schema, WireType, write_key, write_scalar, write_varint,
};
use plan::calls::{Payload, Piece, nested_key, write_value};
use plan::expr::{Expr, Template, TemplatePart, Value};

use super::super::Checker;
use super::super::program::Program;
use crate::document::node::{Entry, Node, Scalar as Written};
use crate::document::suggest;

/// Pieces so far; bytes that follow each other are one piece.
#[derive(Default)]
struct Pieces {
    parts: Vec<Piece>,
    bytes: Vec<u8>,
}

impl Pieces {
    fn push(&mut self, piece: Piece) {
        self.end_bytes();
        self.parts.push(piece);
    }

    fn end_bytes(&mut self) {
        if !self.bytes.is_empty() {
            let bytes: Arc<[u8]> = std::mem::take(&mut self.bytes).into();
            self.parts.push(Piece::Bytes(bytes));
        }
    }

    fn finish(mut self) -> Vec<Piece> {
        self.end_bytes();
        self.parts
    }

    /// The bytes, if nothing in them varies.
    fn constant(&self) -> Option<&[u8]> {
        self.parts.is_empty().then_some(&*self.bytes)
    }

    /// Appends a value with its key.
    fn push_content(&mut self, field: &Field, content: Content) {
        let mut key = Vec::new();
        write_key(field.number, field.kind.wire_type(), &mut key);
        match content {
            Content::Bytes(bytes) => {
                self.bytes.extend_from_slice(&key);
                self.bytes.extend_from_slice(&bytes);
            }
            Content::Template(value) => {
                self.push(Piece::Value { key, kind: field.kind, name: field.name.clone(), value });
            }
        }
    }

    /// Appends a message in a field.
    fn nest(&mut self, number: u32, inner: Pieces) {
        let key = nested_key(number);
        match inner.constant() {
            Some(bytes) => {
                self.bytes.extend_from_slice(&key);
                write_varint(bytes.len() as u64, &mut self.bytes);
                self.bytes.extend_from_slice(bytes);
            }
            None => self.push(Piece::Nested { key, parts: inner.finish() }),
        }
    }
}

/// A value that is known, or what makes it.
enum Content {
    Bytes(Vec<u8>),
    Template(Template),
}

/// A schema, and where the values of a message may come from.
#[derive(Clone, Copy)]
struct Within<'a> {
    schema: &'a Schema,
    program: &'a Program,
}

impl Checker<'_> {
    /// A whole message.
    pub(super) fn message_of(
        &mut self,
        schema: &Schema,
        message: u32,
        node: &Node,
        program: &Program,
    ) -> Option<Payload> {
        let within = Within { schema, program };
        let mut pieces = Pieces::default();
        self.message_fields(within, message, node, &mut pieces)?;
        Some(Payload { parts: pieces.finish() })
    }

    fn message_fields(
        &mut self,
        within: Within<'_>,
        number: u32,
        node: &Node,
        out: &mut Pieces,
    ) -> Option<()> {
        let message = within.schema.message(number);
        let Some(entries) = node.mapping() else {
            self.expected(node, &format!("a mapping of fields ({})", message.name));
            return None;
        };
        // Errors of all fields are reported, not only the first one's.
        let mut complete = Some(());
        let mut written: Vec<&Field> = Vec::new();
        for entry in entries {
            let Some(field) = self.field_named(message, entry) else {
                complete = None;
                continue;
            };
            if entry.value.is_null() {
                continue;
            }
            complete = complete.and(self.not_twice(message, field, &written, entry));
            written.push(field);
            complete = complete.and(self.field_of(within, field, &entry.value, out));
        }
        let is_lacking =
            |field: &&Field| field.label == Label::Required && !written.contains(field);
        if let Some(field) = message.fields.iter().find(is_lacking) {
            let text = format!("`{}` is missing in {}", field.name, message.name);
            self.diagnostics.error("missing-field", &node.place, text);
            complete = None;
        }
        complete
    }

    fn field_named<'m>(&mut self, message: &'m Message, entry: &Entry) -> Option<&'m Field> {
        let found = message.field(&entry.key);
        if found.is_none() {
            let text = format!("{} has no field `{}`", message.name, entry.key);
            let names = message.fields.iter().map(|field| field.name.as_str());
            let written = entry.key.as_str();
            let introduction = "its fields are";
            self.unknown("unknown-field", &entry.key_place, text, written, introduction, names);
        }
        found
    }

    /// Reports a field that is there already, under its other name or as another one of its `oneof`.
    fn not_twice(
        &mut self,
        message: &Message,
        field: &Field,
        written: &[&Field],
        entry: &Entry,
    ) -> Option<()> {
        let same = written.iter().any(|own| own.number == field.number);
        let chosen = written.iter().find(|own| own.oneof.is_some() && own.oneof == field.oneof);
        let text = match (same, chosen) {
            (true, _) => format!("`{}` is written twice", field.name),
            (false, Some(other)) => {
                let group = field.oneof.map(|group| &message.oneofs[group as usize]);
                let group = group.map_or("", String::as_str);
                format!(
                    "only one of `{}` and `{}` can be set: they belong to the oneof `{group}`",
                    other.name, field.name
                )
            }
            (false, None) => return Some(()),
        };
        self.diagnostics.error("two-fields", &entry.key_place, text);
        None
    }

    fn field_of(
        &mut self,
        within: Within<'_>,
        field: &Field,
        node: &Node,
        out: &mut Pieces,
    ) -> Option<()> {
        match field.label {
            Label::Single | Label::Required => self.single_field(within, field, node, out),
            Label::Repeated => self.repeated(within, field, node, out),
            Label::Map => self.map_field(within, field, node, out),
        }
    }

    fn single_field(
        &mut self,
        within: Within<'_>,
        field: &Field,
        node: &Node,
        out: &mut Pieces,
    ) -> Option<()> {
        if let Kind::Message(number) = field.kind {
            let mut inner = Pieces::default();
            self.message_fields(within, number, node, &mut inner)?;
            out.nest(field.number, inner);
            return Some(());
        }
        out.push_content(field, self.content(within, field, node)?);
        Some(())
    }

    /// Numbers that do not vary share a key, if their file says so; servers take both forms.
    fn repeated(
        &mut self,
        within: Within<'_>,
        field: &Field,
        node: &Node,
        out: &mut Pieces,
    ) -> Option<()> {
        let Some(items) = node.sequence() else {
            let what = within.schema.kind_name(field.kind);
            self.expected(node, &format!("a list (repeated {what} {})", field.name));
            return None;
        };
        let mut complete = Some(());
        if !field.is_packed {
            for item in items {
                complete = complete.and(self.single_field(within, field, item, out));
            }
            return complete;
        }
        let mut contents = Vec::new();
        for item in items {
            match self.content(within, field, item) {
                Some(content) => contents.push(content),
                None => complete = None,
            }
        }
        complete?;
        let packed: Option<Vec<u8>> = contents.iter().try_fold(Vec::new(), |mut all, content| {
            let Content::Bytes(bytes) = content else {
                return None;
            };
            all.extend_from_slice(bytes);
            Some(all)
        });
        match packed {
            Some(packed) if packed.is_empty() => {}
            Some(packed) => {
                write_key(field.number, WireType::Length, &mut out.bytes);
                write_varint(packed.len() as u64, &mut out.bytes);
                out.bytes.extend_from_slice(&packed);
            }
            None => {
                for content in contents {
                    out.push_content(field, content);
                }
            }
        }
        Some(())
    }

    /// Pairs of keys and values, each a message with two fields.
    fn map_field(
        &mut self,
        within: Within<'_>,
        field: &Field,
        node: &Node,
        out: &mut Pieces,
    ) -> Option<()> {
        let (Kind::Message(number), Some(entries)) = (field.kind, node.mapping()) else {
            self.expected(node, &format!("a mapping (map {})", field.name));
            return None;
        };
        let pair = within.schema.message(number);
        let (Some(key), Some(value)) = (pair.field("key"), pair.field("value")) else {
            return None;
        };
        let mut complete = Some(());
        for entry in entries {
            let mut inner = Pieces::default();
            write_key(key.number, key.kind.wire_type(), &mut inner.bytes);
            let name = Scalar::Text(&entry.key);
            if let Err(error) = write_scalar(within.schema, key.kind, name, &mut inner.bytes) {
                self.diagnostics.error("bad-value", &entry.key_place, error.to_string());
                complete = None;
                continue;
            }
            match self.single_field(within, value, &entry.value, &mut inner) {
                Some(()) => out.nest(field.number, inner),
                None => complete = None,
            }
        }
        complete
    }

    /// A single value.
    fn content(&mut self, within: Within<'_>, field: &Field, node: &Node) -> Option<Content> {
        let Within { schema, program } = within;
        let Some(scalar) = node.scalar().filter(|_| !node.is_null()) else {
            let what = schema.kind_name(field.kind);
            self.expected(node, &format!("a single value ({what} {})", field.name));
            return None;
        };
        let mut bytes = Vec::new();
        let written = if scalar.text.contains("${") {
            let template = self.typed_template(node, program)?;
            let Some(value) = constant_of(&template) else {
                return Some(Content::Template(template));
            };
            write_value(schema, field.kind, &value, &mut bytes)
        } else {
            let value = Value::from_plain(&scalar.text);
            write_scalar(schema, field.kind, plain(scalar, &value), &mut bytes)
        };
        if let Err(error) = written {
            let text = format!("`{}`: {error}", field.name);
            let hint = match field.kind {
                Kind::Text => Some(format!("write it in quotes: \"{}\"", scalar.text)),
                Kind::Enumeration(number) => {
                    let values = schema.enumeration(number).values.iter();
                    let names = values.map(|(name, _)| name.as_str());
                    suggest::hint(&scalar.text, "its values are", names)
                }
                _ => None,
            };
            self.diagnostics.error("bad-value", &node.place, text).hint_some(hint);
            return None;
        }
        Some(Content::Bytes(bytes))
    }
}

/// A value as it is written: quotes make it text.
fn plain<'s>(scalar: &'s Written, value: &'s Value) -> Scalar<'s> {
    match value {
        _ if scalar.quoted => Scalar::Text(&scalar.text),
        Value::Bool(truth) => Scalar::Bool(*truth),
        Value::Int(number) => Scalar::Int(*number),
        Value::Float(number) => Scalar::Float(*number),
        Value::Number(text) => Scalar::Number(text),
        Value::Text(_) | Value::Bytes(_) | Value::Nothing => Scalar::Text(&scalar.text),
    }
}

/// The value of a template in which nothing varies.
fn constant_of(template: &Template) -> Option<Value> {
    match template.parts.as_slice() {
        [TemplatePart::Expr(Expr::Const(value), _)] => Some(value.clone()),
        _ => template.as_static().map(Value::text),
    }
}
