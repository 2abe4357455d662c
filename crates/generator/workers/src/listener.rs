//! Accepts the workers that were started for this run, each by a token of its own.

use std::io::{ErrorKind, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use machine::clock::monotonic_ns;

use super::carrier::{Bytes, Carrier};
use super::connection::Connection;
use super::frame::{FrameError, FrameReader, send};
use super::protocol::{Answer, Hello, Introduction, MAGIC, PROTOCOL_VERSION};

/// The time in which a connection has to send its first message, however slowly it sends.
const HELLO_TIME_MAX: Duration = Duration::from_secs(5);
/// The time in which a worker has to read messages, once its buffers are full.
const WRITE_TIME_MAX: Duration = Duration::from_secs(10);
/// Connection attempts that are handled at a time; further ones wait.
const ATTEMPTS_MAX: usize = 1_024;
/// Stack of the thread of an attempt, bytes.
const STACK_BYTES: usize = 256 << 10;
/// The interval at which the socket is polled.
const POLL: Duration = Duration::from_millis(5);
const TOKEN_BYTES: usize = 16;

/// A listening port of loopback that accepts the workers of one run.
#[derive(Debug)]
pub(super) struct Listener {
    socket: TcpListener,
    /// The token of each worker; `None` once it has connected.
    tokens: Arc<Mutex<Vec<Option<String>>>>,
    throng: String,
    /// The end for the threads of connection attempts.
    accepted_in: Sender<Option<ConnectionAttempt>>,
    accepted: Receiver<Option<ConnectionAttempt>>,
    attempts_count: usize,
    hello_time_max: Duration,
}

/// A worker of this run that connected.
#[derive(Debug)]
pub(super) enum ConnectionAttempt {
    Worker(Box<Connection>),
    /// It is of another version.
    Incompatible {
        index: usize,
        why: String,
    },
}

impl Listener {
    /// Listens for `workers_count` workers. `throng`: our version.
    pub(super) fn bind(workers_count: usize, throng: &str) -> std::io::Result<Listener> {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_nonblocking(true)?;
        let tokens: std::io::Result<Vec<_>> =
            (0..workers_count).map(|_| machine::secret(TOKEN_BYTES).map(Some)).collect();
        let (accepted_in, accepted) = channel();
        Ok(Listener {
            socket,
            tokens: Arc::new(Mutex::new(tokens?)),
            throng: throng.to_owned(),
            accepted_in,
            accepted,
            attempts_count: 0,
            hello_time_max: HELLO_TIME_MAX,
        })
    }

    /// The address that workers connect to.
    pub(super) fn address(&self) -> std::io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// The token of worker `index`.
    pub(super) fn token(&self, index: usize) -> String {
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens[index].clone().unwrap_or_default()
    }

    /// Waits a moment for a worker to connect. Connections of others are refused.
    pub(super) fn accept(&mut self) -> Option<ConnectionAttempt> {
        while self.attempts_count < ATTEMPTS_MAX
            && let Ok((stream, _)) = self.socket.accept()
        {
            let until_ns = monotonic_ns() + self.hello_time_max.as_nanos() as u64;
            let tokens = Arc::clone(&self.tokens);
            let throng = self.throng.clone();
            let accepted = self.accepted_in.clone();
            // Each connection has a thread, so that a silent one does not block the others.
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            let started = thread.spawn(move || {
                let attempt = handshake(stream, until_ns, &tokens, &throng).unwrap_or(None);
                // The listener may be closed by now.
                let _ = accepted.send(attempt);
            });
            // Without a thread the connection is closed.
            self.attempts_count += usize::from(started.is_ok());
        }
        match self.accepted.recv_timeout(POLL) {
            Ok(attempt) => {
                self.attempts_count -= 1;
                attempt
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }
}

/// Reads the first message of a connection and answers it; `None`: it is no worker of this run.
fn handshake(
    mut stream: TcpStream,
    until_ns: u64,
    tokens: &Mutex<Vec<Option<String>>>,
    throng: &str,
) -> Result<Option<ConnectionAttempt>, FrameError> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(WRITE_TIME_MAX))?;
    stream.set_nodelay(true)?;
    let mut reader = FrameReader::new(DeadlineStream { stream: stream.try_clone()?, until_ns });
    let (hello, rest) = reader.next_front::<Hello>()?;
    let carrier: Arc<dyn Carrier> = Arc::new(stream.try_clone()?);
    let mut reader = reader.with_stream(|_| Bytes(Arc::clone(&carrier)));
    if hello.magic != MAGIC {
        return Ok(None);
    }
    let Some(index) = redeem(tokens, &hello.token) else {
        let refused = Some("no worker with this token is expected".to_owned());
        send(&mut stream, &Answer { refused })?;
        return Ok(None);
    };
    if let Some(why) = incompatible(&hello, throng) {
        let refused = Some(why.clone());
        send(&mut stream, &Answer { refused })?;
        return Ok(Some(ConnectionAttempt::Incompatible { index, why }));
    }
    let introduction: Introduction = postcard::from_bytes(&rest)?;
    send(&mut stream, &Answer { refused: None })?;
    reader.trust();
    let connection = Connection::new(index, introduction, hello.throng, carrier, reader)?;
    Ok(Some(ConnectionAttempt::Worker(Box::new(connection))))
}

/// A stream that is read until a time, on this machine's monotonic clock.
struct DeadlineStream {
    stream: TcpStream,
    until_ns: u64,
}

impl Read for DeadlineStream {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let left_ns = self.until_ns.saturating_sub(monotonic_ns());
        if left_ns == 0 {
            return Err(ErrorKind::TimedOut.into());
        }
        let left = Duration::from_nanos(left_ns);
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(buffer)
    }
}

