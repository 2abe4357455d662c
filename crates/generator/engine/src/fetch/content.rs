//! Content codings (RFC 9110 §8.4.1): the body of a response as it was before its server encoded it.

use std::io::Read;
use std::ops::RangeInclusive;

use flate2::read::MultiGzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use ruzstd::decoding::StreamingDecoder;

/// The codings that are decoded, as `accept-encoding` names them.
pub const CODINGS: &[&str] = &["gzip", "deflate", "br", "zstd"];

/// Most codings of one body, one after the other.
const CODINGS_MAX: usize = 3;
/// Largest window of Zstandard in HTTP (RFC 9659 §3).
const ZSTD_WINDOW_BYTES_MAX: u64 = 8 << 20;
/// How frames begin that have no part of the body (RFC 8878 §3.1.2).
const ZSTD_SKIPPABLE: RangeInclusive<u32> = 0x184d_2a50..=0x184d_2a5f;
/// How much room is made for decoded bytes at a time.
const CHUNK_BYTES: usize = 32 << 10;

/// Why a body cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Undecodable {
    /// A coding that is not among [`CODINGS`].
    #[error("the body has the content coding {0:?}; decoded are gzip, deflate, br and zstd")]
    Unknown(String),
    /// Too many codings.
    #[error("the body has {0} content codings; {CODINGS_MAX} are decoded at most")]
    TooMany(usize),
    /// It is not what the coding says.
    #[error("the body is not valid {coding}: {detail}")]
    Broken {
        /// Name of the coding.
        coding: &'static str,
        /// The decoder's error message.
        detail: String,
    },
    /// It is larger than the limit.
    #[error("the decoded body is larger than {0} bytes (`options.response_max`)")]
    TooLarge(usize),
}

/// Decodes a body that has these codings, as the header `content-encoding` lists them. No more than `bytes_max` bytes are
/// decoded, at any stage.
pub fn decode(codings: &str, body: &[u8], bytes_max: usize) -> Result<Vec<u8>, Undecodable> {
    let mut decoded: Option<Vec<u8>> = None;
    for name in names(codings)? {
        let encoded = decoded.as_deref().unwrap_or(body);
        let mut out = Vec::new();
        decode_one(&name, encoded, bytes_max, &mut out)?;
        decoded = Some(out);
    }
    Ok(decoded.unwrap_or_else(|| body.to_vec()))
}

/// As [`decode`] for a body of which perhaps only the beginning is there: what can be decoded of it, `bytes_max` bytes at
/// most, and whether that is all of it.
///
/// # Errors
/// Nothing can be decoded.
pub fn decode_start(
    codings: &str,
    body: &[u8],
    bytes_max: usize,
) -> Result<(Vec<u8>, bool), Undecodable> {
    let mut decoded: Option<Vec<u8>> = None;
    let mut is_all = true;
    for name in names(codings)? {
        let encoded = decoded.as_deref().unwrap_or(body);
        let mut out = Vec::new();
        if let Err(fault) = decode_one(&name, encoded, bytes_max, &mut out) {
            if out.is_empty() {
                return Err(fault);
            }
            out.truncate(bytes_max);
            is_all = false;
        }
        decoded = Some(out);
    }
    Ok((decoded.unwrap_or_else(|| body.to_vec()), is_all))
}

/// The codings in the order in which they are to be decoded: the last that was applied comes first.
fn names(codings: &str) -> Result<Vec<String>, Undecodable> {
    let names = codings.split(',').map(|name| name.trim().to_ascii_lowercase());
    let names: Vec<String> =
        names.filter(|name| !name.is_empty() && name != "identity").rev().collect();
    match names.len() > CODINGS_MAX {
        true => Err(Undecodable::TooMany(names.len())),
        false => Ok(names),
    }
}

/// Appends what is decoded, also if the body turns out to be broken.
fn decode_one(
    name: &str,
    body: &[u8],
    bytes_max: usize,
    out: &mut Vec<u8>,
) -> Result<(), Undecodable> {
    match name {
        "gzip" | "x-gzip" => read("gzip", MultiGzDecoder::new(body), bytes_max, out),
        "deflate" => inflate(body, bytes_max, out),
        "br" if has_large_window(body) => {
            Err(broken("br", &"its window is larger than RFC 7932 allows"))
        }
        "br" => {
            let decoder = brotli_decompressor::Decompressor::new(body, CHUNK_BYTES);
            read("br", decoder, bytes_max, out)
        }
        "zstd" => zstd(body, bytes_max, out),
        _ => Err(Undecodable::Unknown(name.to_owned())),
    }
}

fn broken(coding: &'static str, detail: &dyn std::fmt::Display) -> Undecodable {
    Undecodable::Broken { coding, detail: detail.to_string() }
}

