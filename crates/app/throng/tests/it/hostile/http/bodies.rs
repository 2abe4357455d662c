//! How long a body is (RFC 9112 §6.2 and §6.3), and answers without one.

use super::super::case::{Act, Case, flood, send};
use super::{GET_ANY, GET_IN_TIME, GET_NOTHING, answer, any, get};

/// Requests no body.
const HEAD: &str = "[ { head: AT, save: { seen: body }, check: \"seen == ''\" } ]";

pub(super) fn cases() -> Vec<Case> {
    [lengths(), ends(), none(), interim()].concat()
}

/// An answer of `ok` with this length.
fn length(name: &'static str, value: &str, right: &'static str) -> Case {
    let text = format!("HTTP/1.1 200 OK\r\ncontent-length:{value}\r\n\r\nok");
    answer(name, text, right)
}

/// RFC 9110 §8.6: digits, of any value. Several equal ones, in a list or in several lines, are one or
/// refused; other values are an error that cannot be recovered from (RFC 9112 §6.3).
fn lengths() -> Vec<Case> {
    vec![
        length("length-in-order", " 2", "ok 200"),
        length("length-without-blank", "2", "ok 200"),
        length("length-between-blanks", "\t 2 \t", "ok 200"),
        length("length-with-zeros", " 0000000000000000000000002", "ok 200"),
        length("length-empty", "", "http-protocol"),
        length("length-negative", " -2", "http-protocol"),
        length("length-signed", " +2", "http-protocol"),
        length("length-hexadecimal", " 0x2", "http-protocol"),
        length("length-with-point", " 2.0", "http-protocol"),
        length("length-with-exponent", " 2e0", "http-protocol"),
        length("length-of-two-numbers", " 2 2", "http-protocol"),
        length("length-with-unit", " 2 bytes", "http-protocol"),
        length("length-in-quotes", " \"2\"", "http-protocol"),
        length("length-of-letters", " two", "http-protocol"),
        length("length-of-other-digits", " ２", "http-protocol"),
        length("length-2-to-64", " 18446744073709551616", "http-protocol | too-large"),
        length("length-2-to-64-and-2", " 18446744073709551618", "http-protocol | too-large"),
        length("length-2-to-64-less-1", " 18446744073709551615", "too-large"),
        length("length-2-to-63", " 9223372036854775808", "too-large"),
        length("length-2-to-32-and-2", " 4294967298", "too-large"),
        length("length-list-of-equal", " 2, 2", "ok 200 | http-protocol"),
        length("length-list-of-unequal", " 2, 3", "http-protocol"),
        // Empty members of a list are none (RFC 9110 §5.6.1).
        length("length-list-with-empty", " 2,", "ok 200 | http-protocol"),
        length("length-list-with-bad", " 2, x", "http-protocol"),
        length("length-twice", " 2\r\ncontent-length: 2", "ok 200 | http-protocol"),
        length("length-twice-unequal", " 2\r\ncontent-length: 3", "http-protocol"),
        length("length-twice-in-cases", " 2\r\nContent-Length: 20", "http-protocol"),
        length("length-then-empty", " 2\r\ncontent-length:", "http-protocol"),
    ]
}

/// Bodies that end before or after what their length says, or with the connection.
fn ends() -> Vec<Case> {
    let head = |length: usize| format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
    let endless = "HTTP/1.1 200 OK\r\n\r\n";
    let body = |length: usize| send(format!("{}{}", head(length), "b".repeat(length)));
    vec![
        get("body-longer", [send(head(2)), send("okay, and more")], "ok 200"),
        get("body-shorter", [send(head(3)), send("ok"), Act::Fin], "closed"),
        Case::new("body-stops", GET_IN_TIME, [send(head(3)), send("ok")], "timeout"),
        get("body-shorter-reset", [send(head(3)), send("ok"), Act::Reset], "reset"),
        any("body-at-limit", [body(64 << 10)], "ok 200"),
        any("body-over-limit", [body((64 << 10) + 1)], "too-large"),
        any("body-that-floods", [send(head(65_000)), flood("b")], "ok 200"),
        Case::new("body-of-0", GET_NOTHING, [send(head(0))], "ok 200"),
        Case::new("body-of-0-and-more", GET_NOTHING, [send(head(0)), send("ok")], "ok 200"),
        // §6.3, the last rule: the end of the connection ends the body.
        get("body-until-close", [send(endless), send("ok"), Act::Fin], "ok 200"),
        Case::new("body-empty-until-close", GET_NOTHING, [send(endless), Act::Fin], "ok 200"),
        get("body-until-reset", [send(endless), send("ok"), Act::Reset], "reset"),
        Case::new("body-without-close", GET_IN_TIME, [send(endless), send("ok")], "timeout"),
        any("body-without-end", [send(endless), flood("b")], "too-large"),
    ]
}

