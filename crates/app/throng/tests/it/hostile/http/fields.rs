//! Header lines (RFC 9110 §5, RFC 9112 §5).

use super::super::case::{Act, Case, drip, flood, send};
use super::{answer, any, field, get};

/// A session that keeps none.
const WITHOUT_COOKIES: &str = "{ cookies: false, steps: [ { get: AT, save: { seen: body } } ] }";
/// A session that keeps cookies.
const WITH_COOKIES: &str =
    "{ cookies: true, steps: [ { get: AT }, { get: AT, save: { seen: body } } ] }";

pub(super) fn cases() -> Vec<Case> {
    [names(), values(), folds(), counts(), cookies()].concat()
}

/// A name is a token, and a colon follows it at once (RFC 9112 §5.1, RFC 9110 §5.6.2).
fn names() -> Vec<Case> {
    vec![
        field("name-in-upper-case", "X-NAME: v", "ok 200"),
        field("name-of-all-token-bytes", "!#$%&'*+-.^_`|~09aZ: v", "ok 200"),
        field("name-missing", ": v", "http-protocol"),
        field("name-without-colon", "name", "http-protocol"),
        field("name-of-two-words", "na me: v", "http-protocol"),
        // A server must refuse these and a proxy remove the blank; what a client does is open.
        field("name-before-blank", "name : v", "http-protocol | ok 200"),
        field("name-before-tab", "name\t: v", "http-protocol | ok 200"),
        field("name-with-nul", "na\0me: v", "http-protocol"),
        field("name-with-parenthesis", "na(me: v", "http-protocol"),
        field("name-with-at", "na@me: v", "http-protocol"),
        field("name-with-slash", "na/me: v", "http-protocol"),
        field("name-in-quotes", "\"name\": v", "http-protocol"),
        field("name-of-high-bytes", b"n\xe4me: v", "http-protocol"),
        field("name-with-cr", "na\rme: v", "http-protocol"),
    ]
}

/// RFC 9110 §5.5: CR, LF and NUL are refused or replaced; other controls may be kept. RFC 9112 §2.2: so
/// is a CR without an LF.
fn values() -> Vec<Case> {
    vec![
        field("value-empty", "name:", "ok 200"),
        field("value-of-blanks", "name: \t \t", "ok 200"),
        field("value-without-blank", "name:v", "ok 200"),
        field("value-with-colons", "name: a:b::c", "ok 200"),
        field("value-of-high-bytes", b"name: gr\xfcn \xff", "ok 200"),
        field("value-with-tab", "name: a\tb", "ok 200"),
        field("value-with-nul", "name: a\0b", "http-protocol | ok 200"),
        field("value-with-cr", "name: a\rb", "http-protocol | ok 200"),
        field("value-with-cr-at-end", "name: a\r", "http-protocol | ok 200"),
        field("value-with-escape", "name: a\x1b[31mb", "http-protocol | ok 200"),
        field("value-with-delete", "name: a\x7fb", "http-protocol | ok 200"),
        field("line-ended-by-lf", "name: a\nother: b", "ok 200 | http-protocol"),
        field("connection-of-commas", "connection: ,,, ,", "ok 200"),
        field("encoding-that-is-none", "content-encoding: gzip", "decoding 200"),
        field("upgrade-that-is-offered", "upgrade: h2c\r\nconnection: upgrade", "ok 200"),
    ]
}

/// A line that begins with a blank continues the one before. RFC 9112 §5.2: a user agent must take such
/// folds for blanks. §2.2: before the first field such lines are refused or skipped.
fn folds() -> Vec<Case> {
    let header = "[ { get: AT, save: { seen: { header: folded } }, check: \"seen == 'a b'\" } ]";
    let folded = "HTTP/1.1 200 OK\r\nfolded: a\r\n b\r\ncontent-length: 2\r\n\r\nok";
    vec![
        field("fold", "name: a\r\n b", "ok 200"),
        field("fold-with-tab", "name: a\r\n\tb", "ok 200"),
        field("fold-over-three-lines", "name:\r\n a\r\n b", "ok 200"),
        field("fold-of-blanks", "name: a\r\n \t ", "ok 200"),
        field("fold-after-lf", "name: a\n b", "ok 200 | http-protocol"),
        field("fold-before-fields", " name: a", "http-protocol | ok 200"),
        answer("fold-of-length", "HTTP/1.1 200 OK\r\ncontent-length:\r\n 2\r\n\r\nok", "ok 200"),
        Case::new("fold-read-as-blank", header, [send(folded)], "ok 200"),
        get("fold-byte-by-byte", [drip(folded)], "ok 200"),
    ]
}

/// Limits of ours: 128 lines and 64 KiB.
fn counts() -> Vec<Case> {
    let lines = |count: usize| vec!["name: value"; count].join("\r\n");
    let long = |bytes: usize| format!("name: {}", "v".repeat(bytes));
    vec![
        field("fields-128", lines(127), "ok 200"),
        field("fields-129", lines(128), "too-large"),
        field("fields-1000", lines(1_000), "too-large"),
        field("value-of-60-kib", long(60 << 10), "ok 200"),
        field("value-of-70-kib", long(70 << 10), "too-large"),
        any("fields-without-end", [send("HTTP/1.1 200 OK\r\n"), flood("a: b\r\n")], "too-large"),
        any("field-without-end", [send("HTTP/1.1 200 OK\r\na: "), flood("b")], "too-large"),
        any("name-without-end", [send("HTTP/1.1 200 OK\r\n"), flood("a")], "too-large"),
        any(
            "fold-without-end",
            [send("HTTP/1.1 200 OK\r\na: b\r\n"), flood(" b\r\n")],
            "too-large",
        ),
    ]
}

/// What a server has its clients store (RFC 6265 §5).
fn cookies() -> Vec<Case> {
    let with = |lines: &str| format!("HTTP/1.1 200 OK\r\n{lines}content-length: 2\r\n\r\nok");
    let cookies = |count: usize, bytes: usize| {
        let value = "v".repeat(bytes);
        let lines = (0..count).map(|i| format!("set-cookie: c{i}={value}\r\n"));
        with(&lines.collect::<String>())
    };
    // On one connection twice, as who stores something comes back with it.
    let twice = |name, text: String, right| {
        let acts = [send(&text), Act::Request, send(&text)];
        Case::new(name, WITH_COOKIES, acts, right)
    };
    let odd = "set-cookie: =\r\nset-cookie: ;;;\r\nset-cookie: a\r\nset-cookie:\r\n\
               set-cookie: a=b; domain=; path=; max-age=99999999999999999999; expires=never\r\n";
    vec![
        twice("cookies-10000", cookies(10_000, 8), "too-large, too-large"),
        twice("cookies-120", cookies(120, 400), "ok 200, ok 200"),
        twice("cookie-of-60-kib", cookies(1, 60 << 10), "ok 200, ok 200"),
        twice("cookies-odd", with(odd), "ok 200, ok 200"),
        Case::new("cookies-not-kept", WITHOUT_COOKIES, [send(cookies(100, 8))], "ok 200"),
    ]
}
