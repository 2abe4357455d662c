//! Single values → bytes, by the rules of the JSON mapping (protobuf.dev, "ProtoJSON Format").

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::schema::{Kind, Schema};
use crate::wire::{write_varint, zigzag};

/// A value of a scenario or of JSON.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar<'a> {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(&'a str),
    /// A number in decimal that the other kinds cannot hold, or that is written in another way.
    Number(&'a str),
}

/// A value that a field cannot have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{value} is not {wanted}")]
pub struct ValueError {
    /// As it was written, shortened.
    pub value: String,
    /// The type of the field, in words.
    pub wanted: String,
}

/// Characters of a value in an error's text.
const SHOWN_CHARS_MAX: usize = 60;

/// Base64 with or without padding.
const PADDING: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, PADDING);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, PADDING);

/// Appends a value as a field of this type has it, without its key.
///
/// Numbers may be given as text, enumerations by name or number, bytes as base64.
///
/// # Errors
/// The field cannot have this value. `out` is then unchanged.
pub fn write_scalar(
    schema: &Schema,
    kind: Kind,
    value: Scalar<'_>,
    out: &mut Vec<u8>,
) -> Result<(), ValueError> {
    let written = match kind {
        Kind::Double => real(value).map(|number| out.extend_from_slice(&number.to_le_bytes())),
        Kind::Float => float(value).map(|number| out.extend_from_slice(&number.to_le_bytes())),
        Kind::Int32 => whole::<i32>(value).map(|n| write_varint(i64::from(n) as u64, out)),
        Kind::Int64 => whole::<i64>(value).map(|n| write_varint(n as u64, out)),
        Kind::Uint32 => whole::<u32>(value).map(|n| write_varint(u64::from(n), out)),
        Kind::Uint64 => whole::<u64>(value).map(|n| write_varint(n, out)),
        Kind::Sint32 => whole::<i32>(value).map(|n| write_varint(zigzag(i64::from(n)), out)),
        Kind::Sint64 => whole::<i64>(value).map(|n| write_varint(zigzag(n), out)),
        Kind::Fixed32 => whole::<u32>(value).map(|n| out.extend_from_slice(&n.to_le_bytes())),
        Kind::Fixed64 => whole::<u64>(value).map(|n| out.extend_from_slice(&n.to_le_bytes())),
        Kind::Sfixed32 => whole::<i32>(value).map(|n| out.extend_from_slice(&n.to_le_bytes())),
        Kind::Sfixed64 => whole::<i64>(value).map(|n| out.extend_from_slice(&n.to_le_bytes())),
        Kind::Bool => truth(value).map(|truth| out.push(u8::from(truth))),
        Kind::Text => text(value).map(|text| write_bytes(text.as_bytes(), out)),
        Kind::Bytes => bytes(value).map(|bytes| write_bytes(&bytes, out)),
        Kind::Enumeration(number) => {
            let known = schema.enumeration(number);
            let named = match value {
                Scalar::Text(name) => known.number(name),
                _ => None,
            };
            let number = named.or_else(|| whole::<i32>(value));
            number.map(|n| write_varint(i64::from(n) as u64, out))
        }
        Kind::Message(_) | Kind::Group => None,
    };
    written.ok_or_else(|| ValueError { value: shown(value), wanted: wanted(schema, kind) })
}

fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    write_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// A number without fraction that fits.
fn whole<T: TryFrom<i128>>(value: Scalar<'_>) -> Option<T> {
    let number = match value {
        Scalar::Int(number) => i128::from(number),
        // Larger ones are not exact.
        Scalar::Float(number) if number.fract() == 0.0 && number.abs() < 1e16 => number as i128,
        Scalar::Text(text) => text.parse().ok()?,
        Scalar::Number(text) => match text.parse() {
            Ok(number) => number,
            Err(_) => return whole(Scalar::Float(text.parse().ok()?)),
        },
        Scalar::Float(_) | Scalar::Bool(_) => return None,
    };
    T::try_from(number).ok()
}

fn real(value: Scalar<'_>) -> Option<f64> {
    match value {
        Scalar::Int(number) => Some(number as f64),
        Scalar::Float(number) => Some(number),
        Scalar::Text("NaN") => Some(f64::NAN),
        Scalar::Text("Infinity") => Some(f64::INFINITY),
        Scalar::Text("-Infinity") => Some(f64::NEG_INFINITY),
        Scalar::Text(text) | Scalar::Number(text) => {
            text.parse().ok().filter(|number: &f64| number.is_finite())
        }
        Scalar::Bool(_) => None,
    }
}

fn float(value: Scalar<'_>) -> Option<f32> {
    let number = real(value)?;
    let float = number as f32;
    (float.is_finite() || !number.is_finite()).then_some(float)
}

fn truth(value: Scalar<'_>) -> Option<bool> {
    match value {
        Scalar::Bool(truth) => Some(truth),
        Scalar::Text("true") => Some(true),
        Scalar::Text("false") => Some(false),
        _ => None,
    }
}

fn text(value: Scalar<'_>) -> Option<&str> {
    match value {
        Scalar::Text(text) => Some(text),
        Scalar::Bool(_) | Scalar::Int(_) | Scalar::Float(_) | Scalar::Number(_) => None,
    }
}

