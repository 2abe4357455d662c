//! The servers of HTTP over HTTP/2: frames and header blocks by hand. Clients send headers as literals.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use super::conns::{Conn, listen};
use super::ledger::{Ledger, Load, Sent};
use super::requests::{Polled, events, next_list};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const INTERNAL_ERROR: [u8; 4] = [0, 0, 0, 2];
/// `:status: 200` of the static table, and a literal value for the name `:status` (RFC 7541, appendix A).
const OK: &[u8] = &[0x88];
const BUSY: &[u8] = &[0x08, 3, b'5', b'0', b'3'];

/// What a request is answered with.
enum Reply {
    Never,
    /// The stream is reset.
    Reset,
    Refused,
    Whole(String),
    /// The stream stays open.
    Begun(String),
}

struct Request {
    /// Without its slash.
    path: String,
    last_event_id: Option<usize>,
}

/// Serves a transport.
pub(super) fn serve(name: &str, ledger: &Ledger) -> SocketAddr {
    match name {
        "http" => http(ledger),
        "sse" => event_streams(ledger),
        "poll" => polls(ledger),
        _ => unreachable!("{name} is not carried by HTTP/2"),
    }
}

/// Answers requests. Overloaded, it never answers those to `/late`, resets each fifth of the others and refuses each
/// third.
fn http(ledger: &Ledger) -> SocketAddr {
    let own = ledger.clone();
    let requests = Mutex::new(0);
    answer_by(ledger, move |request| {
        if request.path == "late" && own.load == Load::Over {
            own.note(|counts| counts.late += 1);
            return Reply::Never;
        }
        let mut requests = requests.lock().unwrap();
        *requests += 1;
        faulty(&own, *requests, (5, 3)).unwrap_or_else(|| {
            own.note(|counts| counts.answered += 1);
            Reply::Whole("ok".to_owned())
        })
    })
}

/// Sends events. Overloaded, it ends each stream once in the midst of them, and repeats the last ones when the client
/// is back.
fn event_streams(ledger: &Ledger) -> SocketAddr {
    let users: Mutex<BTreeMap<String, Sent>> = Mutex::default();
    let own = ledger.clone();
    answer_by(ledger, move |request| {
        own.note(|counts| counts.answered += 1);
        let mut users = users.lock().unwrap();
        let sent = users.entry(request.path.clone()).or_default();
        match events(&own, sent, request.last_event_id) {
            (text, true) => Reply::Whole(text),
            (text, false) => Reply::Begun(text),
        }
    })
}

/// Answers polls with messages. Overloaded, it resets every third and refuses every fourth.
fn polls(ledger: &Ledger) -> SocketAddr {
    let users: Mutex<BTreeMap<String, Polled>> = Mutex::default();
    let own = ledger.clone();
    answer_by(ledger, move |request| {
        let mut users = users.lock().unwrap();
        let user = users.entry(request.path.clone()).or_default();
        user.requests += 1;
        faulty(&own, user.requests, (3, 4)).unwrap_or_else(|| {
            own.note(|counts| counts.answered += 1);
            Reply::Whole(next_list(user, &own))
        })
    })
}

/// What becomes of a request, counted from 1, if the server is overloaded.
fn faulty(ledger: &Ledger, number: u64, (reset, refuse): (u64, u64)) -> Option<Reply> {
    if ledger.fails(number - 1, reset) {
        ledger.note(|counts| counts.closed += 1);
        return Some(Reply::Reset);
    }
    ledger.fails(number - 1, refuse).then(|| {
        ledger.note(|counts| counts.refused += 1);
        Reply::Refused
    })
}

