//! How values convert, compare and are written.
//!
//! - Truth: nothing, `false`, `0` and empty text are false; everything else is true.
//! - Numbers: integers and floats are numbers, and so is text that reads as one. A number keeps its text until arithmetic
//!   needs it; integers are exact from -2^63 to 2^64 - 1.
//! - Text: nothing is empty text, booleans are `true` and `false`.
//! - Bytes: those of the text in UTF-8. Bytes themselves are written as they are; in JSON, which has none, as base64.

use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{Escape, Value};
use crate::decimal::{is_json_number, is_whole_in_float};

/// A value seen as a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// From -2^63 to 2^64 - 1.
    Int(i128),
    Float(f64),
}

impl Number {
    pub fn as_f64(self) -> f64 {
        match self {
            // Most are small, and converting 128 bits takes longer.
            Number::Int(i) => i64::try_from(i).map_or(i as f64, |i| i as f64),
            Number::Float(f) => f,
        }
    }

    /// Reads decimal text; no `inf`, `nan` or surrounding space.
    pub fn parse(text: &str) -> Option<Number> {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return None;
        }
        if let Ok(i) = text.parse::<i64>() {
            return Some(Number::Int(i.into()));
        }
        if let Ok(i) = text.parse::<u64>() {
            return Some(Number::Int(i.into()));
        }
        text.parse::<f64>().ok().filter(|f| f.is_finite()).map(Number::Float)
    }
}

impl Value {
    /// A text value.
    pub fn text(text: &str) -> Value {
        Value::Text(Arc::from(text))
    }

    /// The number that a text stands for, if it does; it is written as the text unless JSON has no such number (`+1`,
    /// `007`).
    pub fn from_number(text: &str) -> Option<Value> {
        match Number::parse(text) {
            Some(Number::Int(i)) => Value::whole(i),
            Some(Number::Float(f)) if is_whole_in_float(text, f) || !is_json_number(text) => {
                Some(Value::Float(f))
            }
            None if !is_json_number(text) => None,
            Some(Number::Float(_)) | None => Some(Value::Number(text.into())),
        }
    }

    /// A whole number; `None`: it is below -2^63 or above 2^64 - 1.
    pub fn whole(number: i128) -> Option<Value> {
        match i64::try_from(number) {
            Ok(small) => Some(Value::Int(small)),
            Err(_) => u64::try_from(number).ok().map(Value::unsigned),
        }
    }

    /// A whole number of 64 bits without a sign.
    pub fn unsigned(number: u64) -> Value {
        match i64::try_from(number) {
            Ok(small) => Value::Int(small),
            Err(_) => Value::Number(number.to_string().into()),
        }
    }

    /// The value that one JSON text stands for: `null` is nothing, strings are unescaped, numbers
    /// are integers where they fit. Objects, arrays and what is no JSON stay as they are written.
    pub fn from_json(raw: &str) -> Value {
        let raw = raw.trim_ascii();
        match raw.as_bytes().first() {
            Some(b'"') => json_string(raw),
            Some(b'n') if raw == "null" => Value::Nothing,
            Some(b't') if raw == "true" => Value::Bool(true),
            Some(b'f') if raw == "false" => Value::Bool(false),
            Some(b'-' | b'0'..=b'9') => Value::from_number(raw).unwrap_or_else(|| Value::text(raw)),
            _ => Value::text(raw),
        }
    }

    /// The value that a bare word of a scenario or of the command line stands for: `5`, `0.5`,
    /// `true`, `null` by type, anything else as text.
    pub fn from_plain(text: &str) -> Value {
        match text {
            "" | "null" | "~" => Value::Nothing,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => Value::from_number(text).unwrap_or_else(|| Value::text(text)),
        }
    }

    /// Whether `if` and `check` take it for true (see the module's rules).
    pub fn is_true(&self) -> bool {
        match self {
            Value::Nothing => false,
            Value::Bool(b) => *b,
            Value::Int(i) => *i != 0,
            Value::Float(f) => *f != 0.0 && !f.is_nan(),
            Value::Text(t) => !t.is_empty(),
            Value::Number(_) => self.number().is_some_and(|number| number.as_f64() != 0.0),
            Value::Bytes(b) => !b.is_empty(),
        }
    }

