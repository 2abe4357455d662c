//! One request: passed on to its server, and what comes back to the browser.

use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, split};
use tokio::time::timeout;

use crate::body::BodyState;
use crate::book::{BodyOwner, Entry};
use crate::frames::Frames;
use crate::head::{Field, Fields, HeadError, Length, RequestHead, ResponseHead};
use crate::proxy::{Shared, refuse};
use crate::stream::{Peer, read};
use crate::upstream::{Origin, Upstream, connect};

/// Most bytes that a browser may send before the response to its last request is there.
const AHEAD_BYTES_MAX: usize = 64 << 10;
/// How long the other side of a WebSocket may go on once one has ended.
const LINGER: Duration = Duration::from_secs(10);

/// Fields of requests that are the business of one connection, or that the recorder decides: that nothing is compressed, so
/// that it can be read later.
const NOT_SENT: &[&str] = &[
    "accept-encoding",
    "connection",
    "expect",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "sec-websocket-extensions",
    "te",
    "upgrade",
];
/// Fields of responses that are the business of one connection, or that lead past the recorder.
const NOT_RETURNED: &[&str] =
    &["alt-svc", "connection", "keep-alive", "proxy-connection", "upgrade"];

/// A request, and where it goes.
pub(crate) struct Request<'a> {
    pub(crate) head: &'a RequestHead,
    pub(crate) origin: &'a Origin,
    /// Path and query.
    pub(crate) path: &'a str,
    /// The number of the browser's connection.
    pub(crate) connection: u64,
}

/// How a request ended whose response was passed back.
struct PassedExchange {
    /// The connection to the server, if it can be used again.
    server: Option<Upstream>,
    /// The browser may send the next request.
    keeps_alive: bool,
}

/// Why a response was not passed back.
enum PassError {
    /// Nothing came.
    Unanswered(String),
    /// A part came.
    Broken(String),
    /// The request's body is malformed.
    BadRequest(String),
    /// The browser closed the connection.
    Browser,
}

/// Why a request is not passed on any further.
enum SendEnd {
    Browser,
    /// The server takes no more of it: its response may say why.
    Server,
    BadRequest(String),
}

/// Passes a request on and its response back. False if the browser's connection cannot be used again. `kept` is a connection
/// to a server from the request before.
pub(crate) async fn exchange(
    shared: &Shared,
    browser: &mut Peer,
    kept: &mut Option<Upstream>,
    request: &Request<'_>,
) -> bool {
    let url = format!("{}{}", request.origin, request.path);
    let entry = shared.book.begin(shared.now(), request.connection, url, request.head);
    let (error, refusal) = match pass_on(shared, browser, kept, request, &entry).await {
        Ok(PassedExchange { server, keeps_alive }) => {
            entry.end(shared.now(), None);
            *kept = server;
            return keeps_alive;
        }
        Err(PassError::Browser) => ("the browser closed the connection".to_owned(), None),
        Err(PassError::Broken(problem)) => (problem, None),
        Err(PassError::Unanswered(problem)) => (problem, Some(502)),
        Err(PassError::BadRequest(problem)) => (problem, Some(400)),
    };
    entry.end(shared.now(), Some(error.clone()));
    if let Some(status) = refusal {
        refuse(browser, status, &error).await;
    }
    false
}

async fn pass_on(
    shared: &Shared,
    browser: &mut Peer,
    kept: &mut Option<Upstream>,
    request: &Request<'_>,
    entry: &Entry,
) -> Result<PassedExchange, PassError> {
    if request.head.fields.lists("expect", "100-continue") {
        let interim = b"HTTP/1.1 100 Continue\r\n\r\n";
        write(&mut browser.stream, interim).await.map_err(|_| PassError::Browser)?;
    }
    let known = kept.take();
    let known = known.filter(|known| known.origin == *request.origin);
    // The server may close a kept connection at any time: what must not be sent twice gets a new one.
    if let Some(server) = known.filter(|_| request.head.is_repeatable()) {
        match pass(shared, browser, server, request, entry).await {
            Err(PassError::Unanswered(_)) => {}
            result => return result,
        }
    }
    let server = connect(request.origin, &shared.tls).await.map_err(PassError::Unanswered)?;
    pass(shared, browser, server, request, entry).await
}

