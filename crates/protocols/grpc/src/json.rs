//! A message's bytes → JSON. Fields have the names of their file, 64-bit integers are numbers, and fields without
//! explicit presence are there with their default values.

use std::collections::BTreeMap;
use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::schema::{Field, Kind, Label, Message, Schema};
use crate::wire::{Wire, take_eight, take_field, take_four, take_varint, unzigzag};

/// Messages within messages, as Protocol Buffers' own libraries take them.
const DEPTH_MAX: u32 = 100;
/// Values of one message, those of messages in it included: each takes memory while it is read.
const VALUES_MAX: usize = 1 << 20;
/// Bytes of the JSON text.
const JSON_BYTES_MAX: usize = 64 << 20;

/// Why a message cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("the bytes are no message of this type")]
    Malformed,
    #[error("a text is not UTF-8")]
    Utf8,
    #[error("messages are nested more than 100 levels deep")]
    Depth,
    #[error("the message has more values, or a longer JSON text, than are read")]
    TooLarge,
}

/// The JSON text of a message.
///
/// # Errors
/// The bytes are no such message, or too much of it.
pub fn to_json(schema: &Schema, message: u32, bytes: &[u8]) -> Result<Vec<u8>, Unreadable> {
    let mut writer = Writer { schema, out: Vec::new(), values_left: VALUES_MAX };
    writer.message(message, bytes, DEPTH_MAX)?;
    Ok(writer.out)
}

struct Writer<'s> {
    schema: &'s Schema,
    out: Vec<u8>,
    values_left: usize,
}

/// A value, and the place of its field in its message.
type FieldValue<'a> = (usize, Wire<'a>);