/// §6.3 rule 1: 1xx, 204, 304, and answers to HEAD end with their head, whatever its fields say.
fn none() -> Vec<Case> {
    let nothing = |name, text: &str, right| Case::new(name, GET_NOTHING, [send(text)], right);
    let head = |name, text: &str, right| Case::new(name, HEAD, [send(text)], right);
    vec![
        nothing("204", "HTTP/1.1 204 No\r\n\r\n", "ok 204"),
        nothing("204-with-length", "HTTP/1.1 204 No\r\ncontent-length: 2\r\n\r\n", "ok 204"),
        nothing("204-with-body", "HTTP/1.1 204 No\r\ncontent-length: 2\r\n\r\nok", "ok 204"),
        nothing("204-chunked", "HTTP/1.1 204 No\r\ntransfer-encoding: chunked\r\n\r\n", "ok 204"),
        // Rule 1 comes before that about bad lengths, but who rejects the head is right as well.
        nothing(
            "204-with-bad-length",
            "HTTP/1.1 204 No\r\ncontent-length: x\r\n\r\n",
            "ok 204 | http-protocol",
        ),
        nothing("304-with-length", "HTTP/1.1 304 Same\r\ncontent-length: 2\r\n\r\n", "ok 304"),
        nothing("304-with-body", "HTTP/1.1 304 Same\r\ncontent-length: 2\r\n\r\nok", "ok 304"),
        nothing(
            "304-of-2-to-63",
            "HTTP/1.1 304 Same\r\ncontent-length: 9223372036854775808\r\n\r\n",
            "ok 304",
        ),
        answer("205-with-body", "HTTP/1.1 205 R\r\ncontent-length: 2\r\n\r\nok", "ok 205"),
        head("head-with-length", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n", "ok 200"),
        head("head-with-body", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", "ok 200"),
        head("head-chunked", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "ok 200"),
        head("head-without-length", "HTTP/1.1 200 OK\r\n\r\n", "ok 200"),
        head(
            "head-of-2-to-63",
            "HTTP/1.1 200 OK\r\ncontent-length: 9223372036854775808\r\n\r\n",
            "ok 200",
        ),
        head("head-404", "HTTP/1.1 404 No\r\ncontent-length: 2\r\n\r\n", "status 404"),
    ]
}

/// RFC 9110 §15.2: any number of 1xx come before the answer, and have no body.
fn interim() -> Vec<Case> {
    const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    const CONTINUE: &str = "HTTP/1.1 100 Continue\r\n\r\n";
    let before = |name, interim: &str, right| answer(name, format!("{interim}{OK}"), right);
    // §7.8: a server must not switch to what the client did not name.
    let switch = "HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n";
    vec![
        before("100-first", CONTINUE, "ok 200"),
        before("100-of-http-1-0", "HTTP/1.0 100 Continue\r\n\r\n", "ok 200"),
        before("103-first", "HTTP/1.1 103 Hints\r\nlink: </a>\r\n\r\n", "ok 200"),
        before("199-first", "HTTP/1.1 199 Odd\r\n\r\n", "ok 200"),
        before("100-with-length", "HTTP/1.1 100 C\r\ncontent-length: 9\r\n\r\n", "ok 200"),
        before("100-chunked", "HTTP/1.1 100 C\r\ntransfer-encoding: chunked\r\n\r\n", "ok 200"),
        before("100-with-close", "HTTP/1.1 100 C\r\nconnection: close\r\n\r\n", "ok 200"),
        before("100-32-times", &CONTINUE.repeat(32), "ok 200"),
        // A limit of ours.
        before("100-33-times", &CONTINUE.repeat(33), "too-large"),
        any("100-without-end", [flood(CONTINUE)], "too-large"),
        get("100-and-close", [send(CONTINUE), Act::Fin], "closed"),
        get("100-and-reset", [send(CONTINUE), Act::Reset], "reset"),
        Case::new("100-and-silence", GET_IN_TIME, [send(CONTINUE)], "timeout"),
        answer("100-and-nonsense", format!("{CONTINUE}nonsense\r\n"), "http-protocol"),
        before("100-with-bad-field", "HTTP/1.1 100 C\r\nbad\r\n\r\n", "http-protocol"),
        Case::new("101-not-wanted", GET_ANY, [send(switch)], "http-protocol 101"),
        any("101-and-frames", [send(switch), send([0x81, 2, b'o', b'k'])], "http-protocol 101"),
    ]
}
