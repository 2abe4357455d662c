//! MessagePack (<https://github.com/msgpack/msgpack/blob/master/spec.md>): JSON text as bytes, and bytes as JSON text.
//!
//! Bytes come from outside: nesting and what is written are limited, and nothing is allocated for a length before the bytes
//! are there.

use std::fmt;
use std::io::Cursor;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmp_serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};

use super::{TEXT_BYTES_MAX, wrong};
use crate::expr::{EvalError, Value};

/// Longest JSON text that is written as MessagePack, in bytes: its document is built in memory.
const JSON_BYTES_MAX: usize = 1 << 20;
/// Deepest nesting that is read; one more is refused. It is that of JSON texts.
const DEPTH_MAX: usize = 127;

/// The value of a JSON text as MessagePack; bytes become one value of the family `bin`.
pub(super) fn encode(value: &Value) -> Result<Value, EvalError> {
    let refused = |error: &dyn fmt::Display| wrong(format!("msgpack: {error}"));
    let written = match value {
        Value::Bytes(bytes) => rmp_serde::to_vec(&Bin(bytes)),
        _ => {
            let json = match value {
                Value::Nothing => "null".into(),
                _ => value.to_text(),
            };
            if json.len() > JSON_BYTES_MAX {
                return Err(refused(&format_args!(
                    "the text has more than {JSON_BYTES_MAX} bytes"
                )));
            }
            let document: serde_json::Value = serde_json::from_str(&json)
                .map_err(|error| refused(&format_args!("the text is not JSON: {error}")))?;
            rmp_serde::to_vec(&document)
        }
    };
    let written = written.map_err(|error| refused(&error))?;
    Ok(Value::Bytes(written.into()))
}

/// The value of MessagePack, as a JSON text stands for it: lists and maps are JSON text.
pub(super) fn decode(value: &Value) -> Result<Value, EvalError> {
    let refused = |error: &dyn fmt::Display| wrong(format!("msgpack_decode: {error}"));
    let bytes = value.bytes();
    let mut reader = Deserializer::new(Cursor::new(&*bytes));
    reader.set_max_depth(DEPTH_MAX + 1);
    let mut out = Vec::new();
    Json { out: &mut out }.deserialize(&mut reader).map_err(|error| refused(&error))?;
    let rest = (bytes.len() as u64).saturating_sub(reader.position());
    if rest > 0 {
        return Err(refused(&format_args!("{rest} bytes follow the value")));
    }
    Ok(Value::from_json(&String::from_utf8_lossy(&out)))
}

/// One value of the family `bin`.
struct Bin<'b>(&'b [u8]);

impl Serialize for Bin<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// Writes a value as JSON text.
struct Json<'o> {
    out: &'o mut Vec<u8>,
}

/// Writes the key of a pair as JSON text.
struct Key<'o> {
    out: &'o mut Vec<u8>,
}

/// Writes an extension type as a JSON object.
struct Extension<'o> {
    out: &'o mut Vec<u8>,
}