/// The worker of a token. Each token is valid once.
fn redeem(tokens: &Mutex<Vec<Option<String>>>, token: &str) -> Option<usize> {
    let mut tokens = tokens.lock().unwrap_or_else(PoisonError::into_inner);
    let index = tokens.iter().position(|own| own.as_deref() == Some(token))?;
    tokens[index] = None;
    Some(index)
}

/// Why a worker of another version is refused.
pub(super) fn incompatible(hello: &Hello, throng: &str) -> Option<String> {
    let same = hello.protocol == PROTOCOL_VERSION && hello.throng == throng;
    (!same).then(|| {
        format!(
            "the worker is Throng {} with protocol {}, the controller is Throng {throng} with \
             protocol {PROTOCOL_VERSION}; both must have the same version",
            hello.throng, hello.protocol
        )
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn hello(listener: &Listener, index: usize) -> Hello {
        Hello {
            magic: MAGIC,
            protocol: PROTOCOL_VERSION,
            throng: "1.2.3".to_owned(),
            token: listener.token(index),
        }
    }

    fn connect(listener: &Listener, hello: &Hello) -> TcpStream {
        let mut stream = TcpStream::connect(listener.address().unwrap()).unwrap();
        let introduction = Introduction { pid: 7, cores: 2, files_per_loop: 100 };
        send(&mut stream, &(hello, introduction)).unwrap();
        stream
    }

    fn answer(stream: TcpStream) -> Option<String> {
        FrameReader::new(stream).next::<Answer>().unwrap().refused
    }

    #[track_caller]
    fn next_accepted(listener: &mut Listener) -> ConnectionAttempt {
        std::iter::from_fn(|| Some(listener.accept())).flatten().next().expect("a worker connects")
    }

    #[test]
    fn a_worker_is_accepted_once_and_others_never() {
        let mut listener = Listener::bind(2, "1.2.3").unwrap();
        // Neither a silent connection nor one that sends garbage blocks the others.
        let _silent = TcpStream::connect(listener.address().unwrap()).unwrap();
        let mut garbage = TcpStream::connect(listener.address().unwrap()).unwrap();
        garbage.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let known = hello(&listener, 1);
        let guessed = Hello { token: "0".repeat(2 * TOKEN_BYTES), ..known.clone() };
        let stranger = connect(&listener, &guessed);
        let worker = connect(&listener, &known);
        let ConnectionAttempt::Worker(connection) = next_accepted(&mut listener) else {
            panic!("no worker was accepted");
        };
        assert_eq!((connection.index, connection.introduction.pid), (1, 7));
        assert_eq!(answer(worker), None);
        assert!(answer(stranger).unwrap().contains("token"));
        // The connection that sent garbage was closed.
        assert_eq!(garbage.read(&mut [0; 9]).unwrap_or(0), 0);
        // The token is used up.
        let again = connect(&listener, &known);
        let first = connect(&listener, &hello(&listener, 0));
        let ConnectionAttempt::Worker(connection) = next_accepted(&mut listener) else {
            panic!("the other worker was not accepted");
        };
        assert_eq!(connection.index, 0);
        assert_eq!(answer(first), None);
        assert!(answer(again).is_some());
    }

    #[test]
    fn a_connection_that_drips_its_hello_is_closed() {
        let mut listener = Listener::bind(1, "1.2.3").unwrap();
        listener.hello_time_max = Duration::from_millis(50);
        let mut dripping = TcpStream::connect(listener.address().unwrap()).unwrap();
        dripping.set_nonblocking(true).unwrap();
        // The longest hello there may be.
        let length = (crate::frame::HELLO_BYTES_MAX as u32).to_le_bytes();
        dripping.write_all(&length).unwrap();
        let is_open = |stream: &mut TcpStream| {
            let closed = matches!(stream.read(&mut [0; 9]), Ok(0));
            !closed && stream.write_all(b"x").is_ok()
        };
        let mut sent = 0;
        while is_open(&mut dripping) {
            // Which waits for a moment.
            assert!(listener.accept().is_none());
            sent += 1;
            assert!(sent < 3_000, "it is still open");
        }
    }

    #[test]
    fn other_versions_are_refused_and_reported_on_both_sides() {
        let mut listener = Listener::bind(2, "1.2.3").unwrap();
        let own = hello(&listener, 0);
        let newer = Hello { protocol: PROTOCOL_VERSION + 1, throng: "2.0.0".to_owned(), ..own };
        let worker = connect(&listener, &newer);
        let ConnectionAttempt::Incompatible { index: 0, why } = next_accepted(&mut listener) else {
            panic!("another version was accepted");
        };
        let versions = format!("Throng 2.0.0 with protocol {}", newer.protocol);
        assert!(why.contains(&versions), "{why}");
        assert_eq!(answer(worker), Some(why));
        // The same protocol is not enough: plans and figures are of one version.
        let older = Hello { throng: "1.2.2".to_owned(), ..hello(&listener, 1) };
        let worker = connect(&listener, &older);
        assert!(matches!(
            next_accepted(&mut listener),
            ConnectionAttempt::Incompatible { index: 1, .. }
        ));
        assert!(answer(worker).is_some());
    }
}
