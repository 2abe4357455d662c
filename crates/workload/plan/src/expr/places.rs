//! The places of a JSON text that a JSONPath names.

mod digits;

use serde::Serialize;
use serde_json_path::JsonPath;

use super::Value;
use crate::json::unmarked;
use digits::{Digits, has_float};

/// Longest list that JSONPath makes of a text, or a selector of a page, in bytes: one place may contain others.
pub(crate) const LIST_BYTES_MAX: usize = 16 << 20;

/// Most values that all searches of a step look at in a response or message: that takes some tenths of a second.
pub const VISITS_MAX: u64 = 5_000_000;
/// A function that reads the text of one value reads this many bytes of it in the time of looking at a value.
const BYTES_PER_VISIT: u64 = 64;

/// A search for places, and how much work it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JsonSearch {
    pub path: JsonPath,
    /// The most values that it looks at, by powers of the document's size: the first number times the size, the second
    /// times its square, and so on.
    pub work: Vec<f64>,
}

impl JsonSearch {
    /// The most values that it looks at in a document of this size.
    fn visits(&self, size: u64) -> f64 {
        let size = size as f64;
        size * self.work.iter().rev().fold(0.0, |sum, factor| sum * size + factor)
    }
}

/// A search would take too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the searches would look at more than 5,000,000 values")]
pub struct TooMuchWork;

/// The values that JSONPath finds in JSON text, as a list in JSON text, which may be empty; `None`:
/// the text is no JSON, or the list would be too long. Numbers have all of their digits. `visits_left`: how many values
/// it may look at; those that it may have looked at are taken off.
///
/// # Errors
/// If it might look at more. Nothing is searched then.
pub fn all_places(
    search: &JsonSearch,
    json: &[u8],
    visits_left: &mut u64,
) -> Result<Option<Value>, TooMuchWork> {
    let Some((json, document)) = parsed(json) else {
        return Ok(None);
    };
    let visits = search.visits(values(&document) + json.len() as u64 / BYTES_PER_VISIT);
    if visits > *visits_left as f64 {
        return Err(TooMuchWork);
    }
    *visits_left -= visits as u64;
    Ok(list(&search.path, json, &document))
}

fn parsed(json: &[u8]) -> Option<(&str, serde_json::Value)> {
    let json = std::str::from_utf8(unmarked(json)).ok()?;
    Some((json, serde_json::from_str(json).ok()?))
}

/// How many values a document has, itself and all inside.
fn values(document: &serde_json::Value) -> u64 {
    let inside: u64 = match document {
        serde_json::Value::Array(items) => items.iter().map(values).sum(),
        serde_json::Value::Object(pairs) => pairs.values().map(values).sum(),
        _ => 0,
    };
    1 + inside
}

fn list(path: &JsonPath, json: &str, document: &serde_json::Value) -> Option<Value> {
    let found = path.query(document).all();
    let digits = match found.iter().any(|value| has_float(value)) {
        true => Digits::of(json, document),
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
        let search = JsonSearch { path, work: vec![1.0] };
        let list = all_places(&search, json.as_bytes(), &mut 1_000).unwrap();
        list.unwrap().to_text().to_string()
    }

    /// A list of three is four values: 4 + 2 · 4² = 36.
    #[test]
    fn searches_stop_at_the_work_that_is_left() {
        let path = JsonPath::parse("$[?$[*]]").unwrap();
        let search = JsonSearch { path, work: vec![1.0, 2.0] };
        let mut left = 80;
        for expected in [44, 8] {
            assert!(all_places(&search, b"[1,2,3]", &mut left).unwrap().is_some());
            assert_eq!(left, expected);
        }
        assert_eq!(all_places(&search, b"[1,2,3]", &mut left), Err(TooMuchWork));
        assert_eq!(left, 8);
        assert_eq!(all_places(&search, b"no JSON", &mut left), Ok(None));
        // A long text is work for the functions that read it.
        let text = format!("\"{}\"", "x".repeat(8 * 64));
        assert_eq!(search.visits(values(&serde_json::from_str(&text).unwrap())), 3.0);
        assert_eq!(all_places(&search, text.as_bytes(), &mut left), Err(TooMuchWork));
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