/// Passes a request on over this connection.
async fn pass(
    shared: &Shared,
    browser: &mut Peer,
    mut server: Upstream,
    request: &Request<'_>,
    entry: &Entry,
) -> Result<PassedExchange, PassError> {
    let head = head_to_server(request);
    write(&mut server.peer.stream, &head).await.map_err(|error| unanswered(&error.to_string()))?;
    // A response may be there before anything else is looked at.
    let is_sent = AtomicBool::new(BodyState::new(request.head.length).is_done());
    let received = {
        let (mut from_browser, mut to_browser) = split(&mut browser.stream);
        let (mut from_server, mut to_server) = split(&mut server.peer.stream);
        let length = request.head.length;
        let sending =
            send(&mut from_browser, &mut browser.buffer, &mut to_server, length, entry, &is_sent);
        let receiving = receive(
            shared,
            &mut from_server,
            &mut server.peer.buffer,
            &mut to_browser,
            request.head,
            entry,
        );
        tokio::pin!(sending, receiving);
        tokio::select! {
            // A browser that has all of its response may leave.
            biased;
            received = &mut receiving => received,
            end = &mut sending => match end {
                SendEnd::Browser => Err(PassError::Browser),
                SendEnd::BadRequest(problem) => Err(PassError::BadRequest(problem)),
                SendEnd::Server => receiving.await,
            },
        }
    }?;
    if received.status == 101 {
        websocket(shared, browser, &mut server.peer, entry).await;
        return Ok(PassedExchange { server: None, keeps_alive: false });
    }
    let is_sent = is_sent.load(Ordering::Relaxed);
    let is_kept = is_sent && received.keeps_alive && server.peer.buffer.is_empty();
    Ok(PassedExchange {
        server: is_kept.then_some(server),
        keeps_alive: is_sent && request.head.keeps_alive() && received.length != Length::UntilClose,
    })
}

fn unanswered(problem: &str) -> PassError {
    PassError::Unanswered(format!("no response: {problem}"))
}

