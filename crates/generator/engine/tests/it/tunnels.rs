//! A server of WebSockets over HTTP/2 for the simulated network: each tunnel is a connection of a server of WebSockets over
//! HTTP/1.1, which does not notice.

use std::collections::HashMap;

use engine::sim::{Peer, PeerAction, PeerConn, PeerEvent};

use crate::http2_peer::{Got, frame_of, got, head, settings};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const END_STREAM: u8 = 1;
const CANCEL: u32 = 8;
/// Bytes of a frame, which rarely ends where a message does.
const FRAME_MAX: usize = 7_000;
/// The timer of a greeting.
const GREETING: u64 = u64::MAX;

/// A connection and one of its streams.
type Tunnel = (PeerConn, u32);

pub(crate) struct Tunnels<P> {
    /// What gets a connection for each tunnel.
    pub(crate) inner: P,
    /// Sent this long after a connection is made.
    pub(crate) settings: Vec<(u16, u32)>,
    pub(crate) settings_after_ns: u64,
    /// Opens the windows again as bytes come.
    pub(crate) widens: bool,
    inbox: HashMap<PeerConn, Vec<u8>>,
    /// The inner server's number of each tunnel.
    numbers: HashMap<Tunnel, PeerConn>,
    /// Tunnels that were answered.
    answered: Vec<PeerConn>,
    timers: Vec<(u32, PeerConn, u64)>,
    /// Heads of tunnels and of other requests, which are answered with `{}`.
    pub(crate) heads: Vec<Got>,
    /// Streams that the client reset, with the code.
    pub(crate) resets: Vec<(u32, u32)>,
    /// Streams that the client ended.
    pub(crate) ends: Vec<u32>,
    pub(crate) connections_count: u64,
}

impl<P: Peer> Tunnels<P> {
    /// One that announces that it takes tunnels.
    pub(crate) fn new(inner: P) -> Tunnels<P> {
        Tunnels {
            inner,
            settings: vec![(8, 1)],
            settings_after_ns: 0,
            widens: true,
            inbox: HashMap::new(),
            numbers: HashMap::new(),
            answered: Vec::new(),
            timers: Vec::new(),
            heads: Vec::new(),
            resets: Vec::new(),
            ends: Vec::new(),
            connections_count: 0,
        }
    }

    fn take(&mut self, now_ns: u64, conn: PeerConn, frame: &[u8]) -> Vec<PeerAction> {
        let (start, payload) = frame.split_at(9);
        let kind = start[3];
        let flags = start[4];
        let stream = u32::from_be_bytes([start[5], start[6], start[7], start[8]]);
        let tunnel = self.numbers.get(&(conn, stream)).copied();
        let mut actions = Vec::new();
        match (kind, tunnel) {
            (0, Some(number)) => {
                if self.widens && !payload.is_empty() {
                    let more = (payload.len() as u32).to_be_bytes();
                    actions.push(PeerAction::Send(frame_of(8, 0, 0, &more)));
                    actions.push(PeerAction::Send(frame_of(8, 0, stream, &more)));
                }
                let received = PeerEvent::Received(payload.to_vec());
                let answer = self.inner.handle(now_ns, number, received);
                actions.extend(self.framed(number, stream, answer));
            }
            (1, _) => {
                let got = got(conn, stream, payload);
                let is_tunnel = got.line.starts_with("CONNECT ");
                actions.extend(match is_tunnel {
                    true => self.open(now_ns, (conn, stream), &got),
                    false => vec![PeerAction::Send(
                        [
                            head(stream, false, &[(":status", "200")]),
                            frame_of(0, END_STREAM, stream, b"{}"),
                        ]
                        .concat(),
                    )],
                });
                self.heads.push(got);
            }
            (3, _) => {
                let code = u32::from_be_bytes(payload.try_into().expect("a code"));
                self.resets.push((stream, code));
            }
            // It greets before it says anything else.
            (4, _) if flags == 0 && self.settings_after_ns == 0 => {
                actions.push(PeerAction::Send(frame_of(4, 1, 0, b"")));
            }
            _ => {}
        }
        if kind == 0 && flags & END_STREAM != 0 {
            self.ends.push(stream);
        }
        if let Some(number) = tunnel.filter(|_| kind == 3 || kind == 0 && flags & END_STREAM != 0) {
            let answer = self.inner.handle(now_ns, number, PeerEvent::Closed);
            actions.extend(self.framed(number, stream, answer));
        }
        actions
    }

