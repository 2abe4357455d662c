//! Looking into JSON texts without parsing what is not needed.

use std::borrow::Cow;

/// The text of the JSON value that `tokens` lead to (RFC 6901), as it stands in `json`.
pub(crate) fn pointer<'a>(json: &'a [u8], tokens: &[String]) -> Option<&'a [u8]> {
    let mut here = json.trim_ascii();
    for token in tokens {
        let found = if here.first() == Some(&b'[') {
            sonic_rs::get(here, [array_index(token)?]).ok()?
        } else {
            sonic_rs::get(here, [token.as_str()]).ok()?
        };
        here = part_of(here, found.as_raw_str())?;
    }
    (!here.is_empty()).then_some(here)
}

/// The items of a JSON array as they stand in `json`; `None` if it is no array.
pub(crate) fn items(json: &[u8]) -> Option<Vec<&[u8]>> {
    if json.first() != Some(&b'[') {
        return None;
    }
    let item = |item: sonic_rs::Result<sonic_rs::LazyValue<'_>>| {
        let item = item.ok()?;
        part_of(json, item.as_raw_str())
    };
    sonic_rs::to_array_iter(json).map(item).collect()
}

/// The first items of a JSON array as they stand in `json`, `N` at most, and how many these are;
/// `None` if it is no array.
pub(crate) fn first_items<const N: usize>(json: &[u8]) -> Option<([&[u8]; N], usize)> {
    let json = json.trim_ascii();
    if json.first() != Some(&b'[') {
        return None;
    }
    let (mut found, mut count) = ([&b""[..]; N], 0);
    for (place, item) in found.iter_mut().zip(sonic_rs::to_array_iter(json)) {
        *place = part_of(json, item.ok()?.as_raw_str())?;
        count += 1;
    }
    Some((found, count))
}

/// Calls `each` with the pairs of a JSON object, their values as they stand in `json`; `None` if it is
/// no object.
pub(crate) fn pairs<'a>(json: &'a [u8], mut each: impl FnMut(&str, &'a [u8])) -> Option<()> {
    let json = json.trim_ascii();
    if json.first() != Some(&b'{') {
        return None;
    }
    for pair in sonic_rs::to_object_iter(json) {
        let (key, value) = pair.ok()?;
        each(&key, part_of(json, value.as_raw_str())?);
    }
    Some(())
}

/// `part` with the lifetime of what it is a part of: a lazy value of borrowed input is one.
fn part_of<'a>(whole: &'a [u8], part: &str) -> Option<&'a [u8]> {
    let start = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    whole.get(start..start + part.len())
}

/// RFC 6901 §4: digits without a leading zero.
fn array_index(token: &str) -> Option<usize> {
    let plain =
        token.bytes().all(|b| b.is_ascii_digit()) && (token == "0" || !token.starts_with('0'));
    plain.then(|| token.parse().ok()).flatten()
}

/// The text inside a JSON string's quotes, unescaped.
pub(crate) fn unquoted(raw: &[u8]) -> Option<Cow<'_, [u8]>> {
    let inner = raw.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if !inner.contains(&b'\\') {
        return Some(Cow::Borrowed(inner));
    }
    let text: String = sonic_rs::from_slice(raw).ok()?;
    Some(Cow::Owned(text.into_bytes()))
}

/// A number as JSON writes it.
pub(crate) fn number(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The number in a JSON number or in a string that holds one.
pub(crate) fn json_number(raw: &[u8]) -> Option<f64> {
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
}
