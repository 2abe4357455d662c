//! The barest HTTP responder: every request, whatever it requests, is answered with the same few
//! bytes. It takes less CPU than the clients that measure themselves against it.
//!
//! A request is taken to end at the first empty line; bodies are not understood. `HEAD` gets the head alone. A
//! client that begins with HTTP/2, or comes by TLS, gets the same from hyper, at a higher cost.

use std::io;

use axum::Router;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

use server::http::{EitherTls, HEAD_TIMEOUT, serve_either, serve_http2};
use server::{
    Ready, ServerError, ServerOptions, Serving, Shutdown, Stop, ThreadContext, ThreadWork,
    accept_all, stopped,
};

/// Clients of HTTP/1.0, such as ab, want a header that says that the connection stays.
const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\
    connection: keep-alive\r\ncontent-length: 3\r\n\r\nok\n";
/// Bytes of the response's body.
const BODY_BYTES: usize = 3;
const REQUEST_END: &[u8] = b"\r\n\r\n";
/// First bytes of a client of HTTP/2, up to its first empty line.
const HTTP2_BEGIN: &[u8] = b"PRI * HTTP/2.0\r\n\r\n";
/// Bytes taken at a time. A request that spans two receipts is recognised as long as its end does
/// not.
const RECEIVE_BYTES: usize = 16 << 10;

/// Serves until `shutdown` resolves, then drops every connection. `ready` is called with the
/// address as soon as connections are accepted.
///
/// # Errors
/// When the address cannot be listened at, or a serving thread crashed.
pub fn serve(
    options: &ServerOptions,
    ready: Ready,
    shutdown: Shutdown,
) -> Serving<'_, (), ServerError> {
    Box::pin(serve_until(options, ready, shutdown))
}

async fn serve_until(
    options: &ServerOptions,
    ready: Ready,
    shutdown: Shutdown,
) -> Result<(), ServerError> {
    options.check()?;
    let tls = options.tls.as_ref().map(EitherTls::load).transpose()?;
    let work = move |context| -> ThreadWork { Box::pin(work(context, tls.clone())) };
    server::serve(options, work, ready, shutdown, || {}).await
}

/// [`serve`] on a runtime of its own, until `stop`.
///
/// # Errors
/// As [`serve`], and when the process cannot be set up.
pub fn run(options: &ServerOptions, stop: Stop, ready: Ready) -> Result<(), ServerError> {
    server::run(options, stop, |shutdown| serve(options, ready, shutdown))
}

async fn work(context: ThreadContext, tls: Option<EitherTls>) {
    let ThreadContext { listener, mut stop, .. } = context;
    let stopping = stop.clone();
    let open = |stream| {
        let tls = tls.clone();
        let stopping = stopping.clone();
        // A connection that breaks is its client's to notice.
        tokio::task::spawn_local(async move {
            match tls {
                Some(_) => drop(serve_either(stream, tls, router(), stopping).await),
                None => drop(respond(stream, stopping).await),
            }
        });
    };
    tokio::select! {
        () = accept_all(&listener, open, drop) => {}
        () = stopped(&mut stop) => {}
    }
}

fn router() -> Router {
    Router::new().fallback(|| async { "ok\n" })
}

async fn respond(stream: TcpStream, stop: watch::Receiver<bool>) -> io::Result<()> {
    let mut bytes = Box::new([0; RECEIVE_BYTES]);
    let mut answers = Vec::new();
    // Of the request at hand, once its begin is there.
    let mut is_head = None;
    let mut deadline = None;
    loop {
        match deadline.filter(|_| is_head.is_some()) {
            Some(deadline) => timeout_at(deadline, stream.readable()).await??,
            None => stream.readable().await?,
        }
        let len = match stream.try_read(&mut bytes[..]) {
            Ok(0) => return Ok(()),
            Ok(len) => len,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        };
        answers.clear();
        let mut rest = &bytes[..len];
        if is_head.is_none() && rest.starts_with(HTTP2_BEGIN) {
            serve_http2(stream, rest.to_vec(), router(), stop).await;
            return Ok(());
        }
        while !rest.is_empty() {
            let head_alone = *is_head.get_or_insert_with(|| rest.starts_with(b"HEAD "));
            let mut windows = rest.windows(REQUEST_END.len());
            let Some(end) = windows.position(|window| window == REQUEST_END) else {
                break;
            };
            let body = if head_alone { BODY_BYTES } else { 0 };
            answers.extend_from_slice(&RESPONSE[..RESPONSE.len() - body]);
            rest = &rest[end + REQUEST_END.len()..];
            is_head = None;
            deadline = None;
        }
        if is_head.is_some() && deadline.is_none() {
            deadline = Some(Instant::now() + HEAD_TIMEOUT);
        }
        let mut left = answers.as_slice();
        while !left.is_empty() {
            match stream.try_write(left) {
                Ok(taken) => left = &left[taken..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    timeout(HEAD_TIMEOUT, stream.writable()).await??;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn pipelined_requests_are_answered_one_by_one() {
        let (listening, address) = std::sync::mpsc::channel();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let server = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            let options = ServerOptions::single_threaded();
            let ready = Box::new(move |address| listening.send(address).expect("the test listens"));
            runtime.block_on(serve(&options, ready, Box::pin(async { drop(stopped.await) })))
        });
        let address = address.recv().expect("the server starts");
        let mut client = std::net::TcpStream::connect(address).expect("connect");
        client
            .write_all(
                b"GET / HTTP/1.1\r\nhost: x\r\n\r\nHEAD / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n",
            )
            .expect("send");
        let head = RESPONSE.strip_suffix(b"ok\n").expect("the body is at its end");
        let mut answer = vec![0; 2 * RESPONSE.len() + head.len()];
        client.read_exact(&mut answer).expect("three answers");
        assert_eq!(answer, [RESPONSE, head, RESPONSE].concat());
        stop.send(()).expect("the server waits");
        server.join().expect("no panic").expect("a proper end");
    }
}