    /// What the inner server does with an upgrade.
    fn open(&mut self, now_ns: u64, tunnel: Tunnel, got: &Got) -> Vec<PeerAction> {
        let number = self.numbers.len() as PeerConn;
        self.numbers.insert(tunnel, number);
        let mut actions = self.inner.handle(now_ns, number, PeerEvent::Connected);
        let path = got.line.strip_prefix("CONNECT ").unwrap_or_default();
        let text = format!(
            "GET {path} HTTP/1.1\r\nhost: h\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        let received = PeerEvent::Received(text.into_bytes());
        actions.extend(self.inner.handle(now_ns, number, received));
        self.framed(number, tunnel.1, actions)
    }

    /// What the inner server does, as frames of a stream.
    fn framed(
        &mut self,
        number: PeerConn,
        stream: u32,
        actions: Vec<PeerAction>,
    ) -> Vec<PeerAction> {
        let mut framed = Vec::new();
        for action in actions {
            framed.push(match action {
                PeerAction::Send(bytes) if !self.answered.contains(&number) => {
                    self.answered.push(number);
                    PeerAction::Send(answer(stream, &bytes))
                }
                PeerAction::Send(bytes) => {
                    let pieces = bytes.chunks(FRAME_MAX);
                    let frames = pieces.flat_map(|piece| frame_of(0, 0, stream, piece));
                    PeerAction::Send(frames.collect())
                }
                PeerAction::Close => PeerAction::Send(frame_of(0, END_STREAM, stream, b"")),
                PeerAction::Reset => {
                    PeerAction::Send(frame_of(3, 0, stream, &CANCEL.to_be_bytes()))
                }
                PeerAction::Timer { at_ns, number: own } => {
                    self.timers.push((stream, number, own));
                    let number = self.timers.len() as u64 - 1;
                    PeerAction::Timer { at_ns, number }
                }
            });
        }
        framed
    }
}

/// The answer to an upgrade, as that to a CONNECT.
fn answer(stream: u32, bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.split("\r\n");
    let status = lines.next().unwrap_or_default().split(' ').nth(1);
    let status = match status {
        Some("101") => "200",
        other => other.expect("a status"),
    };
    let fields = lines.filter_map(|line| line.split_once(": "));
    let fields = fields.filter(|(name, _)| {
        !matches!(*name, "upgrade" | "connection" | "sec-websocket-accept" | "content-length")
    });
    let fields: Vec<_> = std::iter::once((":status", status)).chain(fields).collect();
    head(stream, status != "200", &fields)
}

impl<P: Peer> Peer for Tunnels<P> {
    fn handle(&mut self, now_ns: u64, conn: PeerConn, event: PeerEvent) -> Vec<PeerAction> {
        match event {
            PeerEvent::Connected => {
                self.connections_count += 1;
                let at_ns = now_ns + self.settings_after_ns;
                let number = GREETING;
                match self.settings_after_ns {
                    0 => vec![PeerAction::Send(settings(&self.settings))],
                    _ => vec![PeerAction::Timer { at_ns, number }],
                }
            }
            PeerEvent::Timer(GREETING) => vec![PeerAction::Send(settings(&self.settings))],
            PeerEvent::Received(bytes) => {
                let mut inbox = self.inbox.remove(&conn).unwrap_or_default();
                inbox.extend_from_slice(&bytes);
                if inbox.starts_with(PREFACE) {
                    inbox.drain(..PREFACE.len());
                }
                let mut actions = Vec::new();
                while inbox.len() >= 9 {
                    let len = u32::from_be_bytes([0, inbox[0], inbox[1], inbox[2]]) as usize + 9;
                    if inbox.len() < len {
                        break;
                    }
                    let frame: Vec<u8> = inbox.drain(..len).collect();
                    actions.extend(self.take(now_ns, conn, &frame));
                }
                self.inbox.insert(conn, inbox);
                actions
            }
            PeerEvent::Timer(number) => {
                let (stream, number, own) = self.timers[number as usize];
                let answer = self.inner.handle(now_ns, number, PeerEvent::Timer(own));
                self.framed(number, stream, answer)
            }
            PeerEvent::Closed => {
                let numbers = self.numbers.iter().filter(|((own, _), _)| *own == conn);
                let mut numbers: Vec<_> = numbers.map(|(_, number)| *number).collect();
                numbers.sort_unstable();
                for number in numbers {
                    self.inner.handle(now_ns, number, PeerEvent::Closed);
                }
                Vec::new()
            }
        }
    }
}