/// Appends all that a decoder gives.
fn read(
    coding: &'static str,
    decoder: impl Read,
    bytes_max: usize,
    out: &mut Vec<u8>,
) -> Result<(), Undecodable> {
    let left = bytes_max.saturating_sub(out.len()) as u64;
    let mut bounded = decoder.take(left + 1);
    let done = bounded.read_to_end(out);
    done.map_err(|error| broken(coding, &error))?;
    match out.len() > bytes_max {
        true => Err(Undecodable::TooLarge(bytes_max)),
        false => Ok(()),
    }
}

/// The coding `deflate` is the zlib format (RFC 1950); servers that send the bare one of RFC 1951 are understood as well,
/// as RFC 9110 §8.4.1.2 notes.
fn inflate(body: &[u8], bytes_max: usize, out: &mut Vec<u8>) -> Result<(), Undecodable> {
    let has_header = match body {
        [method, flags, ..] => {
            method & 0x0f == 8 && u16::from_be_bytes([*method, *flags]).is_multiple_of(31)
        }
        _ => false,
    };
    let mut inflater = Decompress::new(has_header);
    loop {
        if out.len() == out.capacity() {
            out.reserve(CHUNK_BYTES);
        }
        let before = (inflater.total_in(), inflater.total_out());
        let rest = body.get(before.0 as usize..).unwrap_or_default();
        let status = inflater
            .decompress_vec(rest, out, FlushDecompress::None)
            .map_err(|error| broken("deflate", &error))?;
        if out.len() > bytes_max {
            return Err(Undecodable::TooLarge(bytes_max));
        }
        if status == Status::StreamEnd {
            return Ok(());
        }
        if before == (inflater.total_in(), inflater.total_out()) {
            return Err(broken("deflate", &"it ends too early"));
        }
    }
}

/// "Large window brotli" begins with a pattern that RFC 7932 §9.1 keeps for itself. The decoder takes it, and would make
/// room for a window of up to 1 GiB.
fn has_large_window(body: &[u8]) -> bool {
    body.first().is_some_and(|first| first & 0x7f == 0x11)
}

/// One frame after the other (RFC 8878 §3.1).
fn zstd(body: &[u8], bytes_max: usize, out: &mut Vec<u8>) -> Result<(), Undecodable> {
    let mut rest = body;
    loop {
        while let Some(after) = after_skippable(rest) {
            rest = after;
        }
        if rest.is_empty() && !body.is_empty() {
            return Ok(());
        }
        let mut decoder =
            StreamingDecoder::new_with_max_window_size(&mut rest, ZSTD_WINDOW_BYTES_MAX)
                .map_err(|error| broken("zstd", &error))?;
        read("zstd", &mut decoder, bytes_max, out)?;
        let frame = &decoder.decoder;
        let sums = (frame.get_checksum_from_data(), frame.get_calculated_checksum());
        if let (Some(stated), Some(found)) = sums
            && stated != found
        {
            return Err(broken("zstd", &"its checksum is wrong"));
        }
    }
}

