//! A server's side of HTTP/2 for tests: frames as literal bytes, and a client that reads them.

use proto::Limits;
use proto::h2::{Code, Connection, Error, Event, Request, Scratch, Settings};
use proto::hpack::encode_field;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
pub(crate) const PADDED: u8 = 8;

/// A frame of any kind.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut wire = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    wire.extend_from_slice(&[kind, flags]);
    wire.extend_from_slice(&stream.to_be_bytes());
    wire.extend_from_slice(payload);
    wire
}

pub(crate) fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        encode_field(&mut block, name, value.as_bytes());
    }
    block
}

pub(crate) fn headers(stream: u32, flags: u8, fields: &[(&str, &str)]) -> Vec<u8> {
    frame(1, flags | END_HEADERS, stream, &block(fields))
}

pub(crate) fn data(stream: u32, flags: u8, body: &[u8]) -> Vec<u8> {
    frame(0, flags, stream, body)
}

pub(crate) fn settings(list: &[(u16, u32)]) -> Vec<u8> {
    let mut payload = Vec::new();
    for (id, value) in list {
        payload.extend_from_slice(&id.to_be_bytes());
        payload.extend_from_slice(&value.to_be_bytes());
    }
    frame(4, 0, 0, &payload)
}

pub(crate) fn window_update(stream: u32, increment: u32) -> Vec<u8> {
    frame(8, 0, stream, &increment.to_be_bytes())
}

pub(crate) fn go_away(last: u32, code: Code) -> Vec<u8> {
    let payload = [last.to_be_bytes(), (code as u32).to_be_bytes()].concat();
    frame(7, 0, 0, &[&payload[..], b"debug"].concat())
}

pub(crate) fn reset(stream: u32, code: Code) -> Vec<u8> {
    frame(3, 0, stream, &(code as u32).to_be_bytes())
}

/// A client, with all that it received as text: one line for each event, bodies put together.
pub(crate) struct Client {
    pub(crate) connection: Connection,
    pub(crate) limits: Limits,
    pub(crate) sent: Vec<u8>,
    pub(crate) events: Vec<String>,
    inbox: Vec<u8>,
    scratch: Scratch,
}

impl Client {
    pub(crate) fn new(limits: Limits) -> Client {
        Client::with(&Settings::DEFAULT, limits)
    }

    pub(crate) fn with(own: &Settings, limits: Limits) -> Client {
        let mut sent = Vec::new();
        Client {
            connection: Connection::new(own, &limits, &mut sent),
            limits,
            sent: Vec::new(),
            events: Vec::new(),
            inbox: Vec::new(),
            scratch: Scratch::default(),
        }
    }

    /// One that has sent this many GET requests, whose tokens are the numbers of their streams, to a server
    /// that has greeted.
    pub(crate) fn greeted(requests_count: u32) -> Client {
        let mut client = Client::new(Limits::DEFAULT);
        for _ in 0..requests_count {
            client.get();
        }
        client.take(&settings(&[])).expect("a greeting");
        client.sent.clear();
        client
    }

    pub(crate) fn get(&mut self) -> u32 {
        self.request(b"", false)
    }

    /// A request whose body goes on.
    pub(crate) fn open(&mut self) -> u32 {
        let block = block(&[(":method", "POST"), (":path", "/")]);
        let request =
            Request { token: 1, block: &block, body: b"", is_head: false, is_endless: true };
        self.connection.open(&request, &mut self.sent)
    }

    pub(crate) fn send(&mut self, id: u32, body: &[u8], ends: bool) {
        self.connection.send(id, body, ends, &mut self.sent);
    }

    pub(crate) fn request(&mut self, body: &[u8], is_head: bool) -> u32 {
        let block = block(&[(":method", "GET"), (":path", "/")]);
        let request = Request {
            token: self.connection.open_count() as u32 * 2 + 1,
            block: &block,
            body,
            is_head,
            is_endless: false,
        };
        self.connection.request(&request, &mut self.sent)
    }

    /// Takes bytes in, as they come.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.inbox.extend_from_slice(bytes);
        let inbox = std::mem::take(&mut self.inbox);
        let mut front = 0;
        loop {
            let decoded = self.connection.decode(
                &inbox[front..],
                &self.limits,
                &mut self.scratch,
                &mut self.sent,
            );
            let (consumed, event) = decoded?;
            front += consumed;
            let waits = consumed == 0 && event.is_none();
            if let Some(event) = event {
                record(&mut self.events, event);
            }
            if waits {
                break;
            }
        }
        self.inbox = inbox[front..].to_vec();
        Ok(())
    }

    /// The frames that were sent: kind, flags, stream, payload.
    pub(crate) fn frames(&self) -> Vec<(u8, u8, u32, Vec<u8>)> {
        let mut frames = Vec::new();
        let mut rest = &self.sent[..];
        while let Some((head, behind)) = rest.split_first_chunk::<9>() {
            let len = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
            let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            frames.push((head[3], head[4], stream, behind[..len].to_vec()));
            rest = &behind[len..];
        }
        frames
    }
}

fn record(events: &mut Vec<String>, event: Event<'_>) {
    let text = match event {
        Event::Head { token, head, ends, .. } => {
            let fields: Vec<String> = head
                .headers()
                .map(|(name, value)| format!("{name}={}", String::from_utf8_lossy(&value)))
                .collect();
            let end = if ends { " end" } else { "" };
            format!("{token} {} {}{end}", head.status, fields.join(","))
        }
        Event::Body { token, piece } => {
            // Pieces may end within a character.
            let piece: String = piece.iter().copied().map(char::from).collect();
            let start = format!("{token} body ");
            if let Some(last) = events.last_mut().filter(|last| last.starts_with(&start)) {
                return last.push_str(&piece);
            }
            start + &piece
        }
        Event::End { token, trailers } => {
            let trailers = String::from_utf8_lossy(trailers).replace("\r\n", ";");
            format!("{token} end {trailers}").trim_end().to_owned()
        }
        Event::Reset { token, code } => format!("{token} reset {}", code.name()),
        Event::Broken { token, error } => format!("{token} broken {}", error.code.name()),
        Event::GoAway { code } => format!("goaway {}", code.name()),
        Event::Continue { token } => format!("{token} continue"),
        Event::Unprocessed { token } => format!("{token} unprocessed"),
    };
    events.push(text);
}