impl Writer<'_> {
    fn message(&mut self, number: u32, bytes: &[u8], depth: u32) -> Result<(), Unreadable> {
        let depth = depth.checked_sub(1).ok_or(Unreadable::Depth)?;
        let message = self.schema.message(number);
        let found = self.fields(message, bytes)?;
        self.out.push(b'{');
        let mut is_first = true;
        let mut rest = &found[..];
        for (place, field) in message.fields.iter().enumerate() {
            let len = rest.partition_point(|(own, _)| *own <= place);
            let values;
            (values, rest) = rest.split_at(len);
            let is_shown = !values.is_empty() || !field.has_presence;
            if !is_shown || field.kind == Kind::Group {
                continue;
            }
            if !is_first {
                self.out.push(b',');
            }
            is_first = false;
            self.text(&field.name);
            self.out.push(b':');
            self.field(field, values, depth)?;
            if self.out.len() > JSON_BYTES_MAX {
                return Err(Unreadable::TooLarge);
            }
        }
        self.out.push(b'}');
        Ok(())
    }

    /// The values of known fields, those of one field in their order. Of a `oneof` the last one counts.
    fn fields<'a>(
        &mut self,
        message: &Message,
        mut bytes: &'a [u8],
    ) -> Result<Vec<FieldValue<'a>>, Unreadable> {
        let mut found: Vec<FieldValue<'a>> = Vec::new();
        let mut chosen: Vec<Option<usize>> = vec![None; message.oneofs.len()];
        while !bytes.is_empty() {
            let (number, value) = take_field(&mut bytes, DEPTH_MAX).ok_or(Unreadable::Malformed)?;
            let Some(place) = message.place_of(number) else {
                continue;
            };
            if !is_of(&message.fields[place], &value) {
                continue;
            }
            self.values_left = self.values_left.checked_sub(1).ok_or(Unreadable::TooLarge)?;
            if let Some(group) = message.fields[place].oneof {
                chosen[group as usize] = Some(place);
            }
            found.push((place, value));
        }
        found.retain(|(place, _)| {
            let group = message.fields[*place].oneof;
            group.is_none_or(|group| chosen[group as usize] == Some(*place))
        });
        found.sort_by_key(|(place, _)| *place);
        Ok(found)
    }

    fn field(
        &mut self,
        field: &Field,
        values: &[FieldValue<'_>],
        depth: u32,
    ) -> Result<(), Unreadable> {
        match field.label {
            Label::Repeated => self.list(field, values, depth),
            Label::Map => self.map(field, values, depth),
            Label::Single | Label::Required => self.single(field.kind, values, depth),
        }
    }

    /// The last of several values counts; several messages are merged, which is what their bytes one after the other
    /// stand for.
    fn single(
        &mut self,
        kind: Kind,
        values: &[FieldValue<'_>],
        depth: u32,
    ) -> Result<(), Unreadable> {
        match (kind, values) {
            (Kind::Message(number), [(_, Wire::Length(bytes))]) => {
                self.message(number, bytes, depth)
            }
            (Kind::Message(number), several) => {
                let bytes = several.iter().filter_map(|(_, value)| match value {
                    Wire::Length(bytes) => Some(*bytes),
                    _ => None,
                });
                let whole: Vec<u8> = bytes.flatten().copied().collect();
                self.message(number, &whole, depth)
            }
            (kind, values) => {
                let last = values.last().map(|(_, value)| *value);
                self.value(kind, last.unwrap_or_else(|| default_of(kind)), depth)
            }
        }
    }

    fn list(
        &mut self,
        field: &Field,
        values: &[FieldValue<'_>],
        depth: u32,
    ) -> Result<(), Unreadable> {
        self.out.push(b'[');
        let start = self.out.len();
        for (_, value) in values {
            match (field.kind, value) {
                (Kind::Text | Kind::Bytes | Kind::Message(_), value) => {
                    self.item(start, field.kind, *value, depth)?;
                }
                (kind, Wire::Length(packed)) => {
                    let mut rest = *packed;
                    while !rest.is_empty() {
                        let value = unpacked(kind, &mut rest).ok_or(Unreadable::Malformed)?;
                        self.item(start, kind, value, depth)?;
                    }
                }
                (kind, value) => self.item(start, kind, *value, depth)?,
            }
        }
        self.out.push(b']');
        Ok(())
    }

    fn item(
        &mut self,
        start: usize,
        kind: Kind,
        value: Wire<'_>,
        depth: u32,
    ) -> Result<(), Unreadable> {
        if self.out.len() > start {
            self.out.push(b',');
        }
        if self.out.len() > JSON_BYTES_MAX {
            return Err(Unreadable::TooLarge);
        }
        self.value(kind, value, depth)
    }

    /// The last of several pairs with one key counts.
    fn map(
        &mut self,
        field: &Field,
        values: &[FieldValue<'_>],
        depth: u32,
    ) -> Result<(), Unreadable> {
        let Kind::Message(number) = field.kind else {
            return Err(Unreadable::Malformed);
        };
        let entry = self.schema.message(number);
        let (Some(key_at), Some(value_at)) = (entry.place_of(1), entry.place_of(2)) else {
            return Err(Unreadable::Malformed);
        };
        let mut pairs: BTreeMap<Vec<u8>, Vec<FieldValue<'_>>> = BTreeMap::new();
        for (_, value) in values {
            let Wire::Length(bytes) = value else {
                continue;
            };
            let parts = self.fields(entry, bytes)?;
            let (key, value): (Vec<_>, Vec<_>) =
                parts.into_iter().partition(|(place, _)| *place == key_at);
            let key_kind = entry.fields[key_at].kind;
            let outside = std::mem::take(&mut self.out);
            let written = self.single(key_kind, &key, depth);
            let key = std::mem::replace(&mut self.out, outside);
            written?;
            pairs.insert(key, value);
        }
        self.out.push(b'{');
        let start = self.out.len();
        for (key, value) in pairs {
            if self.out.len() > start {
                self.out.push(b',');
            }
            // Numbers and truths become names of JSON.
            let is_text = key.first() == Some(&b'"');
            let quote: &[u8] = if is_text { b"" } else { b"\"" };
            for part in [quote, &key, quote, b":"] {
                self.out.extend_from_slice(part);
            }
            self.single(entry.fields[value_at].kind, &value, depth)?;
            if self.out.len() > JSON_BYTES_MAX {
                return Err(Unreadable::TooLarge);
            }
        }
        self.out.push(b'}');
        Ok(())
    }

    fn value(&mut self, kind: Kind, value: Wire<'_>, depth: u32) -> Result<(), Unreadable> {
        let out = &mut self.out;
        // Writing to memory cannot fail.
        let _ = match (kind, value) {
            (Kind::Message(number), Wire::Length(bytes)) => {
                return self.message(number, bytes, depth);
            }
            (Kind::Text, Wire::Length(bytes)) => {
                let text = std::str::from_utf8(bytes).map_err(|_| Unreadable::Utf8)?;
                self.text(text);
                return Ok(());
            }
            (Kind::Bytes, Wire::Length(bytes)) => write!(out, "\"{}\"", STANDARD.encode(bytes)),
            (Kind::Bool, Wire::Varint(number)) => write!(out, "{}", number != 0),
            (Kind::Int32, Wire::Varint(number)) => write!(out, "{}", number as i32),
            (Kind::Int64, Wire::Varint(number)) => write!(out, "{}", number as i64),
            (Kind::Uint32, Wire::Varint(number)) => write!(out, "{}", number as u32),
            (Kind::Uint64, Wire::Varint(number)) => write!(out, "{number}"),
            (Kind::Sint32, Wire::Varint(number)) => {
                write!(out, "{}", unzigzag(number & 0xffff_ffff) as i32)
            }
            (Kind::Sint64, Wire::Varint(number)) => write!(out, "{}", unzigzag(number)),
            (Kind::Fixed32, Wire::Four(number)) => write!(out, "{number}"),
            (Kind::Sfixed32, Wire::Four(number)) => write!(out, "{}", number as i32),
            (Kind::Fixed64, Wire::Eight(number)) => write!(out, "{number}"),
            (Kind::Sfixed64, Wire::Eight(number)) => write!(out, "{}", number as i64),
            (Kind::Float, Wire::Four(bits)) => {
                let number = f32::from_bits(bits);
                return self.real(f64::from(number), || number.to_string());
            }
            (Kind::Double, Wire::Eight(bits)) => {
                let number = f64::from_bits(bits);
                return self.real(number, || number.to_string());
            }
            (Kind::Enumeration(of), Wire::Varint(number)) => {
                let schema = self.schema;
                let number = number as i32;
                match schema.enumeration(of).name_of(number) {
                    Some(name) => write!(out, "\"{name}\""),
                    None => write!(out, "{number}"),
                }
            }
            _ => return Err(Unreadable::Malformed),
        };
        Ok(())
    }

    /// JSON has no numbers that are none.
    fn real(&mut self, number: f64, text: impl FnOnce() -> String) -> Result<(), Unreadable> {
        let text = match number {
            number if number.is_nan() => "\"NaN\"".to_owned(),
            f64::INFINITY => "\"Infinity\"".to_owned(),
            f64::NEG_INFINITY => "\"-Infinity\"".to_owned(),
            _ => text(),
        };
        self.out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    fn text(&mut self, text: &str) {
        // Texts can always be written, and memory takes them.
        let _ = serde_json::to_writer(&mut self.out, text);
    }
}

/// Whether a value is written as its field is; if not, the field is unknown.
fn is_of(field: &Field, value: &Wire<'_>) -> bool {
    let is_numeric = !matches!(field.kind, Kind::Text | Kind::Bytes | Kind::Message(_));
    match value {
        Wire::Length(_) if is_numeric => field.label == Label::Repeated,
        Wire::Length(_) => true,
        Wire::Varint(_) => matches!(
            field.kind,
            Kind::Int32
                | Kind::Int64
                | Kind::Uint32
                | Kind::Uint64
                | Kind::Sint32
                | Kind::Sint64
                | Kind::Bool
                | Kind::Enumeration(_)
        ),
        Wire::Eight(_) => matches!(field.kind, Kind::Double | Kind::Fixed64 | Kind::Sfixed64),
        Wire::Four(_) => matches!(field.kind, Kind::Float | Kind::Fixed32 | Kind::Sfixed32),
        Wire::Group => false,
    }
}

/// The next of numbers that share one key.
fn unpacked<'a>(kind: Kind, bytes: &mut &'a [u8]) -> Option<Wire<'a>> {
    match kind {
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => take_eight(bytes).map(Wire::Eight),
        Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => take_four(bytes).map(Wire::Four),
        _ => take_varint(bytes).map(Wire::Varint),
    }
}

/// The default value of an absent field.
fn default_of(kind: Kind) -> Wire<'static> {
    match kind {
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => Wire::Eight(0),
        Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => Wire::Four(0),
        Kind::Text | Kind::Bytes | Kind::Message(_) => Wire::Length(&[]),
        _ => Wire::Varint(0),
    }
}

#[cfg(test)]
mod tests;
