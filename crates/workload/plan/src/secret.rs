//! Hiding values in texts that are recorded or shown.

use std::ops::Range;

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Shorter values occur in any text and hide nothing.
pub const SECRET_BYTES_MIN: usize = 4;
/// Text in place of a secret without a name.
pub const HIDDEN: &str = "(secret)";
/// The password of an address whose other parts are shown.
pub(crate) const MASK: &str = "***";
/// Shorter words in base64 hold no secret.
const ENCODED_BYTES_MIN: usize = 8;
/// The mark at the end of a text that was cut.
const CUT: char = '…';

/// Names whose values are secret wherever they stand: in queries, forms and JSON, as variables and parameters; in lower
/// case, without `-` and `_`. `docs/scenario.md` lists them.
const NAMES: &[&str] = &[
    "accesskey",
    "accesstoken",
    "apikey",
    "authorization",
    "authtoken",
    "clientsecret",
    "idtoken",
    "jwt",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "refreshtoken",
    "secret",
    "secretkey",
    "sessiontoken",
    "token",
];

/// The known names of secrets, and those that a scenario adds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecretNames(Vec<String>);

impl SecretNames {
    /// Adds a name; one without letters is none.
    pub fn add(&mut self, name: &str) {
        self.0.extend(Some(plain(name)).filter(|name| !name.is_empty()));
    }

    /// True for a name whose values are secret, in any case and with or without `-` and `_`.
    pub fn contains(&self, name: &str) -> bool {
        let name = plain(name);
        NAMES.contains(&name.as_str()) || self.0.contains(&name)
    }
}

fn plain(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '-' | '_'));
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

/// A secret that stands in the text of a scenario, instead of a variable of the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretText {
    /// Bytes of the scenario's text: the value, or the scalar that shows it with escapes.
    pub span: Range<usize>,
    /// The value.
    pub value: String,
}

/// The places of the values of secret names in a text: behind `token=`, as in queries and forms, and behind `"token":`, as
/// in JSON, also in JSON with escaped quotes. Templates are values, too.
pub fn named_values(text: &str, names: &SecretNames) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(sign) = text[from..].find(['=', ':']).map(|at| from + at) {
        let value = match text.as_bytes()[sign] {
            b'=' => value_in_query(text, sign, names),
            _ => value_in_json(text, sign, names),
        };
        from = value.as_ref().map_or(sign + 1, |value| value.end);
        found.extend(value.filter(|value| !value.is_empty()));
    }
    found
}

/// Hides the values of secret names, and credentials in URLs. Templates stay, since their text is no secret.
pub fn hide_named(text: &mut String, names: &SecretNames) {
    hide_credentials(text);
    for value in named_values(text, names).into_iter().rev() {
        let is_shown = text[value.clone()].starts_with("${") || text[value.clone()] == *HIDDEN;
        if !is_shown {
            text.replace_range(value, HIDDEN);
        }
    }
}

/// Schemes whose URLs hold a token as often as a user.
const WEB: &[&str] = &["http", "https", "ws", "wss"];

/// Hides credentials in URLs (RFC 3986, section 3.2.1): passwords, and with the schemes of the web users as well. Templates
/// stay.
pub fn hide_credentials(text: &mut String) {
    let mut from = 0;
    while let Some(begin) = text[from..].find("://").map(|at| from + at + 3) {
        from = begin;
        let rest = &text[begin..];
        let ends = |c: char| c.is_whitespace() || "/?#\"'`<>\\".contains(c);
        let authority = &rest[..rest.find(ends).unwrap_or(rest.len())];
        let Some((user, _)) = authority.rsplit_once('@') else {
            continue;
        };
        let before = &text[..begin - 3];
        let scheme = before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next();
        let secret = match user.find(':') {
            _ if scheme.is_some_and(|scheme| WEB.contains(&scheme)) => begin..begin + user.len(),
            Some(colon) => begin + colon + 1..begin + user.len(),
            None => continue,
        };
        let shown = &text[secret.clone()];
        let is_hidden = shown.rsplit(':').next() == Some(MASK);
        if !shown.contains("${") && !shown.is_empty() && !is_hidden {
            from = secret.start + HIDDEN.len();
            text.replace_range(secret, HIDDEN);
        }
    }
}

/// The name at the end of a text.
fn last_name(text: &str) -> &str {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    &text[text.trim_end_matches(is_part).len()..]
}

/// The value behind `name=`.
fn value_in_query(text: &str, sign: usize, names: &SecretNames) -> Option<Range<usize>> {
    if !names.contains(last_name(&text[..sign])) {
        return None;
    }
    let begin = sign + 1;
    let value = &text[begin..];
    // A comparison.
    if value.starts_with('=') {
        return None;
    }
    let ends = |c: char| c.is_whitespace() || "&;\"'`<>#,)…".contains(c);
    let length = match template_length(value) {
        Some(length) => length,
        // What was hidden before is one value.
        None if value.starts_with(HIDDEN) => HIDDEN.len(),
        None => value.find(ends).unwrap_or(value.len()),
    };
    Some(begin..begin + length)
}

