//! A server of HTTP/2 for the simulated network, which takes frames apart by hand.

use std::collections::HashMap;

use engine::sim::{Peer, PeerAction, PeerConn, PeerEvent};
use proto::hpack;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A whole request, or the end of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Got {
    pub(crate) conn: PeerConn,
    pub(crate) stream: u32,
    /// `GET /path`.
    pub(crate) line: String,
    /// Every field as `name: value`.
    pub(crate) fields: Vec<String>,
    pub(crate) body: Vec<u8>,
    /// All of it has come.
    pub(crate) ended: bool,
}

/// Answers requests.
type Respond<'a> = dyn FnMut(&Got) -> Vec<PeerAction> + 'a;

/// Greets with SETTINGS and answers each request `delay_ns` after it came, with what `respond` returns.
pub(crate) struct Http2Peer<F: ?Sized> {
    pub(crate) delay_ns: u64,
    /// Sent with the greeting.
    pub(crate) settings: Vec<(u16, u32)>,
    /// Answers each head and each piece of a body by itself.
    pub(crate) talks: bool,
    /// Opens the windows again as bodies come.
    pub(crate) widens: bool,
    /// Closes each connection without a greeting, once something came over it.
    pub(crate) silent: bool,
    inbox: HashMap<PeerConn, Vec<u8>>,
    open: HashMap<(PeerConn, u32), Got>,
    waiting: HashMap<u64, (PeerConn, Vec<PeerAction>)>,
    answers_count: u64,
    pub(crate) requests: Vec<Got>,
    /// Streams that the client gave up, with the code.
    pub(crate) resets: Vec<(u32, u32)>,
    pub(crate) connections_count: u64,
    /// The most requests of one connection that waited for their answers at once.
    pub(crate) at_once_max: usize,
    /// When the client closed a connection.
    pub(crate) closed_ns: Vec<u64>,
    /// Bytes of the frames of requests.
    pub(crate) requests_bytes: u64,
    pub(crate) respond: F,
}

impl<F: FnMut(&Got) -> Vec<PeerAction>> Http2Peer<F> {
    pub(crate) fn new(delay_ns: u64, respond: F) -> Http2Peer<F> {
        Http2Peer {
            respond,
            delay_ns,
            settings: Vec::new(),
            talks: false,
            widens: false,
            silent: false,
            inbox: HashMap::new(),
            open: HashMap::new(),
            waiting: HashMap::new(),
            answers_count: 0,
            requests: Vec::new(),
            resets: Vec::new(),
            connections_count: 0,
            at_once_max: 0,
            closed_ns: Vec::new(),
            requests_bytes: 0,
        }
    }

    /// Lines of all requests.
    pub(crate) fn lines(&self) -> Vec<&str> {
        self.requests.iter().map(|request| &*request.line).collect()
    }
}

