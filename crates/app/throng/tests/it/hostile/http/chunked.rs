//! The chunked coding and others (RFC 9112 §6.1 and §7).

use super::super::case::{Act, Case, drip, flood, pause, send};
use super::{GET, GET_IN_TIME, GET_NOTHING, answer, any, get};

const HEAD: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

pub(super) fn cases() -> Vec<Case> {
    [sizes(), extensions(), data(), ends(), trailers(), codings()].concat()
}

/// An answer with this chunked body.
fn body(name: &'static str, chunks: impl AsRef<[u8]>, right: &'static str) -> Case {
    answer(name, [HEAD.as_bytes(), chunks.as_ref()].concat(), right)
}

/// A body of one chunk, whose size is written like this.
fn size(name: &'static str, size: &str, right: &'static str) -> Case {
    body(name, format!("{size}\r\nok\r\n0\r\n\r\n"), right)
}

/// §7.1: hexadecimal digits, of any value; a recipient has to expect large ones.
fn sizes() -> Vec<Case> {
    vec![
        size("chunk-in-order", "2", "ok 200"),
        size("chunk-size-with-zeros", "0002", "ok 200"),
        size("chunk-size-of-20-digits", "00000000000000000002", "ok 200"),
        size("chunk-size-missing", "", "http-protocol"),
        size("chunk-size-negative", "-2", "http-protocol"),
        size("chunk-size-signed", "+2", "http-protocol"),
        size("chunk-size-with-prefix", "0x2", "http-protocol"),
        size("chunk-size-after-blank", " 2", "http-protocol"),
        // Blanks may stand before an extension (§7.1.1), and here none follows.
        size("chunk-size-before-blank", "2 ", "ok 200 | http-protocol"),
        size("chunk-size-of-letters", "xyz", "http-protocol"),
        size("chunk-size-of-two", "2 2", "http-protocol"),
        size("chunk-size-2-to-64", "10000000000000000", "http-protocol | too-large"),
        size("chunk-size-2-to-64-and-2", "10000000000000002", "http-protocol | too-large"),
        size("chunk-size-2-to-64-less-1", "ffffffffffffffff", "too-large"),
        size("chunk-size-over-limit", "10001", "too-large"),
        any("chunk-size-without-end", [send(HEAD), flood("0")], "too-large"),
        any(
            "chunk-size-upper-case",
            [send(HEAD), send("A\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n")],
            "ok 200",
        ),
    ]
}

/// §7.1.1: extensions that are not known are ignored. Their length is limited.
fn extensions() -> Vec<Case> {
    let long = |bytes: usize| format!("2;{}", "a".repeat(bytes));
    vec![
        size("extension", "2;a=b", "ok 200"),
        size("extension-without-value", "2;a", "ok 200"),
        size("extension-in-quotes", "2;a=\"x;y\"", "ok 200"),
        size("extension-between-blanks", "2 ; a = b", "ok 200"),
        size("extension-empty", "2;", "ok 200 | http-protocol"),
        size("extension-without-size", ";a=b", "http-protocol"),
        size("extension-with-nul", "2;a=\0", "http-protocol"),
        size("extension-with-cr", "2;a=\rb", "http-protocol"),
        size("extension-of-4-kb", &long(4_000), "ok 200"),
        size("extension-of-5-kb", &long(5_000), "too-large"),
        any("extension-without-end", [send(HEAD), send("2;"), flood("a")], "too-large"),
        body("extension-of-last-chunk", "2\r\nok\r\n0;a=b\r\n\r\n", "ok 200"),
    ]
}

/// CRLF follows the size and the data. §2.2 allows a single LF in heads only.
fn data() -> Vec<Case> {
    vec![
        body("chunks-of-one", "1\r\no\r\n1\r\nk\r\n0\r\n\r\n", "ok 200"),
        get("chunks-byte-by-byte", [send(HEAD), drip("1\r\no\r\n1\r\nk\r\n0\r\n\r\n")], "ok 200"),
        get(
            "chunk-split-in-crlf",
            [send(HEAD), send("2\r\nok\r"), pause(), send("\n0\r\n\r"), pause(), send("\n")],
            "ok 200",
        ),
        body("chunk-without-crlf", "2\r\nok0\r\n\r\n", "http-protocol"),
        body("chunk-longer", "2\r\nokay\r\n0\r\n\r\n", "http-protocol"),
        body("chunk-shorter", "3\r\nok\r\n0\r\n\r\n", "http-protocol"),
        body("chunk-size-then-lf", "2\nok\r\n0\r\n\r\n", "http-protocol"),
        body("chunk-then-lf", "2\r\nok\n0\r\n\r\n", "http-protocol"),
        body("chunk-then-cr", "2\r\nok\r0\r\n\r\n", "http-protocol"),
        body("chunk-of-plain-text", "ok, not chunked\r\n", "http-protocol"),
        any("chunks-without-end", [send(HEAD), flood("1\r\na\r\n")], "too-large"),
        any("chunk-without-end", [send(HEAD), send("fffe\r\n"), flood("a")], "http-protocol"),
        any(
            "chunks-of-much",
            [send(HEAD), flood(["1000\r\n", &"a".repeat(4096), "\r\n"].concat())],
            "too-large",
        ),
    ]
}

