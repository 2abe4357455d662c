//! JSON as messages. Bytes are written out after the encoding's documentation.

use super::*;
use crate::json::to_json;
use crate::schema::Enumeration;

fn field(number: u32, name: &str, kind: Kind, label: Label) -> Field {
    Field {
        number,
        name: name.to_owned(),
        json_name: name.to_owned(),
        kind,
        label,
        is_packed: true,
        has_presence: true,
        oneof: None,
    }
}

/// `Order { int32 n = 1; repeated uint32 ids = 2; Order inner = 3; map<string, double> prices = 4; Colour colour = 5;
/// oneof way { string post = 6; bytes code = 7; } uint64 large = 8; }`
fn schema() -> Schema {
    let one_of =
        |number, name, kind| Field { oneof: Some(0), ..field(number, name, kind, Label::Single) };
    let order = Message {
        name: "Order".to_owned(),
        fields: vec![
            field(1, "n", Kind::Int32, Label::Single),
            field(2, "ids", Kind::Uint32, Label::Repeated),
            field(3, "inner", Kind::Message(0), Label::Single),
            field(4, "prices", Kind::Message(1), Label::Map),
            field(5, "colour", Kind::Enumeration(0), Label::Single),
            one_of(6, "post", Kind::Text),
            one_of(7, "code", Kind::Bytes),
            field(8, "large", Kind::Uint64, Label::Single),
        ],
        oneofs: vec!["way".to_owned()],
    };
    let pair = Message {
        name: "Order.PricesEntry".to_owned(),
        fields: vec![
            field(1, "key", Kind::Text, Label::Single),
            field(2, "value", Kind::Double, Label::Single),
        ],
        oneofs: Vec::new(),
    };
    let strict = Message {
        name: "Strict".to_owned(),
        fields: vec![field(1, "n", Kind::Int32, Label::Required)],
        oneofs: Vec::new(),
    };
    let colour = Enumeration {
        name: "Colour".to_owned(),
        values: vec![("RED".to_owned(), 0), ("BLUE".to_owned(), 1)],
    };
    Schema { messages: vec![order, pair, strict], enumerations: vec![colour], services: Vec::new() }
}

fn written(message: u32, json: &str) -> Result<Vec<u8>, Unwritable> {
    let mut out = Vec::new();
    from_json(&schema(), message, json, &mut out).map(|()| out)
}

/// The examples of the encoding's page: `08 96 01` is 150 in field 1, `1a 03 08 96 01` a message with it in field 3.
#[test]
fn messages_are_those_of_the_documentation() {
    for (json, expected) in [
        (r#"{"n": 150}"#, &b"\x08\x96\x01"[..]),
        (r#"{"n": "150", "inner": null}"#, b"\x08\x96\x01"),
        (r#"{"inner": {"n": 150}}"#, b"\x1a\x03\x08\x96\x01"),
        (r#"{"ids": [1, 300]}"#, b"\x10\x01\x10\xac\x02"),
        (r#"{"colour": "BLUE"}"#, b"\x28\x01"),
        (r#"{"post": "testing"}"#, b"\x32\x07testing"),
        (r#"{"code": "AP8="}"#, b"\x3a\x02\0\xff"),
        (r#"{"large": 18446744073709551615}"#, b"\x40\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        (r#"{"prices": {"a": 1}}"#, b"\x22\x0c\x0a\x01a\x11\0\0\0\0\0\0\xf0\x3f"),
        ("{}", b""),
    ] {
        assert_eq!(written(0, json).unwrap(), expected, "{json}");
    }
}

#[test]
fn what_is_written_is_read() {
    let json =
        r#"{"n":-7,"ids":[1,2],"inner":{"n":3,"post":"a"},"prices":{"x":1.5},"code":"AP8="}"#;
    let bytes = written(0, json).unwrap();
    let read = to_json(&schema(), 0, &bytes).unwrap();
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let found = value(std::str::from_utf8(&read).unwrap());
    // Fields that are not set may be there with a default value.
    for place in ["/n", "/ids", "/inner/n", "/inner/post", "/prices", "/code"] {
        assert_eq!(found.pointer(place), value(json).pointer(place), "{place}");
    }
}

#[test]
fn what_is_no_message_is_named() {
    let deep = format!("{}{{}}{}", "{\"inner\":".repeat(101), "}".repeat(101));
    for (message, json, expected) in [
        (0, "[1]", "`Order` is not an object of fields"),
        (0, "{", "the text is not JSON, or is nested too deeply"),
        (0, r#"{"m": 1}"#, "Order has no field `m`"),
        (0, r#"{"ids": 1}"#, "`ids` is not a list"),
        (0, r#"{"ids": [null]}"#, "`ids` is not a single value"),
        (0, r#"{"prices": [1]}"#, "`prices` is not an object of keys and values"),
        (0, r#"{"inner": 1}"#, "`inner` is not an object of fields"),
        (0, r#"{"post": "a", "code": "AA=="}"#, "only one field of the oneof `way` can be set"),
        (2, "{}", "`n` is missing in Strict"),
        (0, deep.as_str(), "messages are nested more than 100 levels deep"),
    ] {
        assert_eq!(written(message, json).unwrap_err().to_string(), expected);
    }
    let error = written(0, r#"{"n": "a lot"}"#).unwrap_err();
    assert!(error.to_string().starts_with("`n`: `a lot` is not "), "{error}");
    assert_eq!(written(0, &" ".repeat(2 << 20)), Err(Unwritable::TooLarge));
}
