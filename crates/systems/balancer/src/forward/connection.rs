//! The connections of clients, and the requests on each.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use server::{ThreadContext, accept_all, stopped};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::pool::{BUFFER_BYTES, Buffers, Pool};
use super::request::{Next, answer};
use super::router::Router;
use crate::http::{BadRequest, HeadSearch, RequestHead, read_request};

/// How long a connection that is closed early is read for, so that its client gets the answer before a reset.
const LINGER: Duration = Duration::from_secs(1);
/// How much of it.
const LINGER_BYTES_MAX: usize = 1 << 20;

/// State of one thread.
pub(super) struct Local {
    pub(super) router: Arc<Router>,
    pub(super) pool: Rc<Pool>,
    pub(super) stopping: Cell<bool>,
    /// Buffers for responses.
    out: Buffers,
    stop: watch::Receiver<bool>,
}

/// Serves on one thread until it is to stop, and then until the requests in progress are answered.
pub(crate) async fn work(context: ThreadContext, router: Arc<Router>) {
    let ThreadContext { listener, mut stop, .. } = context;
    let connections_max = router.options.connections_max;
    let stop_within = router.options.server.stop_within;
    let local = Rc::new(Local {
        pool: Rc::new(Pool::new(router.options.pool)),
        stopping: Cell::new(false),
        out: Buffers::new(4 * BUFFER_BYTES),
        stop: stop.clone(),
        router,
    });
    let (alive, mut all_gone) = mpsc::channel::<Infallible>(1);
    let permits = Arc::new(Semaphore::new(connections_max));
    let counts = Arc::clone(&local.router.metrics.connections);
    let open = |stream: TcpStream| {
        let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else {
            counts.refused.add(1);
            return;
        };
        counts.opened.add(1);
        let local = Rc::clone(&local);
        let alive = alive.clone();
        let counts = Arc::clone(&counts);
        tokio::task::spawn_local(async move {
            // A peer without an address has left already.
            if let Ok(peer) = stream.peer_addr() {
                serve(&local, stream, peer).await;
            }
            counts.closed.add(1);
            drop((permit, alive));
        });
    };
    let failed = |_| local.router.metrics.accept_errors.add(1);
    tokio::select! {
        () = accept_all(&listener, open, failed) => {}
        () = close_idle(&local) => {}
        () = stopped(&mut stop) => {}
    }
    local.stopping.set(true);
    drop((listener, alive));
    // What is still open after that ends with the thread.
    let _ = timeout(stop_within, all_gone.recv()).await;
}

/// Closes connections to backends that have been idle for too long, again and again.
async fn close_idle(local: &Local) {
    let limit = local.router.options.timeouts.idle;
    loop {
        sleep(limit / 2).await;
        if let Some(before) = Instant::now().checked_sub(limit) {
            local.pool.close_idle(before);
        }
    }
}

/// Serves one connection.
async fn serve(local: &Rc<Local>, mut stream: TcpStream, peer: SocketAddr) {
    let mut inbox = Vec::new();
    let mut stop = local.stop.clone();
    loop {
        if inbox.is_empty() {
            let idle = local.router.options.timeouts.idle;
            let begun = tokio::select! {
                biased;
                begun = timeout(idle, begin(local, &mut stream, &mut inbox)) => matches!(begun, Ok(Ok(1..))),
                () = stopped(&mut stop) => false,
            };
            if !begun {
                return;
            }
        }
        // While it is idle, a connection is this function's few words: the rest is on the heap meanwhile.
        match Box::pin(one_request(local, &mut stream, &mut inbox, peer)).await {
            Next::Request => {}
            Next::Close => return,
            Next::Linger => return linger(&mut stream, inbox).await,
        }
        if inbox.is_empty() {
            local.pool.give_back(std::mem::take(&mut inbox));
        }
        if local.stopping.get() {
            return;
        }
    }
}

