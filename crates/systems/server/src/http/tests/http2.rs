use axum::routing::get;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::LocalSet;
use tokio::time::timeout;

use super::super::either::serve_begun;
use super::super::frames::PREFACE;
use super::super::*;
use super::{SHORT, SOON};

const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// `GET http://x/` and `POST http://x/` (RFC 7541, appendix A).
const GET: &[u8] = b"\x82\x86\x84\x41\x01x";
const POST: &[u8] = b"\x83\x86\x84\x41\x01x";

fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
    let stream = u8::from(kind != SETTINGS);
    let mut frame = vec![0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream];
    frame.extend_from_slice(payload);
    frame
}

/// What a client sends before its first request.
fn begin(settings: &[u8]) -> Vec<u8> {
    [PREFACE, &frame(SETTINGS, 0, settings)].concat()
}

fn router() -> Router {
    Router::new().route("/", get(|| async { "an answer" }).post(|text: String| async { text }))
}

/// What a client gets that sends these bytes, each after a wait that is longer than all deadlines, and how the server
/// ended.
async fn played(pieces: &[Vec<u8>]) -> (String, ConnectionEnd) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (_stop, stopping) = watch::channel(false);
    let server = async {
        let (stream, _) = listener.accept().await.unwrap();
        serve_begun(SHORT, stream, router(), stopping).await
    };
    let client = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let mut seen = Vec::new();
        for piece in pieces {
            // A server that closed meanwhile is seen by the next read.
            drop(stream.write_all(piece).await);
            let wait = timeout(3 * SHORT.head, async {
                while stream.read_buf(&mut seen).await.is_ok_and(|count| count > 0) {}
            });
            drop(wait.await);
        }
        seen
    };
    let both = async { tokio::join!(client, server) };
    let (seen, served) = timeout(SOON, LocalSet::new().run_until(both)).await.unwrap();
    (String::from_utf8_lossy(&seen).into_owned(), served)
}

#[tokio::test]
async fn a_preface_that_stops_is_closed() {
    let (_, served) = played(&[b"PRI * HT".to_vec()]).await;
    assert_eq!(served, ConnectionEnd::TimedOut);
}

#[tokio::test]
async fn a_connection_may_be_idle_between_requests() {
    let request = frame(HEADERS, END_STREAM | END_HEADERS, GET);
    let (seen, served) = played(&[Vec::new(), begin(b""), request]).await;
    assert!(seen.contains("an answer"), "{seen:?}");
    assert_eq!(served, ConnectionEnd::Closed);
}

#[tokio::test]
async fn a_head_that_stops_is_closed() {
    let half = frame(HEADERS, END_STREAM, GET);
    let (_, served) = played(&[[begin(b""), half].concat()]).await;
    assert_eq!(served, ConnectionEnd::TimedOut, "no CONTINUATION came");
    let whole = frame(HEADERS, END_STREAM | END_HEADERS, GET);
    let (_, served) = played(&[[begin(b""), whole[..12].to_vec()].concat()]).await;
    assert_eq!(served, ConnectionEnd::TimedOut, "half a frame");
}

#[tokio::test]
async fn a_late_body_is_answered_and_half_a_frame_of_it_closed() {
    let head = [begin(b""), frame(HEADERS, END_HEADERS, POST)].concat();
    let (seen, _) = played(std::slice::from_ref(&head)).await;
    assert!(seen.contains("the body did not come in time"), "{seen:?}");
    let half = frame(0, END_STREAM, b"a body")[..12].to_vec();
    let (_, served) = played(&[[head, half].concat()]).await;
    assert_eq!(served, ConnectionEnd::TimedOut);
}

#[tokio::test]
async fn an_answer_without_room_is_given_up() {
    // Streams have no room at first (SETTINGS_INITIAL_WINDOW_SIZE).
    let settings = [0, 4, 0, 0, 0, 0];
    let request = frame(HEADERS, END_STREAM | END_HEADERS, GET);
    let (seen, served) = played(&[[begin(&settings), request].concat()]).await;
    assert!(!seen.contains("an answer"), "{seen:?}");
    assert_eq!(served, ConnectionEnd::TimedOut);
}
