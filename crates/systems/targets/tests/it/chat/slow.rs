//! Those who do not read.

use std::time::Duration;

use testkit::client::read_until;
use testkit::http::soon;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::{Chat, options};

#[tokio::test]
async fn slow_readers_are_cut_and_others_are_not_held_up() {
    let mut few = options();
    few.waiting_max = 4;
    let chat = Chat::start(few).await;
    let mut slow_socket = chat.connect("/chat/socket").await;
    let mut slow_stream = TcpStream::connect(chat.address).await.unwrap();
    slow_stream.write_all(b"GET /chat/stream HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    read_until(&mut slow_stream, "retry: 2000\n\n\r\n").await;
    let mut client = chat.connect("/chat/socket").await;
    let text = format!(r#"{{"message":"{}"}}"#, "x".repeat(4_000));
    let mut id = 0;
    let cut = async {
        while chat.metric("chat_slow_disconnects_total").await < 2.0 {
            for _ in 0..50 {
                client.send(&text).await;
                id += 1;
                assert_eq!(client.json().await["id"], id);
            }
        }
    };
    soon(cut).await;
    assert_eq!(chat.metric("chat_connections").await, 1.0);
    // What they were sent before the cut they may still read; then it breaks.
    let broken = async {
        while let Some(Ok(_)) = futures_util::StreamExt::next(&mut slow_socket.socket).await {}
    };
    soon(broken).await;
}

#[tokio::test]
async fn a_connection_whose_first_request_takes_too_long_is_closed() {
    let mut hasty = options();
    hasty.opening_timeout = Duration::from_millis(40);
    let chat = Chat::start(hasty).await;
    let mut silent = TcpStream::connect(chat.address).await.unwrap();
    silent.write_all(b"GET /chat/str").await.unwrap();
    let mut rest = Vec::new();
    let read = tokio::io::AsyncReadExt::read_to_end(&mut silent, &mut rest);
    // Closed or reset: gone either way.
    let _ = soon(read).await;
    assert!(rest.is_empty());
    chat.until("chat_opening_timeouts_total", 1.0).await;
}
