//! Cursors under concurrent writers: on every transport each message comes once and in order.

use serde_json::Value;
use testkit::client::Client;
use testkit::http::soon;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{Chat, ids, options};

const WRITERS: u64 = 4;
const EACH: u64 = 50;
const ALL: u64 = WRITERS * EACH;

/// A reader of every message; what it must find.
async fn poll(address: std::net::SocketAddr, wait: &str) -> Vec<u64> {
    let mut after = 0;
    let mut seen = Vec::new();
    while (seen.len() as u64) < ALL {
        let target = format!("/chat/poll?after={after}&limit=7{wait}");
        let (_, body) = testkit::http::get(address, &target).await;
        let found: Value = serde_json::from_str(&body).unwrap();
        seen.extend(ids(&found["messages"]));
        after = found["last"].as_u64().unwrap();
    }
    seen
}

/// A stream that breaks off after a few events and comes back, again and again.
async fn stream(address: std::net::SocketAddr) -> Vec<u64> {
    let mut seen = Vec::new();
    while (seen.len() as u64) < ALL {
        let last = seen.last().copied().unwrap_or(0);
        let mut socket = TcpStream::connect(address).await.unwrap();
        let request =
            format!("GET /chat/stream HTTP/1.1\r\nHost: x\r\nLast-Event-ID: {last}\r\n\r\n");
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut lines = BufReader::new(socket).lines();
        let before = seen.len();
        while seen.len() < before + 11 && (seen.len() as u64) < ALL {
            let line = soon(lines.next_line()).await.unwrap().unwrap();
            seen.extend(line.strip_prefix("id: ").map(|id| id.parse::<u64>().unwrap()));
        }
    }
    seen
}

/// A WebSocket that comes back in the same way.
async fn socket(address: std::net::SocketAddr) -> Vec<u64> {
    let mut seen = Vec::new();
    while (seen.len() as u64) < ALL {
        let last = seen.last().copied().unwrap_or(0);
        let target = format!("/chat/socket?after={last}");
        let mut client = Client::open(address, &target).await;
        let before = seen.len();
        while seen.len() < before + 11 && (seen.len() as u64) < ALL {
            seen.push(client.json().await["id"].as_u64().unwrap());
        }
    }
    seen
}

async fn everybody_sees_everything(options: targets::chat::ChatOptions) {
    let chat = Chat::start(options).await;
    let address = chat.address;
    let mut readers = JoinSet::new();
    readers.spawn(async move { poll(address, "").await });
    readers.spawn(async move { poll(address, "&wait=20").await });
    readers.spawn(async move { stream(address).await });
    readers.spawn(async move { socket(address).await });
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        writers.spawn(async move {
            let mut client = Client::open(address, "/socket/websocket?vsn=2.0.0").await;
            client.send(r#"["1","1","chat","phx_join",{}]"#).await;
            let mut own = Vec::new();
            for number in 0..EACH {
                let push =
                    serde_json::json!(["1", "2", "chat", "speak", {"message": number.to_string()}]);
                client.send(&push.to_string()).await;
                // Others' messages come between.
                loop {
                    let message = client.json().await;
                    if let Some(id) = message[4]["response"]["id"].as_u64() {
                        own.push(id);
                        break;
                    }
                }
            }
            own
        });
    }
    let mut numbers: Vec<u64> = soon(writers.join_all()).await.concat();
    numbers.sort_unstable();
    let expected: Vec<u64> = (1..=ALL).collect();
    assert_eq!(numbers, expected, "every message has a number of its own");
    for seen in soon(readers.join_all()).await {
        assert_eq!(seen, expected);
    }
    assert_eq!(chat.metric("chat_overrun_total").await, 0.0);
}

#[tokio::test]
async fn in_memory() {
    everybody_sees_everything(options()).await;
}

#[tokio::test]
async fn with_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let mut stored = options();
    stored.store = Some(folder.path().join("chat.sqlite"));
    everybody_sees_everything(stored).await;
}