/// The bytes after a frame that has no part of the body (RFC 8878 §3.1.2); `None`: there is no such frame, or it is cut
/// off.
fn after_skippable(body: &[u8]) -> Option<&[u8]> {
    let (magic, rest) = body.split_first_chunk()?;
    let (len, rest) = rest.split_first_chunk()?;
    let is_skippable = ZSTD_SKIPPABLE.contains(&u32::from_le_bytes(*magic));
    rest.get(u32::from_le_bytes(*len) as usize..).filter(|_| is_skippable)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    const MAX: usize = 1 << 20;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(text: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn raw(text: &[u8]) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
    }

    /// `hello hello hello` a thousand times, and 10 MiB of zeros, by Node's brotli 1.1.0.
    const BROTLI: &[u8] = &[
        0x1b, 0x67, 0x42, 0xf8, 0x8d, 0x94, 0x6e, 0xde, 0x44, 0x55, 0x86, 0x96, 0x6c, 0x20, 0x6f,
        0x05, 0xcf, 0x61, 0x75, 0x00, 0x08, 0x8c, 0x33, 0x42, 0x07, 0x20,
    ];
    const BROTLI_ZEROS: &[u8] = &[
        0xcb, 0xff, 0xff, 0x3f, 0xf8, 0x27, 0x00, 0xe2, 0xb1, 0x40, 0x20, 0xf7, 0xfe, 0x2f, 0xff,
        0xff, 0x3f, 0xf0, 0x4f, 0x00, 0xc4, 0x61, 0x11, 0x80, 0xee, 0xfd, 0x07,
    ];

    #[test]
    fn each_coding_is_decoded() {
        let text = b"hello hello hello".repeat(1000);
        for (codings, body) in [
            ("gzip", gzip(&text)),
            ("X-GZIP", gzip(&text)),
            ("deflate", zlib(&text)),
            ("deflate", raw(&text)),
            ("br", BROTLI.to_vec()),
            ("zstd", zstd(&text)),
            ("gzip, zstd", zstd(&gzip(&text))),
            ("identity", text.clone()),
            ("", text.clone()),
            ("gzip", [gzip(&text[..100]), gzip(&text[100..])].concat()),
            ("zstd", [zstd(&text[..100]), zstd(&text[100..])].concat()),
        ] {
            assert_eq!(decode(codings, &body, MAX).as_ref(), Ok(&text), "{codings}");
        }
    }

    #[test]
    fn the_start_of_a_body_is_decoded_as_far_as_it_goes() {
        let text: Vec<u8> =
            (0..60_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        for (codings, body) in [
            ("gzip", gzip(&text)),
            ("deflate", zlib(&text)),
            ("deflate", raw(&text)),
            ("zstd", zstd(&text)),
            ("gzip, zstd", zstd(&gzip(&text))),
        ] {
            assert_eq!(decode_start(codings, &body, MAX), Ok((text.clone(), true)));
            let begun = decode_start(codings, &body[..body.len() * 3 / 4], MAX);
            // What zstd decodes comes when its window is full.
            if !codings.contains("zstd") {
                let (start, is_all) = begun.unwrap();
                assert!(!is_all && text.starts_with(&start), "{codings}");
                assert!(!start.is_empty() && start.len() < text.len(), "{codings}");
            }
            let (start, is_all) = decode_start(codings, &body, 1_000).unwrap();
            assert!(!is_all && start.len() <= 1_000, "{codings}");
        }
        let none = decode_start("gzip", b"not encoded at all", MAX);
        assert!(matches!(none, Err(Undecodable::Broken { .. })), "{none:?}");
    }

    #[test]
    fn bombs_end_at_the_limit() {
        let zeros = vec![0; 10 << 20];
        for (codings, body) in [
            ("gzip", gzip(&zeros)),
            ("deflate", zlib(&zeros)),
            ("deflate", raw(&zeros)),
            ("br", BROTLI_ZEROS.to_vec()),
            ("zstd", zstd(&zeros)),
            ("gzip, gzip", gzip(&gzip(&zeros))),
        ] {
            let found = decode(codings, &body, MAX);
            assert_eq!(found, Err(Undecodable::TooLarge(MAX)), "{codings}");
        }
        let many = decode("gzip,gzip,gzip,gzip", b"", MAX);
        assert_eq!(many, Err(Undecodable::TooMany(4)));
    }

    #[test]
    fn what_ends_early_or_is_damaged_is_refused() {
        let text = b"hello hello hello".repeat(1000);
        for (codings, body) in [
            ("gzip", gzip(&text)),
            ("deflate", zlib(&text)),
            ("deflate", raw(&text)),
            ("br", BROTLI.to_vec()),
            ("zstd", zstd(&text)),
        ] {
            let cut = decode(codings, &body[..body.len() - 3], MAX);
            assert!(matches!(cut, Err(Undecodable::Broken { .. })), "{codings}: {cut:?}");
            let other = decode(codings, b"\x05not encoded at all", MAX);
            assert!(matches!(other, Err(Undecodable::Broken { .. })), "{codings}: {other:?}");
        }
        let unknown = decode("compress", b"x", MAX);
        assert_eq!(unknown, Err(Undecodable::Unknown("compress".to_owned())));
    }

    /// A window of 2^30 bytes, and nothing in it: not a format of RFC 7932, though the decoder knows it.
    #[test]
    fn brotli_has_no_large_windows() {
        let expected = broken("br", &"its window is larger than RFC 7932 allows");
        assert_eq!(decode("br", &[0x11, 0xde], MAX), Err(expected));
    }

    #[test]
    fn skippable_frames_of_zstandard_are_skipped() {
        let text = b"hello hello hello".repeat(1000);
        let skippable = [&0x184d_2a5a_u32.to_le_bytes()[..], &[3, 0, 0, 0], b"abc"].concat();
        let first = zstd(&text[..100]);
        let second = zstd(&text[100..]);
        let body = [&skippable[..], &first, &skippable, &skippable, &second, &skippable].concat();
        assert_eq!(decode("zstd", &body, MAX), Ok(text));
        assert_eq!(decode("zstd", &skippable, MAX), Ok(Vec::new()));
        for cut in [&body[..body.len() - 1], &skippable[..6], b""] {
            let cut = decode("zstd", cut, MAX);
            assert!(matches!(cut, Err(Undecodable::Broken { .. })), "{cut:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_body_panics(body: Vec<u8>) {
            for coding in CODINGS {
                if let Ok(found) = decode(coding, &body, MAX) {
                    assert!(found.len() <= MAX);
                }
            }
        }
    }
}