fn answer_by(
    ledger: &Ledger,
    reply: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> SocketAddr {
    let ledger = ledger.clone();
    let reply = Arc::new(reply);
    listen(false, move |stream| {
        ledger.connected();
        let mut preface = [0; PREFACE.len()];
        stream.read_exact(&mut preface)?;
        assert_eq!(preface, PREFACE);
        frame(stream, SETTINGS, 0, 0, b"")?;
        loop {
            let (kind, flags, id, payload) = next(stream)?;
            match kind {
                SETTINGS if flags & ACK == 0 => frame(stream, SETTINGS, ACK, 0, b"")?,
                PING if flags & ACK == 0 => frame(stream, PING, ACK, 0, &payload)?,
                HEADERS => {
                    assert_eq!(flags & END_HEADERS, END_HEADERS, "heads are small");
                    assert_eq!(flags & END_STREAM, END_STREAM, "there are no bodies");
                    send(stream, id, &reply(&request(&payload)))?;
                }
                _ => {}
            }
            stream.flush()?;
        }
    })
}

fn send(stream: &mut dyn Conn, id: u32, reply: &Reply) -> io::Result<()> {
    let text = match reply {
        Reply::Never => return Ok(()),
        Reply::Reset => return frame(stream, RST_STREAM, 0, id, &INTERNAL_ERROR),
        Reply::Refused => return frame(stream, HEADERS, END_HEADERS | END_STREAM, id, BUSY),
        Reply::Whole(text) | Reply::Begun(text) => text,
    };
    let mut block = OK.to_vec();
    if text.starts_with("id:") || text.starts_with("data:") {
        block.push(0);
        for part in ["content-type", "text/event-stream"] {
            block.push(part.len() as u8);
            block.extend(part.as_bytes());
        }
    }
    frame(stream, HEADERS, END_HEADERS, id, &block)?;
    let ends = matches!(reply, Reply::Whole(_));
    frame(stream, DATA, u8::from(ends), id, text.as_bytes())
}

fn frame(stream: &mut dyn Conn, kind: u8, flags: u8, id: u32, payload: &[u8]) -> io::Result<()> {
    let mut wire = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    wire.extend([kind, flags]);
    wire.extend(id.to_be_bytes());
    wire.extend(payload);
    stream.write_all(&wire)
}

/// Kind, flags, stream and payload of the next frame.
fn next(stream: &mut dyn Conn) -> io::Result<(u8, u8, u32, Vec<u8>)> {
    let mut head = [0; 9];
    stream.read_exact(&mut head)?;
    let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
    stream.read_exact(&mut payload)?;
    let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
    Ok((head[3], head[4], id, payload))
}

/// Reads a header block (RFC 7541 §6) without Huffman code and dynamic table.
fn request(mut block: &[u8]) -> Request {
    let mut request = Request { path: String::new(), last_event_id: None };
    while let Some(&first) = block.first() {
        if first & 0x80 != 0 {
            number(&mut block, 7);
            continue;
        }
        if first & 0xe0 == 0x20 {
            number(&mut block, 5);
            continue;
        }
        assert_eq!(first & 0x40, 0, "nothing is added to the table");
        // `:path` is 4 in the static table; other names of it do not matter.
        let name = match number(&mut block, 4) {
            0 => string(&mut block),
            4 => ":path".to_owned(),
            _ => String::new(),
        };
        let value = string(&mut block);
        match name.as_str() {
            ":path" => request.path = value.trim_start_matches('/').to_owned(),
            "last-event-id" => request.last_event_id = Some(value.parse().unwrap()),
            _ => {}
        }
    }
    request
}

fn string(block: &mut &[u8]) -> String {
    assert_eq!(block[0] & 0x80, 0, "nothing is in Huffman code");
    let len = number(block, 7);
    let (text, rest) = block.split_at(len);
    *block = rest;
    String::from_utf8(text.to_vec()).unwrap()
}

/// An integer whose first byte has this many bits for it (§5.1).
fn number(block: &mut &[u8], bits: u32) -> usize {
    let mask = (1 << bits) - 1;
    let mut value = usize::from(block[0]) & mask;
    *block = &block[1..];
    if value < mask {
        return value;
    }
    for shift in (0..).step_by(7) {
        let byte = usize::from(block[0]);
        *block = &block[1..];
        value += (byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}