/// With any closure: compiled once.
impl Http2Peer<Respond<'_>> {
    fn take(&mut self, now_ns: u64, conn: PeerConn, frame: &[u8], actions: &mut Vec<PeerAction>) {
        let (head, payload) = frame.split_at(9);
        let kind = head[3];
        let flags = head[4];
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        if kind < 2 {
            self.requests_bytes += frame.len() as u64;
        }
        if kind == 0 && self.widens && !payload.is_empty() {
            let more = (payload.len() as u32).to_be_bytes();
            actions.push(PeerAction::Send(frame_of(8, 0, 0, &more)));
            actions.push(PeerAction::Send(frame_of(8, 0, stream, &more)));
        }
        match kind {
            0 => {
                let got = self.open.get_mut(&(conn, stream)).expect("a body has a head");
                got.body.extend_from_slice(payload);
            }
            1 => {
                assert_eq!(flags & 4, 4, "heads of tests are small");
                let got = got(conn, stream, payload);
                self.open.insert((conn, stream), got);
            }
            3 => {
                let code = u32::from_be_bytes(payload.try_into().expect("a code"));
                self.resets.push((stream, code));
            }
            4 if flags == 0 => actions.push(PeerAction::Send(frame_of(4, 1, 0, b""))),
            _ => {}
        }
        let ends = flags & 1 == 1;
        if kind < 2 && (ends || self.talks) {
            let mut got = self.open.remove(&(conn, stream)).expect("it began");
            got.ended = ends;
            let answer = (self.respond)(&got);
            match ends {
                true => self.requests.push(got),
                false => drop(self.open.insert((conn, stream), got)),
            }
            self.answers_count += 1;
            let number = self.answers_count;
            self.waiting.insert(number, (conn, answer));
            let same = self.waiting.values().filter(|(own, _)| *own == conn);
            self.at_once_max = self.at_once_max.max(same.count());
            let at_ns = now_ns + self.delay_ns;
            actions.push(PeerAction::Timer { at_ns, number });
        }
    }

    fn handle_any(&mut self, now_ns: u64, conn: PeerConn, event: PeerEvent) -> Vec<PeerAction> {
        match event {
            PeerEvent::Connected => {
                self.connections_count += 1;
                match self.silent {
                    true => vec![],
                    false => vec![PeerAction::Send(settings(&self.settings))],
                }
            }
            PeerEvent::Received(_) if self.silent => vec![PeerAction::Close],
            PeerEvent::Received(bytes) => {
                let mut inbox = self.inbox.remove(&conn).unwrap_or_default();
                inbox.extend_from_slice(&bytes);
                let mut actions = Vec::new();
                if inbox.starts_with(PREFACE) {
                    inbox.drain(..PREFACE.len());
                }
                while inbox.len() >= 9 {
                    let len = u32::from_be_bytes([0, inbox[0], inbox[1], inbox[2]]) as usize + 9;
                    if inbox.len() < len {
                        break;
                    }
                    let frame: Vec<u8> = inbox.drain(..len).collect();
                    self.take(now_ns, conn, &frame, &mut actions);
                }
                self.inbox.insert(conn, inbox);
                actions
            }
            PeerEvent::Timer(number) => {
                let answer = self.waiting.remove(&number);
                answer.map_or_else(Vec::new, |(_, actions)| actions)
            }
            PeerEvent::Closed => {
                self.closed_ns.push(now_ns);
                Vec::new()
            }
        }
    }
}

pub(crate) fn got(conn: PeerConn, stream: u32, block: &[u8]) -> Got {
    let mut fields = Vec::new();
    let mut line = ["", ""].map(str::to_owned);
    let mut scratch = hpack::Scratch::default();
    let decoded = hpack::Decoder::new(0).decode(block, &mut scratch, |name, value| {
        let [name, value] = [name, value].map(|text| String::from_utf8_lossy(text).into_owned());
        match &*name {
            ":method" => line[0] = value.clone(),
            ":path" => line[1] = value.clone(),
            _ => {}
        }
        fields.push(format!("{name}: {value}"));
    });
    decoded.expect("a block");
    Got { conn, stream, line: line.join(" "), fields, body: Vec::new(), ended: false }
}

impl<F: FnMut(&Got) -> Vec<PeerAction>> Peer for Http2Peer<F> {
    fn handle(&mut self, now_ns: u64, conn: PeerConn, event: PeerEvent) -> Vec<PeerAction> {
        let peer: &mut Http2Peer<Respond<'_>> = self;
        peer.handle_any(now_ns, conn, event)
    }
}

pub(crate) fn frame_of(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut wire = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    wire.extend_from_slice(&[kind, flags]);
    wire.extend_from_slice(&stream.to_be_bytes());
    wire.extend_from_slice(payload);
    wire
}

pub(crate) fn settings(list: &[(u16, u32)]) -> Vec<u8> {
    let mut payload = Vec::new();
    for (id, value) in list {
        payload.extend_from_slice(&id.to_be_bytes());
        payload.extend_from_slice(&value.to_be_bytes());
    }
    frame_of(4, 0, 0, &payload)
}

pub(crate) fn head(stream: u32, ends: bool, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        hpack::encode_field(&mut block, name, value.as_bytes());
    }
    frame_of(1, 4 | u8::from(ends), stream, &block)
}

pub(crate) fn body(stream: u32, ends: bool, text: &str) -> Vec<u8> {
    frame_of(0, u8::from(ends), stream, text.as_bytes())
}

pub(crate) fn go_away(last: u32, code: u32) -> Vec<u8> {
    frame_of(7, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
}

pub(crate) fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame_of(3, 0, stream, &code.to_be_bytes())
}

/// `200` with a body, in one piece.
pub(crate) fn ok(got: &Got, text: &str) -> Vec<PeerAction> {
    sent(&[head(got.stream, false, &[(":status", "200")]), body(got.stream, true, text)])
}

pub(crate) fn sent(frames: &[Vec<u8>]) -> Vec<PeerAction> {
    vec![PeerAction::Send(frames.concat())]
}
