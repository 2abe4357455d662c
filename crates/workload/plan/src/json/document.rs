//! How much memory the document takes that a JSON text is parsed to.

use crate::json::depth::end_of_string;

/// A value in a list, twice, since a list that grows has up to twice the room that it needs.
const ITEM_BYTES: usize = 2 * 72;
/// A list with its first item: it has room for four.
const LIST_BYTES: usize = 4 * 72 + 16;
/// An object with its first pair: an index, and room for up to four pairs.
const OBJECT_BYTES: usize = 4 * 104 + 96;
/// A pair in an object, with its place in the index, twice.
const PAIR_BYTES: usize = 2 * (104 + 16);
/// Memory of a string beside its text.
const STRING_BYTES: usize = 32;
/// Memory of the text of a number whose digits a document does not hold, twice, with its place in a table.
const LONG_NUMBER_BYTES: usize = 2 * 48;
/// A number with more characters may be one.
const NUMBER_CHARS_MAX: usize = 15;

/// The most memory in bytes that a `serde_json::Value` of this text takes, as it is built with ordered objects on a
/// 64-bit machine. It is some 20 bytes for each byte of an ordinary answer, 74 for `[1,1,…]`, and up to 154 for lists in
/// lists.
pub fn document_bytes(json: &[u8]) -> usize {
    let mut lists = 0;
    let mut objects = 0;
    let mut commas = 0_usize;
    let mut pairs = 0_usize;
    let mut strings = 0;
    let mut long_numbers = 0;
    let mut digits = 0_usize;
    let mut at = 0;
    while let Some(&byte) = json.get(at) {
        at += 1;
        digits = if matches!(byte, b'0'..=b'9' | b'.') { digits + 1 } else { 0 };
        match byte {
            b'"' => {
                strings += 1;
                at = end_of_string(json, at);
            }
            b'[' => lists += 1,
            b'{' => objects += 1,
            b',' => commas += 1,
            b':' => pairs += 1,
            _ => long_numbers += usize::from(digits == NUMBER_CHARS_MAX + 1),
        }
    }
    // A comma stands before each pair of an object but its first one; the others are those of lists.
    let items = (commas + objects).saturating_sub(pairs);
    let all = [
        (lists, LIST_BYTES),
        (objects, OBJECT_BYTES),
        (items, ITEM_BYTES),
        (pairs, PAIR_BYTES),
        (strings, STRING_BYTES),
        (long_numbers, LONG_NUMBER_BYTES),
        (json.len(), 2),
    ];
    let bytes = all.map(|(count, bytes): (usize, usize)| count.saturating_mul(bytes));
    bytes.into_iter().fold(0, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use std::mem::size_of;

    use serde_json::Value;

    use super::*;

    /// What the parts of a document take, by their sizes and rooms; 16 for what an allocation costs.
    fn held(value: &Value) -> usize {
        match value {
            Value::String(text) => text.capacity() + 16,
            Value::Array(list) => {
                let inside: usize = list.iter().map(held).sum();
                list.capacity() * size_of::<Value>() + 16 + inside
            }
            Value::Object(pairs) if pairs.is_empty() => 0,
            Value::Object(pairs) => {
                let inside: usize =
                    pairs.iter().map(|(key, value)| key.capacity() + 16 + held(value)).sum();
                // Pairs with their hashes, and an index of numbers with a byte for each.
                let room = (pairs.len() * 8 / 7 + 1).next_power_of_two().max(4);
                room * (size_of::<(String, Value)>() + 8) + room * 9 + 16 + 16 + inside
            }
            _ => 0,
        }
    }

    #[test]
    fn no_document_takes_more() {
        let texts = [
            "1".to_owned(),
            format!("[{}1]", "1,".repeat(10_000)),
            format!("[{}[1]]", "[1],".repeat(1_000)),
            format!("[{}[]]", "[],{},".repeat(1_000)),
            format!("{}1{}", "[".repeat(120), "]".repeat(120)),
            format!("{}1{}", "{\"\":".repeat(120), "}".repeat(120)),
            format!("[{}\"\"]", "\"\",\"a,b:[{\\\"\",".repeat(1_000)),
            format!("[{}null]", "{\"a\":1,\"b\":{\"c\":[1,2,{}]}},".repeat(1_000)),
            {
                let pairs: Vec<String> = (0..5_000).map(|n| format!("\"{n}\":{n}")).collect();
                format!("{{{}}}", pairs.join(","))
            },
        ];
        for text in texts {
            let value: Value = serde_json::from_str(&text).unwrap();
            let held = held(&value);
            let bound = document_bytes(text.as_bytes());
            let shown = &text[..text.len().min(40)];
            assert!(held <= bound, "{held} of {bound}: {shown}");
        }
    }

    #[test]
    fn bounds_on_paper() {
        assert_eq!(document_bytes(b"[1,1]"), LIST_BYTES + ITEM_BYTES + 2 * 5);
        let object = b"{\"a\":[1,2],\"b\":0}";
        let pairs = OBJECT_BYTES + 2 * PAIR_BYTES + 2 * STRING_BYTES;
        let expected = pairs + LIST_BYTES + ITEM_BYTES + 2 * object.len();
        assert_eq!(document_bytes(object), expected);
        let number = b"[123456789012345678901,1]";
        let expected = LIST_BYTES + ITEM_BYTES + LONG_NUMBER_BYTES + 2 * number.len();
        assert_eq!(document_bytes(number), expected);
        // What is no JSON has a bound, too.
        assert_eq!(document_bytes(b"::::"), 4 * PAIR_BYTES + 2 * 4);
    }
}