/// Waits for the first bytes of a request, and returns their number; 0: the client has ended. It has no buffer before.
async fn begin(
    local: &Local,
    stream: &mut TcpStream,
    inbox: &mut Vec<u8>,
) -> std::io::Result<usize> {
    loop {
        stream.readable().await?;
        *inbox = local.pool.buffer();
        // Unlike after `try_read_buf`, the socket no longer seems ready after a read that leaves room: whoever reads next
        // waits at once.
        tokio::select! {
            biased;
            read = stream.read_buf(inbox) => return read,
            // A socket may seem ready without being so.
            () = std::future::ready(()) => {}
        }
        local.pool.give_back(std::mem::take(inbox));
    }
}

async fn one_request(
    local: &Rc<Local>,
    stream: &mut TcpStream,
    inbox: &mut Vec<u8>,
    peer: SocketAddr,
) -> Next {
    match read_head(local, stream, inbox, peer).await {
        HeadOutcome::Head(head) => {
            inbox.drain(..head.length);
            let out = RefCell::new(local.out.take());
            let next = answer(local, stream, inbox, &head, peer, &out).await;
            local.out.give_back(out.into_inner());
            next
        }
        HeadOutcome::Bad(bad) => {
            local.router.metrics.requests.add(1);
            local.router.metrics.refused.add(1);
            refuse(local, stream, bad).await;
            Next::Linger
        }
        HeadOutcome::Slow => {
            local.router.metrics.connections.timed_out.add(1);
            let slow = BadRequest { status: 408, reason: "the head did not come in time" };
            refuse(local, stream, slow).await;
            Next::Close
        }
        HeadOutcome::Gone => Next::Close,
    }
}

/// The beginning of a client's connection.
enum HeadOutcome {
    Head(RequestHead),
    Bad(BadRequest),
    Slow,
    Gone,
}

async fn read_head(
    local: &Local,
    stream: &mut TcpStream,
    inbox: &mut Vec<u8>,
    peer: SocketAddr,
) -> HeadOutcome {
    let options = &local.router.options;
    let wanted =
        HeadSearch { key_field: options.hash_field.as_deref(), cookie: options.sticky.as_deref() };
    let mut deadline = None;
    loop {
        if !inbox.is_empty() {
            match read_request(inbox, peer.ip(), wanted) {
                Ok(Some(head)) => return HeadOutcome::Head(head),
                Err(bad) => return HeadOutcome::Bad(bad),
                Ok(None) => {}
            }
        }
        // The reader refuses a head that has no end within this.
        inbox.reserve(BUFFER_BYTES.saturating_sub(inbox.len()).max(1));
        let until = *deadline.get_or_insert_with(|| Instant::now() + options.timeouts.head);
        match timeout_at(until, stream.read_buf(inbox)).await {
            Err(_) => return HeadOutcome::Slow,
            Ok(Ok(1..)) => {}
            Ok(Ok(0) | Err(_)) => return HeadOutcome::Gone,
        }
    }
}

/// Answers with a status of the balancer's own. It closes the connection.
pub(super) async fn refuse(local: &Local, stream: &mut TcpStream, bad: BadRequest) {
    let text = own_response(bad.status, bad.reason, true, false);
    local.router.metrics.responded(bad.status);
    // A client that does not take it has left.
    let _ = timeout(LINGER, stream.write_all(&text)).await;
}

/// A response of the balancer's own.
pub(super) fn own_response(status: u16, reason: &str, close: bool, to_head: bool) -> Vec<u8> {
    let name = match status {
        400 => "Bad Request",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "Error",
    };
    let connection = if close { "Connection: close\r\n" } else { "" };
    let body = format!("{reason}\n");
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} {name}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\
         {connection}\r\n"
    );
    match to_head {
        true => head.into_bytes(),
        false => (head + &body).into_bytes(),
    }
}

/// Ends a connection on which the client may still be sending: a plain close would reset it, and the client could lose
/// the response.
async fn linger(stream: &mut TcpStream, mut inbox: Vec<u8>) {
    let drained = async {
        stream.shutdown().await?;
        let mut total = 0;
        while total < LINGER_BYTES_MAX {
            inbox.clear();
            inbox.reserve(BUFFER_BYTES);
            match stream.read_buf(&mut inbox).await? {
                0 => break,
                count => total += count,
            }
        }
        std::io::Result::Ok(())
    };
    // A client that sends for longer gets a reset.
    let _ = timeout(LINGER, drained).await;
}
