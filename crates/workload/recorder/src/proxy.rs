//! Accepts connections of browsers and reads their requests (RFC 9110, section 9.3.6; RFC 9112, section 3.2).

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use trust::{TrustError, Verify, client_config};

use crate::authority::Authority;
use crate::book::{Book, Limits, Recording};
use crate::exchange::{Request, exchange};
use crate::head::{HeadError, RequestHead};
use crate::stream::{Peer, PrefixedStream, read};
use crate::upstream::Origin;

/// Most connections of browsers at the same time.
const CONNECTIONS_MAX: usize = 512;
/// Threads that pass on what comes: one browser needs no more.
const THREADS: usize = 2;
/// Longest time between two requests of a connection, and for a head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(600);
/// Longest time for a browser's TLS.
const TLS_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the rest of a refused request is read.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// The pause after a failed accept: if the process is out of files, the next one would fail at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// The first byte of TLS (RFC 8446, section 5.1).
const HANDSHAKE: u8 = 22;

/// How to record.
#[derive(Debug)]
pub struct Settings {
    /// The address to listen at; port 0 is any free one.
    pub address: SocketAddr,
    /// The authority that the browser trusts.
    pub authority: Authority,
    /// The most that is kept.
    pub limits: Limits,
    /// Names and contents of PEM files with authorities of servers, besides those of the system.
    pub trusted: Vec<(String, Vec<u8>)>,
    /// The time, since the Unix epoch.
    pub now: Duration,
}

/// Why nothing is recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecorderError {
    /// The address cannot be listened at.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// A file of authorities cannot be used.
    #[error("cannot verify servers")]
    Trust(#[from] TrustError),
    /// The system gives no threads.
    #[error("cannot start threads")]
    Threads(#[source] io::Error),
}

/// A proxy that records what passes through it until [`Recorder::finish`].
#[derive(Debug)]
pub struct Recorder {
    runtime: Runtime,
    shared: Arc<Shared>,
    address: SocketAddr,
}

/// The state that all connections share.
pub(crate) struct Shared {
    pub(crate) book: Book,
    /// TLS with servers.
    pub(crate) tls: TlsConnector,
    authority: Authority,
    /// The time at the start, since the Unix epoch.
    started: Duration,
    start: Instant,
    connections: AtomicU64,
    distrusted: AtomicU64,
    slots: Arc<Semaphore>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("authority", &self.authority).finish_non_exhaustive()
    }
}

impl Shared {
    /// The time since the Unix epoch. It never decreases.
    pub(crate) fn now(&self) -> Duration {
        self.started + self.start.elapsed()
    }
}

impl Recorder {
    /// Starts a proxy on threads of its own.
    ///
    /// # Errors
    /// Fails if the address cannot be listened at, or if a file of authorities holds none.
    pub fn start(settings: Settings) -> Result<Recorder, RecorderError> {
        let Settings { address, authority, limits, trusted, now } = settings;
        let tls = TlsConnector::from(client_config(Verify::All, &trusted, None)?);
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("recorder")
            .enable_all()
            .build()
            .map_err(RecorderError::Threads)?;
        let refused = |source| RecorderError::Listen { address, source };
        let listener = StdListener::bind(address).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let bound = listener.local_addr().map_err(refused)?;
        let shared = Arc::new(Shared {
            book: Book::new(limits),
            tls,
            authority,
            started: now,
            start: Instant::now(),
            connections: AtomicU64::new(0),
            distrusted: AtomicU64::new(0),
            slots: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
        });
        let listener = {
            let _entered = runtime.enter();
            TcpListener::from_std(listener).map_err(refused)?
        };
        runtime.spawn(accept(listener, Arc::clone(&shared)));
        Ok(Recorder { runtime, shared, address: bound })
    }

    /// The address that it listens at.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of connections until now whose browser did not accept the recorder's certificate.
    #[must_use]
    pub fn distrusted(&self) -> u64 {
        self.shared.distrusted.load(Ordering::Relaxed)
    }

    /// Closes all connections; what was recorded.
    #[must_use]
    pub fn finish(self) -> Recording {
        let Recorder { runtime, shared, .. } = self;
        let mut recording = shared.book.close(shared.now());
        recording.distrusted = shared.distrusted.load(Ordering::Relaxed);
        runtime.shutdown_background();
        recording
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        // Browsers open far fewer; one too many is closed.
        if let Ok(slot) = Arc::clone(&shared.slots).try_acquire_owned() {
            let shared = Arc::clone(&shared);
            tokio::spawn(async move {
                serve(&shared, stream).await;
                drop(slot);
            });
        }
    }
}

