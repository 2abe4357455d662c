//! JSON → a message's bytes, by the rules of the JSON mapping (protobuf.dev, "ProtoJSON Format").

use serde_json::Value;

use crate::scalar::{Scalar, ValueError, write_scalar};
use crate::schema::{Field, Kind, Label, Message, Schema};
use crate::wire::{WireType, write_key, write_varint};

/// Messages within messages, as Protocol Buffers' own libraries take them.
const DEPTH_MAX: u32 = 100;
/// Bytes of the JSON text, each value of which takes memory while it is read.
const JSON_BYTES_MAX: usize = 1 << 20;

/// Why a JSON text is no message of a type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unwritable {
    #[error("the text is not JSON, or is nested too deeply")]
    NotJson,
    #[error("the JSON text has more than {max} bytes", max = JSON_BYTES_MAX)]
    TooLarge,
    #[error("messages are nested more than {max} levels deep", max = DEPTH_MAX)]
    Depth,
    #[error("{message} has no field `{field}`")]
    UnknownField { message: String, field: String },
    #[error("`{field}` is missing in {message}")]
    Missing { message: String, field: String },
    #[error("only one field of the oneof `{0}` can be set")]
    TwoOfOne(String),
    #[error("`{field}` is not {wanted}")]
    Form { field: String, wanted: &'static str },
    #[error("`{field}`: {problem}")]
    Field { field: String, problem: ValueError },
}

/// Appends the message of this number that a JSON text stands for.
///
/// # Errors
/// The text is no such message. `out` then holds a part of it.
pub fn from_json(
    schema: &Schema,
    message: u32,
    json: &str,
    out: &mut Vec<u8>,
) -> Result<(), Unwritable> {
    if json.len() > JSON_BYTES_MAX {
        return Err(Unwritable::TooLarge);
    }
    let value = serde_json::from_str(json).map_err(|_| Unwritable::NotJson)?;
    let name = schema.message(message).name.as_str();
    write_message(schema, message, name, &value, DEPTH_MAX, out)
}

/// `called`: the field that has the message, or its type.
fn write_message(
    schema: &Schema,
    number: u32,
    called: &str,
    json: &Value,
    depth: u32,
    out: &mut Vec<u8>,
) -> Result<(), Unwritable> {
    let depth = depth.checked_sub(1).ok_or(Unwritable::Depth)?;
    let message = schema.message(number);
    let Value::Object(entries) = json else {
        return Err(Unwritable::Form { field: called.to_owned(), wanted: "an object of fields" });
    };
    let mut written: Vec<&Field> = Vec::new();
    for (name, value) in entries {
        let Some(field) = message.field(name) else {
            let message = message.name.clone();
            return Err(Unwritable::UnknownField { message, field: name.clone() });
        };
        if value.is_null() {
            continue;
        }
        let is_same_group = |own: &&Field| own.oneof.is_some() && own.oneof == field.oneof;
        if let Some(group) = field.oneof
            && written.iter().any(is_same_group)
        {
            return Err(Unwritable::TwoOfOne(message.oneofs[group as usize].clone()));
        }
        written.push(field);
        write_field(schema, field, value, depth, out)?;
    }
    required(message, &written)
}

fn required(message: &Message, written: &[&Field]) -> Result<(), Unwritable> {
    let is_lacking = |field: &&Field| {
        let is_written = written.iter().any(|own| own.number == field.number);
        field.label == Label::Required && !is_written
    };
    match message.fields.iter().find(is_lacking) {
        Some(field) => {
            Err(Unwritable::Missing { message: message.name.clone(), field: field.name.clone() })
        }
        None => Ok(()),
    }
}

fn write_field(
    schema: &Schema,
    field: &Field,
    json: &Value,
    depth: u32,
    out: &mut Vec<u8>,
) -> Result<(), Unwritable> {
    let form = |wanted| Unwritable::Form { field: field.name.clone(), wanted };
    match (field.label, json) {
        (Label::Single | Label::Required, json) => write_value(schema, field, json, depth, out),
        // Not packed, which readers take as well.
        (Label::Repeated, Value::Array(items)) => {
            items.iter().try_for_each(|item| write_value(schema, field, item, depth, out))
        }
        (Label::Repeated, _) => Err(form("a list")),
        (Label::Map, Value::Object(entries)) => {
            for (key, value) in entries {
                let mut pair = Vec::new();
                write_pair(schema, field, key, value, depth, &mut pair)?;
                write_nested(field.number, &pair, out);
            }
            Ok(())
        }
        (Label::Map, _) => Err(form("an object of keys and values")),
    }
}

/// The entry of a map: a message whose fields 1 and 2 are key and value.
fn write_pair(
    schema: &Schema,
    field: &Field,
    name: &str,
    value: &Value,
    depth: u32,
    out: &mut Vec<u8>,
) -> Result<(), Unwritable> {
    let Kind::Message(number) = field.kind else {
        let wanted = "a map whose entries are known";
        return Err(Unwritable::Form { field: field.name.clone(), wanted });
    };
    for own in &schema.message(number).fields {
        match own.number {
            1 => {
                write_key(own.number, own.kind.wire_type(), out);
                write_scalar(schema, own.kind, Scalar::Text(name), out)
                    .map_err(|problem| Unwritable::Field { field: field.name.clone(), problem })?;
            }
            _ => write_value(schema, own, value, depth, out)?,
        }
    }
    Ok(())
}

/// A single value with its key.
fn write_value(
    schema: &Schema,
    field: &Field,
    json: &Value,
    depth: u32,
    out: &mut Vec<u8>,
) -> Result<(), Unwritable> {
    if let Kind::Message(number) = field.kind {
        let mut inner = Vec::new();
        write_message(schema, number, &field.name, json, depth, &mut inner)?;
        write_nested(field.number, &inner, out);
        return Ok(());
    }
    let number;
    let scalar = match json {
        Value::Bool(truth) => Scalar::Bool(*truth),
        Value::String(text) => Scalar::Text(text),
        Value::Number(written) => {
            number = written.to_string();
            Scalar::Number(&number)
        }
        Value::Null | Value::Array(_) | Value::Object(_) => {
            return Err(Unwritable::Form { field: field.name.clone(), wanted: "a single value" });
        }
    };
    write_key(field.number, field.kind.wire_type(), out);
    write_scalar(schema, field.kind, scalar, out)
        .map_err(|problem| Unwritable::Field { field: field.name.clone(), problem })
}

fn write_nested(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    write_key(number, WireType::Length, out);
    write_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests;
