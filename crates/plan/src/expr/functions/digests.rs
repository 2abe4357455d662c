//! Hashes, keyed hashes and signed tokens.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, Mac};
use sha1::{Digest, Sha1};
use sha2::{Sha256, Sha512};

use super::{Pure, wrong};
use crate::expr::{EvalError, Value};

/// What a token's header says.
const JWT_HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;

/// FIPS 180-4.
pub(super) fn hash(function: Pure, bytes: &[u8]) -> Vec<u8> {
    match function {
        Pure::Sha1 => Sha1::digest(bytes).to_vec(),
        Pure::Sha512 => Sha512::digest(bytes).to_vec(),
        _ => Sha256::digest(bytes).to_vec(),
    }
}

/// RFC 2104.
pub(super) fn hmac(function: Pure, key: &[u8], bytes: &[u8]) -> Vec<u8> {
    match function {
        Pure::HmacSha1 => mac::<Hmac<Sha1>>(key, bytes),
        Pure::HmacSha512 => mac::<Hmac<Sha512>>(key, bytes),
        _ => mac::<Hmac<Sha256>>(key, bytes),
    }
}

fn mac<M: Mac + hmac::digest::KeyInit>(key: &[u8], bytes: &[u8]) -> Vec<u8> {
    let mut mac = <M as Mac>::new_from_slice(key).expect("a key of HMAC has any length");
    mac.update(bytes);
    mac.finalize().into_bytes().to_vec()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes as text, in this form; `None`: hexadecimal digits.
pub(super) fn written(bytes: &[u8], form: Option<&Value>) -> Result<Value, EvalError> {
    let form = form.map_or_else(|| "hex".into(), Value::to_text);
    Ok(Value::text(&match &*form {
        "hex" => hex(bytes),
        "base64" => STANDARD.encode(bytes),
        "base64url" => URL_SAFE_NO_PAD.encode(bytes),
        other => {
            return Err(wrong(format!(
                "`{other}` is no form of a hash; write 'hex', 'base64' or 'base64url'"
            )));
        }
    }))
}

/// A token with these claims, a JSON object (RFC 7515 §3.1).
pub(super) fn jwt(claims: &str, key: &[u8]) -> Result<Value, EvalError> {
    if serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(claims).is_err() {
        return Err(wrong("jwt: the claims are not a JSON object"));
    }
    Ok(Value::text(&token(JWT_HEADER, claims, key)))
}

fn token(header: &str, claims: &str, key: &[u8]) -> String {
    let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let signed = format!(
        "{}.{}",
        encode(header.as_bytes()),
        encode(claims.as_bytes())
    );
    let signature = hmac(Pure::HmacSha256, key, signed.as_bytes());
    format!("{signed}.{}", encode(&signature))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-4, examples of NIST for `abc`.
    #[test]
    fn hashes_are_those_of_the_standard() {
        for (function, expected) in [
            (Pure::Sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (
                Pure::Sha256,
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ),
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

    /// RFC 7515 appendix A.1.
    #[test]
    fn a_token_is_that_of_the_rfc() {
        let header = "{\"typ\":\"JWT\",\r\n \"alg\":\"HS256\"}";
        let claims =
            "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}";
        let key = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
        let key = URL_SAFE_NO_PAD.decode(key).unwrap();
        assert_eq!(
            token(header, claims, &key),
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9\
             .eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ\
             .dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        );
    }
}
