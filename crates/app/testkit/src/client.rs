//! A WebSocket client for tests of servers, by a library of other people.

use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::{WebSocketStream, client_async};

use super::http::soon;

/// A WebSocket client.
pub struct Client<S = TcpStream> {
    /// What carries its messages.
    pub socket: WebSocketStream<S>,
}

impl Client {
    /// Connects to this address, and upgrades the connection by a request for `target`.
    pub async fn open(address: SocketAddr, target: &str) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        let url = format!("ws://{address}{target}");
        let (socket, _) = soon(client_async(url, stream)).await.unwrap();
        Self { socket }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    /// Sends a text.
    pub async fn send(&mut self, text: &str) {
        self.socket.send(Message::text(text)).await.unwrap();
    }

    /// The next message of any kind.
    pub async fn message(&mut self) -> Message {
        soon(self.socket.next()).await.expect("connection is open").unwrap()
    }

    /// The next text, parsed; pings are skipped.
    pub async fn json(&mut self) -> Value {
        loop {
            match self.message().await {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("expected text, got {other:?}"),
            }
        }
    }

    /// The code with which the server closes, whatever comes before.
    pub async fn close_code(&mut self) -> CloseCode {
        loop {
            match self.message().await {
                Message::Close(Some(frame)) => return frame.code,
                Message::Close(None) => panic!("closed without a code"),
                _ => {}
            }
        }
    }
}

/// The handshake of RFC 6455, section 1.3.
pub const HANDSHAKE: &str = "GET /v1/stream HTTP/1.1\r\nHost: x\r\n\
    Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// Reads until `bytes` end with `end`.
pub async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(end.as_bytes()) {
        let count = soon(stream.read_buf(&mut bytes)).await.unwrap();
        assert!(count > 0, "ended with {:?}", String::from_utf8_lossy(&bytes));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