    /// Appends its text as it is.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        match self {
            Value::Nothing => {}
            Value::Bool(true) => out.extend_from_slice(b"true"),
            Value::Bool(false) => out.extend_from_slice(b"false"),
            Value::Int(i) => write!(out, "{i}").expect("writing to a Vec cannot fail"),
            Value::Float(f) => write!(out, "{f}").expect("writing to a Vec cannot fail"),
            Value::Text(t) | Value::Number(t) => out.extend_from_slice(t.as_bytes()),
            Value::Bytes(b) => out.extend_from_slice(b),
        }
    }

    /// Bytes of its text, or those that it is.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        match self {
            Value::Text(t) | Value::Number(t) => Cow::Borrowed(t.as_bytes()),
            Value::Bytes(b) => Cow::Borrowed(b),
            Value::Nothing | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {
                let mut out = Vec::with_capacity(20);
                self.write_text(&mut out);
                Cow::Owned(out)
            }
        }
    }

    /// Appends it in the given manner.
    pub fn write_escaped(&self, escape: Escape, out: &mut Vec<u8>) {
        match (escape, self) {
            (Escape::Json, Value::Nothing) => out.extend_from_slice(b"null"),
            (Escape::Json, Value::Float(f)) if !f.is_finite() => out.extend_from_slice(b"null"),
            (Escape::Json, Value::Text(t)) => {
                out.push(b'"');
                write_json_text(t, out);
                out.push(b'"');
            }
            (Escape::JsonText, Value::Text(t)) => write_json_text(t, out),
            (Escape::Json, Value::Bytes(b)) => {
                out.push(b'"');
                out.extend_from_slice(STANDARD.encode(b).as_bytes());
                out.push(b'"');
            }
            (Escape::JsonText, Value::Bytes(b)) => {
                out.extend_from_slice(STANDARD.encode(b).as_bytes());
            }
            (Escape::Url, Value::Text(_) | Value::Number(_) | Value::Bytes(_)) => {
                let is_kept = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
                write_url(&self.bytes(), out, is_kept);
            }
            (Escape::UrlRaw, Value::Text(_) | Value::Bytes(_)) => {
                write_url(&self.bytes(), out, |b| stands_in_url(b) && b != b'#');
            }
            _ => self.write_text(out),
        }
    }

    /// The value as text; shared if it is text already. Bytes that are no UTF-8 become U+FFFD.
    pub fn to_text(&self) -> Arc<str> {
        match self {
            Value::Text(t) | Value::Number(t) => Arc::clone(t),
            _ => {
                let mut out = Vec::with_capacity(20);
                self.write_text(&mut out);
                Arc::from(String::from_utf8_lossy(&out))
            }
        }
    }

    pub fn number(&self) -> Option<Number> {
        match self {
            Value::Int(i) => Some(Number::Int((*i).into())),
            Value::Float(f) => Some(Number::Float(*f)),
            Value::Text(t) => Number::parse(t),
            // Beyond all floats it is infinite.
            Value::Number(t) => Number::parse(t).or_else(|| t.parse().ok().map(Number::Float)),
            Value::Nothing | Value::Bool(_) | Value::Bytes(_) => None,
        }
    }
}

/// A JSON string with its quotes; what is malformed stays as it is.
fn json_string(raw: &str) -> Value {
    let inner = raw.strip_prefix('"').and_then(|r| r.strip_suffix('"'));
    match inner {
        Some(inner) if !inner.contains(['\\', '"']) => Value::text(inner),
        _ => serde_json::from_str::<String>(raw)
            .map_or_else(|_| Value::text(raw), |s| Value::Text(s.into())),
    }
}

/// Writes the text as it stands between a JSON string's quotes (RFC 8259 section 7): quotation
/// mark, reverse solidus and control characters are escaped.
pub fn write_json_text(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    let mut plain = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let short: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0..=0x1f => b"",
            _ => continue,
        };
        out.extend_from_slice(&bytes[plain..at]);
        plain = at + 1;
        if short.is_empty() {
            write!(out, "\\u{byte:04x}").expect("writing to a Vec cannot fail");
        } else {
            out.extend_from_slice(short);
        }
    }
    out.extend_from_slice(&bytes[plain..]);
}

/// RFC 3986 section 2: characters that a URL may contain, `%` included. All others are percent-encoded, also those that
/// a request line could hold: many servers refuse it then.
pub fn stands_in_url(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte)
}

