mod http2;

use std::time::Duration;

use axum::routing::{get, post};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::*;

/// Longer than anything here takes unless it hangs.
const SOON: Duration = Duration::from_secs(20);
const SHORT: Deadlines = Deadlines {
    head: Duration::from_millis(80),
    body: Duration::from_millis(80),
    unread: Duration::from_millis(80),
};

fn router() -> Router {
    Router::new()
        .route("/", post(|text: String| async move { text }))
        .route("/long", get(|| async { vec![b'x'; 64 << 20] }))
}

/// What the client sees, and how the server ended.
async fn played<F: Future<Output = Vec<u8>>>(
    client: impl FnOnce(TcpStream) -> F,
) -> (String, ConnectionEnd) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (_stop, stopping) = watch::channel(false);
    let server = async {
        let (stream, _) = listener.accept().await.unwrap();
        serve_within(SHORT, stream, Vec::new(), router(), stopping).await
    };
    let client = async { client(TcpStream::connect(address).await.unwrap()).await };
    let both = async { tokio::join!(client, server) };
    let (seen, served) = timeout(SOON, both).await.unwrap();
    (String::from_utf8_lossy(&seen).into_owned(), served)
}

/// Sends `start` and then a byte now and then until the server closes; what it answered.
async fn drip(mut stream: TcpStream, start: &str) -> Vec<u8> {
    stream.write_all(start.as_bytes()).await.unwrap();
    let mut seen = Vec::new();
    loop {
        let every = Duration::from_millis(5);
        match timeout(every, stream.read_buf(&mut seen)).await {
            // Closed, or reset because bytes were on their way.
            Ok(Ok(0) | Err(_)) => return seen,
            Ok(Ok(_)) => {}
            // A server that closed meanwhile is seen by the next read.
            Err(_) => drop(stream.write_all(b"x").await),
        }
    }
}

#[tokio::test]
async fn a_dripping_body_is_answered_408() {
    let head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n";
    let (seen, _) = played(|stream| drip(stream, head)).await;
    assert!(seen.starts_with("HTTP/1.1 408 "), "{seen}");
    assert!(seen.contains("connection: close\r\n"), "{seen}");
}

#[tokio::test]
async fn a_dripping_head_is_closed() {
    let (seen, served) = played(|stream| drip(stream, "GET / HTTP/1.1\r\nX: ")).await;
    assert_eq!((seen.as_str(), served), ("", ConnectionEnd::TimedOut));
}

#[tokio::test]
async fn a_dripping_second_head_is_closed_too() {
    let start = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nokGET / HTTP/1.1\r\nX: ";
    let (seen, served) = played(|stream| drip(stream, start)).await;
    assert!(seen.starts_with("HTTP/1.1 200 "), "{seen}");
    assert!(seen.ends_with("\r\n\r\nok"), "{seen}");
    assert_eq!(served, ConnectionEnd::TimedOut);
}

#[tokio::test]
async fn an_answer_that_nobody_reads_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut client = TcpStream::connect(address).await.unwrap();
    let request = b"GET /long HTTP/1.1\r\nHost: x\r\n\r\n";
    client.write_all(request).await.unwrap();
    let (stream, _) = listener.accept().await.unwrap();
    let (_stop, stopping) = watch::channel(false);
    let server = serve_within(SHORT, stream, Vec::new(), router(), stopping);
    assert_eq!(timeout(SOON, server).await.unwrap(), ConnectionEnd::TimedOut);
    drop(client);
}

#[tokio::test]
async fn a_body_in_pieces_comes_in_one() {
    let client = async |mut stream: TcpStream| {
        let head = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 6\r\n\r\n";
        stream.write_all(head).await.unwrap();
        for piece in [b"ab", b"cd", b"ef"] {
            stream.write_all(piece).await.unwrap();
            tokio::task::yield_now().await;
        }
        let mut seen = Vec::new();
        stream.read_to_end(&mut seen).await.unwrap();
        seen
    };
    let (seen, served) = played(client).await;
    assert!(seen.ends_with("\r\n\r\nabcdef"), "{seen}");
    assert_eq!(served, ConnectionEnd::Closed);
}
