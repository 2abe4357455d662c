//! Server-sent events, read byte by byte.

use std::time::Duration;

use testkit::client::read_until;
use testkit::http::soon;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::{Chat, options};

/// A stream that is read to the byte.
struct Stream(BufReader<TcpStream>);

impl Stream {
    /// What comes up to and with `end`.
    async fn until(&mut self, end: &str) -> String {
        let mut bytes = Vec::new();
        while !bytes.ends_with(end.as_bytes()) {
            let last = end.as_bytes()[end.len() - 1];
            let count = soon(self.0.read_until(last, &mut bytes)).await.unwrap();
            assert!(count > 0, "{}", String::from_utf8_lossy(&bytes));
        }
        String::from_utf8(bytes).unwrap()
    }

    /// The next event: its number and its data.
    async fn event(&mut self) -> (u64, serde_json::Value) {
        let length = self.until("\r\n").await;
        let length = usize::from_str_radix(length.trim(), 16).unwrap();
        let text = self.until("\n\n\r\n").await;
        assert_eq!(text.len(), length + 2);
        let rest = text.strip_prefix("id: ").unwrap();
        let (id, data) = rest.split_once("\ndata: ").unwrap();
        (id.parse().unwrap(), serde_json::from_str(data.trim()).unwrap())
    }
}

/// A stream, and what came up to its `retry`.
async fn open(chat: &Chat, target: &str, fields: &str) -> (Stream, String) {
    let mut stream = TcpStream::connect(chat.address).await.unwrap();
    let request = format!("GET {target} HTTP/1.1\r\nHost: x\r\n{fields}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut stream = Stream(BufReader::new(stream));
    let head = stream.until("retry: 2000\n\n\r\n").await;
    (stream, head)
}

#[tokio::test]
async fn events_come_with_their_numbers() {
    let chat = Chat::start(options()).await;
    chat.speak("lobby", "before").await;
    let (mut stream, head) = open(&chat, "/chat/stream", "").await;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains("\r\nContent-Type: text/event-stream\r\n"), "{head}");
    for expected in 2..=3 {
        chat.speak("lobby", "now").await;
        let (id, data) = stream.event().await;
        assert_eq!((id, data["id"].as_u64()), (expected, Some(expected)));
    }
    // The end of the stream is the end of its body.
    let served = chat.begin_stop();
    assert_eq!(stream.until("0\r\n\r\n").await, "0\r\n\r\n");
    drop(stream);
    assert_eq!(soon(served).await.unwrap().unwrap().connections_cut, 0);
}

#[tokio::test]
async fn a_client_that_reconnects_misses_nothing() {
    let chat = Chat::start(options()).await;
    for _ in 0..4 {
        chat.speak("lobby", "x").await;
    }
    // The header is of a client that comes back, and counts more than the address.
    let fields = "Last-Event-ID: 2\r\n";
    let (mut stream, _) = open(&chat, "/chat/stream?after=0", fields).await;
    assert_eq!(stream.event().await.0, 3);
    assert_eq!(stream.event().await.0, 4);
    chat.speak("lobby", "x").await;
    assert_eq!(stream.event().await.0, 5);
    let (mut all, _) = open(&chat, "/chat/stream?after=0", "").await;
    for expected in 1..=5 {
        assert_eq!(all.event().await.0, expected);
    }
}

#[tokio::test]
async fn a_stream_on_a_connection_that_was_used_before() {
    let mut often = options();
    often.heartbeat = Some(Duration::from_millis(20));
    let chat = Chat::start(often).await;
    chat.speak("lobby", "x").await;
    let mut stream = TcpStream::connect(chat.address).await.unwrap();
    let poll = "GET /chat/poll HTTP/1.1\r\nHost: x\r\n\r\n";
    stream.write_all(poll.as_bytes()).await.unwrap();
    read_until(&mut stream, r#""forgotten":0}"#).await;
    let request = "GET /chat/stream HTTP/1.1\r\nHost: x\r\nLast-Event-ID: 0\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let text = read_until(&mut stream, ":\n\n\r\n").await;
    assert!(text.contains("content-type: text/event-stream\r\n"), "{text}");
    assert!(text.contains("retry: 2000\n\n"), "{text}");
    assert!(text.contains("id: 1\ndata: {"), "{text}");
    let served = chat.begin_stop();
    read_until(&mut stream, "0\r\n\r\n").await;
    drop(stream);
    soon(served).await.unwrap().unwrap();
}

#[tokio::test]
async fn heartbeats_are_comments() {
    let mut often = options();
    often.heartbeat = Some(Duration::from_millis(20));
    let chat = Chat::start(often).await;
    let (mut stream, _) = open(&chat, "/chat/stream", "").await;
    for _ in 0..2 {
        assert_eq!(stream.until(":\n\n\r\n").await, "3\r\n:\n\n\r\n");
    }
}

#[tokio::test]
async fn a_bad_cursor_or_room_opens_nothing() {
    let mut small = options();
    small.rooms_max = 1;
    let chat = Chat::start(small).await;
    for (target, fields, status) in [
        ("/chat/stream?after=x", "", "400"),
        ("/chat/stream", "Last-Event-ID: x\r\n", "400"),
        ("/chat/stream?room=%20", "", "400"),
        ("/chat/stream?room=other", "", "503"),
    ] {
        let mut stream = TcpStream::connect(chat.address).await.unwrap();
        let request = format!("GET {target} HTTP/1.1\r\nHost: x\r\n{fields}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = read_until(&mut stream, "}}").await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    }
    assert_eq!(chat.metric("chat_bad_requests_total").await, 4.0);
    assert_eq!(chat.metric("chat_connections_total").await, 0.0);
}