/// The value behind `"name":`.
fn value_in_json(text: &str, sign: usize, names: &SecretNames) -> Option<Range<usize>> {
    let before = text[..sign].trim_end().strip_suffix('"')?;
    let before = before.strip_suffix('\\').unwrap_or(before);
    let name = last_name(before);
    if !before[..before.len() - name.len()].ends_with('"') || !names.contains(name) {
        return None;
    }
    let behind = &text[sign + 1..];
    let value = behind.trim_start();
    let begin = sign + 1 + behind.len() - value.len();
    if let Some(value) = value.strip_prefix("\\\"") {
        let length = value.find("\\\"").unwrap_or(value.len());
        return Some(begin + 2..begin + 2 + length);
    }
    if let Some(value) = value.strip_prefix('"') {
        let mut is_escaped = false;
        let mut letters = value.char_indices();
        let end = letters.find(|(_, c)| {
            let ends = *c == '"' && !is_escaped;
            is_escaped = *c == '\\' && !is_escaped;
            ends
        });
        let length = end.map_or(value.len(), |(at, _)| at);
        return Some(begin + 1..begin + 1 + length);
    }
    // Numbers and templates. What has parts of its own has names of its own.
    if value.starts_with(['{', '[']) || value.starts_with("null") {
        return None;
    }
    let ends = |c: char| c.is_whitespace() || ",}]".contains(c);
    let length = template_length(value);
    let length = length.unwrap_or_else(|| value.find(ends).unwrap_or(value.len()));
    Some(begin..begin + length)
}

/// The length of a template that a text begins with.
fn template_length(text: &str) -> Option<usize> {
    let end = text.strip_prefix("${")?.find('}')?;
    Some("${".len() + end + 1)
}

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
    fn values_of_secret_names_are_hidden_wherever_they_stand() {
        let mut names = SecretNames::default();
        names.add("Pin-Code");
        for (text, expected) in [
            ("GET /a?token=abc&n=1", "GET /a?token=(secret)&n=1"),
            ("/?n=1&API-Key=a%20b", "/?n=1&API-Key=(secret)"),
            ("user=ann&password=x", "user=ann&password=(secret)"),
            (
                r#"{"user":"ann","password": "a\"b","n":1}"#,
                r#"{"user":"ann","password": "(secret)","n":1}"#,
            ),
            (r#"{\"access_token\":\"abc\"}"#, r#"{\"access_token\":\"(secret)\"}"#),
            (r#"{"token":12,"n":1}"#, r#"{"token":(secret),"n":1}"#),
            (r#"{"pincode":"12"}"#, r#"{"pincode":"(secret)"}"#),
            (r#"`{"token":"abc"#, r#"`{"token":"(secret)"#),
            ("token=abc…", "token=(secret)…"),
            // No values, or none that are secret.
            ("/?token=${tok}&x=1", "/?token=${tok}&x=1"),
            ("/?token=(secret)&x=1", "/?token=(secret)&x=1"),
            ("token == \"x\"", "token == \"x\""),
            ("token==x", "token==x"),
            ("`token`: expected text", "`token`: expected text"),
            (
                r#"{"token":{"n":1},"tokens":"a","token":null}"#,
                r#"{"token":{"n":1},"tokens":"a","token":null}"#,
            ),
            ("/?tokens=a&a=b:c", "/?tokens=a&a=b:c"),
            ("=:", "=:"),
            ("", ""),
        ] {
            let mut hidden = text.to_owned();
            hide_named(&mut hidden, &names);
            assert_eq!(hidden, expected);
        }
    }

    #[test]
    fn credentials_in_urls_are_hidden() {
        for (text, expected) in [
            ("cannot read \"http://ann:pw@h/x\": no", "cannot read \"http://(secret)@h/x\": no"),
            ("https://token@h and wss://a:b@c@h", "https://(secret)@h and wss://(secret)@h"),
            (
                "redis://:pw@h/0 postgres://me:pw@h",
                "redis://:(secret)@h/0 postgres://me:(secret)@h",
            ),
            ("target: \"http://ann:ü@h\"", "target: \"http://(secret)@h\""),
            ("http://(secret)@h", "http://(secret)@h"),
            // None.
            ("postgres://me@h/db", "postgres://me@h/db"),
            ("http://h/a:b@c http://h?m=a@b", "http://h/a:b@c http://h?m=a@b"),
            ("https://h/@ann, ann@h", "https://h/@ann, ann@h"),
            ("http://${user}:${pw}@h", "http://${user}:${pw}@h"),
            ("mysql://me:***@h/db", "mysql://me:***@h/db"),
            ("http://me:***@h", "http://me:***@h"),
            ("redis://***@h", "redis://***@h"),
            ("://", "://"),
            ("http://@h", "http://@h"),
        ] {
            let mut hidden = text.to_owned();
            hide_credentials(&mut hidden);
            assert_eq!(hidden, expected);
        }
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
