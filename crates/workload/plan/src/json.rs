//! Looks into JSON texts without parsing what is not needed.

mod depth;
mod document;

use std::borrow::Cow;
use std::cmp::Ordering;

use depth::Shallow;
pub use depth::depth_note;
pub(crate) use depth::end_of_string;
pub use document::document_bytes;

use crate::decimal;

/// The text of the JSON value that `tokens` lead to (RFC 6901), as it stands in `json`.
pub fn pointer<'a>(json: &'a [u8], tokens: &[String]) -> Option<&'a [u8]> {
    let mut here = Shallow::new(json)?;
    for token in tokens {
        let found = if here.bytes().first() == Some(&b'[') {
            sonic_rs::get(here.bytes(), [array_index(token)?]).ok()?
        } else {
            sonic_rs::get(here.bytes(), [token.as_str()]).ok()?
        };
        here = here.part(found.as_raw_str())?;
    }
    (!here.bytes().is_empty()).then_some(here.bytes())
}

/// The items of a JSON array as they stand in `json`; `None` if it is no array.
pub fn items(json: &[u8]) -> Option<Vec<&[u8]>> {
    let list = array(json)?;
    let item = |item: sonic_rs::Result<sonic_rs::LazyValue<'_>>| {
        Some(list.part(item.ok()?.as_raw_str())?.bytes())
    };
    sonic_rs::to_array_iter(list.bytes()).map(item).collect()
}

/// Calls `each` with the items of a JSON array as they stand in `json`, until it returns false; how many these were,
/// `None` if it is no array.
pub fn each_item<'a>(json: &'a [u8], mut each: impl FnMut(&'a [u8]) -> bool) -> Option<usize> {
    let list = array(json)?;
    let mut count = 0;
    for item in sonic_rs::to_array_iter(list.bytes()) {
        count += 1;
        if !each(list.part(item.ok()?.as_raw_str())?.bytes()) {
            break;
        }
    }
    Some(count)
}

/// The first items of a JSON array as they stand in `json`, `N` at most, and how many these are;
/// `None` if it is no array.
pub fn first_items<const N: usize>(json: &[u8]) -> Option<([&[u8]; N], usize)> {
    let list = array(json)?;
    let mut found = [&b""[..]; N];
    let mut count = 0;
    for (place, item) in found.iter_mut().zip(sonic_rs::to_array_iter(list.bytes())) {
        *place = list.part(item.ok()?.as_raw_str())?.bytes();
        count += 1;
    }
    Some((found, count))
}

fn array(json: &[u8]) -> Option<Shallow<'_>> {
    Shallow::new(json).filter(|list| list.bytes().first() == Some(&b'['))
}

/// Calls `each` with the pairs of a JSON object, their values as they stand in `json`; `None` if it is
/// no object.
pub fn pairs<'a>(json: &'a [u8], mut each: impl FnMut(&str, &'a [u8])) -> Option<()> {
    let object = Shallow::new(json).filter(|object| object.bytes().first() == Some(&b'{'))?;
    for pair in sonic_rs::to_object_iter(object.bytes()) {
        let (key, value) = pair.ok()?;
        each(&key, object.part(value.as_raw_str())?.bytes());
    }
    Some(())
}

/// The text behind a byte order mark. No text should begin with one, and a reader may ignore it (RFC 8259 §8.1).
pub fn unmarked(json: &[u8]) -> &[u8] {
    json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json)
}

/// RFC 6901 §4: digits without a leading zero.
fn array_index(token: &str) -> Option<usize> {
    let plain =
        token.bytes().all(|b| b.is_ascii_digit()) && (token == "0" || !token.starts_with('0'));
    plain.then(|| token.parse().ok()).flatten()
}

/// The text inside a JSON string's quotes, unescaped.
pub fn unquoted(raw: &[u8]) -> Option<Cow<'_, [u8]>> {
    let inner = raw.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if !inner.contains(&b'\\') {
        return Some(Cow::Borrowed(inner));
    }
    // A text that begins with a quote nests nothing.
    let text: String = sonic_rs::from_slice(raw).ok()?;
    Some(Cow::Owned(text.into_bytes()))
}

