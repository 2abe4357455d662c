//! The echo server.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::SinkExt;
use targets::echo::{self, EchoOptions};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;

use testkit::client::Client;
use testkit::http::{get, soon};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[tokio::test]
async fn messages_come_back_as_they_went() {
    let (ready, address) = oneshot::channel();
    let (shutdown, stop) = oneshot::channel::<()>();
    let options = EchoOptions::default();
    let ready = Box::new(move |address| ready.send(address).unwrap());
    let served = tokio::spawn(echo::serve(options, ready, Box::pin(async { drop(stop.await) })));
    let address = soon(address).await.unwrap();
    assert_eq!(get(address, "/hello").await, (200, "ok\n".to_owned()));
    let mut client = Client::open(address, "/echo").await;
    for message in [
        Message::text("hi"),
        Message::binary(vec![0, 255]),
        Message::text(""),
        Message::text("long ".repeat(200_000)),
    ] {
        client.socket.send(message.clone()).await.unwrap();
        assert!(client.message().await == message, "{} bytes", message.len());
    }
    shutdown.send(()).unwrap();
    soon(served).await.unwrap().unwrap();
}

#[tokio::test]
async fn bytes_come_back_as_they_went() {
    let (ready, address) = oneshot::channel();
    let (shutdown, stop) = oneshot::channel::<()>();
    let mut options = EchoOptions::default();
    options.raw = true;
    let ready = Box::new(move |address| ready.send(address).unwrap());
    let served = tokio::spawn(echo::serve(options, ready, Box::pin(async { drop(stop.await) })));
    let address = soon(address).await.unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    for said in [&b"GET /hello HTTP/1.1\r\n\r\n"[..], b"\0\xff"] {
        stream.write_all(said).await.unwrap();
        let mut received = vec![0; said.len()];
        soon(stream.read_exact(&mut received)).await.unwrap();
        assert_eq!(received, said);
    }
    stream.shutdown().await.unwrap();
    assert_eq!(soon(stream.read_to_end(&mut Vec::new())).await.unwrap(), 0);
    shutdown.send(()).unwrap();
    soon(served).await.unwrap().unwrap();
}

/// Serves until the sender is dropped.
async fn serving(
    options: EchoOptions,
) -> (SocketAddr, oneshot::Sender<()>, JoinHandle<Result<(), server::ServerError>>) {
    let (ready, address) = oneshot::channel();
    let (shutdown, stop) = oneshot::channel::<()>();
    let ready = Box::new(move |address| ready.send(address).unwrap());
    let served = tokio::spawn(echo::serve(options, ready, Box::pin(async { drop(stop.await) })));
    (soon(address).await.unwrap(), shutdown, served)
}

/// A WebSocket without a client behind it.
async fn opened(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = "GET /echo HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        assert!(soon(stream.read_buf(&mut head)).await.unwrap() > 0);
    }
    stream
}

/// True once the server has closed, within a time.
async fn is_closed(stream: &mut TcpStream, within: Duration) -> bool {
    let read = async { while stream.read(&mut [0; 4096]).await.is_ok_and(|count| count > 0) {} };
    tokio::time::timeout(within, read).await.is_ok()
}

#[tokio::test]
async fn a_message_that_drips_and_an_answer_that_nobody_takes_end_their_connection() {
    let mut options = EchoOptions::default();
    options.message_within = Duration::from_millis(150);
    let (address, shutdown, served) = serving(options).await;
    let mut idle = opened(address).await;
    let mut dripping = opened(address).await;
    // The first half of a message; pings in its midst do not prolong it.
    let half = [0x02, 0x80 | 4, 0, 0, 0, 0, b'h', b'a', b'l', b'f'];
    dripping.write_all(&half).await.unwrap();
    let drip = async {
        while dripping.write_all(&[0x89, 0x80, 0, 0, 0, 0]).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    soon(drip).await;
    let mut unread = opened(address).await;
    let flood = async {
        // More than the kernel's buffers hold.
        let message =
            [&[0x82, 0x80 | 127, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0][..], &[0; 8 << 20]];
        let message = message.concat();
        while unread.write_all(&message).await.is_ok() {}
    };
    soon(flood).await;
    assert!(!is_closed(&mut idle, Duration::from_millis(400)).await);
    shutdown.send(()).unwrap();
    soon(served).await.unwrap().unwrap();
}

#[tokio::test]
async fn connections_have_a_maximum() {
    let mut options = EchoOptions::default();
    options.connections_max = 2;
    let (address, shutdown, served) = serving(options).await;
    let held = [opened(address).await, opened(address).await];
    let mut third = TcpStream::connect(address).await.unwrap();
    assert!(is_closed(&mut third, Duration::from_secs(20)).await);
    drop(held);
    shutdown.send(()).unwrap();
    soon(served).await.unwrap().unwrap();
}
