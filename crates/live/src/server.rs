//! Connections: one thread and one request each, within limits.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::feed::{Feed, Next};
use crate::gate::{Gate, Refusal};
use crate::head::{Bad, HEAD_BYTES_MAX, Head, Method};
use crate::reply::{Reply, head};

/// What is left unread by who is refused is read up to here, so that the refusal reaches them.
const LEFT_BYTES_MAX: usize = 64 << 10;
/// Bytes written between two looks at the time.
const PIECE_BYTES: usize = 64 << 10;
/// Stack of a connection's thread.
const STACK_BYTES: usize = 256 << 10;

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

/// What is served.
pub struct Pages {
    /// The page itself, which loads `page.js` and `page.css`.
    pub html: String,
    pub script: &'static str,
    pub style: &'static str,
    /// What can be done to the run.
    pub acts: Vec<Act>,
}

/// Something that a `POST` does.
pub struct Act {
    /// What is asked for, as `/stop`.
    pub path: &'static str,
    /// What is answered, with status 202.
    pub told: &'static str,
    /// Does it, without waiting.
    pub act: Box<dyn Fn() + Send + Sync>,
}

/// A server, for as long as the process lives.
pub struct Server {
    shared: Arc<Shared>,
}

struct Shared {
    pages: Pages,
    gate: Gate,
    limits: Limits,
    feed: Feed,
    report: OnceLock<String>,
    connections: AtomicUsize,
}

impl Server {
    /// Serves on a thread of its own.
    ///
    /// # Errors
    /// Where there is no thread left.
    pub fn start(
        listener: TcpListener,
        gate: Gate,
        pages: Pages,
        limits: Limits,
    ) -> io::Result<Server> {
        let shared = Arc::new(Shared {
            pages,
            gate,
            limits,
            feed: Feed::default(),
            report: OnceLock::new(),
            connections: AtomicUsize::new(0),
        });
        let serving = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("live".to_owned())
            .spawn(move || accept(&listener, &serving))?;
        Ok(Server { shared })
    }

    /// Where documents are published.
    pub fn feed(&self) -> &Feed {
        &self.shared.feed
    }

    /// The end: whoever follows gets the last document and may fetch the report, both where there are any, at
    /// most so long.
    pub fn end(&self, last: Option<(String, String)>, at_most: Duration) {
        let viewers = self.shared.feed.viewers();
        let reports = if last.is_some() { viewers } else { 0 };
        let document = last.map(|(document, report)| {
            // There is one end, so nothing was set before.
            let _ = self.shared.report.set(report);
            document
        });
        self.shared.feed.end(document);
        self.shared.feed.wait_served(reports, at_most);
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        // Files run out, or the peer is gone already: the next one may fare better.
        let Ok(stream) = stream else { continue };
        let Some(place) = Place::take(shared) else {
            let full = Reply::text(503, "too many connections\n");
            // It fits any socket's buffer, so this does not wait.
            let _ = full.write(&mut &stream);
            continue;
        };
        // Where there is no thread, the connection closes.
        let _ = std::thread::Builder::new()
            .name("viewer".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                let _ = serve(&stream, &place.0);
            });
    }
}

/// One of the connections that may be there.
struct Place(Arc<Shared>);

impl Place {
    fn take(shared: &Arc<Shared>) -> Option<Place> {
        let place = Place(Arc::clone(shared));
        let taken = shared.connections.fetch_add(1, Ordering::Relaxed);
        // Where it is one too many, dropping the place gives it back.
        (taken < shared.limits.connections_max).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

fn serve(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut out = Patient {
        stream,
        until: now() + shared.limits.write,
    };
    let head = match read_head(stream, shared.limits.head)? {
        Ok(head) => head,
        Err(Bad(status)) => return refuse(&mut out, status, "this is no request for here\n"),
    };
    out.until = now() + shared.limits.write;
    match shared.gate.admit(&head) {
        Err(Refusal::Host) => {
            return refuse(&mut out, 421, "this server is not called by that name\n");
        }
        Err(Refusal::Origin) => return refuse(&mut out, 403, "other pages may not ask here\n"),
        Err(Refusal::Token) => {
            return refuse(&mut out, 401, "open the address with the token in it\n");
        }
        Ok(()) => {}
    }
    let pages = &shared.pages;
    let reply = |kind: &'static str, body: &'_ str| -> io::Result<()> {
        let reply = Reply {
            status: 200,
            kind,
            body: body.as_bytes(),
            cookie: shared.gate.set_cookie(&head),
        };
        reply.write(&mut Patient {
            stream,
            until: now() + shared.limits.write,
        })
    };
    match (head.method, head.path.as_str()) {
        (Method::Get, "/") => reply("text/html; charset=utf-8", &pages.html),
        (Method::Get, "/page.js") => reply("text/javascript; charset=utf-8", pages.script),
        (Method::Get, "/page.css") => reply("text/css; charset=utf-8", pages.style),
        (Method::Get, "/events") => follow(&mut out, shared),
        (Method::Get, "/report.html") => match shared.report.get() {
            Some(report) => {
                reply("application/octet-stream", report)?;
                shared.feed.served();
                Ok(())
            }
            None => Reply::text(404, "the run is not over\n").write(&mut out),
        },
        (method, path) => {
            let mut acts = pages.acts.iter();
            match acts.find(|act| method == Method::Post && act.path == path) {
                Some(act) => {
                    (act.act)();
                    Reply::text(202, act.told).write(&mut out)
                }
                None => Reply::text(404, "there is no such page\n").write(&mut out),
            }
        }
    }
}

/// Tells one viewer what follows, until the end or until it is gone or too slow.
fn follow(out: &mut Patient<'_>, shared: &Shared) -> io::Result<()> {
    let Limits {
        viewers_max,
        write,
        quiet,
        ..
    } = shared.limits;
    let Some(_joined) = shared.feed.join(viewers_max) else {
        return Reply::text(503, "too many viewers\n").write(out);
    };
    // Without a length: it ends with the connection (RFC 9112 §6.3).
    let head = head(200, "text/event-stream") + "\r\n";
    out.write_all(head.as_bytes())?;
    let mut seen = 0;
    loop {
        let next = shared.feed.next(&mut seen, quiet);
        out.until = now() + write;
        match next {
            Next::Document(document) => event(out, "", &document)?,
            Next::Nothing => out.write_all(b":\n\n")?,
            Next::Over(document) => {
                return event(out, "event: over\n", document.as_deref().unwrap_or("null"));
            }
        }
    }
}

fn event(out: &mut Patient<'_>, name: &str, document: &str) -> io::Result<()> {
    out.write_all(name.as_bytes())?;
    out.write_all(b"data: ")?;
    out.write_all(document.as_bytes())?;
    out.write_all(b"\n\n")
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
struct Patient<'a> {
    stream: &'a TcpStream,
    until: Instant,
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

fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "how long viewers may take")]
    Instant::now()
}
