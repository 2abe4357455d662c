//! Bytes, hashes, keyed hashes and signed tokens.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, Mac};
use md5::Md5;
use sha1::{Digest, Sha1};
use sha2::{Sha256, Sha384, Sha512};
use signing::{Algorithm, Key, TokenError};
use units::{from_hex, hex};

use super::{Pure, wrong};
use crate::expr::binary::NumberForm;
use crate::expr::numbers::to_int;
use crate::expr::{EvalError, Value};

/// Forms in which texts have bytes.
const TEXT_FORMS: &[&str] = &["text", "hex", "base64", "base64url", "base32"];

/// FIPS 180-4, RFC 1321.
pub(super) fn hash(function: Pure, bytes: &[u8]) -> Vec<u8> {
    match function {
        Pure::Sha1 => Sha1::digest(bytes).to_vec(),
        Pure::Md5 => Md5::digest(bytes).to_vec(),
        Pure::Sha384 => Sha384::digest(bytes).to_vec(),
        Pure::Sha512 => Sha512::digest(bytes).to_vec(),
        _ => Sha256::digest(bytes).to_vec(),
    }
}

/// RFC 2104.
pub(super) fn hmac(function: Pure, key: &[u8], bytes: &[u8]) -> Vec<u8> {
    match function {
        Pure::HmacSha1 => mac::<Hmac<Sha1>>(key, bytes),
        Pure::HmacSha384 => mac::<Hmac<Sha384>>(key, bytes),
        Pure::HmacSha512 => mac::<Hmac<Sha512>>(key, bytes),
        _ => mac::<Hmac<Sha256>>(key, bytes),
    }
}

fn mac<M: Mac + hmac::digest::KeyInit>(key: &[u8], bytes: &[u8]) -> Vec<u8> {
    let mut mac = <M as Mac>::new_from_slice(key).expect("a key of HMAC has any length");
    mac.update(bytes);
    mac.finalize().into_bytes().to_vec()
}

/// Bytes as text, in this form; `None`: hexadecimal digits.
pub(super) fn written(bytes: &[u8], form: Option<&Value>) -> Result<Value, EvalError> {
    let form = form.map_or_else(|| "hex".into(), Value::to_text);
    Ok(Value::text(&match &*form {
        "hex" => hex(bytes),
        "base64" => STANDARD.encode(bytes),
        "base64url" => URL_SAFE_NO_PAD.encode(bytes),
        "bytes" => return Ok(Value::Bytes(bytes.into())),
        other => {
            return Err(wrong(format!(
                "`{other}` is no form of a hash; write 'hex', 'base64', 'base64url' or 'bytes'"
            )));
        }
    }))
}

/// A key of this form; `None`: the text itself, or bytes.
pub(super) fn key<'k>(value: &'k Value, form: Option<&Value>) -> Result<Cow<'k, [u8]>, EvalError> {
    let form = form.map_or_else(|| "text".into(), Value::to_text);
    if !TEXT_FORMS.contains(&&*form) {
        let forms = TEXT_FORMS.join("', '");
        return Err(wrong(format!("`{form}` is no form of a key; the forms are '{forms}'")));
    }
    decoded(value, &form).ok_or_else(|| wrong(format!("the key is not {form}")))
}

/// Bytes of a text of this form, or of a number; `None`: of the text itself.
pub(super) fn bytes(value: &Value, form: Option<&Value>) -> Result<Value, EvalError> {
    let form = form.map_or_else(|| "text".into(), Value::to_text);
    if let Some(number) = NumberForm::parse(&form) {
        let mut out = Vec::new();
        number.write(value, &mut out)?;
        return Ok(Value::Bytes(out.into()));
    }
    if !TEXT_FORMS.contains(&&*form) {
        let forms = TEXT_FORMS.join("', '");
        return Err(wrong(format!(
            "`{form}` is no form of bytes; the forms are '{forms}' and numbers like 'u32be'"
        )));
    }
    let found = decoded(value, &form);
    let found = found.ok_or_else(|| wrong(format!("bytes: the text is not {form}")))?;
    Ok(Value::Bytes(found.into()))
}

/// The bytes that a text of one of the [`TEXT_FORMS`] stands for; `None`: it is not of this form.
fn decoded<'v>(value: &'v Value, form: &str) -> Option<Cow<'v, [u8]>> {
    let text = || value.to_text();
    let decoded = match form {
        "hex" => from_hex(&text()),
        "base64" => STANDARD.decode(text().as_bytes()).ok(),
        "base64url" => URL_SAFE_NO_PAD.decode(text().as_bytes()).ok(),
        "base32" => from_base32(&text()),
        _ => return Some(value.bytes()),
    };
    decoded.map(Cow::Owned)
}