async fn write(to: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> std::io::Result<()> {
    to.write_all(bytes).await?;
    to.flush().await
}

/// Passes on a request's body, then waits until the browser leaves.
async fn send(
    from: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
    to: &mut (impl AsyncWrite + Unpin),
    length: Length,
    entry: &Entry,
    is_sent: &AtomicBool,
) -> SendEnd {
    let mut body = BodyState::new(length);
    while !body.is_done() {
        if buffer.is_empty() && !matches!(read(from, buffer).await, Ok(1..)) {
            return SendEnd::Browser;
        }
        let taken = body.take(buffer, &mut |bytes| entry.add(BodyOwner::Request, bytes));
        let taken = match taken {
            Ok(taken) => taken,
            Err(error) => return SendEnd::BadRequest(format!("the request: {error}")),
        };
        if write(to, &buffer[..taken]).await.is_err() {
            return SendEnd::Server;
        }
        buffer.drain(..taken);
    }
    is_sent.store(true, Ordering::Relaxed);
    while buffer.len() < AHEAD_BYTES_MAX {
        if !matches!(read(from, buffer).await, Ok(1..)) {
            return SendEnd::Browser;
        }
    }
    pending().await
}

/// Passes back the response.
async fn receive(
    shared: &Shared,
    from: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
    to: &mut (impl AsyncWrite + Unpin),
    request: &RequestHead,
    entry: &Entry,
) -> Result<ResponseHead, PassError> {
    let head = receive_head(from, buffer, &request.method).await?;
    let is_upgrade = head.status == 101;
    if is_upgrade && !request.fields.wants_websocket() {
        return Err(unanswered("the server changed to a protocol that the request does not offer"));
    }
    entry.respond(shared.now(), &head);
    let bytes = head_to_browser(&head, request.keeps_alive());
    write(to, &bytes).await.map_err(|_| PassError::Browser)?;
    if is_upgrade {
        return Ok(head);
    }
    let mut body = BodyState::new(head.length);
    while !body.is_done() {
        if buffer.is_empty() {
            match read(from, buffer).await {
                Ok(0) if body.ends_at_close() => break,
                Ok(0) => {
                    return Err(PassError::Broken(
                        "the server closed within its response".to_owned(),
                    ));
                }
                Ok(_) => {}
                Err(error) => return Err(PassError::Broken(error.to_string())),
            }
        }
        let taken = body.take(buffer, &mut |bytes| entry.add(BodyOwner::Response, bytes));
        let taken = taken.map_err(|error| PassError::Broken(format!("the response: {error}")))?;
        write(to, &buffer[..taken]).await.map_err(|_| PassError::Browser)?;
        buffer.drain(..taken);
    }
    Ok(head)
}

/// The head of the final response: interim ones are for the recorder (RFC 9110, section 15.2).
async fn receive_head(
    from: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
    method: &str,
) -> Result<ResponseHead, PassError> {
    let refused = |error: HeadError| unanswered(&error.to_string());
    loop {
        while let Some(head) = ResponseHead::parse(buffer, method).map_err(refused)? {
            buffer.drain(..head.bytes_count);
            if head.status >= 200 || head.status == 101 {
                return Ok(head);
            }
        }
        match read(from, buffer).await {
            Ok(0) => return Err(unanswered("the server closed the connection")),
            Ok(_) => {}
            Err(error) => return Err(unanswered(&error.to_string())),
        }
    }
}

fn without(fields: &Fields, left_out: &[&str]) -> Fields {
    let is_kept = |field: &&Field| !left_out.iter().any(|name| field.is(name));
    Fields(fields.0.iter().filter(is_kept).cloned().collect())
}

/// The head of a request as the server gets it.
fn head_to_server(request: &Request<'_>) -> Vec<u8> {
    let RequestHead { method, fields, .. } = request.head;
    let mut sent = without(fields, NOT_SENT);
    if fields.first("host").is_none() {
        sent.0.insert(0, Field::new("Host", &request.origin.authority()));
    }
    sent.0.push(Field::new("Accept-Encoding", "identity"));
    if fields.wants_websocket() {
        sent.0.push(Field::new("Connection", "Upgrade"));
        sent.0.push(Field::new("Upgrade", "websocket"));
    }
    let mut head = format!("{method} {} HTTP/1.1\r\n", request.path).into_bytes();
    sent.write(&mut head);
    head.extend_from_slice(b"\r\n");
    head
}

/// The head of a response as the browser gets it.
fn head_to_browser(head: &ResponseHead, keeps_alive: bool) -> Vec<u8> {
    let mut sent = without(&head.fields, NOT_RETURNED);
    if head.status == 101 {
        sent.0.push(Field::new("Connection", "Upgrade"));
        sent.0.push(Field::new("Upgrade", "websocket"));
    } else if !keeps_alive || head.length == Length::UntilClose {
        sent.0.push(Field::new("Connection", "close"));
    }
    let mut bytes = format!("HTTP/1.1 {} {}\r\n", head.status, head.reason).into_bytes();
    sent.write(&mut bytes);
    bytes.extend_from_slice(b"\r\n");
    bytes
}

/// Passes frames in both directions until both sides have ended.
async fn websocket(shared: &Shared, browser: &mut Peer, server: &mut Peer, entry: &Entry) {
    let (mut from_browser, mut to_browser) = split(&mut browser.stream);
    let (mut from_server, mut to_server) = split(&mut server.stream);
    let up = relay(shared, &mut from_browser, &mut browser.buffer, &mut to_server, entry, true);
    let down = relay(shared, &mut from_server, &mut server.buffer, &mut to_browser, entry, false);
    tokio::pin!(up, down);
    // What is late is given up.
    tokio::select! {
        () = &mut up => {
            let _ = timeout(LINGER, down).await;
        }
        () = &mut down => {
            let _ = timeout(LINGER, up).await;
        }
    }
}

/// Passes frames in one direction, and ends it.
async fn relay(
    shared: &Shared,
    from: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
    to: &mut (impl AsyncWrite + Unpin),
    entry: &Entry,
    from_browser: bool,
) {
    let mut frames = Frames::new(shared.book.message_bytes_max());
    loop {
        if !buffer.is_empty() {
            let now = shared.now();
            frames.take(buffer, &mut |message| entry.message(now, from_browser, message));
            if write(to, buffer).await.is_err() {
                break;
            }
            buffer.clear();
        }
        if !matches!(read(from, buffer).await, Ok(1..)) {
            break;
        }
    }
    // The other side may be gone already.
    drop(to.shutdown().await);
}
