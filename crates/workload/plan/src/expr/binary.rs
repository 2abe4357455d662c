//! Numbers as bytes, and payloads that are made of them.

use std::sync::Arc;

use proto::frame::varint;
use serde::Serialize;

use super::value::Number;
use super::{Context, EvalError, Expr, Template, Value};

/// How a number stands in a message: `u32be`, `varint`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct NumberForm {
    kind: NumberKind,
    /// Bytes: 1, 2, 4 or 8; floats have 4 or 8. Of a varint those of its number, which is 8.
    width: usize,
    little_endian: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
enum NumberKind {
    Unsigned,
    Signed,
    /// IEEE 754.
    Float,
    /// Seven bits in each byte, least significant first; all bytes but the last have their highest bit set (LEB128, as
    /// in Protocol Buffers).
    Varint,
}

impl NumberForm {
    /// Every form by its name.
    pub const NAMES: &'static [&'static str] = &[
        "u8", "i8", "u16be", "u16le", "i16be", "i16le", "u32be", "u32le", "i32be", "i32le",
        "u64be", "u64le", "i64be", "i64le", "f32be", "f32le", "f64be", "f64le", "varint",
    ];

    /// The form of that name.
    pub fn parse(name: &str) -> Option<NumberForm> {
        if !Self::NAMES.contains(&name) {
            return None;
        }
        if name == "varint" {
            return Some(NumberForm { kind: NumberKind::Varint, width: 8, little_endian: false });
        }
        let kind = match name.as_bytes()[0] {
            b'u' => NumberKind::Unsigned,
            b'i' => NumberKind::Signed,
            _ => NumberKind::Float,
        };
        let bits = name[1..].trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let width = bits.parse::<usize>().ok()? / 8;
        Some(NumberForm { kind, width, little_endian: name.ends_with("le") })
    }

    /// The operator's name.
    pub fn name(self) -> &'static str {
        let all = Self::NAMES.iter();
        let mut found = all.filter(|name| Self::parse(name) == Some(self));
        found.next().expect("each form comes from a name")
    }

    /// The number that begins `bytes`; `None` where they end before it does, or a varint has more than 64 bits.
    pub fn read(self, bytes: &[u8]) -> Option<Value> {
        if self.kind == NumberKind::Varint {
            return match varint::read(bytes) {
                Ok(Some((number, _))) => Some(Value::unsigned(number)),
                Ok(None) | Err(varint::TooLong) => None,
            };
        }
        let mut big = [0; 8];
        let here = &mut big[8 - self.width..];
        here.copy_from_slice(bytes.get(..self.width)?);
        if self.little_endian {
            here.reverse();
        }
        let number = u64::from_be_bytes(big);
        Some(match self.kind {
            NumberKind::Unsigned | NumberKind::Varint => Value::unsigned(number),
            NumberKind::Signed => {
                let unused = 64 - 8 * self.width;
                Value::Int((number << unused) as i64 >> unused)
            }
            NumberKind::Float if self.width == 4 => {
                Value::Float(f64::from(f32::from_bits(number as u32)))
            }
            NumberKind::Float => Value::Float(f64::from_bits(number)),
        })
    }

    /// Appends a number.
    pub fn write(self, value: &Value, out: &mut Vec<u8>) -> Result<(), EvalError> {
        let text = || String::from(&*value.to_text());
        let number = value.number();
        let number = number.ok_or_else(|| EvalError::NotANumber(format!("{:?}", text())))?;
        let bits = match (self.kind, number) {
            (NumberKind::Float, number) if self.width == 4 => {
                u64::from((number.as_f64() as f32).to_bits())
            }
            (NumberKind::Float, number) => number.as_f64().to_bits(),
            (_, Number::Int(int)) if self.holds(int) => int as u64,
            (NumberKind::Unsigned | NumberKind::Varint, Number::Float(float))
                if self.width == 8 && (0.0..18_446_744_073_709_551_616.0).contains(&float) =>
            {
                float as u64
            }
            _ => {
                let bytes = self.width;
                let message = format!("{} does not fit into {bytes} bytes", text());
                return Err(EvalError::Argument(message));
            }
        };
        if self.kind == NumberKind::Varint {
            varint::write(bits, out);
        } else if self.little_endian {
            out.extend_from_slice(&bits.to_le_bytes()[..self.width]);
        } else {
            out.extend_from_slice(&bits.to_be_bytes()[8 - self.width..]);
        }
        Ok(())
    }

    fn holds(self, int: i128) -> bool {
        let end = 1_i128 << (8 * self.width);
        match self.kind {
            NumberKind::Signed => (-end / 2..end / 2).contains(&int),
            _ => (0..end).contains(&int),
        }
    }
}

/// A payload of bytes, filled in for each user.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Bytes {
    /// In their order; neighbouring fixed bytes are one part.
    pub parts: Vec<BytesPart>,
}

