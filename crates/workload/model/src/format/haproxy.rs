//! Lines of HAProxy's `option httplog` (HAProxy configuration manual, section 8.2.3), bare or behind a head of syslog:
//! `192.0.2.1:4711 [17/May/2015:10:05:03.655] web~ app/a 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 "GET / HTTP/1.1"`.

use std::borrow::Cow;

use super::stamp;
use crate::entry::{Entry, request_problem};
use crate::line_problems::ProblemKind;
use crate::time::Form;

/// The format's name for people.
pub(crate) const NAME: &str = "HAProxy HTTP log";
/// The request of a line whose request HAProxy could not read.
const BAD_REQUEST: &[u8] = b"<BADREQ>";
/// Words between the time and the status: frontend, backend and server, timers.
const WORDS: usize = 3;
/// Timers of a line: of the request, the queue, the connection, the response, and of all.
const TIMERS: usize = 5;

/// Whether a line has a client's port before a time in brackets, and five timers behind it.
pub(super) fn looks(line: &[u8]) -> bool {
    LogLine::of(line).is_some()
}

/// A line in its parts.
struct LogLine<'a> {
    /// The address of the client.
    client: &'a [u8],
    time: &'a [u8],
    /// Frontend, backend and server, timers.
    words: [&'a [u8]; WORDS],
    status: &'a [u8],
    request: &'a [u8],
}

impl<'a> LogLine<'a> {
    fn of(line: &'a [u8]) -> Option<LogLine<'a>> {
        let line = line.trim_ascii_end();
        // A process in brackets, as of syslog, has no blank before it.
        let open = memchr::memmem::find(line, b" [")?;
        let close = open + memchr::memchr(b']', &line[open..])?;
        let client = address(line[..open].rsplit(|&b| b == b' ').next()?)?;
        let mut rest = line[close + 1..].split(|&b| b == b' ').filter(|word| !word.is_empty());
        let words = [rest.next()?, rest.next()?, rest.next()?];
        let status = rest.next()?;
        let timers = words[WORDS - 1].split(|&b| b == b'/');
        let is_http = timers.clone().count() == TIMERS && timers.clone().all(is_time);
        // Headers that are captured stand in braces, and may have quotes; the request is last.
        let behind = line.strip_suffix(b"\"")?;
        let quote = memchr::memmem::rfind(behind, b" \"")?;
        (is_http && quote > close).then_some(LogLine {
            client,
            time: &line[open + 2..close],
            words,
            status,
            request: &behind[quote + 2..],
        })
    }
}

/// The address before a port. One of IPv6 has no brackets: `2001:db8::1:4711`.
fn address(client: &[u8]) -> Option<&[u8]> {
    let colon = memchr::memrchr(b':', client)?;
    let address = &client[..colon];
    let port = &client[colon + 1..];
    let is_port = !port.is_empty() && port.iter().all(u8::is_ascii_digit);
    (is_port && !address.is_empty()).then_some(address)
}

/// Milliseconds; −1 for what did not happen, and a `+` before what goes on.
fn is_time(text: &[u8]) -> bool {
    let digits = match text {
        [b'-' | b'+', digits @ ..] => digits,
        digits => digits,
    };
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// Takes a line apart. Its frontend, backend and server are parts of these names.
pub(super) fn parse(line: &[u8]) -> Result<Entry<'_>, ProblemKind> {
    let parts = LogLine::of(line).ok_or(ProblemKind::Format)?;
    let mut entry = Entry {
        time: Some(stamp(parts.time, Form::Common)?),
        address: Cow::Borrowed(parts.client),
        // −1: the client was gone before there was one.
        status: super::status(parts.status),
        ..Entry::default()
    };
    if parts.request == BAD_REQUEST {
        return Err(ProblemKind::NoRequest);
    }
    if !entry.set_request(Cow::Borrowed(parts.request)) {
        return Err(request_problem(parts.request));
    }
    let [frontend, server, _] = parts.words;
    // A tilde marks a frontend that speaks TLS.
    let frontend = frontend.strip_suffix(b"~").unwrap_or(frontend);
    let slash = memchr::memchr(b'/', server).unwrap_or(server.len());
    let (backend, server) = server.split_at(slash);
    let server = server.strip_prefix(b"/").unwrap_or(server);
    for (name, value) in [("frontend", frontend), ("backend", backend), ("server", server)] {
        entry.others.push((name, Cow::Borrowed(value)));
    }
    Ok(entry)
}