/// Reads the requests of a connection, one after the other.
async fn serve(shared: &Shared, stream: TcpStream) {
    let connection = shared.connections.fetch_add(1, Ordering::Relaxed);
    // Without it only small parts are late.
    let _ = stream.set_nodelay(true);
    let mut browser = Peer::new(Box::new(stream));
    let mut tunnel = None;
    let mut kept = None;
    while let Some(head) = next_head(&mut browser).await {
        let head = match head {
            Ok(head) => head,
            Err(error) => {
                refuse(&mut browser, 400, &format!("the request: {error}")).await;
                return;
            }
        };
        if head.method == "CONNECT" && tunnel.is_none() {
            let Some(origin) = Origin::parse(true, &head.target) else {
                refuse(&mut browser, 400, "CONNECT names no server").await;
                return;
            };
            match open_tunnel(shared, browser, origin).await {
                Some((inner, origin)) => {
                    browser = inner;
                    tunnel = Some(origin);
                }
                None => return,
            }
            continue;
        }
        let Some((origin, path)) = place(&head.target, tunnel.as_ref()) else {
            let text = "this is a proxy that records: name it as the browser's proxy, as docs/record.md says";
            refuse(&mut browser, 400, text).await;
            return;
        };
        let request = Request { head: &head, origin: &origin, path: &path, connection };
        if !exchange(shared, &mut browser, &mut kept, &request).await {
            return;
        }
    }
}

/// The head of the next request; `None` if there is none.
async fn next_head(browser: &mut Peer) -> Option<Result<RequestHead, HeadError>> {
    loop {
        match RequestHead::parse(&browser.buffer) {
            Ok(None) => {}
            Ok(Some(head)) => {
                browser.buffer.drain(..head.bytes_count);
                return Some(Ok(head));
            }
            Err(error) => return Some(Err(error)),
        }
        let reading = read(&mut browser.stream, &mut browser.buffer);
        if !matches!(timeout(HEAD_TIMEOUT, reading).await, Ok(Ok(1..))) {
            return None;
        }
    }
}

/// The connection within a tunnel. What begins as TLS is taken for HTTPS, anything else for HTTP: browsers open tunnels
/// for WebSockets without TLS, too.
async fn open_tunnel(shared: &Shared, mut browser: Peer, origin: Origin) -> Option<(Peer, Origin)> {
    browser.stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.ok()?;
    browser.stream.flush().await.ok()?;
    while browser.buffer.is_empty() {
        let reading = read(&mut browser.stream, &mut browser.buffer);
        if !matches!(timeout(HEAD_TIMEOUT, reading).await, Ok(Ok(1..))) {
            return None;
        }
    }
    if browser.buffer.first() != Some(&HANDSHAKE) {
        return Some((browser, Origin { is_tls: false, ..origin }));
    }
    let config = shared.authority.config(&origin.host).ok()?;
    let accepting = TlsAcceptor::from(config).accept(PrefixedStream::new(browser));
    if let Ok(Ok(stream)) = timeout(TLS_TIMEOUT, accepting).await {
        Some((Peer::new(Box::new(stream)), origin))
    } else {
        shared.distrusted.fetch_add(1, Ordering::Relaxed);
        None
    }
}

/// The server and the path that a request's target means.
fn place(target: &str, tunnel: Option<&Origin>) -> Option<(Origin, String)> {
    if let Some(origin) = tunnel.filter(|_| target.starts_with('/') || target == "*") {
        return Some((origin.clone(), target.to_owned()));
    }
    let (scheme, rest) = target.split_once("://")?;
    let is_tls = match scheme.to_ascii_lowercase().as_str() {
        "http" | "ws" => false,
        "https" | "wss" => true,
        _ => return None,
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Some((Origin::parse(is_tls, authority)?, path))
}

/// Answers in the server's place, and ends the connection.
pub(crate) async fn refuse(browser: &mut Peer, status: u16, text: &str) {
    let reason = if status == 502 { "Bad Gateway" } else { "Bad Request" };
    let body = format!("throng record: {text}\n");
    let response = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
    // Who does not take it is gone.
    if browser.stream.write_all(response.as_bytes()).await.is_err()
        || browser.stream.shutdown().await.is_err()
    {
        return;
    }
    // Were the connection closed before the rest was read, the response would be lost with it.
    let draining = async {
        loop {
            browser.buffer.clear();
            if !matches!(read(&mut browser.stream, &mut browser.buffer).await, Ok(1..)) {
                return;
            }
        }
    };
    let _ = timeout(DRAIN_TIMEOUT, draining).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_name_server_and_path() {
        let tunnel = Origin::parse(true, "a.test:443").unwrap();
        for (target, tunnel, expected) in [
            ("http://a.test:8080/x?y", None, Some("http://a.test:8080 /x?y")),
            ("http://a.test", None, Some("http://a.test /")),
            ("http://a.test?x", None, Some("http://a.test /?x")),
            ("https://a.test/", None, Some("https://a.test /")),
            ("/x", None, None),
            ("ftp://a.test/", None, None),
            ("/x", Some(&tunnel), Some("https://a.test /x")),
            ("*", Some(&tunnel), Some("https://a.test *")),
            ("x", Some(&tunnel), None),
        ] {
            let found = place(target, tunnel).map(|(origin, path)| format!("{origin} {path}"));
            assert_eq!(found.as_deref(), expected, "{target}");
        }
    }
}