/// RFC 3986 section 2.3: all but unreserved characters become `%XX`.
fn write_url(text: &[u8], out: &mut Vec<u8>, stays: fn(u8) -> bool) {
    for &byte in text {
        if stays(byte) {
            out.push(byte);
        } else {
            write!(out, "%{byte:02X}").expect("writing to a Vec cannot fail");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(value: &Value, escape: Escape) -> String {
        let mut out = Vec::new();
        value.write_escaped(escape, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn json_texts_become_values() {
        for (raw, expected) in [
            ("null", Value::Nothing),
            ("true", Value::Bool(true)),
            (" 12 ", Value::Int(12)),
            ("-0.5", Value::Float(-0.5)),
            ("9223372036854775807", Value::Int(i64::MAX)),
            ("-9223372036854775808", Value::Int(i64::MIN)),
            ("12345678901234567890", Value::Number("12345678901234567890".into())),
            ("123456789012345678901.5e7", Value::Number("123456789012345678901.5e7".into())),
            ("10.50", Value::Number("10.50".into())),
            ("1e400", Value::Number("1e400".into())),
            ("007", Value::Int(7)),
            ("1x", Value::text("1x")),
            ("\"g1\"", Value::text("g1")),
            (r#""a\"b\u00e4""#, Value::text("a\"bä")),
            (r#"{"a":1}"#, Value::text(r#"{"a":1}"#)),
            ("\"torn", Value::text("\"torn")),
            ("nonsense", Value::text("nonsense")),
            ("", Value::text("")),
        ] {
            assert_eq!(Value::from_json(raw), expected, "{raw}");
        }
    }

    #[test]
    fn text_is_escaped_for_its_place() {
        let text = Value::text("a\"b\\c\n\u{1}ä /");
        assert_eq!(escaped(&text, Escape::None), "a\"b\\c\n\u{1}ä /");
        assert_eq!(escaped(&text, Escape::JsonText), "a\\\"b\\\\c\\n\\u0001ä /");
        assert_eq!(escaped(&text, Escape::Json), "\"a\\\"b\\\\c\\n\\u0001ä /\"");
        assert_eq!(escaped(&text, Escape::Url), "a%22b%5Cc%0A%01%C3%A4%20%2F");
        assert_eq!(escaped(&Value::Nothing, Escape::Json), "null");
        assert_eq!(escaped(&Value::Float(f64::NAN), Escape::Json), "null");
        assert_eq!(escaped(&Value::Int(-5), Escape::Json), "-5");
    }

    #[test]
    fn bytes_are_written_as_they_are_and_in_json_as_base64() {
        let bytes = Value::Bytes([0xff, 0, b'a'].into());
        let mut out = Vec::new();
        bytes.write_escaped(Escape::None, &mut out);
        assert_eq!(out, [0xff, 0, b'a']);
        assert_eq!(escaped(&bytes, Escape::Json), "\"/wBh\"");
        assert_eq!(escaped(&bytes, Escape::JsonText), "/wBh");
        assert_eq!(escaped(&bytes, Escape::Url), "%FF%00a");
        assert_eq!(&*bytes.to_text(), "\u{fffd}\0a");
        assert_eq!(&*Value::Int(7).bytes(), b"7");
        assert!(bytes.is_true() && !Value::Bytes([].into()).is_true());
        assert_eq!(bytes.number(), None);
    }

    /// Unreserved and reserved characters (RFC 3986 sections 2.2 and 2.3) and what encodes others.
    #[test]
    fn a_url_of_a_response_keeps_what_urls_may_contain() {
        let kept = "AZaz09-._~:/?[]@!$&'()*+,;=%20";
        assert_eq!(escaped(&Value::text(kept), Escape::UrlRaw), kept);
        let others = Value::text("\"<>\\^`{|}# ");
        assert_eq!(escaped(&others, Escape::UrlRaw), "%22%3C%3E%5C%5E%60%7B%7C%7D%23%20");
    }

    /// Digits beyond those of 64 bits, zeros at the end and exponents.
    #[test]
    fn numbers_are_written_as_they_were_read() {
        for text in [
            "9223372036854775808",
            "18446744073709551615",
            "18446744073709551616",
            "-9223372036854775809",
            "12345678901234567890123456789012345678901234567890",
            "0.1234567890123456789",
            "100.00",
            "0.0",
            "-1.5",
            "1E+3",
            "1e-400",
            "1e400",
        ] {
            for value in [Value::from_json(text), Value::from_plain(text)] {
                assert_eq!(escaped(&value, Escape::Json), text);
                assert_eq!(&*value.to_text(), text);
                assert_eq!(value.is_true(), !matches!(text, "0.0" | "1e-400"), "{text}");
            }
        }
        assert_eq!(escaped(&Value::from_json("1e+3"), Escape::Url), "1e%2B3");
        // What JSON does not have is written as JSON has it.
        let written = ["+18446744073709551615", ".5", "5.", "00.50"].map(Value::from_plain);
        let written = written.map(|value| escaped(&value, Escape::Json));
        assert_eq!(written, ["18446744073709551615", "0.5", "5", "0.5"]);
        assert_eq!(Value::unsigned(u64::MAX), Value::Number("18446744073709551615".into()));
        assert_eq!(Value::whole(1 << 64), None);
    }

    #[test]
    fn words_that_sound_like_numbers_are_text() {
        for word in ["inf", "nan", "-inf", "infinity", "", "+", "1_000", " 1"] {
            assert_eq!(Number::parse(word), None, "{word}");
        }
    }
}
