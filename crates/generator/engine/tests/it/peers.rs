//! Servers for the simulated network. They share no code with the engine: the handshake's answer
//! comes from tungstenite, frames are taken apart by hand.
//!
//! Each test has closures of its own. What does not depend on their types is a method of the server with any closure, so
//! that it is compiled once and not for each test.

use std::collections::HashMap;

use engine::sim::{Peer, PeerAction, PeerConn, PeerEvent};

/// Answers requests.
type Respond<'a> = dyn FnMut(&str) -> Vec<PeerAction> + 'a;
/// Answers messages, each with its time.
type RespondAt<'a> = dyn FnMut(u64, &str) -> Vec<PeerAction> + 'a;

/// An HTTP server: answers each request `delay_ns` after it came, with what `respond` returns.
pub(crate) struct HttpPeer<F: ?Sized> {
    pub(crate) delay_ns: fn(u64) -> u64,
    inbox: HashMap<PeerConn, String>,
    waiting: HashMap<(PeerConn, u64), Vec<PeerAction>>,
    count: u64,
    /// Whole requests, in the order they came.
    pub(crate) requests: Vec<String>,
    pub(crate) respond: F,
}

impl<F: FnMut(&str) -> Vec<PeerAction>> HttpPeer<F> {
    pub(crate) fn new(delay_ns: fn(u64) -> u64, respond: F) -> HttpPeer<F> {
        HttpPeer {
            delay_ns,
            respond,
            inbox: HashMap::new(),
            waiting: HashMap::new(),
            count: 0,
            requests: Vec::new(),
        }
    }
}

impl<F: FnMut(&str) -> Vec<PeerAction>> Peer for HttpPeer<F> {
    fn handle(&mut self, now_ns: u64, conn: PeerConn, event: PeerEvent) -> Vec<PeerAction> {
        let peer: &mut HttpPeer<Respond<'_>> = self;
        peer.handle_any(now_ns, conn, event)
    }
}

impl HttpPeer<Respond<'_>> {
    fn handle_any(&mut self, now_ns: u64, conn: PeerConn, event: PeerEvent) -> Vec<PeerAction> {
        match event {
            PeerEvent::Received(bytes) => {
                let inbox = self.inbox.entry(conn).or_default();
                inbox.push_str(std::str::from_utf8(&bytes).expect("requests of tests are text"));
                let Some(end) = request_end(inbox) else {
                    return Vec::new();
                };
                let request: String = inbox.drain(..end).collect();
                let actions = (self.respond)(&request);
                self.requests.push(request);
                self.count += 1;
                self.waiting.insert((conn, self.count), actions);
                let at_ns = now_ns + (self.delay_ns)(now_ns);
                vec![PeerAction::Timer { at_ns, number: self.count }]
            }
            PeerEvent::Timer(number) => self.waiting.remove(&(conn, number)).unwrap_or_default(),
            PeerEvent::Connected | PeerEvent::Closed => Vec::new(),
        }
    }
}

fn request_end(inbox: &str) -> Option<usize> {
    let head = inbox.find("\r\n\r\n")? + 4;
    let length = inbox[..head].lines().find_map(|line| line.strip_prefix("content-length: "));
    let end = head + length.map_or(0, |length| length.parse::<usize>().expect("a length"));
    (inbox.len() >= end).then_some(end)
}

/// `200` with a body, as one send.
pub(crate) fn ok(body: &str) -> Vec<PeerAction> {
    response("200 OK", "", body)
}

/// A response with these header lines (each ending in CRLF).
pub(crate) fn response(status: &str, headers: &str, body: &str) -> Vec<PeerAction> {
    let length = body.len();
    let text = format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}");
    vec![PeerAction::Send(text.into_bytes())]
}

/// A WebSocket server: `respond` is called with each message.
pub(crate) struct WsPeer<F: ?Sized> {
    inbox: HashMap<PeerConn, Vec<u8>>,
    open: HashMap<PeerConn, bool>,
    waiting: HashMap<(PeerConn, u64), Vec<PeerAction>>,
    count: u64,
    /// Opcode and payload of every frame, in the order they came.
    pub(crate) frames: Vec<(u8, Vec<u8>)>,
    /// Sent right after the handshake.
    pub(crate) greeting: Vec<PeerAction>,
    /// Header lines of the handshake's answer, each ending in CRLF.
    pub(crate) headers: &'static str,
    /// From a message to its answer.
    pub(crate) delay_ns: u64,
    pub(crate) respond: F,
}

impl<F: FnMut(u64, &str) -> Vec<PeerAction>> WsPeer<F> {
    pub(crate) fn new(respond: F) -> WsPeer<F> {
        WsPeer {
            respond,
            inbox: HashMap::new(),
            open: HashMap::new(),
            waiting: HashMap::new(),
            count: 0,
            frames: Vec::new(),
            greeting: Vec::new(),
            headers: "",
            delay_ns: 0,
        }
    }
}

