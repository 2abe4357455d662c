//! Functions of texts.

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{GeneralPurposeConfig, URL_SAFE_NO_PAD};

use super::{TEXT_BYTES_MAX, bounded, wrong};
use crate::expr::numbers::to_int;
use crate::expr::{Escape, EvalError, Value};

/// Either padding is fine.
const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);

pub(super) fn replace(text: &str, part: &str, by: &str) -> Result<Value, EvalError> {
    if part.is_empty() {
        return Err(wrong("replace: the text to be replaced is empty"));
    }
    // As long as it can become: so nothing is built that is refused after.
    let grown = text.matches(part).count().saturating_mul(by.len());
    if text.len().saturating_add(grown) > TEXT_BYTES_MAX {
        return Err(wrong(format!(
            "replace: the text would have more than {TEXT_BYTES_MAX} bytes"
        )));
    }
    bounded(&text.replace(part, by))
}

/// `range`: where it starts, and how many characters it has, or bytes of bytes; without that, up to the end.
pub(super) fn substring(value: &Value, range: &[Value]) -> Result<Value, EvalError> {
    let start = to_int(range.first().unwrap_or(&Value::Int(0)))?;
    let text = value.to_text();
    let length = match value {
        Value::Bytes(bytes) => bytes.len(),
        _ => text.chars().count(),
    };
    let skipped = match usize::try_from(start) {
        Ok(start) => start,
        Err(_) => {
            let from_end = usize::try_from(start.unsigned_abs()).unwrap_or(usize::MAX);
            length.saturating_sub(from_end)
        }
    };
    let count = match range.get(1) {
        Some(count) => usize::try_from(to_int(count)?).unwrap_or(0),
        None => usize::MAX,
    };
    if let Value::Bytes(bytes) = value {
        let begin = skipped.min(length);
        let end = begin.saturating_add(count).min(length);
        return Ok(Value::Bytes(bytes[begin..end].into()));
    }
    let text: String = text.chars().skip(skipped).take(count).collect();
    Ok(Value::text(&text))
}

/// An empty separator divides between characters. Nothing is built but the list's text, and none that is too long.
pub(super) fn split(text: &str, separator: &str) -> Result<Value, EvalError> {
    let mut list = String::from("[");
    let mut add = |part: &str| {
        if list.len() > 1 {
            list.push(',');
        }
        list.push_str(&serde_json::Value::from(part).to_string());
        list.len() < TEXT_BYTES_MAX
    };
    let is_whole = match separator {
        "" => text.chars().all(|c| add(c.encode_utf8(&mut [0; 4]))),
        _ => text.split(separator).all(&mut add),
    };
    if !is_whole {
        return Err(wrong(format!("split: the list would have more than {TEXT_BYTES_MAX} bytes")));
    }
    list.push(']');
    Ok(Value::text(&list))
}

pub(super) fn join(list: &str, separator: &str) -> Result<Value, EvalError> {
    let mut text = String::new();
    let mut is_first = true;
    // What is too long is not built.
    let count = crate::json::each_item(list.as_bytes(), |item| {
        if !std::mem::replace(&mut is_first, false) {
            text.push_str(separator);
        }
        text.push_str(&Value::from_json(&String::from_utf8_lossy(item)).to_text());
        text.len() <= TEXT_BYTES_MAX
    });
    if count.is_none() {
        return Err(wrong("join: the first argument is not a list in JSON"));
    }
    if text.len() > TEXT_BYTES_MAX {
        return Err(wrong(format!("join: the text would have more than {TEXT_BYTES_MAX} bytes")));
    }
    Ok(Value::text(&text))
}

/// How many items a list has, `at_most` that many.
pub(super) fn rounds(list: &str, at_most: Option<&Value>) -> Result<Value, EvalError> {
    let items = crate::json::each_item(list.as_bytes(), |_| true);
    let count = items.map(|count| count as i64).ok_or_else(|| {
        let shown: String = list.chars().take(40).collect();
        wrong(format!("foreach: `{shown}` is not a list in JSON"))
    })?;
    let at_most = at_most.map_or(Ok(i64::MAX), to_int)?;
    Ok(Value::Int(count.min(at_most)))
}

/// The item at a place; nothing where there is none.
pub(super) fn item(list: &str, place: &str) -> Value {
    match crate::json::pointer(list.as_bytes(), &[place.to_owned()]) {
        Some(found) => Value::from_json(&String::from_utf8_lossy(found)),
        None => Value::Nothing,
    }
}

/// URL-safe base64 of all texts joined.
pub(super) fn base64_url(args: &[Value]) -> Result<Value, EvalError> {
    let mut bytes = Vec::new();
    args.iter().for_each(|arg| arg.write_text(&mut bytes));
    bounded(&URL_SAFE_NO_PAD.encode(bytes))
}

pub(super) fn base64_decode(text: &str) -> Result<Value, EvalError> {
    let alphabet = match text.contains(['-', '_']) {
        true => &base64::alphabet::URL_SAFE,
        false => &base64::alphabet::STANDARD,
    };
    let bytes = GeneralPurpose::new(alphabet, LENIENT)
        .decode(text)
        .map_err(|error| wrong(format!("base64_decode: {error}")))?;
    let text =
        String::from_utf8(bytes).map_err(|_| wrong("base64_decode: the bytes are not UTF-8"))?;
    Ok(Value::text(&text))
}

pub(super) fn url(value: &Value) -> Result<Value, EvalError> {
    let mut out = Vec::new();
    value.write_escaped(Escape::Url, &mut out);
    bounded(&String::from_utf8_lossy(&out))
}

/// Index of the part in characters, as `substring` counts them.
pub(super) fn index_of(text: &str, part: &str) -> Value {
    let found = text.find(part);
    Value::Int(found.map_or(-1, |at| text[..at].chars().count() as i64))
}

/// `how`: the width in characters, and what fills it; a blank without that.
pub(super) fn pad(text: &str, how: &[Value]) -> Result<Value, EvalError> {
    let width = usize::try_from(to_int(how.first().unwrap_or(&Value::Nothing))?).unwrap_or(0);
    let fill = how.get(1).map_or_else(|| " ".into(), Value::to_text);
    let missing = width.saturating_sub(text.chars().count());
    if fill.is_empty() || missing.saturating_mul(4) > TEXT_BYTES_MAX {
        return Err(wrong("pad: nothing fills it, or it is too wide"));
    }
    let front: String = fill.chars().cycle().take(missing).collect();
    bounded(&(front + text))
}

/// RFC 3986 §2.1; a `%` without two digits stays.
pub(super) fn url_decode(text: &str) -> Result<Value, EvalError> {
    let mut rest = text.as_bytes();
    let mut bytes = Vec::with_capacity(rest.len());
    while let [first, after @ ..] = rest {
        let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
        rest = match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high << 4 | low) as u8);
                &after[2..]
            }
            _ => {
                bytes.push(*first);
                after
            }
        };
    }
    let text =
        String::from_utf8(bytes).map_err(|_| wrong("url_decode: the bytes are not UTF-8"))?;
    Ok(Value::text(&text))
}
