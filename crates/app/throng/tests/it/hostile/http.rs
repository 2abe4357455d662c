//! HTTP/1.1: RFC 9110 for what messages mean, RFC 9112 for how they are delimited.
//!
//! What is right where a limit of ours is exceeded is `too-large`: `proto::Limits`, and the options of the
//! run, have the limits.

mod bodies;
mod chunked;
mod connections;
mod fields;
mod status;

use super::case::{Act, Case, send};

/// One request, whose body has to be `ok`.
const GET: &str = "[ { get: AT, save: { seen: body }, check: \"seen == 'ok'\" } ]";
/// One request, whose body does not matter.
const GET_ANY: &str = "[ { get: AT, save: { seen: body } } ]";
/// One that has no body.
const GET_NOTHING: &str = "[ { get: AT, save: { seen: body }, check: \"seen == ''\" } ]";
/// One that the server leaves without an answer.
const GET_IN_TIME: &str = "[ { get: AT, timeout: 3s } ]";

pub(super) fn cases() -> Vec<Case> {
    [status::cases(), fields::cases(), bodies::cases(), chunked::cases(), connections::cases()]
        .concat()
}

/// One request, whose answer is in order after this status line.
fn line(name: &'static str, status_line: impl AsRef<[u8]>, right: &'static str) -> Case {
    let rest = b"\r\ncontent-length: 2\r\n\r\nok";
    answer(name, [status_line.as_ref(), rest].concat(), right)
}

/// One request, whose answer is in order but for these further header lines.
fn field(name: &'static str, lines: impl AsRef<[u8]>, right: &'static str) -> Case {
    let start = b"HTTP/1.1 200 OK\r\n";
    let rest = b"\r\ncontent-length: 2\r\n\r\nok";
    answer(name, [start, lines.as_ref(), rest].concat(), right)
}

/// One request with this answer.
fn answer(name: &'static str, bytes: impl AsRef<[u8]>, right: &'static str) -> Case {
    get(name, [send(bytes)], right)
}

/// One request, whose body has to be `ok`.
fn get(name: &'static str, acts: impl Into<Vec<Act>>, right: &'static str) -> Case {
    Case::new(name, GET, acts, right)
}

/// One request, whose body does not matter.
fn any(name: &'static str, acts: impl Into<Vec<Act>>, right: &'static str) -> Case {
    Case::new(name, GET_ANY, acts, right)
}
