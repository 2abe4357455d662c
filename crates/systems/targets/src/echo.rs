//! The smallest server: WebSocket messages come back as they went, `GET /hello` says "ok". Or it
//! speaks no protocol at all, and bytes come back as they went.
//!
//! A message must be complete within 30 s of its first byte, and a peer must take something of its answer within 30 s. All
//! unfinished messages of the process hold 256 MiB at most. What breaks these limits ends its connection.
//!
//! For tests and benches of the client's end, where the server should cost next to nothing.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_tungstenite::tungstenite::Error;

use server::http::{Endpoint, FirstRequest, Route, read_opening, serve_http};
use server::websocket::{Limits, Socket};
use server::{
    CONNECTIONS_MAX, Ready, ServerError, ServerOptions, Serving, Shutdown, Stop, ThreadContext,
    ThreadWork, accept_all, check_rules, stopped,
};

/// Path on which WebSockets are opened.
const PATH: &str = "/echo";

/// How an echo server is run. The default is one thread on a free port of 127.0.0.1.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EchoOptions {
    /// The address to listen on and the threads that serve it. One thread by default.
    pub server: ServerOptions,
    /// Longest message in bytes. A longer one ends the connection.
    pub message_max: usize,
    /// Longest time from a message's first byte to its last, and without taking anything of an answer.
    pub message_within: Duration,
    /// Most connections at once, of each thread. Further ones are closed.
    pub connections_max: usize,
    /// Bytes come back as they went, and so do messages in whatever frames.
    pub raw: bool,
}

impl Default for EchoOptions {
    fn default() -> Self {
        Self {
            server: ServerOptions::single_threaded(),
            message_max: 16 << 20,
            message_within: Duration::from_secs(30),
            connections_max: 1_000_000,
            raw: false,
        }
    }
}

/// Serves until `shutdown` resolves, then drops every connection. WebSockets are opened at
/// `/echo`; `ready` is called with the address as soon as connections are accepted.
///
/// # Errors
/// When the address cannot be listened at, or a serving thread crashed.
pub fn serve(
    options: EchoOptions,
    ready: Ready,
    shutdown: Shutdown,
) -> Serving<'static, (), ServerError> {
    Box::pin(serve_until(options, ready, shutdown))
}

async fn serve_until(
    options: EchoOptions,
    ready: Ready,
    shutdown: Shutdown,
) -> Result<(), ServerError> {
    options.server.check()?;
    let EchoOptions { server, message_max, message_within, connections_max, raw } = options;
    check_rules([(
        (1..=CONNECTIONS_MAX).contains(&connections_max),
        "connections_max must be at least 1 and at most 10,000,000",
    )])?;
    let limits = Limits { message_max, message_within };
    let router = Router::new().route("/hello", get(|| async { "ok\n" }));
    let work = move |context| -> ThreadWork {
        let permits = Arc::new(Semaphore::new(connections_max));
        Box::pin(work(context, raw, limits, permits, router.clone()))
    };
    server::serve(&server, work, ready, shutdown, || {}).await
}

/// [`serve`] on a runtime of its own, until `stop`.
///
/// # Errors
/// As [`serve`], and when the process cannot be set up.
pub fn run(options: EchoOptions, stop: Stop, ready: Ready) -> Result<(), ServerError> {
    let server = options.server.clone();
    server::run(&server, stop, |shutdown| serve(options, ready, shutdown))
}

async fn work(
    context: ThreadContext,
    raw: bool,
    limits: Limits,
    permits: Arc<Semaphore>,
    router: Router,
) {
    let ThreadContext { listener, mut stop, .. } = context;
    let router = Arc::new(router);
    let stopping = stop.clone();
    let open = |stream| {
        // Without a place the connection is dropped, and its client notices.
        let Ok(place) = Arc::clone(&permits).try_acquire_owned() else {
            return;
        };
        if raw {
            tokio::task::spawn_local(return_bytes(stream, place));
            return;
        }
        tokio::task::spawn_local(receive(
            stream,
            place,
            limits,
            Arc::clone(&router),
            stopping.clone(),
        ));
    };
    tokio::select! {
        // A connection that cannot be accepted is the client's to notice.
        () = accept_all(&listener, open, drop) => {}
        () = stopped(&mut stop) => {}
    }
}

/// Returns what comes until the peer has said all.
async fn return_bytes(mut stream: TcpStream, _place: OwnedSemaphorePermit) {
    // A delayed answer would be a latency of this server.
    let _ = stream.set_nodelay(true);
    let (mut from, mut to) = stream.split();
    // A connection that breaks has ended as well.
    let _ = tokio::io::copy(&mut from, &mut to).await;
}

async fn receive(
    mut stream: TcpStream,
    place: OwnedSemaphorePermit,
    limits: Limits,
    router: Arc<Router>,
    stop: watch::Receiver<bool>,
) {
    let Ok(Some(FirstRequest { route, bytes })) = read_opening(&mut stream, endpoint).await else {
        return;
    };
    match route {
        Route::WebSocket { accept, .. } => {
            if let Ok(mut socket) = Socket::open(stream, &accept, bytes, limits).await {
                tokio::task::spawn_local(async move {
                    // It ends when the peer closes or breaks the protocol.
                    let _ = poll_fn(|cx| poll_echo(&mut socket, cx)).await;
                    drop(place);
                });
            }
        }
        Route::Refused(answer) => {
            // The connection ends either way.
            let _ = stream.write_all(answer.as_bytes()).await;
        }
        // Nothing here is a stream of events.
        Route::Http | Route::Stream(_) => {
            serve_http(stream, bytes, Router::clone(&router), stop).await;
        }
    }
}

fn endpoint(path: &str) -> Option<Endpoint> {
    (path == PATH).then_some(Endpoint::WebSocket)
}

/// Echoes until an error, of which a proper close is one.
fn poll_echo(socket: &mut Socket, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
    loop {
        ready!(socket.poll_flush(cx))?;
        let message = ready!(socket.poll_read(cx))?;
        if message.is_text() || message.is_binary() {
            socket.write(cx, message)?;
        }
    }
}