/// RFC 4648 §6, in capitals or small letters, with padding or without.
fn from_base32(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    let mut bytes = Vec::with_capacity(digits.len() * 5 / 8);
    let mut bits = 0_u32;
    let mut bits_count = 0;
    for digit in digits.bytes() {
        let number = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a',
            b'2'..=b'7' => digit - b'2' + 26,
            _ => return None,
        };
        bits = bits << 5 | u32::from(number);
        bits_count += 5;
        if bits_count >= 8 {
            bits_count -= 8;
            bytes.push((bits >> bits_count) as u8);
            bits &= (1 << bits_count) - 1;
        }
    }
    // The last digit may fill up a byte with zeros, but no digit is left over.
    (bits_count < 5 && bits == 0).then_some(bytes)
}

/// The number of this form at a place in bytes, from their end if that is negative; nothing where they are too short.
pub(super) fn number_at(value: &Value, form: &str, at: Option<&Value>) -> Result<Value, EvalError> {
    let Some(number) = NumberForm::parse(form) else {
        return Err(wrong(format!(
            "`{form}` is no form of a number; write one like 'u8', 'u32be' or 'varint'"
        )));
    };
    let bytes = value.bytes();
    let at = at.map_or(Ok(0), to_int)?;
    let start = match usize::try_from(at) {
        Ok(start) => Some(start),
        Err(_) => usize::try_from(at.unsigned_abs())
            .ok()
            .and_then(|from_end| bytes.len().checked_sub(from_end)),
    };
    let found = start.and_then(|start| number.read(bytes.get(start..)?));
    Ok(found.unwrap_or_default())
}

pub(super) fn hex_decode(text: &str) -> Result<Value, EvalError> {
    let bytes = from_hex(text).ok_or_else(|| wrong("hex_decode: the text is not hexadecimal"))?;
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| wrong("hex_decode: the bytes are not UTF-8"))?;
    Ok(Value::text(&text))
}

/// A token with a key that is read for it alone.
pub(super) fn jwt(
    claims: &str,
    key: &str,
    algorithm: Option<&Value>,
    header: Option<&Value>,
) -> Result<Value, EvalError> {
    let name = algorithm.map_or_else(|| "HS256".into(), Value::to_text);
    let header = header.filter(|header| **header != Value::Nothing);
    let header = header.map(Value::to_text);
    let key = Algorithm::parse(&name).and_then(|algorithm| Ok(Key::new(algorithm, key)?));
    signed(key.and_then(|key| key.token(header.as_deref(), claims)))
}

/// A token as a value.
pub(in crate::expr) fn signed(token: Result<String, TokenError>) -> Result<Value, EvalError> {
    token.map(|token| Value::text(&token)).map_err(|error| wrong(format!("jwt: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-4, examples of NIST for `abc`; RFC 1321 §A.5.
    #[test]
    fn hashes_are_those_of_the_standard() {
        for (function, expected) in [
            (Pure::Md5, "900150983cd24fb0d6963f7d28e17f72"),
            (
                Pure::Sha384,
                "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed\
                 8086072ba1e7cc2358baeca134c825a7",
            ),
            (Pure::Sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (Pure::Sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                Pure::Sha512,
                "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
                 2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
            ),
        ] {
            assert_eq!(hex(&hash(function, b"abc")), expected);
        }
    }

    /// RFC 4231 §4.2, §4.3 and §4.7 (a key longer than a block), RFC 2202 §3 case 2.
    #[test]
    fn keyed_hashes_are_those_of_the_rfcs() {
        let long = [0xaa; 131];
        let larger: &[u8] = b"Test Using Larger Than Block-Size Key - Hash Key First";
        for (function, key, data, expected) in [
            (
                Pure::HmacSha256,
                &[0x0b; 20][..],
                &b"Hi There"[..],
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                Pure::HmacSha256,
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                Pure::HmacSha384,
                b"Jefe",
                b"what do ya want for nothing?",
                "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e\
                 8e2240ca5e69e2c78b3239ecfab21649",
            ),
            (
                Pure::HmacSha512,
                b"Jefe",
                b"what do ya want for nothing?",
                "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554\
                 9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
            ),
            (
                Pure::HmacSha256,
                &long,
                larger,
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
            (
                Pure::HmacSha1,
                b"Jefe",
                b"what do ya want for nothing?",
                "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
            ),
        ] {
            assert_eq!(hex(&hmac(function, key, data)), expected);
        }
    }
}
