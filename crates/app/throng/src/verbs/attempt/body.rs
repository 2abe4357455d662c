//! Bodies and messages as people read them: unpacked, JSON laid out, shortened.

use engine::fetch::content::Undecodable;
use report::visible;

/// Lines and characters of a body that are shown unless all of it is wanted.
const LINES_MAX: usize = 24;
const CHARS_MAX: usize = 2_000;
/// Bytes of a body that is no text.
const HEX_BYTES_MAX: usize = 48;
/// Most bytes of an unpacked body.
const UNPACKED_BYTES_MAX: usize = 256 << 10;

/// A body as lines of text, and a note on what was done with it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BodyText {
    pub(super) lines: Vec<String>,
    pub(super) note: Option<String>,
}

/// Lays out what was kept of a body of `len` bytes. `encoding`: its Content-Encoding.
pub(super) fn shown(bytes: &[u8], len: usize, encoding: Option<&str>, full: bool) -> BodyText {
    let (bytes, mut note) = unpacked(bytes, encoding);
    let cut = bytes.len() < len && note.is_none();
    let Ok(text) = std::str::from_utf8(text_part(&bytes, cut)) else {
        let shown = &bytes[..bytes.len().min(HEX_BYTES_MAX)];
        let hex: Vec<String> = shown.iter().map(|byte| format!("{byte:02x}")).collect();
        let more = if shown.len() < len { " …" } else { "" };
        return BodyText {
            lines: vec![format!("{}{more}", hex.join(" "))],
            note: Some(note.unwrap_or_else(|| format!("{} of no text", units::bytes(len as u64)))),
        };
    };
    let laid_out = serde_json::from_str::<serde_json::Value>(text)
        .ok()
        .filter(|value| value.is_object() || value.is_array())
        .and_then(|value| serde_json::to_string_pretty(&value).ok());
    let text = visible(laid_out.as_deref().unwrap_or(text));
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let shortened = !full && shorten(&mut lines);
    if shortened || cut {
        let total = units::bytes(len as u64);
        note.get_or_insert_with(|| match full {
            true => format!("{total} in all; the first 64 KiB are kept"),
            false => format!("{total} in all; --full shows more"),
        });
    }
    BodyText { lines, note }
}

/// The recorded part of a body as one text, unpacked; in hexadecimal if it is none.
pub(super) fn plain(bytes: &[u8], encoding: Option<&str>) -> String {
    let (bytes, _) = unpacked(bytes, encoding);
    match std::str::from_utf8(text_part(&bytes, true)) {
        Ok(text) => text.to_owned(),
        Err(_) => units::hex(&bytes),
    }
}

/// Without a character that was cut in two at the end.
fn text_part(bytes: &[u8], cut: bool) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if cut && error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}

/// True if something was left out.
fn shorten(lines: &mut Vec<String>) -> bool {
    let mut left = CHARS_MAX;
    for (number, line) in lines.iter_mut().enumerate() {
        let chars = line.chars().count();
        if number >= LINES_MAX || chars > left {
            let kept: String = line.chars().take(left.min(200)).collect();
            *line = format!("{kept}…");
            if number >= LINES_MAX {
                "…".clone_into(line);
            }
            lines.truncate(number + 1);
            return true;
        }
        left -= chars;
    }
    false
}

fn unpacked(bytes: &[u8], encoding: Option<&str>) -> (Vec<u8>, Option<String>) {
    let codings = encoding.unwrap_or_default().trim().to_ascii_lowercase();
    let mut names = codings.split(',').map(str::trim);
    if bytes.is_empty() || names.all(|name| name.is_empty() || name == "identity") {
        return (bytes.to_vec(), None);
    }
    match engine::fetch::content::decode_start(&codings, bytes, UNPACKED_BYTES_MAX) {
        Ok((all, true)) => (all, Some(format!("unpacked ({codings})"))),
        // What was kept may be a part only.
        Ok((start, false)) => {
            let note = format!("the first part, unpacked ({codings})");
            (start, Some(note))
        }
        Err(Undecodable::Broken { coding, detail }) => {
            (bytes.to_vec(), Some(format!("not {coding}: {detail}")))
        }
        Err(Undecodable::Unknown(_) | Undecodable::TooMany(_) | Undecodable::TooLarge(_)) => {
            let note = format!("compressed ({codings}), not unpacked");
            (bytes.to_vec(), Some(note))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn lines(bytes: &[u8], full: bool) -> Vec<String> {
        shown(bytes, bytes.len(), None, full).lines
    }

    #[test]
    fn json_is_laid_out_and_other_text_is_not() {
        assert_eq!(
            lines(br#"{"a":1,"b":[true]}"#, false),
            ["{", "  \"a\": 1,", "  \"b\": [", "    true", "  ]", "}"]
        );
        assert_eq!(lines(b"a\nb", false), ["a", "b"]);
        assert_eq!(lines(b"12", false), ["12"]);
    }

    #[test]
    fn long_bodies_are_shortened_unless_all_is_wanted() {
        let many = "x\n".repeat(100);
        let short = shown(many.as_bytes(), 200, None, false);
        assert_eq!(short.lines.len(), LINES_MAX + 1);
        assert_eq!(short.note.as_deref(), Some("200 B in all; --full shows more"));
        assert_eq!(lines(many.as_bytes(), true).len(), 100);
        let one = lines("y".repeat(5_000).as_bytes(), false);
        assert!(one[0].len() < 300, "{}", one[0].len());
    }

    #[test]
    fn packed_bodies_are_unpacked() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(b"hello").unwrap();
        let packed = encoder.finish().unwrap();
        let seen = shown(&packed, packed.len(), Some("gzip"), false);
        assert_eq!(seen.lines, ["hello"]);
        assert_eq!(seen.note.as_deref(), Some("unpacked (gzip)"));
        let raw = [0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
        let zstd = b"\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00hello";
        for (coding, packed) in [
            ("br", &b"\x0b\x02\x80hello\x03"[..]),
            ("zstd", zstd),
            ("deflate", &raw),
            ("Identity, ZSTD", zstd),
        ] {
            let seen = shown(packed, packed.len(), Some(coding), false);
            assert_eq!(seen.lines, ["hello"], "{coding}");
            assert_eq!(plain(packed, Some(coding)), "hello", "{coding}");
        }
        let other = shown(b"x", 1, Some("compress"), false);
        assert_eq!(other.note.as_deref(), Some("compressed (compress), not unpacked"));
        let wrong = shown(b"plain", 5, Some("gzip"), false);
        assert_eq!(wrong.lines, ["plain"]);
        assert!(wrong.note.is_some_and(|note| note.starts_with("not gzip")));
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_in_hexadecimal() {
        let seen = shown(&[0xff, 0, 1], 3, None, false);
        assert_eq!(seen.lines, ["ff 00 01"]);
        // A character that was cut at the end of what was kept does not make it binary.
        assert_eq!(shown("aé".as_bytes().split_at(2).0, 9, None, false).lines, ["a"]);
    }
}
