//! Calls of gRPC: what their requests have besides a head, and what is expected of their replies.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use grpc::{Kind, Scalar, Schema, WireType, write_frame, write_scalar, write_varint};
use serde::Serialize;

use crate::expr::{Condition, Context, Template, Value};
use crate::ids::{EndpointId, MeasureId};
use crate::matching::{Match, Save};

/// A call: of an HTTP request, what makes it one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Call {
    /// The message that is sent with the call.
    pub message: Payload,
    /// It is compressed.
    pub compress: bool,
    /// The schema's number of the request's message.
    pub request: u32,
    /// The schema's number of the reply's message.
    pub reply: u32,
    /// Codes that are no error.
    pub statuses: Vec<u8>,
    /// Conditions on the reply.
    pub expect: Vec<Match>,
    /// How long the call may last from when its step begins; the server knows of it.
    pub deadline_ns: Option<u64>,
}

/// A call whose messages are sent and expected by later steps.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallOpen {
    pub endpoint: EndpointId,
    pub path: Template,
    pub headers: Vec<(String, Template)>,
    /// The only message of the client's; `None`: later steps send messages.
    pub message: Option<Payload>,
    /// Messages are compressed.
    pub compress: bool,
    /// The schema's number of the client's messages.
    pub request: u32,
    /// The schema's number of the server's messages.
    pub reply: u32,
    /// Setting up its connection, and sending its head.
    pub measure: MeasureId,
    pub timeout_ns: u64,
    /// How long the whole call may last from when its head is sent.
    pub deadline_ns: Option<u64>,
}

/// The end of such a call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallEnd {
    /// The call is given up; otherwise the client sends no more, and waits for the call's status.
    pub cancels: bool,
    /// Codes that are no error.
    pub statuses: Vec<u8>,
    /// Kept of the call's status and its metadata.
    pub save: Vec<Save>,
    pub check: Vec<Condition>,
    pub measure: MeasureId,
    pub timeout_ns: u64,
}

/// A message as bytes, as far as it is the same for every user.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Payload {
    pub parts: Vec<Piece>,
}

/// A part of a [`Payload`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Piece {
    /// Fields that do not vary.
    Bytes(Arc<[u8]>),
    /// A field with its key.
    Value {
        key: Vec<u8>,
        kind: Kind,
        /// The field's name, for errors.
        name: String,
        value: Template,
    },
    /// A message in a field, with the field's key.
    Nested { key: Vec<u8>, parts: Vec<Piece> },
}

impl Payload {
    /// True if every user sends the same.
    pub fn is_constant(&self) -> bool {
        let is_bytes = |piece: &Piece| matches!(piece, Piece::Bytes(_));
        self.parts.iter().all(is_bytes)
    }

    /// Appends the message in its frame, as it is for this user. The error says which field has no such value; `out`
    /// then holds a part of the message.
    pub fn frame<C: Context>(
        &self,
        schema: &Schema,
        compress: bool,
        context: &mut C,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        write_frame(compress, out, |out| write_pieces(&self.parts, schema, context, out))
    }
}

fn write_pieces<C: Context>(
    pieces: &[Piece],
    schema: &Schema,
    context: &mut C,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    for piece in pieces {
        match piece {
            Piece::Bytes(bytes) => out.extend_from_slice(bytes),
            Piece::Value { key, kind, name, value } => {
                out.extend_from_slice(key);
                let value = value.eval(context).map_err(|error| error.to_string())?;
                write_value(schema, *kind, &value, out)
                    .map_err(|error| format!("the field `{name}`: {error}"))?;
            }
            Piece::Nested { key, parts } => {
                out.extend_from_slice(key);
                write_nested(out, |out| write_pieces(parts, schema, context, out))?;
            }
        }
    }
    Ok(())
}

/// Appends a value of a variable as a field of this type has it.
///
/// # Errors
/// The field cannot have this value.
pub fn write_value(
    schema: &Schema,
    kind: Kind,
    value: &Value,
    out: &mut Vec<u8>,
) -> Result<(), grpc::ValueError> {
    let text;
    let scalar = match value {
        Value::Text(text) => Scalar::Text(text),
        _ if kind == Kind::Text => {
            text = value.to_text();
            Scalar::Text(&text)
        }
        Value::Nothing => Scalar::Text(""),
        Value::Bool(truth) => Scalar::Bool(*truth),
        Value::Int(number) => Scalar::Int(*number),
        Value::Float(number) => Scalar::Float(*number),
        Value::Number(text) => Scalar::Number(text),
        Value::Bytes(bytes) => {
            text = STANDARD.encode(bytes).into();
            Scalar::Text(&text)
        }
    };
    write_scalar(schema, kind, scalar, out)
}

/// Appends what `write` appends, with its length in front.
pub fn write_nested<E>(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    let start = out.len();
    write(out)?;
    let mut len = Vec::with_capacity(5);
    write_varint((out.len() - start) as u64, &mut len);
    drop(out.splice(start..start, len));
    Ok(())
}

/// The key of a message in a field.
pub fn nested_key(number: u32) -> Vec<u8> {
    let mut key = Vec::new();
    grpc::write_key(number, WireType::Length, &mut key);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a reply's 64 bits became as JSON, sent back.
    #[test]
    fn numbers_without_a_sign_come_back() {
        let schema = Schema::default();
        for number in [u64::MAX, 1 << 63, 12_345_678_901_234_567_891] {
            let value = Value::from_json(&number.to_string());
            let mut fixed = Vec::new();
            write_value(&schema, Kind::Fixed64, &value, &mut fixed).unwrap();
            assert_eq!(fixed, number.to_le_bytes());
            let mut varint = Vec::new();
            let mut expected = Vec::new();
            write_value(&schema, Kind::Uint64, &value, &mut varint).unwrap();
            write_varint(number, &mut expected);
            assert_eq!(varint, expected);
            assert!(write_value(&schema, Kind::Int64, &value, &mut varint).is_err());
            let mut text = Vec::new();
            write_value(&schema, Kind::Text, &value, &mut text).unwrap();
            assert!(text.ends_with(number.to_string().as_bytes()));
        }
    }

    #[test]
    fn bytes_go_into_a_field_of_bytes() {
        let mut out = Vec::new();
        let value = Value::Bytes([0xff, 0, 1].into());
        write_value(&Schema::default(), Kind::Bytes, &value, &mut out).unwrap();
        assert_eq!(out, [3, 0xff, 0, 1]);
    }
}
