//! Status lines (RFC 9112 §4), and what stands in their place.

use super::super::case::{Act, Case, drip, flood, send};
use super::{answer, any, get, line};

/// A response in order.
const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

pub(super) fn cases() -> Vec<Case> {
    [versions(), codes(), reasons(), others()].concat()
}

/// RFC 9112 §2.3: `HTTP/`, a digit, a point, a digit; upper case. RFC 9110 §2.5: a higher minor version
/// is read as the highest one known.
fn versions() -> Vec<Case> {
    vec![
        line("version-in-order", "HTTP/1.1 200 OK", "ok 200"),
        line("version-of-higher-minor", "HTTP/1.9 200 OK", "ok 200"),
        line("version-1-0", "HTTP/1.0 200 OK", "ok 200"),
        line("version-2", "HTTP/2.0 200 OK", "http-protocol"),
        line("version-2-short", "HTTP/2 200 OK", "http-protocol"),
        line("version-0-9", "HTTP/0.9 200 OK", "http-protocol"),
        line("version-11", "HTTP/11.1 200 OK", "http-protocol"),
        line("version-of-two-digits", "HTTP/1.10 200 OK", "http-protocol"),
        line("version-without-minor", "HTTP/1 200 OK", "http-protocol"),
        line("version-empty-minor", "HTTP/1. 200 OK", "http-protocol"),
        line("version-in-lower-case", "http/1.1 200 OK", "http-protocol"),
        line("version-with-comma", "HTTP/1,1 200 OK", "http-protocol"),
        line("version-with-blank", "HTTP /1.1 200 OK", "http-protocol"),
        line("version-after-blank", " HTTP/1.1 200 OK", "http-protocol"),
        line("version-after-mark", "\u{feff}HTTP/1.1 200 OK", "http-protocol"),
        line("version-of-icecast", "ICY 200 OK", "http-protocol"),
        line("version-with-nul", "HTTP/1.\x001 200 OK", "http-protocol"),
    ]
}

/// Three digits. RFC 9110 §15: codes beyond 599 are invalid and read as 5xx, unknown ones as the first of
/// their class.
fn codes() -> Vec<Case> {
    vec![
        line("code-299", "HTTP/1.1 299 Odd", "ok 299"),
        line("code-399", "HTTP/1.1 399 Odd", "ok 399"),
        line("code-404", "HTTP/1.1 404 Not Found", "status 404"),
        line("code-499", "HTTP/1.1 499 Odd", "status 499"),
        line("code-500", "HTTP/1.1 500 Oops", "status 500"),
        line("code-600", "HTTP/1.1 600 Beyond", "status 600"),
        line("code-999", "HTTP/1.1 999 Beyond", "status 999"),
        // Below 100 as well, and these are not even three digits in some readings.
        line("code-099", "HTTP/1.1 099 OK", "status 99 | http-protocol"),
        line("code-000", "HTTP/1.1 000 OK", "status | http-protocol"),
        line("code-of-two-digits", "HTTP/1.1 20 OK", "http-protocol"),
        line("code-of-four-digits", "HTTP/1.1 2000 OK", "http-protocol"),
        line("code-negative", "HTTP/1.1 -20 OK", "http-protocol"),
        line("code-signed", "HTTP/1.1 +200 OK", "http-protocol"),
        line("code-hexadecimal", "HTTP/1.1 0xc OK", "http-protocol"),
        line("code-of-letters", "HTTP/1.1 abc OK", "http-protocol"),
        line("code-of-other-digits", "HTTP/1.1 ２００ OK", "http-protocol"),
        line("code-missing", "HTTP/1.1 OK", "http-protocol"),
        line("code-and-rest-missing", "HTTP/1.1", "http-protocol"),
        line("code-glued-to-reason", "HTTP/1.1 200OK", "http-protocol"),
    ]
}

/// §4: one space before the reason, which may be empty; a client may be lenient about blanks, and
/// should not read the reason.
fn reasons() -> Vec<Case> {
    let long = |bytes: usize| format!("HTTP/1.1 200 {}", "a".repeat(bytes));
    vec![
        line("reason-empty", "HTTP/1.1 200 ", "ok 200"),
        line("reason-missing", "HTTP/1.1 200", "ok 200 | http-protocol"),
        line("reason-with-tab", "HTTP/1.1 200 a\tb", "ok 200"),
        line("reason-of-high-bytes", b"HTTP/1.1 200 gr\xfcn", "ok 200"),
        line("reason-with-nul", "HTTP/1.1 200 O\0K", "http-protocol | ok 200"),
        line("reason-with-cr", "HTTP/1.1 200 O\rK", "http-protocol | ok 200"),
        line("reason-of-10-kib", long(10 << 10), "ok 200"),
        line("reason-of-70-kib", long(70 << 10), "too-large"),
        line("blanks-before-code", "HTTP/1.1  200 OK", "ok 200 | http-protocol"),
        line("tabs-for-blanks", "HTTP/1.1\t200\tOK", "ok 200 | http-protocol"),
        any("reason-without-end", [send("HTTP/1.1 200 "), flood("a")], "too-large"),
    ]
}

/// What is no status line at all.
fn others() -> Vec<Case> {
    // RFC 9112 §2.2: a single LF may end a line of a head.
    let lf = OK.replace("\r\n", "\n");
    let cr = OK.replace("\r\n", "\r");
    vec![
        answer("lines-ended-by-lf", lf, "ok 200 | http-protocol"),
        get("lines-ended-by-cr", [send(cr), Act::Fin], "closed | http-protocol"),
        // §2.2 has a server skip empty lines, not a client.
        answer("empty-line-first", format!("\r\n{OK}"), "http-protocol | ok 200"),
        answer("empty-lines-only", "\r\n\r\n\r\n", "http-protocol"),
        answer("body-only", "ok, no head\r\n\r\n", "http-protocol"),
        answer("request-for-an-answer", "GET / HTTP/1.1\r\n\r\n", "http-protocol"),
        answer("ssh-banner", "SSH-2.0-OpenSSH_9.9\r\n", "http-protocol"),
        answer("smtp-banner", "220 mail.test ESMTP\r\n", "http-protocol"),
        answer("tls-alert", b"\x15\x03\x01\x00\x02\x02\x28", "http-protocol"),
        answer("http2-settings", b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64", "http-protocol"),
        answer("nul-bytes", [0; 64], "http-protocol"),
        any("flood-of-nul-bytes", [flood([0; 64])], "http-protocol"),
        get("byte-by-byte", [drip(OK)], "ok 200"),
    ]
}
