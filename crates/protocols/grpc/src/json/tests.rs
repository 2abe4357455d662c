//! Messages as JSON. Bytes are written out after the encoding's documentation.

use proptest::prelude::*;

use super::*;
use crate::schema::Enumeration;

fn field(number: u32, name: &str, kind: Kind, label: Label) -> Field {
    Field {
        number,
        name: name.to_owned(),
        json_name: name.to_owned(),
        kind,
        label,
        is_packed: true,
        has_presence: matches!(kind, Kind::Message(_)) && label == Label::Single,
        oneof: None,
    }
}

/// `Order { sint32 n = 1; repeated uint32 ids = 2; Order inner = 3; map<string, double> prices = 4; Colour colour = 5;
/// oneof way { string post = 6; bytes code = 7; } }`
fn schema() -> Schema {
    let one_of = |number, name, kind| Field {
        has_presence: true,
        oneof: Some(0),
        ..field(number, name, kind, Label::Single)
    };
    let order = Message {
        name: "Order".to_owned(),
        fields: vec![
            field(1, "n", Kind::Sint32, Label::Single),
            field(2, "ids", Kind::Uint32, Label::Repeated),
            field(3, "inner", Kind::Message(0), Label::Single),
            field(4, "prices", Kind::Message(1), Label::Map),
            field(5, "colour", Kind::Enumeration(0), Label::Single),
            one_of(6, "post", Kind::Text),
            one_of(7, "code", Kind::Bytes),
        ],
        oneofs: vec!["way".to_owned()],
    };
    let entry = Message {
        name: "Order.PricesEntry".to_owned(),
        fields: vec![
            field(1, "key", Kind::Text, Label::Single),
            field(2, "value", Kind::Double, Label::Single),
        ],
        oneofs: Vec::new(),
    };
    Schema {
        messages: vec![order, entry],
        enumerations: vec![Enumeration {
            name: "Colour".to_owned(),
            values: vec![("RED".to_owned(), 0), ("BLUE".to_owned(), 1)],
        }],
        services: Vec::new(),
    }
}

fn json(bytes: &[u8]) -> Result<String, Unreadable> {
    let text = to_json(&schema(), 0, bytes)?;
    Ok(String::from_utf8(text).unwrap())
}

#[test]
fn absent_fields_have_their_defaults() {
    let empty = r#"{"n":0,"ids":[],"prices":{},"colour":"RED"}"#;
    assert_eq!(json(&[]).unwrap(), empty);
    // Unknown fields, and known ones of another type, are skipped.
    assert_eq!(json(&[0x58, 1, 0x0d, 1, 0, 0, 0]).unwrap(), empty);
}

#[test]
fn values_are_read_by_type() {
    let bytes = [
        &[0x08, 3][..],                        // n = -2
        &[0x12, 3, 1, 0x96, 1, 0x10, 7],       // ids = [1, 150], then 7 by itself
        &[0x1a, 2, 0x08, 2, 0x1a, 2, 0x28, 1], // inner in two parts
        &[0x22, 12, 0x0a, 1, b'a', 0x11, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f],
        &[0x22, 12, 0x0a, 1, b'a', 0x11, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f],
        &[0x28, 9],
        &[0x32, 1, b'x', 0x3a, 1, 0xff], // the second one of `way` counts
    ]
    .concat();
    assert_eq!(
        json(&bytes).unwrap(),
        r#"{"n":-2,"ids":[1,150,7],"inner":{"n":1,"ids":[],"prices":{},"colour":"BLUE"},"#
            .to_owned()
            + r#""prices":{"a":"Infinity"},"colour":9,"code":"/w=="}"#
    );
}

#[test]
fn what_is_no_message_is_refused() {
    for bytes in [&[0x08][..], &[0x12, 5, 1], &[0x07], &[0x00, 0], &[0x0c], &[0x12, 1, 0x80]] {
        assert_eq!(json(bytes), Err(Unreadable::Malformed), "{bytes:?}");
    }
    assert_eq!(json(&[0x32, 1, 0xff]), Err(Unreadable::Utf8));
}

#[test]
fn deep_and_large_messages_are_refused() {
    let mut deep = Vec::new();
    for _ in 0..150 {
        let mut outer = vec![0x1a];
        crate::write_varint(deep.len() as u64, &mut outer);
        outer.extend_from_slice(&deep);
        deep = outer;
    }
    assert_eq!(json(&deep), Err(Unreadable::Depth));
    let many = [0x10, 7].repeat(VALUES_MAX + 1);
    assert_eq!(json(&many), Err(Unreadable::TooLarge));
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        if let Ok(text) = to_json(&schema(), 0, &bytes) {
            let parsed: Result<serde_json::Value, _> = serde_json::from_slice(&text);
            prop_assert!(parsed.is_ok());
        }
    }
}
