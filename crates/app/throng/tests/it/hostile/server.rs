//! The server that plays the cases, and counts for itself.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;
use tungstenite::handshake::derive_accept_key;

use super::case::{Act, Case};
use super::frames;
use crate::support::{pass, server};

/// A client that neither reads nor leaves for this long hangs.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The longest head of a request.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// Between the bytes that are sent one by one.
const DRIP: Duration = Duration::from_micros(200);

/// What the server saw of a case.
#[derive(Debug, Default, Clone)]
pub(super) struct Seen {
    /// Connections it accepted.
    pub(super) connections: u64,
    /// Heads of requests that it read.
    pub(super) requests: u64,
    /// The code of the client's close frame, if one came.
    pub(super) close: Option<u16>,
}

impl Seen {
    /// Whether it saw this: `2 connections`, `3 requests`, `close 1002`.
    pub(super) fn shows(&self, fact: &str) -> bool {
        match fact.split_once(' ') {
            Some((count, "connections")) => count.parse() == Ok(self.connections),
            Some((count, "requests")) => count.parse() == Ok(self.requests),
            Some(("close", code)) => code.parse().ok() == self.close,
            _ => panic!("no such fact: {fact}"),
        }
    }
}

/// A server that plays every case of a table, for as long as the test's process lives.
pub(super) struct Server {
    /// Where cases are played by the path of the request.
    pub(super) address: SocketAddr,
    /// Where requests wait for [`Act::OpenBarrier`].
    pub(super) barrier: SocketAddr,
    /// The ports of cases whose server acts at once.
    own: BTreeMap<&'static str, SocketAddr>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    seen: Mutex<BTreeMap<String, Seen>>,
    /// The cases whose barrier is open.
    open: Mutex<BTreeSet<String>>,
    opened: Condvar,
}

impl Server {
    pub(super) fn start(cases: &[Case]) -> Server {
        let shared = Arc::new(Shared::default());
        let all: Arc<[Case]> = cases.into();
        let of_barrier = Arc::clone(&shared);
        let barrier = server(move |stream| of_barrier.wait(stream));
        let own = cases.iter().filter(|case| case.acts_at_once).map(|case| {
            let own = case.clone();
            let shared = Arc::clone(&shared);
            let play = move |stream| Connection::new(stream)?.play(&own, &shared);
            (case.name, server(play))
        });
        let own = own.collect();
        let of_all = Arc::clone(&shared);
        let address = server(move |stream| Connection::new(stream)?.begin(&all, &of_all));
        Server { address, barrier, own, shared }
    }

    /// Where a case is played, as steps of this scheme name it.
    pub(super) fn place(&self, scheme: &str, case: &Case) -> String {
        let name = case.name;
        match self.own.get(name) {
            Some(address) if scheme.is_empty() => address.to_string(),
            Some(address) => format!("{scheme}://{address}/{name}"),
            None => format!("/{name}"),
        }
    }

    /// What it saw of a case.
    pub(super) fn seen(&self, name: &str) -> Seen {
        let seen = self.shared.seen.lock().unwrap();
        seen.get(name).cloned().unwrap_or_default()
    }
}

impl Shared {
    fn note(&self, name: &str, add: impl FnOnce(&mut Seen)) {
        add(self.seen.lock().unwrap().entry(name.to_owned()).or_default());
    }

    /// Answers requests for a case once its barrier is open.
    fn wait(&self, stream: TcpStream) -> io::Result<()> {
        let mut connection = Connection::new(stream)?;
        let mut connections = 1;
        while let Ok(head) = connection.read_head() {
            let name = name_of(&head);
            self.note(name, |seen| {
                seen.connections += std::mem::take(&mut connections);
                seen.requests += 1;
            });
            let closed = |open: &mut BTreeSet<String>| !open.contains(name);
            let opened = self.opened.wait_timeout_while(self.open.lock().unwrap(), TIMEOUT, closed);
            drop(opened.unwrap());
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
            connection.stream.write_all(answer)?;
        }
        Ok(())
    }
}

/// One connection, and what was read of it and not used.
struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
    /// What answers the key of the last request.
    accept: String,
    speaks_frames: bool,
}