impl WsPeer<RespondAt<'_>> {
    fn upgrade(&mut self, conn: PeerConn) -> Vec<PeerAction> {
        let inbox = self.inbox.entry(conn).or_default();
        let text = String::from_utf8_lossy(inbox).into_owned();
        let Some(end) = text.find("\r\n\r\n") else {
            return Vec::new();
        };
        inbox.drain(..end + 4);
        self.open.insert(conn, true);
        let key = text.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("sec-websocket-key").then_some(value)
        });
        let key = key.expect("the upgrade has a key");
        let accept = tungstenite::handshake::derive_accept_key(key.as_bytes());
        let answer = format!(
            "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\
             sec-websocket-accept: {accept}\r\n{}\r\n",
            self.headers
        );
        let mut actions = vec![PeerAction::Send(answer.into_bytes())];
        actions.extend(self.greeting.clone());
        actions
    }

    fn handle_any(&mut self, now_ns: u64, conn: PeerConn, event: PeerEvent) -> Vec<PeerAction> {
        match event {
            PeerEvent::Received(bytes) => {
                self.inbox.entry(conn).or_default().extend(bytes);
                if !self.open.contains_key(&conn) {
                    return self.upgrade(conn);
                }
                let mut actions = Vec::new();
                while let Some((opcode, payload)) = take_frame(self.inbox.entry(conn).or_default())
                {
                    self.frames.push((opcode, payload.clone()));
                    match opcode {
                        1 | 2 => {
                            let text = String::from_utf8_lossy(&payload).into_owned();
                            let answer = (self.respond)(now_ns, &text);
                            if self.delay_ns == 0 {
                                actions.extend(answer);
                                continue;
                            }
                            self.count += 1;
                            self.waiting.insert((conn, self.count), answer);
                            let at_ns = now_ns + self.delay_ns;
                            actions.push(PeerAction::Timer { at_ns, number: self.count });
                        }
                        8 => {
                            actions.push(PeerAction::Send(frame(0x88, &payload)));
                            actions.push(PeerAction::Close);
                        }
                        9 => actions.push(PeerAction::Send(frame(0x8a, &payload))),
                        _ => {}
                    }
                }
                actions
            }
            PeerEvent::Timer(number) => self.waiting.remove(&(conn, number)).unwrap_or_default(),
            PeerEvent::Connected | PeerEvent::Closed => Vec::new(),
        }
    }
}

impl<F: FnMut(u64, &str) -> Vec<PeerAction>> Peer for WsPeer<F> {
    fn handle(&mut self, now_ns: u64, conn: PeerConn, event: PeerEvent) -> Vec<PeerAction> {
        let peer: &mut WsPeer<RespondAt<'_>> = self;
        peer.handle_any(now_ns, conn, event)
    }
}

/// An unmasked frame with this first byte.
pub(crate) fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    if payload.len() < 126 {
        bytes.push(payload.len() as u8);
    } else {
        bytes.push(126);
        bytes.extend((payload.len() as u16).to_be_bytes());
    }
    bytes.extend(payload);
    bytes
}

/// A text message as an action.
pub(crate) fn text(payload: &str) -> PeerAction {
    PeerAction::Send(frame(0x81, payload.as_bytes()))
}

/// Takes one masked frame off the front.
fn take_frame(inbox: &mut Vec<u8>) -> Option<(u8, Vec<u8>)> {
    let second = *inbox.get(1)?;
    assert_eq!(second & 0x80, 0x80, "clients mask their frames");
    let (length, header) = match second & 0x7f {
        126 => (usize::from(u16::from_be_bytes([*inbox.get(2)?, *inbox.get(3)?])), 4),
        127 => panic!("tests send no such long messages"),
        short => (usize::from(short), 2),
    };
    if inbox.len() < header + 4 + length {
        return None;
    }
    let opcode = inbox[0] & 0x0f;
    let mask: Vec<u8> = inbox[header..header + 4].to_vec();
    let masked = &inbox[header + 4..header + 4 + length];
    let payload = masked.iter().enumerate().map(|(i, b)| b ^ mask[i % 4]).collect();
    inbox.drain(..header + 4 + length);
    Some((opcode, payload))
}

/// A WebSocket server that publishes by the clock: `plan` is called with the number of each connection
/// and the time at which it was opened, and returns what is sent over it when.
pub(crate) struct CastPeer<F> {
    ws: WsPeer<fn(u64, &str) -> Vec<PeerAction>>,
    plan: F,
}

impl<F: FnMut(u64, u64) -> Vec<(u64, Vec<PeerAction>)>> CastPeer<F> {
    pub(crate) fn new(plan: F) -> CastPeer<F> {
        CastPeer { ws: WsPeer::new(|_, _| Vec::new()), plan }
    }
}

impl<F: FnMut(u64, u64) -> Vec<(u64, Vec<PeerAction>)>> Peer for CastPeer<F> {
    fn handle(&mut self, now_ns: u64, conn: PeerConn, event: PeerEvent) -> Vec<PeerAction> {
        let was_open = self.ws.open.contains_key(&conn);
        let mut actions = self.ws.handle(now_ns, conn, event);
        if !was_open && self.ws.open.contains_key(&conn) {
            for (at_ns, sent) in (self.plan)(conn, now_ns) {
                self.ws.count += 1;
                let number = self.ws.count;
                self.ws.waiting.insert((conn, number), sent);
                actions.push(PeerAction::Timer { at_ns, number });
            }
        }
        actions
    }
}
