//! Functions of values alone: they look at no user and draw nothing, so calls with constants are computed when a scenario
//! is compiled.

mod dates;
mod digests;
mod msgpack;
mod rounding;
mod texts;

pub(super) use digests::signed;

use serde::Serialize;

use super::{EvalError, Value};

/// Longest text that a function makes, in bytes.
const TEXT_BYTES_MAX: usize = 16 << 20;

/// A function of values alone. Argument counts are checked when the scenario is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Pure {
    /// `contains(text, part)`.
    Contains,
    /// `starts_with(text, part)`.
    StartsWith,
    /// `ends_with(text, part)`.
    EndsWith,
    /// `replace(text, part, by)`: every occurrence.
    Replace,
    /// `trim(text)`: without blanks around it.
    Trim,
    /// `lower(text)`.
    Lower,
    /// `upper(text)`.
    Upper,
    /// `substring(text, start, count)`: characters; a negative start counts from the end.
    Substring,
    /// `split(text, separator)`: a list as JSON text.
    Split,
    /// `join(list, separator)`: the items of a list in JSON text.
    Join,
    /// `base64url(x, …)`: without padding (RFC 4648 §5).
    Base64Url,
    /// `base64_decode(x)`: the text in base64 of either alphabet.
    Base64Decode,
    /// `hex(x)`: the bytes of its text.
    Hex,
    /// `url(x)`: percent-encoded.
    Url,
    /// `index_of(text, part)`: where it occurs first, in characters; -1: nowhere.
    IndexOf,
    /// `pad(text, width, fill)`: filled in front.
    Pad,
    /// `url_decode(x)`: what percent-encoding stands for.
    UrlDecode,
    /// `hex_decode(x)`: the text in hexadecimal digits.
    HexDecode,
    /// `round(x, digits)`.
    Round,
    /// `floor(x)`.
    Floor,
    /// `ceil(x)`.
    Ceil,
    /// `abs(x)`.
    Abs,
    /// `min(x, y, …)`.
    Min,
    /// `max(x, y, …)`.
    Max,
    /// `bytes(x, form)`: what a text in hexadecimal digits, base64 or base32 stands for, or a number as bytes.
    Bytes,
    /// `number_at(x, form, at)`: a number among the bytes of x.
    NumberAt,
    /// `msgpack(x)`: JSON text as MessagePack.
    Msgpack,
    /// `msgpack_decode(x)`: MessagePack as JSON text.
    MsgpackDecode,
    /// `md5(x)`.
    Md5,
    /// `sha1(x)`, in hexadecimal digits or as a second argument says, as all hashes.
    Sha1,
    /// `sha256(x)`.
    Sha256,
    /// `sha384(x)`.
    Sha384,
    /// `sha512(x)`.
    Sha512,
    /// `hmac_sha1(key, x)`, in the form of a third argument; a fourth says which form the key has.
    HmacSha1,
    /// `hmac_sha256(key, x)`.
    HmacSha256,
    /// `hmac_sha384(key, x)`.
    HmacSha384,
    /// `hmac_sha512(key, x)`.
    HmacSha512,
    /// `jwt(claims, key, algorithm, header)`: a signed token (RFC 7519); HS256 without an algorithm.
    Jwt,
    /// The number of items of a list in JSON text, or a limit if there are more: the rounds of a `foreach`.
    Rounds,
    /// The item of a list in JSON text at a place, from 0.
    Item,
    /// `date(ms, format, zone)`: a time as text.
    Date,
    /// `date_ms(text, format, zone)`: a text as a time.
    DateMs,
    /// `date_add(ms, span, zone)`: a time so much later, by the calendar.
    DateAdd,
}

/// The function's value.
pub(super) fn apply(function: Pure, args: &[Value]) -> Result<Value, EvalError> {
    let text = |at: usize| args.get(at).unwrap_or(&Value::Nothing).to_text();
    let first = text(0);
    let second = text(1);
    Ok(match function {
        Pure::Contains => Value::Bool(first.contains(&*second)),
        Pure::StartsWith => Value::Bool(first.starts_with(&*second)),
        Pure::EndsWith => Value::Bool(first.ends_with(&*second)),
        Pure::Replace => return texts::replace(&first, &second, &text(2)),
        Pure::Trim => Value::text(first.trim()),
        Pure::Lower => Value::text(&first.to_lowercase()),
        Pure::Upper => Value::text(&first.to_uppercase()),
        Pure::Substring => return texts::substring(&args[0], &args[1..]),
        Pure::Split => return texts::split(&first, &second),
        Pure::Join => return texts::join(&first, &second),
        Pure::Base64Url => return texts::base64_url(args),
        Pure::Base64Decode => return texts::base64_decode(&first),
        Pure::Hex => return bounded(&units::hex(&args[0].bytes())),
        Pure::Url => return texts::url(&args[0]),
        Pure::IndexOf => texts::index_of(&first, &second),
        Pure::Pad => return texts::pad(&first, &args[1..]),
        Pure::UrlDecode => return texts::url_decode(&first),
        Pure::HexDecode => return digests::hex_decode(&first),
        Pure::Round | Pure::Floor | Pure::Ceil | Pure::Abs | Pure::Min | Pure::Max => {
            return rounding::apply(function, args);
        }
        Pure::Bytes => return digests::bytes(&args[0], args.get(1)),
        Pure::NumberAt => return digests::number_at(&args[0], &second, args.get(2)),
        Pure::Msgpack => return msgpack::encode(&args[0]),
        Pure::MsgpackDecode => return msgpack::decode(&args[0]),
        Pure::Md5 | Pure::Sha1 | Pure::Sha256 | Pure::Sha384 | Pure::Sha512 => {
            let hash = digests::hash(function, &args[0].bytes());
            return digests::written(&hash, args.get(1));
        }
        Pure::HmacSha1 | Pure::HmacSha256 | Pure::HmacSha384 | Pure::HmacSha512 => {
            let key = digests::key(&args[0], args.get(3))?;
            let mac = digests::hmac(function, &key, &args[1].bytes());
            return digests::written(&mac, args.get(2));
        }
        Pure::Jwt => return digests::jwt(&first, &second, args.get(2), args.get(3)),
        Pure::Rounds => return texts::rounds(&first, args.get(1)),
        Pure::Item => texts::item(&first, &second),
        Pure::Date => return dates::date(&args[0], &second, args.get(2)),
        Pure::DateMs => return dates::date_ms(&first, &second, args.get(2)),
        Pure::DateAdd => return dates::date_add(&args[0], &second, args.get(2)),
    })
}

fn wrong(text: impl Into<String>) -> EvalError {
    EvalError::Argument(text.into())
}

/// Refuses texts that grow without end.
fn bounded(text: &str) -> Result<Value, EvalError> {
    match text.len() > TEXT_BYTES_MAX {
        true => Err(wrong(format!("the text has more than {TEXT_BYTES_MAX} bytes"))),
        false => Ok(Value::text(text)),
    }
}
