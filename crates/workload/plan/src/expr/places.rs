//! The places of a JSON text that a JSONPath names.

use serde_json_path::JsonPath;

use super::Value;
use crate::json::unmarked;

/// Longest list that JSONPath makes of a text, or a selector of a page, in bytes: one place may contain others.
pub(crate) const LIST_BYTES_MAX: usize = 16 << 20;

/// The values that JSONPath finds in JSON text, as a list in JSON text, which may be empty; `None`:
/// the text is no JSON, or the list would be too long.
pub fn all_places(path: &JsonPath, json: &[u8]) -> Option<Value> {
    let document: serde_json::Value = serde_json::from_slice(unmarked(json)).ok()?;
    let mut list = String::from("[");
    for found in path.query(&document) {
        if list.len() > 1 {
            list.push(',');
        }
        list.push_str(&found.to_string());
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

    #[test]
    fn a_byte_order_mark_is_ignored() {
        let path = JsonPath::parse("$[*].id").unwrap();
        let found = all_places(&path, "\u{feff}[{\"id\": 7}]".as_bytes());
        assert_eq!(found, Some(Value::text("[7]")));
    }
}
