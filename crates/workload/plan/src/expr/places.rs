//! The places of a JSON text that a JSONPath names.

mod digits;

use serde_json_path::JsonPath;

use super::Value;
use crate::json::unmarked;
use digits::{Digits, has_float};

/// Longest list that JSONPath makes of a text, or a selector of a page, in bytes: one place may contain others.
pub(crate) const LIST_BYTES_MAX: usize = 16 << 20;

/// The values that JSONPath finds in JSON text, as a list in JSON text, which may be empty; `None`:
/// the text is no JSON, or the list would be too long. Numbers have all of their digits.
pub fn all_places(path: &JsonPath, json: &[u8]) -> Option<Value> {
    let json = std::str::from_utf8(unmarked(json)).ok()?;
    let document: serde_json::Value = serde_json::from_str(json).ok()?;
    let found = path.query(&document).all();
    let digits = match found.iter().any(|value| has_float(value)) {
        true => Digits::of(json, &document),
        false => Digits::default(),
    };
    let mut list = String::from("[");
    for value in found {
        if list.len() > 1 {
            list.push(',');
        }
        digits.write(value, &mut list);
        if list.len() > LIST_BYTES_MAX {
            return None;
        }
    }
    list.push(']');
    Some(Value::text(&list))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, json: &str) -> String {
        let path = JsonPath::parse(path).unwrap();
        all_places(&path, json.as_bytes()).unwrap().to_text().to_string()
    }

    #[test]
    fn a_byte_order_mark_is_ignored() {
        assert_eq!(found("$[*].id", "\u{feff}[{\"id\": 7}]"), "[7]");
    }

    #[test]
    fn numbers_keep_their_digits() {
        let orders = r#"{"orders": [
            {"id": 18446744073709551615, "price": 0.5},
            {"id": 123456789012345678901 , "price": 0.12345678901234567890},
            {"id": -123456789012345678902, "tags": {"a\"b": [1, "x", 1.50, 9007199254740993.5]}}
        ]}"#;
        let ids = "[18446744073709551615,123456789012345678901,-123456789012345678902]";
        assert_eq!(found("$.orders[*].id", orders), ids);
        assert_eq!(found("$..price", orders), "[0.5,0.12345678901234567890]");
        let tags = r#"[{"a\"b":[1,"x",1.5,9007199254740993.5]}]"#;
        assert_eq!(found("$.orders[*].tags", orders), tags);
        assert_eq!(
            found("$[?@ > 1]", "[ 1, 100000000000000000001,2 ]"),
            "[100000000000000000001,2]"
        );
    }

    /// The last pair counts, as in `serde_json`; nothing of those before it is left.
    #[test]
    fn of_pairs_with_one_key_the_last_is_found() {
        let twice =
            r#"[{"a": {"b": 123456789012345678901}, "a": {"b": 0.5}}, {"a": 1.5, "a": [2.5]}]"#;
        assert_eq!(found("$[*].a", twice), r#"[{"b":0.5},[2.5]]"#);
        let reversed = r#"[{"a": {"b": 0.5}, "\u0061": {"b": 123456789012345678901}}]"#;
        assert_eq!(found("$[*].a", reversed), r#"[{"b":123456789012345678901}]"#);
    }

    proptest::proptest! {
        /// Lists in lists, with spaces: what is found of all numbers is what was written.
        #[test]
        fn every_number_is_found_as_it_was(
            numbers in proptest::collection::vec("-?[1-9][0-9]{0,30}", 1..20),
            blanks in "[ \n\t]{0,3}",
        ) {
            let pairs = numbers.iter().enumerate();
            let items: Vec<String> = pairs
                .map(|(at, number)| format!("{blanks}{{\"k{at}\":{blanks}[{number}{blanks},{{}}]}}"))
                .collect();
            let json = format!("[{}{blanks}]", items.join(","));
            let list = found("$[*][*][0]", &json);
            proptest::prop_assert_eq!(list, format!("[{}]", numbers.join(",")));
        }
    }
}
