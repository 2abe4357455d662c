//! The echo server.

use futures_util::SinkExt;
use targets::echo::{self, EchoOptions};
use tokio::sync::oneshot;
use tokio_tungstenite::tungstenite::Message;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{Client, get, soon};

#[tokio::test]
async fn messages_come_back_as_they_went() {
    let (ready, address) = oneshot::channel();
    let (shutdown, stop) = oneshot::channel::<()>();
    let options = EchoOptions::default();
    let served = tokio::spawn(echo::serve(
        options,
        move |address| ready.send(address).unwrap(),
        async { drop(stop.await) },
    ));
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
    let served = tokio::spawn(echo::serve(
        options,
        move |address| ready.send(address).unwrap(),
        async { drop(stop.await) },
    ));
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
