//! Hiding values in texts that are recorded or shown.

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Shorter values occur in any text and hide nothing.
pub const SECRET_BYTES_MIN: usize = 4;
/// Text in place of a secret without a name.
pub const HIDDEN: &str = "(secret)";
/// Shorter words in base64 hold no secret.
const ENCODED_BYTES_MIN: usize = 8;
/// The mark at the end of a text that was cut.
const CUT: char = '…';

/// Puts `name` where `value` stands in the text: as it is, with escapes, percent-encoded, in a word of base64 (with
/// what stands beside it, such as a user's name), or cut off at the end of an excerpt. A value of fewer than four bytes
/// stays.
pub fn hide(text: &mut String, value: &str, name: &str) {
    if value.len() < SECRET_BYTES_MIN {
        return;
    }
    let quoted = format!("{value:?}");
    let encoded = percent_encoded(value);
    let forms = [value, &quoted[1..quoted.len() - 1], &encoded];
    for (at, form) in forms.iter().enumerate() {
        if forms[..at].contains(form) {
            continue;
        }
        if text.contains(form) {
            *text = text.replace(form, name);
        }
        hide_cut(text, form, name);
    }
    hide_encoded(text, value, name);
}

/// The password in the address of a server, as `scheme://user:password@host`.
pub fn password_of(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user, _) = authority.rsplit_once('@')?;
    let (_, password) = user.split_once(':')?;
    (!password.is_empty()).then_some(password)
}

fn percent_encoded(value: &str) -> String {
    let mut encoded = String::new();
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded += &format!("%{byte:02X}"),
        }
    }
    encoded
}

/// Excerpts end anywhere, in the middle of a value too.
fn hide_cut(text: &mut String, value: &str, name: &str) {
    let ends: Vec<usize> = text.match_indices(CUT).map(|(at, _)| at).collect();
    for end in ends.into_iter().rev() {
        let shown = text[..end].trim_end_matches(['`', '"']);
        let lengths = value.char_indices().map(|(at, _)| at).rev();
        let mut lengths = lengths.take_while(|&length| length >= SECRET_BYTES_MIN);
        if let Some(length) = lengths.find(|&length| shown.ends_with(&value[..length])) {
            let begin = shown.len() - length;
            let shown_until = shown.len();
            text.replace_range(begin..shown_until, name);
        }
    }
}

/// A user and password in base64 (RFC 7617), or a value in a token. A slash belongs to a word, or stands between two.
fn hide_encoded(text: &mut String, value: &str, name: &str) {
    for others in ["+/-_", "+-_"] {
        let is_part = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
        let mut from = 0;
        while let Some(begin) = text[from..].find(is_part).map(|at| from + at) {
            let rest = &text[begin..];
            let word = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
            let padding = &rest[word.len()..];
            let padding = padding.len() - padding.trim_start_matches('=').len();
            let end = begin + word.len() + padding;
            from = end;
            if word.len() >= ENCODED_BYTES_MIN && holds(word, value) {
                text.replace_range(begin..end, name);
                from = begin + name.len();
            }
        }
    }
}

/// True if a word is base64 of either alphabet, and the value is in what it says.
fn holds(word: &str, value: &str) -> bool {
    let config =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let config = config.with_decode_allow_trailing_bits(true);
    // What is cut ends anywhere in a group of four.
    let word = &word[..word.len() - usize::from(word.len() % 4 == 1)];
    [STANDARD, URL_SAFE].iter().any(|alphabet| {
        let decoded = GeneralPurpose::new(alphabet, config).decode(word);
        decoded.is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(text: &str, value: &str) -> String {
        let mut text = text.to_owned();
        hide(&mut text, value, HIDDEN);
        text
    }

    #[test]
    fn a_value_is_hidden_in_all_its_forms() {
        for (text, value, expected) in [
            ("tok hunter2", "hunter2", "tok (secret)"),
            ("`{\"t\":\"hunter2\"}`", "hunter2", "`{\"t\":\"(secret)\"}`"),
            ("line = \"a\\\"b c\"", "a\"b c", "line = \"(secret)\""),
            ("/?t=a%26b%20c", "a&b c", "/?t=(secret)"),
            // ann:hunter2
            ("Basic YW5uOmh1bnRlcjI=, so", "hunter2", "Basic (secret), so"),
            ("Basic YW5uOmh1bnRlcjI", "hunter2", "Basic (secret)"),
            ("/a/YW5uOmh1bnRlcjI=/x=YW5uOmh1bnRlcjI=", "hunter2", "/a/(secret)/x=(secret)"),
            // {"~~~":"hunter2"} in the alphabet of URLs
            ("x.eyJ-fn4iOiJodW50ZXIyIn0.y", "hunter2", "x.(secret).y"),
            ("`token=hunt`…", "hunter2", "`token=(secret)`…"),
            ("token = \"hunter\"…, and so on …", "hunter2", "token = \"(secret)\"…, and so on …"),
            ("of 3 letters: abc", "abc", "of 3 letters: abc"),
            ("`hun`…", "hunter2", "`hun`…"),
        ] {
            assert_eq!(hidden(text, value), expected);
        }
    }

    #[test]
    fn what_is_hidden_is_not_looked_into() {
        assert_eq!(hidden("secret secret", "secret"), "(secret) (secret)");
        assert_eq!(hidden("", "hunter2"), "");
        assert_eq!(hidden("…", "hunter2"), "…");
    }

    #[test]
    fn the_password_of_an_address_is_found() {
        for (url, password) in [
            ("mysql://me:pw@h:3306/db", Some("pw")),
            ("redis://:pw@h/0", Some("pw")),
            ("postgres://me:a:b@c@h/db", Some("a:b@c")),
            ("postgres://me@h/db?x=a:b@c", None),
            ("http://h/a:b@c", None),
            ("env:STORE", None),
            ("me:pw@h", None),
        ] {
            assert_eq!(password_of(url), password, "{url}");
        }
    }
}