fn bytes(value: Scalar<'_>) -> Option<Vec<u8>> {
    let text = text(value)?;
    let decoded = STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text));
    decoded.ok()
}

fn shown(value: Scalar<'_>) -> String {
    let text = match value {
        Scalar::Bool(truth) => truth.to_string(),
        Scalar::Int(number) => number.to_string(),
        Scalar::Float(number) => number.to_string(),
        Scalar::Text(text) | Scalar::Number(text) => text.to_owned(),
    };
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}

fn wanted(schema: &Schema, kind: Kind) -> String {
    match kind {
        Kind::Double | Kind::Float => format!("a number ({})", schema.kind_name(kind)),
        Kind::Bool => "true or false (bool)".to_owned(),
        Kind::Text => "text (string)".to_owned(),
        Kind::Bytes => "base64 (bytes)".to_owned(),
        Kind::Enumeration(_) => format!("a value of {}", schema.kind_name(kind)),
        Kind::Message(_) => format!("a mapping ({})", schema.kind_name(kind)),
        Kind::Group => "supported: it is a group of proto2".to_owned(),
        _ => format!("a whole number in range ({})", schema.kind_name(kind)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Enumeration;

    fn written(kind: Kind, value: Scalar<'_>) -> Result<Vec<u8>, String> {
        let schema = Schema {
            enumerations: vec![Enumeration {
                name: "shop.Colour".to_owned(),
                values: vec![("RED".to_owned(), 0), ("BLUE".to_owned(), 2)],
            }],
            ..Schema::default()
        };
        let mut out = Vec::new();
        write_scalar(&schema, kind, value, &mut out).map_err(|error| error.to_string())?;
        Ok(out)
    }

    #[test]
    fn values_are_written_by_type() {
        let minus_one = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        for (kind, value, expected) in [
            (Kind::Int32, Scalar::Int(-1), &minus_one[..]),
            (Kind::Int64, Scalar::Text("-1"), &minus_one),
            (Kind::Sint32, Scalar::Int(-1), &[1]),
            (Kind::Uint64, Scalar::Text("18446744073709551615"), &minus_one),
            (Kind::Uint64, Scalar::Number("18446744073709551615"), &minus_one),
            (Kind::Fixed64, Scalar::Number("9223372036854775809"), &[1, 0, 0, 0, 0, 0, 0, 0x80]),
            (Kind::Int32, Scalar::Number("1.0e1"), &[10]),
            (Kind::Float, Scalar::Number("1.50"), &[0, 0, 0xc0, 0x3f]),
            (Kind::Fixed32, Scalar::Float(258.0), &[2, 1, 0, 0]),
            (Kind::Sfixed64, Scalar::Int(-2), &[0xfe, 255, 255, 255, 255, 255, 255, 255]),
            (Kind::Double, Scalar::Int(1), &[0, 0, 0, 0, 0, 0, 0xf0, 0x3f]),
            (Kind::Float, Scalar::Text("Infinity"), &[0, 0, 0x80, 0x7f]),
            (Kind::Bool, Scalar::Text("true"), &[1]),
            (Kind::Text, Scalar::Text("hé"), &[3, b'h', 0xc3, 0xa9]),
            (Kind::Bytes, Scalar::Text("_-8"), &[2, 0xff, 0xef]),
            (Kind::Enumeration(0), Scalar::Text("BLUE"), &[2]),
            (Kind::Enumeration(0), Scalar::Int(5), &[5]),
        ] {
            assert_eq!(written(kind, value).as_deref(), Ok(expected), "{kind:?} {value:?}");
        }
    }

    #[test]
    fn other_values_are_refused_with_what_the_field_takes() {
        for (kind, value, expected) in [
            (
                Kind::Int32,
                Scalar::Int(1 << 31),
                "`2147483648` is not a whole number in range (int32)",
            ),
            (Kind::Uint32, Scalar::Int(-1), "`-1` is not a whole number in range (uint32)"),
            (Kind::Int64, Scalar::Float(0.5), "`0.5` is not a whole number in range (int64)"),
            (Kind::Float, Scalar::Float(1e39), "a number (float)"),
            (Kind::Double, Scalar::Text("many"), "`many` is not a number (double)"),
            (Kind::Bool, Scalar::Int(1), "`1` is not true or false (bool)"),
            (Kind::Text, Scalar::Int(1), "`1` is not text (string)"),
            (Kind::Int64, Scalar::Number("9223372036854775808"), "whole number in range (int64)"),
            (Kind::Uint64, Scalar::Number("18446744073709551616"), "in range (uint64)"),
            (Kind::Uint64, Scalar::Number("1.5"), "`1.5` is not a whole number in range (uint64)"),
            (Kind::Double, Scalar::Number("1e400"), "`1e400` is not a number (double)"),
            // It is base64, but no text.
            (Kind::Bytes, Scalar::Number("12345678901234567890"), "is not base64 (bytes)"),
            (Kind::Bytes, Scalar::Text("%"), "`%` is not base64 (bytes)"),
            (Kind::Enumeration(0), Scalar::Text("GREEN"), "`GREEN` is not a value of shop.Colour"),
        ] {
            let error = written(kind, value).unwrap_err();
            assert!(error.ends_with(expected), "{error}");
        }
    }
}