impl Connection {
    fn new(stream: TcpStream) -> io::Result<Connection> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        Ok(Connection { stream, input: Vec::new(), accept: String::new(), speaks_frames: false })
    }

    /// Plays the case that the path of the first request names.
    fn begin(mut self, cases: &[Case], shared: &Shared) -> io::Result<()> {
        let head = self.read_head()?;
        let name = name_of(&head);
        let case = cases.iter().find(|case| case.name == name);
        let case = case.ok_or_else(|| io::Error::other(format!("no case {name}")))?;
        shared.note(case.name, |seen| seen.requests += 1);
        self.play(case, shared)
    }

    fn play(mut self, case: &Case, shared: &Shared) -> io::Result<()> {
        let mut place = 0;
        shared.note(case.name, |seen| {
            place = seen.connections as usize;
            seen.connections += 1;
        });
        let script = &case.scripts[place.min(case.scripts.len() - 1)];
        for act in script {
            // A client that has seen enough leaves: the rest of the script has no receiver.
            if self.act(act, case.name, shared).is_err() {
                break;
            }
            if matches!(act, Act::Reset) {
                return Ok(());
            }
        }
        self.drain(case.name, shared)
    }

    fn act(&mut self, act: &Act, name: &str, shared: &Shared) -> io::Result<()> {
        match act {
            Act::Send(bytes) => self.send(bytes),
            Act::Flood(bytes) => {
                let reader = self.stream.try_clone()?;
                let reading = thread::spawn(move || io::copy(&mut &reader, &mut io::sink()));
                let flooded = self.flood(bytes);
                // The client is gone: so is what it sent.
                let _ = reading.join();
                flooded
            }
            Act::DeafFlood(bytes) => self.flood(bytes),
            Act::Drip(bytes) => bytes.iter().try_for_each(|byte| {
                pass(DRIP);
                self.stream.write_all(&[*byte])
            }),
            Act::Pause(time) => {
                pass(*time);
                Ok(())
            }
            Act::Request => {
                self.read_head()?;
                shared.note(name, |seen| seen.requests += 1);
                Ok(())
            }
            Act::Frame => {
                self.speaks_frames = true;
                self.read_frame(name, shared).map(drop)
            }
            Act::OpenBarrier => {
                shared.open.lock().unwrap().insert(name.to_owned());
                shared.opened.notify_all();
                Ok(())
            }
            Act::Fin => self.stream.shutdown(Shutdown::Write),
            // To close is then to reset (socket(7)).
            Act::Reset => Ok(set_socket_linger(&self.stream, Some(Duration::ZERO))?),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        const ACCEPT: &[u8] = b"{accept}";
        let place = bytes.windows(ACCEPT.len()).position(|part| part == ACCEPT);
        let Some(place) = place else {
            return self.stream.write_all(bytes);
        };
        self.speaks_frames = true;
        let rest = &bytes[place + ACCEPT.len()..];
        let answer = [&bytes[..place], self.accept.as_bytes(), rest].concat();
        self.stream.write_all(&answer)
    }

    fn flood(&mut self, bytes: &[u8]) -> io::Result<()> {
        loop {
            self.stream.write_all(bytes)?;
        }
    }

    /// Reads until the client has left, and counts what it sends.
    fn drain(mut self, name: &str, shared: &Shared) -> io::Result<()> {
        if self.speaks_frames {
            while self.read_frame(name, shared).is_ok() {}
        }
        while self.read_head().is_ok() {
            shared.note(name, |seen| seen.requests += 1);
        }
        Ok(())
    }

    /// Reads a frame, and remembers the code of a close frame.
    fn read_frame(&mut self, name: &str, shared: &Shared) -> io::Result<u8> {
        let mut input = (&*self.input).chain(&self.stream);
        let read = frames::read(&mut input);
        let (rest, _) = input.into_inner();
        self.input = rest.to_vec();
        let (opcode, payload) = read?;
        if let (8, Some(&[high, low])) = (opcode, payload.first_chunk()) {
            let code = u16::from_be_bytes([high, low]);
            shared.note(name, |seen| seen.close = Some(code));
        }
        Ok(opcode)
    }

    /// The head of a request.
    fn read_head(&mut self) -> io::Result<String> {
        const END: &[u8] = b"\r\n\r\n";
        let mut piece = [0; 4096];
        loop {
            let end = self.input.windows(END.len()).position(|part| part == END);
            if let Some(end) = end {
                let head: Vec<u8> = self.input.drain(..end + END.len()).collect();
                let head = String::from_utf8_lossy(&head).into_owned();
                self.accept = key_of(&head).map_or(String::new(), derive_accept_key);
                return Ok(head);
            }
            let len = self.stream.read(&mut piece)?;
            if len == 0 || self.input.len() > HEAD_BYTES_MAX {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.input.extend(&piece[..len]);
        }
    }
}

/// The case that the path of a request names.
fn name_of(head: &str) -> &str {
    let path = head.split(' ').nth(1).unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default();
    path.trim_start_matches('/')
}

fn key_of(head: &str) -> Option<&[u8]> {
    let mut fields = head.lines().filter_map(|line| line.split_once(": "));
    let key = fields.find(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-key"))?;
    Some(key.1.as_bytes())
}