/// The last chunk and the empty line that follows it end the body; nothing else does.
fn ends() -> Vec<Case> {
    let cut = |name, chunks: &str| get(name, [send(HEAD), send(chunks), Act::Fin], "closed");
    let reset = |name, chunks: &str| get(name, [send(HEAD), send(chunks), Act::Reset], "reset");
    let stop =
        |name, chunks: &str| Case::new(name, GET_IN_TIME, [send(HEAD), send(chunks)], "timeout");
    vec![
        cut("chunked-cut-at-start", ""),
        cut("chunked-cut-in-size", "2"),
        cut("chunked-cut-in-data", "2\r\no"),
        cut("chunked-cut-after-data", "2\r\nok"),
        cut("chunked-cut-before-last", "2\r\nok\r\n"),
        cut("chunked-cut-in-last", "2\r\nok\r\n0\r\n"),
        cut("chunked-cut-in-trailers", "2\r\nok\r\n0\r\na: b\r\n"),
        reset("chunked-reset-in-data", "2\r\no"),
        reset("chunked-reset-in-last", "2\r\nok\r\n0\r\n"),
        stop("chunked-stops-in-data", "2\r\no"),
        stop("chunked-stops-before-last", "2\r\nok\r\n"),
        stop("chunked-stops-in-last", "2\r\nok\r\n0\r\n"),
        Case::new("chunked-of-nothing", GET_NOTHING, [send(HEAD), send("0\r\n\r\n")], "ok 200"),
        body("chunked-and-more", "2\r\nok\r\n0\r\n\r\nmore", "ok 200"),
        body("chunked-last-of-zeros", "2\r\nok\r\n0000\r\n\r\n", "ok 200"),
    ]
}

/// §7.1.2: fields that follow the last chunk; they frame nothing.
fn trailers() -> Vec<Case> {
    let trailer = |name, lines: &str, right| {
        let chunks = format!("2\r\nok\r\n0\r\n{lines}\r\n\r\n");
        body(name, chunks, right)
    };
    vec![
        trailer("trailer", "a: b", "ok 200"),
        trailer("trailers", "a: b\r\nc: d", "ok 200"),
        trailer("trailer-with-length", "content-length: 9", "ok 200"),
        trailer("trailer-with-coding", "transfer-encoding: chunked", "ok 200"),
        trailer("trailer-ended-by-lf", "a: b\nc: d", "ok 200 | http-protocol"),
        trailer("trailer-without-colon", "nonsense", "http-protocol"),
        trailer("trailer-with-nul", "a: \0", "http-protocol | ok 200"),
        // As in a head (§5.2).
        trailer("trailer-with-fold", "a: b\r\n c", "ok 200"),
        any("trailers-without-end", [send(HEAD), send("0\r\n"), flood("a: b\r\n")], "too-large"),
        any("trailer-without-end", [send(HEAD), send("0\r\na: "), flood("b")], "too-large"),
    ]
}

/// §6.1 and §6.3: a length beside the coding does not count and may be refused. If `chunked` is not the
/// last coding, the end of the connection ends the body.
fn codings() -> Vec<Case> {
    const CHUNKS: &str = "2\r\nok\r\n0\r\n\r\n";
    let chunked = |name, fields: &str, right| {
        let text = format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n{CHUNKS}");
        Case::new(name, GET, [send(text), Act::Fin], right)
    };
    let until_close = |name, coding: &str, right| {
        let text = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: {coding}\r\n\r\nok");
        Case::new(name, GET, [send(text), Act::Fin], right)
    };
    vec![
        chunked("coding-in-upper-case", "Transfer-Encoding: CHUNKED", "ok 200"),
        chunked(
            "coding-and-length",
            "transfer-encoding: chunked\r\ncontent-length: 2",
            "ok 200 | http-protocol",
        ),
        chunked(
            "length-and-coding",
            "content-length: 2\r\ntransfer-encoding: chunked",
            "ok 200 | http-protocol",
        ),
        chunked(
            "coding-and-bad-length",
            "transfer-encoding: chunked\r\ncontent-length: x",
            "ok 200 | http-protocol",
        ),
        chunked("coding-after-gzip", "transfer-encoding: gzip, chunked", "ok 200"),
        chunked(
            "coding-in-two-fields",
            "transfer-encoding: gzip\r\ntransfer-encoding: chunked",
            "ok 200",
        ),
        chunked(
            "coding-with-empty-members",
            "transfer-encoding: , chunked ,",
            "ok 200 | http-protocol",
        ),
        // §7.1: `chunked` has no parameters, and once is enough.
        chunked("coding-with-parameter", "transfer-encoding: chunked;a=b", "http-protocol"),
        chunked("coding-twice", "transfer-encoding: chunked, chunked", "http-protocol | ok 200"),
        chunked(
            "coding-in-fields-twice",
            "transfer-encoding: chunked\r\ntransfer-encoding: chunked",
            "http-protocol | ok 200",
        ),
        until_close("coding-unknown", "zip", "ok 200"),
        until_close("coding-identity", "identity", "ok 200"),
        until_close("coding-of-like-name", "xchunked", "ok 200"),
        // The body is delimited, but not one that anybody could decode.
        until_close("coding-not-last", "chunked, gzip", "ok 200 | http-protocol"),
        answer(
            "coding-empty",
            "HTTP/1.1 200 OK\r\ntransfer-encoding:\r\ncontent-length: 2\r\n\r\nok",
            "ok 200 | http-protocol",
        ),
        answer(
            "coding-of-http-1-0",
            format!("HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{CHUNKS}"),
            "ok 200 | http-protocol",
        ),
    ]
}