/// Appends text as it is.
fn push<E: Error>(out: &mut Vec<u8>, text: &str) -> Result<(), E> {
    if out.len() + text.len() > TEXT_BYTES_MAX {
        return Err(E::custom(format_args!("the text has more than {TEXT_BYTES_MAX} bytes")));
    }
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

/// Appends a number or string as JSON has it; a number that it does not have is `null`.
fn push_json<E: Error>(out: &mut Vec<u8>, value: &impl Serialize) -> Result<(), E> {
    let json = serde_json::to_string(value).map_err(E::custom)?;
    push(out, &json)
}

impl<'de> DeserializeSeed<'de> for Json<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Json<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        push(self.out, "null")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        push(self.out, if value { "true" } else { "false" })
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        push_json(self.out, &value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        push_json(self.out, &value)
    }

    /// Written with the digits that it takes to tell it from other numbers of 32 bits.
    fn visit_f32<E: Error>(self, value: f32) -> Result<(), E> {
        push_json(self.out, &value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        push_json(self.out, &value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        push_json(self.out, &value)
    }

    fn visit_bytes<E: Error>(self, value: &[u8]) -> Result<(), E> {
        push_json(self.out, &STANDARD.encode(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        push(self.out, "[")?;
        let mut is_first = true;
        loop {
            let start = self.out.len();
            if !std::mem::take(&mut is_first) {
                push(self.out, ",")?;
            }
            if items.next_element_seed(Json { out: &mut *self.out })?.is_none() {
                self.out.truncate(start);
                return push(self.out, "]");
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<(), A::Error> {
        push(self.out, "{")?;
        let mut is_first = true;
        loop {
            let start = self.out.len();
            if !std::mem::take(&mut is_first) {
                push(self.out, ",")?;
            }
            if pairs.next_key_seed(Key { out: &mut *self.out })?.is_none() {
                self.out.truncate(start);
                return push(self.out, "}");
            }
            push(self.out, ":")?;
            pairs.next_value_seed(Json { out: &mut *self.out })?;
        }
    }

    /// An extension type.
    fn visit_newtype_struct<D: serde::Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(Extension { out: self.out })
    }
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

/// Keys of JSON are texts: numbers and the like become texts as they would stand in JSON.
impl Visitor<'_> for Key<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key that is a text or a number")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        push(self.out, "\"null\"")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        push_json(self.out, &value.to_string())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        push_json(self.out, &value.to_string())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        push_json(self.out, &value.to_string())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        let number = serde_json::to_string(&value).map_err(E::custom)?;
        push_json(self.out, &number)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        push_json(self.out, &value)
    }

    fn visit_bytes<E: Error>(self, value: &[u8]) -> Result<(), E> {
        push_json(self.out, &STANDARD.encode(value))
    }
}

impl<'de> Visitor<'de> for Extension<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an extension type")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<(), A::Error> {
        push(self.out, "{\"type\":")?;
        parts.next_element_seed(Json { out: &mut *self.out })?;
        push(self.out, ",\"data\":")?;
        parts.next_element_seed(Json { out: &mut *self.out })?;
        push(self.out, "}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use units::{from_hex, hex};

    use super::*;

    fn encoded(json: &str) -> String {
        match encode(&Value::text(json)) {
            Ok(Value::Bytes(bytes)) => hex(&bytes),
            other => panic!("{json}: {other:?}"),
        }
    }

    fn decoded(digits: &str) -> Result<Value, String> {
        let bytes = from_hex(digits).unwrap();
        decode(&Value::Bytes(bytes.into())).map_err(|error| error.to_string())
    }

    /// Python's `msgpack.packb(json.loads(…)).hex()`, of version 1.1.
    #[test]
    fn what_is_written_is_what_python_writes() {
        for (json, expected) in [
            ("null", "c0"),
            ("true", "c3"),
            ("false", "c2"),
            ("0", "00"),
            ("127", "7f"),
            ("128", "cc80"),
            ("255", "ccff"),
            ("256", "cd0100"),
            ("65535", "cdffff"),
            ("65536", "ce00010000"),
            ("4294967296", "cf0000000100000000"),
            ("18446744073709551615", "cfffffffffffffffff"),
            ("-1", "ff"),
            ("-32", "e0"),
            ("-33", "d0df"),
            ("-128", "d080"),
            ("-129", "d1ff7f"),
            ("-32769", "d2ffff7fff"),
            ("-2147483649", "d3ffffffff7fffffff"),
            ("-9223372036854775808", "d38000000000000000"),
            ("1.5", "cb3ff8000000000000"),
            ("-0.0", "cb8000000000000000"),
            ("1e+300", "cb7e37e43c8800759c"),
            ("\"\"", "a0"),
            ("\"a\"", "a161"),
            ("[]", "90"),
            ("[1, [2, []]]", "9201920290"),
            ("[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]", "dc0010000102030405060708090a0b0c0d0e0f"),
            ("{}", "80"),
            ("{\"a\": 1, \"b\": [true, null]}", "82a16101a16292c3c0"),
        ] {
            assert_eq!(encoded(json), expected, "{json}");
            let found = decoded(expected).unwrap();
            let again = Value::from_json(&json.replace(' ', ""));
            assert_eq!(found, again, "{expected}");
        }
        let long = "x".repeat(256);
        assert!(encoded(&format!("\"{long}\"")).starts_with("da0100787878"));
        assert_eq!(encode(&Value::Bytes(vec![0, 0xff].into())), {
            Ok(Value::Bytes(vec![0xc4, 2, 0, 0xff].into()))
        });
        assert_eq!(encode(&Value::Nothing), Ok(Value::Bytes(vec![0xc0].into())));
    }

    /// Also of Python: `packb(b"\x00\xff")`, `packb({1: "a", True: "b", None: "c", 2.5: "d"})`,
    /// `packb(ExtType(5, b"\1\2"))`, a time with `datetime=True`, and a float with `use_single_float=True`.
    #[test]
    fn what_json_lacks_becomes_what_it_has() {
        for (digits, expected) in [
            ("c40200ff", "AP8="),
            ("8301a162c0a163cb4004000000000000a164", r#"{"1":"b","null":"c","2.5":"d"}"#),
            ("d5050102", r#"{"type":5,"data":"AQI="}"#),
            ("d6ff695735a5", r#"{"type":-1,"data":"aVc1pQ=="}"#),
        ] {
            assert_eq!(decoded(digits), Ok(Value::text(expected)), "{digits}");
        }
        assert_eq!(decoded("ca3fc00000"), Ok(Value::Float(1.5)));
        assert_eq!(decoded("cb7ff8000000000000"), Ok(Value::Nothing), "not a number");
        // Of 32 bits, the nearest to 0.1.
        assert_eq!(decoded("91ca3dcccccd"), Ok(Value::text("[0.1]")));
        assert_eq!(decoded("a2c3a4"), Ok(Value::text("ä")));
    }

    #[test]
    fn what_is_no_messagepack_is_refused() {
        for (digits, message) in [
            ("", "msgpack_decode: "),
            ("c1", "msgpack_decode: "),
            ("9301", "msgpack_decode: "),
            ("00ff", "msgpack_decode: 1 bytes follow the value"),
            ("819001", "expected a key that is a text or a number"),
        ] {
            let error = decoded(digits).unwrap_err();
            assert!(error.contains(message), "{digits}: {error}");
        }
        let refused = |json: &str| encode(&Value::text(json)).unwrap_err().to_string();
        assert!(refused("hello").starts_with("msgpack: the text is not JSON: "));
        assert!(refused(&" ".repeat(JSON_BYTES_MAX + 1)).ends_with("more than 1048576 bytes"));
    }

    /// Lengths that promise what is not there cost nothing, and nesting stops.
    #[test]
    fn work_and_memory_are_bounded() {
        for digits in ["dbffffffff", "ddffffffff", "dfffffffff", "c6ffffffff", "c9ffffffff05"] {
            assert!(decoded(digits).is_err(), "{digits}");
        }
        let nested = |depth: usize| "91".repeat(depth) + "c0";
        assert!(decoded(&nested(DEPTH_MAX)).is_ok());
        assert!(decoded(&nested(DEPTH_MAX + 1)).is_err());
        assert!(decoded(&nested(200_000)).is_err());
        // Each byte becomes six.
        let bells = vec![7_u8; TEXT_BYTES_MAX / 6 + 1];
        let mut bytes = vec![0xdb];
        bytes.extend((bells.len() as u32).to_be_bytes());
        bytes.extend(bells);
        let error = decode(&Value::Bytes(bytes.into())).unwrap_err().to_string();
        assert!(error.contains("the text has more than 16777216 bytes"), "{error}");
        // Each nil becomes five.
        let mut nils = vec![0xdd];
        nils.extend(4_000_000_u32.to_be_bytes());
        nils.extend(vec![0xc0; 4_000_000]);
        assert!(decode(&Value::Bytes(nils.into())).is_err());
    }

    fn documents() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(|value| json!(value)),
            any::<i64>().prop_map(|value| json!(value)),
            any::<u64>().prop_map(|value| json!(value)),
            any::<f64>().prop_filter("JSON has it", |x| x.is_finite()).prop_map(|x| json!(x)),
            "\\PC{0,40}".prop_map(|value| json!(value)),
        ];
        leaf.prop_recursive(6, 64, 20, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..20).prop_map(serde_json::Value::from),
                prop::collection::vec(("\\PC{0,8}", inner), 0..20)
                    .prop_map(|pairs| pairs.into_iter().collect::<serde_json::Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_as_it_was(document in documents()) {
            let written = encode(&Value::text(&document.to_string())).unwrap();
            // In a list, so that a text stays JSON.
            let mut listed = vec![0x91];
            listed.extend_from_slice(&written.bytes());
            let found = decode(&Value::Bytes(listed.into())).unwrap().to_text();
            let found: serde_json::Value = serde_json::from_str(&found).unwrap();
            prop_assert_eq!(found, json!([document]));
        }

        #[test]
        fn nothing_that_is_cut_off_is_read(document in documents(), at in any::<prop::sample::Index>()) {
            let written = encode(&Value::text(&document.to_string())).unwrap();
            let written = written.bytes();
            let part = written[..at.index(written.len())].to_vec();
            prop_assert!(decode(&Value::Bytes(part.into())).is_err());
        }

        /// Whatever is read is JSON, and no longer than its bytes can make it.
        #[test]
        fn anything_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut listed = vec![0x91];
            listed.extend_from_slice(&bytes);
            if let Ok(found) = decode(&Value::Bytes(listed.into())) {
                let found = found.to_text();
                prop_assert!(serde_json::from_str::<serde_json::Value>(&found).is_ok(), "{}", found);
                prop_assert!(found.len() <= 40 + 30 * bytes.len());
            }
        }
    }
}
