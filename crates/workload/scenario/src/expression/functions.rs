//! The functions, by name: how many arguments each takes, and how a call looks.

use std::ops::Range;

use plan::expr::{Func, Pure};

/// A function as people call it.
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) func: Func,
    /// How many arguments it takes; the end is not included.
    pub(crate) arguments: Range<usize>,
    /// A call, for hints.
    pub(crate) form: &'static str,
}

const fn function(
    name: &'static str,
    func: Func,
    arguments: Range<usize>,
    form: &'static str,
) -> Function {
    Function { name, func, arguments, form }
}

const fn pure(
    name: &'static str,
    function: Pure,
    arguments: Range<usize>,
    form: &'static str,
) -> Function {
    self::function(name, Func::Pure(function), arguments, form)
}

pub(crate) const FUNCTIONS: &[Function] = &[
    function("random", Func::Random, 2..3, "random(1, 6)"),
    function("random_float", Func::RandomFloat, 2..3, "random_float(0, 1)"),
    function("random_string", Func::RandomString, 1..2, "random_string(8)"),
    function("random_bytes", Func::RandomBytes, 1..2, "random_bytes(16)"),
    function("zipfian", Func::Zipfian, 1..3, "zipfian(1000)"),
    function("latest", Func::Latest, 1..3, "latest(1000)"),
    function("hotspot", Func::Hotspot, 1..4, "hotspot(1000, 0.2, 0.8)"),
    function("pick", Func::Pick, 1..256, "pick('a', 'b')"),
    function("pick_at", Func::PickAt, 2..256, "pick_at(zipfian(2), 'a', 'b')"),
    function("uuid", Func::Uuid, 0..1, "uuid()"),
    function("now", Func::Now, 0..1, "now()"),
    function("str", Func::Str, 1..2, "str(x)"),
    function("int", Func::Int, 1..2, "int(x)"),
    function("len", Func::Len, 1..2, "len(x)"),
    function("base64", Func::Base64, 1..256, "base64(x)"),
    function("json", Func::Json, 2..3, "json(text, '/items/0')"),
    function("items", Func::Items, 1..2, "items(list)"),
    function("raw", Func::Raw, 1..2, "raw(x)"),
    pure("contains", Pure::Contains, 2..3, "contains(text, 'part')"),
    pure("starts_with", Pure::StartsWith, 2..3, "starts_with(text, 'part')"),
    pure("ends_with", Pure::EndsWith, 2..3, "ends_with(text, 'part')"),
    pure("replace", Pure::Replace, 3..4, "replace(text, 'a', 'b')"),
    pure("trim", Pure::Trim, 1..2, "trim(text)"),
    pure("lower", Pure::Lower, 1..2, "lower(text)"),
    pure("upper", Pure::Upper, 1..2, "upper(text)"),
    pure("substring", Pure::Substring, 2..4, "substring(text, 0, 5)"),
    pure("split", Pure::Split, 2..3, "split(text, ',')"),
    pure("join", Pure::Join, 2..3, "join(list, ',')"),
    pure("index_of", Pure::IndexOf, 2..3, "index_of(text, 'part')"),
    pure("pad", Pure::Pad, 2..4, "pad(text, 8, '0')"),
    pure("round", Pure::Round, 1..3, "round(x, 2)"),
    pure("floor", Pure::Floor, 1..2, "floor(x)"),
    pure("ceil", Pure::Ceil, 1..2, "ceil(x)"),
    pure("abs", Pure::Abs, 1..2, "abs(x)"),
    pure("min", Pure::Min, 1..256, "min(x, y)"),
    pure("max", Pure::Max, 1..256, "max(x, y)"),
    pure("base64url", Pure::Base64Url, 1..256, "base64url(x)"),
    pure("base64_decode", Pure::Base64Decode, 1..2, "base64_decode(x)"),
    pure("hex", Pure::Hex, 1..2, "hex(x)"),
    pure("hex_decode", Pure::HexDecode, 1..2, "hex_decode(x)"),
    pure("url", Pure::Url, 1..2, "url(x)"),
    pure("url_decode", Pure::UrlDecode, 1..2, "url_decode(x)"),
    pure("bytes", Pure::Bytes, 1..3, "bytes(x, 'base32')"),
    pure("number_at", Pure::NumberAt, 2..4, "number_at(x, 'u32be', 4)"),
    pure("msgpack", Pure::Msgpack, 1..2, "msgpack(x)"),
    pure("msgpack_decode", Pure::MsgpackDecode, 1..2, "msgpack_decode(x)"),
    pure("md5", Pure::Md5, 1..3, "md5(x)"),
    pure("sha1", Pure::Sha1, 1..3, "sha1(x)"),
    pure("sha256", Pure::Sha256, 1..3, "sha256(x, 'base64')"),
    pure("sha384", Pure::Sha384, 1..3, "sha384(x)"),
    pure("sha512", Pure::Sha512, 1..3, "sha512(x)"),
    pure("hmac_sha1", Pure::HmacSha1, 2..5, "hmac_sha1(key, x)"),
    pure("hmac_sha256", Pure::HmacSha256, 2..5, "hmac_sha256(key, x, 'base64')"),
    pure("hmac_sha384", Pure::HmacSha384, 2..5, "hmac_sha384(key, x)"),
    pure("hmac_sha512", Pure::HmacSha512, 2..5, "hmac_sha512(key, x)"),
    pure("jwt", Pure::Jwt, 2..5, "jwt(claims, file('key.pem'), 'RS256')"),
    pure("date", Pure::Date, 2..4, "date(now(), '%Y-%m-%d')"),
    pure("date_ms", Pure::DateMs, 2..4, "date_ms(text, '%Y-%m-%d')"),
    pure("date_add", Pure::DateAdd, 2..4, "date_add(now(), '1 month')"),
];
