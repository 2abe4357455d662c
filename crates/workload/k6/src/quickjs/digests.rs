//! Hashes and encodings, as `k6/crypto` and `k6/encoding` name them.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use hmac::{Hmac, Mac};
use md5::Md5;
use sha1::Sha1;
use sha2::digest::Digest;
use sha2::{Sha256, Sha384, Sha512, Sha512_224, Sha512_256};

/// The hash of `data`; with a key its HMAC (RFC 2104). `None`: no hash of this name is supported.
pub(crate) fn digest(kind: &str, data: &[u8], key: Option<&[u8]>) -> Option<Vec<u8>> {
    macro_rules! by {
        ($hash:ty) => {
            match key {
                None => <$hash>::digest(data).to_vec(),
                Some(key) => {
                    let mut mac = Hmac::<$hash>::new_from_slice(key).ok()?;
                    mac.update(data);
                    mac.finalize().into_bytes().to_vec()
                }
            }
        };
    }
    Some(match kind {
        "md5" => by!(Md5),
        "sha1" => by!(Sha1),
        "sha256" => by!(Sha256),
        "sha384" => by!(Sha384),
        "sha512" => by!(Sha512),
        "sha512_224" => by!(Sha512_224),
        "sha512_256" => by!(Sha512_256),
        _ => return None,
    })
}

/// Bytes as base64 of this kind; `None`: there is no such kind.
pub(crate) fn base64(kind: &str, bytes: &[u8]) -> Option<String> {
    Some(match kind {
        "std" => STANDARD.encode(bytes),
        "rawstd" => STANDARD_NO_PAD.encode(bytes),
        "url" => URL_SAFE.encode(bytes),
        "rawurl" => URL_SAFE_NO_PAD.encode(bytes),
        _ => return None,
    })
}

/// The bytes of a text in base64 of this kind. The error says what is wrong.
pub(crate) fn unbase64(kind: &str, text: &str) -> Result<Vec<u8>, String> {
    let engine = match kind {
        "std" => &STANDARD,
        "rawstd" => &STANDARD_NO_PAD,
        "url" => &URL_SAFE,
        "rawurl" => &URL_SAFE_NO_PAD,
        _ => return Err(format!("invalid base64 encoding: {kind}")),
    };
    engine.decode(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use units::hex;

    use super::*;

    /// RFC 1321, FIPS 180-2, RFC 2202.
    #[test]
    fn hashes_are_those_of_their_standards() {
        let of = |kind, data: &str, key: Option<&str>| {
            hex(&digest(kind, data.as_bytes(), key.map(str::as_bytes)).unwrap())
        };
        assert_eq!(of("md5", "abc", None), "900150983cd24fb0d6963f7d28e17f72");
        assert_eq!(of("sha1", "abc", None), "a9993e364706816aba3e25717850c26c9cd0d89d");
        let hmac = of("sha1", "what do ya want for nothing?", Some("Jefe"));
        assert_eq!(hmac, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
        assert_eq!(digest("md4", b"", None), None);
    }

    #[test]
    fn each_kind_of_base64_reads_what_it_writes() {
        for (kind, expected) in
            [("std", "+/8="), ("rawstd", "+/8"), ("url", "-_8="), ("rawurl", "-_8")]
        {
            assert_eq!(base64(kind, &[0xfb, 0xff]).unwrap(), expected);
            assert_eq!(unbase64(kind, expected).unwrap(), [0xfb, 0xff]);
        }
        assert!(unbase64("hex", "00").is_err());
    }
}
