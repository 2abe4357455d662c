//! Connections: one thread and one request each, within limits; who is not let in is refused here.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::gate::{Gate, Refusal};
use crate::head::{Bad, HEAD_BYTES_MAX, Head};
use crate::reply::{POLICY, Reply};

/// What is left unread by who is refused is read up to here, so that the refusal reaches them.
const LEFT_BYTES_MAX: usize = 64 << 10;
/// How long nobody is let in after that failed.
const PAUSE: Duration = Duration::from_millis(50);
/// Bytes written between two looks at the time.
const PIECE_BYTES: usize = 64 << 10;

/// How many may be there, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at once; more are turned away.
    pub connections_max: usize,
    /// Of them, those that follow the run, so that there is always room to stop it.
    pub viewers_max: usize,
    /// A head is there by then.
    pub head: Duration,
    /// A viewer has taken an answer or a document by then, or is cut off.
    pub write: Duration,
    /// Where nothing is told for so long, something empty is: it shows whether the viewer is there.
    pub quiet: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections_max: 64,
            viewers_max: 48,
            head: Duration::from_secs(5),
            write: Duration::from_secs(10),
            quiet: Duration::from_secs(15),
        }
    }
}

/// Answers a request that was let in.
pub(crate) type Answer<S> = fn(&S, &Asked<'_>) -> io::Result<()>;

/// Where requests come in, and what answers them.
pub(crate) struct Door<S> {
    pub(crate) gate: Gate,
    pub(crate) limits: Limits,
    /// Of each connection's thread.
    pub(crate) stack_bytes: usize,
    pub(crate) answers: Arc<S>,
    pub(crate) answer: Answer<S>,
}

impl<S: Send + Sync + 'static> Door<S> {
    /// Lets them in on a thread of its own, for as long as the process lives.
    ///
    /// # Errors
    /// Where there is no thread left.
    pub(crate) fn open(self, listener: TcpListener) -> io::Result<()> {
        let open = Arc::new(Open {
            door: self,
            connections: AtomicUsize::new(0),
        });
        std::thread::Builder::new()
            .name("live".to_owned())
            .spawn(move || accept(&listener, &open))?;
        Ok(())
    }
}

/// A request that was let in, and where its answer goes.
pub(crate) struct Asked<'a> {
    pub(crate) head: &'a Head,
    gate: &'a Gate,
    stream: &'a TcpStream,
    write: Duration,
}

impl<'a> Asked<'a> {
    /// Where the answer is written. The time for it begins now.
    pub(crate) fn out(&self) -> Patient<'a> {
        Patient {
            stream: self.stream,
            until: now() + self.write,
        }
    }

    /// Answers with this. Who brought the token in the address gets it as a cookie.
    pub(crate) fn reply(&self, kind: &'static str, body: &[u8]) -> io::Result<()> {
        self.reply_within(POLICY, kind, body)
    }

    /// The same, with another policy for what the page may do.
    pub(crate) fn reply_within(
        &self,
        policy: &'static str,
        kind: &'static str,
        body: &[u8],
    ) -> io::Result<()> {
        let reply = Reply {
            status: 200,
            kind,
            policy,
            body,
            cookie: self.gate.set_cookie(self.head),
        };
        reply.write(&mut self.out())
    }
}

struct Open<S> {
    door: Door<S>,
    connections: AtomicUsize,
}

fn accept<S: Send + Sync + 'static>(listener: &TcpListener, open: &Arc<Open<S>>) {
    for stream in listener.incoming() {
        // The peer is gone already, or files run out: asked again at once, the same would come of it.
        let Ok(stream) = stream else {
            std::thread::park_timeout(PAUSE);
            continue;
        };
        let Some(place) = Place::take(open) else {
            let full = Reply::text(503, "too many connections\n");
            // It fits any socket's buffer, so this does not wait.
            let _ = full.write(&mut &stream);
            continue;
        };
        // Where there is no thread, the connection closes.
        let _ = std::thread::Builder::new()
            .name("viewer".to_owned())
            .stack_size(open.door.stack_bytes)
            .spawn(move || {
                let _ = serve(&stream, &place.0.door);
            });
    }
}

/// One of the connections that may be there.
struct Place<S>(Arc<Open<S>>);

impl<S> Place<S> {
    fn take(open: &Arc<Open<S>>) -> Option<Place<S>> {
        let place = Place(Arc::clone(open));
        let taken = open.connections.fetch_add(1, Ordering::Relaxed);
        // Where it is one too many, dropping the place gives it back.
        (taken < open.door.limits.connections_max).then_some(place)
    }
}

impl<S> Drop for Place<S> {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

fn serve<S>(stream: &TcpStream, door: &Door<S>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut out = Patient {
        stream,
        until: now() + door.limits.write,
    };
    let head = match read_head(stream, door.limits.head)? {
        Ok(head) => head,
        Err(Bad(status)) => return refuse(&mut out, status, "this is no request for here\n"),
    };
    out.until = now() + door.limits.write;
    match door.gate.admit(&head) {
        Err(Refusal::Host) => {
            return refuse(&mut out, 421, "this server is not called by that name\n");
        }
        Err(Refusal::Origin) => return refuse(&mut out, 403, "other pages may not ask here\n"),
        Err(Refusal::Token) => {
            return refuse(&mut out, 401, "open the address with the token in it\n");
        }
        Ok(()) => {}
    }
    let asked = Asked {
        head: &head,
        gate: &door.gate,
        stream,
        write: door.limits.write,
    };
    (door.answer)(&door.answers, &asked)
}

/// Reads a head within the time for it.
fn read_head(mut stream: &TcpStream, within: Duration) -> io::Result<Result<Head, Bad>> {
    let until = now() + within;
    let mut bytes = Vec::new();
    let mut piece = [0; 2048];
    loop {
        let left = until.saturating_duration_since(now());
        if left.is_zero() {
            return Ok(Err(Bad(408)));
        }
        stream.set_read_timeout(Some(left))?;
        let room = piece.len().min(HEAD_BYTES_MAX - bytes.len());
        match stream.read(&mut piece[..room]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
            Err(error) if is_timeout(&error) => return Ok(Err(Bad(408))),
            Err(error) => return Err(error),
        }
        match Head::parse(&bytes) {
            Ok(Some(head)) => return Ok(Ok(head)),
            Ok(None) => {}
            Err(bad) => return Ok(Err(bad)),
        }
    }
}

/// Refuses, and reads a little of what is still coming: a socket that closes on unread bytes takes its
/// answer back (RFC 9112 §9.6).
fn refuse(out: &mut Patient<'_>, status: u16, why: &str) -> io::Result<()> {
    Reply::text(status, why).write(out)?;
    let mut stream = out.stream;
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(Duration::from_millis(200)))?;
    let mut left = [0; 4096];
    let mut bytes = 0;
    while bytes < LEFT_BYTES_MAX {
        match stream.read(&mut left)? {
            0 => break,
            count => bytes += count,
        }
    }
    Ok(())
}

/// Writes until a time, however slowly the other side takes it.
pub(crate) struct Patient<'a> {
    stream: &'a TcpStream,
    pub(crate) until: Instant,
}

impl Write for Patient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_write_timeout(Some(left))?;
        let mut stream = self.stream;
        stream.write(&bytes[..bytes.len().min(PIECE_BYTES)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

pub(crate) fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "how long viewers may take")]
    Instant::now()
}