/// A piece of a [`Bytes`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum BytesPart {
    Fixed(Arc<[u8]>),
    Number(Expr, NumberForm),
    Text(Template),
}

impl Bytes {
    /// Appends fixed bytes.
    pub fn push_fixed(&mut self, bytes: &[u8]) {
        if let Some(BytesPart::Fixed(last)) = self.parts.last_mut() {
            *last = [last, bytes].concat().into();
        } else {
            self.parts.push(BytesPart::Fixed(bytes.into()));
        }
    }

    /// Appends the bytes for this user to `out`, which holds a part of them on an error.
    pub fn render<C: Context>(&self, context: &mut C, out: &mut Vec<u8>) -> Result<(), EvalError> {
        for part in &self.parts {
            match part {
                BytesPart::Fixed(bytes) => out.extend_from_slice(bytes),
                BytesPart::Number(expr, form) => form.write(&expr.eval(context)?, out)?,
                BytesPart::Text(text) => text.render(context, out)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(form: &str, value: &Value) -> Result<Vec<u8>, EvalError> {
        let mut out = Vec::new();
        NumberForm::parse(form).unwrap().write(value, &mut out)?;
        Ok(out)
    }

    #[test]
    fn numbers_come_back_from_every_form() {
        for &name in NumberForm::NAMES {
            let form = NumberForm::parse(name).unwrap();
            for int in [0, 1, 100] {
                let value = match name.as_bytes()[0] {
                    b'f' => Value::Float(int as f64 + 0.5),
                    _ => Value::Int(int),
                };
                let bytes = written(name, &value).unwrap();
                if name != "varint" {
                    assert_eq!(bytes.len(), form.width, "{name}");
                }
                assert_eq!(form.read(&bytes), Some(value), "{name}");
                assert_eq!(form.read(&bytes[1..]), None, "{name}");
            }
        }
        assert_eq!(NumberForm::parse("u16"), None);
        assert_eq!(NumberForm::parse("f16be"), None);
    }

    #[test]
    fn the_bytes_are_as_named() {
        assert_eq!(written("u16be", &Value::Int(0x0102)).unwrap(), [1, 2]);
        assert_eq!(written("u16le", &Value::Int(0x0102)).unwrap(), [2, 1]);
        assert_eq!(written("i8", &Value::Int(-1)).unwrap(), [0xff]);
        assert_eq!(written("i32be", &Value::Int(-2)).unwrap(), [255, 255, 255, 254]);
        assert_eq!(written("f32be", &Value::Int(1)).unwrap(), [0x3f, 0x80, 0, 0]);
        assert_eq!(written("u8", &Value::text("7")).unwrap(), [7]);
        let large = Value::from_json("12345678901234567891");
        let bytes = 12_345_678_901_234_567_891_u64.to_le_bytes();
        assert_eq!(written("u64le", &large).unwrap(), bytes);
        assert_eq!(NumberForm::parse("u64le").unwrap().read(&bytes), Some(large));
        let whole = NumberForm::parse("u64be").unwrap().read(&[0xff; 8]);
        assert_eq!(whole, Some(Value::Number("18446744073709551615".into())));
        let negative = NumberForm::parse("i16le").unwrap().read(&[0xfe, 0xff]);
        assert_eq!(negative, Some(Value::Int(-2)));
    }

    /// The examples of the encoding page of Protocol Buffers: 150 is `96 01`.
    #[test]
    fn varints_have_seven_bits_a_byte() {
        assert_eq!(written("varint", &Value::Int(150)).unwrap(), [0x96, 1]);
        let most = Value::unsigned(u64::MAX);
        let mut bytes = written("varint", &most).unwrap();
        assert_eq!(bytes, [255, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
        let varint = NumberForm::parse("varint").unwrap();
        assert_eq!(varint.read(&bytes), Some(most));
        assert_eq!(varint.read(&[0x96, 1, 7]), Some(Value::Int(150)));
        assert_eq!(varint.read(&[0x96]), None);
        bytes[9] = 2;
        assert_eq!(varint.read(&bytes), None);
        assert!(written("varint", &Value::Int(-1)).is_err());
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        for (form, value) in [
            ("u8", Value::Int(256)),
            ("u8", Value::Int(-1)),
            ("i8", Value::Int(128)),
            ("u32be", Value::Int(1 << 32)),
            ("u64be", Value::Int(-1)),
            ("u16be", Value::Float(1.5)),
            ("u8", Value::text("seven")),
            ("f64be", Value::Nothing),
        ] {
            assert!(written(form, &value).is_err(), "{form} {value:?}");
        }
        assert!(written("i8", &Value::Int(-128)).is_ok());
        assert!(written("u8", &Value::Int(255)).is_ok());
        assert!(written("u64be", &Value::Int(i64::MAX)).is_ok());
        assert!(written("i64be", &Value::unsigned(1 << 63)).is_err());
        assert!(written("u64be", &Value::from_json("18446744073709551616")).is_err());
    }
}