/// Whether both texts are numbers of one value.
pub fn is_same_number(a: &[u8], b: &[u8]) -> bool {
    let begins = |text: &[u8]| text.first().is_some_and(|byte| !byte.is_ascii_alphabetic());
    // Most texts that differ are no numbers, and may be long.
    if !begins(a) || !begins(b) || a.starts_with(b"{") || a.starts_with(b"[") {
        return false;
    }
    let texts = (std::str::from_utf8(a), std::str::from_utf8(b));
    matches!(texts, (Ok(a), Ok(b)) if decimal::compare(a, b) == Some(Ordering::Equal))
}

fn number(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The number in a JSON number or in a string that holds one.
pub fn json_number(raw: &[u8]) -> Option<f64> {
    match unquoted(raw) {
        Some(text) => number(&text),
        None => number(raw),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at<'a>(json: &'a str, path: &[&str]) -> Option<&'a str> {
        let tokens: Vec<String> = path.iter().map(|&t| t.to_owned()).collect();
        pointer(json.as_bytes(), &tokens).map(|raw| std::str::from_utf8(raw).unwrap())
    }

    #[test]
    fn pointers_follow_objects_and_arrays() {
        let json = r#" {"a": [{"b": "x\"y"}, 2], "0": true, "n": null} "#;
        assert_eq!(at(json, &["a", "0", "b"]), Some(r#""x\"y""#));
        assert_eq!(at(json, &["a", "1"]), Some("2"));
        assert_eq!(at(json, &["0"]), Some("true"));
        assert_eq!(at(json, &["n"]), Some("null"));
        assert_eq!(at(json, &["a", "2"]), None);
        assert_eq!(at(json, &["a", "01"]), None);
        assert_eq!(at(json, &["b"]), None);
        assert_eq!(at("not json", &["b"]), None);
        assert_eq!(at("", &[]), None);
    }

    /// .NET and PHP write one where a file has it.
    #[test]
    fn a_byte_order_mark_is_no_part_of_the_text() {
        let object = "\u{feff} {\"id\": 7}".as_bytes();
        assert_eq!(pointer(object, &["id".to_owned()]), Some(&b"7"[..]));
        assert_eq!(pointer(object, &[]), Some(&b"{\"id\": 7}"[..]));
        let mut seen = Vec::new();
        assert_eq!(pairs(object, |key, value| seen.push((key.to_owned(), value))), Some(()));
        assert_eq!(seen, [("id".to_owned(), &b"7"[..])]);
        let list = "\u{feff}[1,\"\u{feff}\"]".as_bytes();
        assert_eq!(items(list), Some(vec![&b"1"[..], "\"\u{feff}\"".as_bytes()]));
        assert_eq!(each_item(list, |_| true), Some(2));
        assert_eq!(first_items::<1>(list), Some(([&b"1"[..]], 1)));
        // One alone is none of JSON, and neither are two.
        assert_eq!(pointer("\u{feff}".as_bytes(), &[]), None);
        assert_eq!(items("\u{feff}\u{feff}[]".as_bytes()), None);
    }

    /// Each way into a text that is nested 200,000 levels deep, on a small stack.
    #[test]
    fn what_is_nested_too_deeply_is_not_read() {
        let texts = ["{\"a\":", "[", "[{\"a\":", "{\"b\":1,\"a\":[", "{\"a\":\"\\\"\",\"b\":"];
        let look = move || {
            for front in texts {
                let json = front.repeat(200_000);
                let json = json.as_bytes();
                for path in [&["a"][..], &["0"], &["b", "a"], &[]] {
                    let tokens: Vec<String> = path.iter().map(|&t| t.to_owned()).collect();
                    assert_eq!(pointer(json, &tokens), None, "{front}");
                }
                assert_eq!(items(json), None, "{front}");
                assert_eq!(first_items::<3>(json), None, "{front}");
                assert_eq!(pairs(json, |_, _| {}), None, "{front}");
                assert_eq!(unquoted(json), None, "{front}");
                assert!(!depth_note(json).is_empty());
            }
        };
        let thread = std::thread::Builder::new().stack_size(512 << 10);
        thread.spawn(look).unwrap().join().unwrap();
    }
}
