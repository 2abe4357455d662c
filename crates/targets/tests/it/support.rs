//! A market for one test, and clients for it.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use server::ServerError;
use targets::market::{self, MarketOptions, Report};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::{WebSocketStream, client_async};

/// How long anything may take before a test gives up. Never waited for when all is well.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Gives up on a future that does not come.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(TIMEOUT, what)
        .await
        .expect("should have happened long ago")
}

/// Options without goals during a test, on one thread.
pub(crate) fn calm() -> MarketOptions {
    let mut options = MarketOptions::default();
    options.server.threads = 1;
    options.server.own_files = false;
    options.batch = Duration::from_millis(20);
    options.goal_every = Duration::from_secs(1_000_000);
    options
}

/// A running market.
pub(crate) struct Market {
    pub(crate) address: SocketAddr,
    shutdown: oneshot::Sender<()>,
    served: JoinHandle<Result<Report, ServerError>>,
}

impl Market {
    pub(crate) async fn start(options: MarketOptions) -> Self {
        let (shutdown, stop) = oneshot::channel();
        let (ready, address) = oneshot::channel();
        let served = tokio::spawn(market::serve(
            options,
            move |address| ready.send(address).unwrap(),
            async { drop(stop.await) },
        ));
        Self {
            address: soon(address).await.unwrap(),
            shutdown,
            served,
        }
    }

    pub(crate) async fn connect(&self) -> Client {
        self.connect_to("/v1/stream").await
    }

    pub(crate) async fn connect_to(&self, target: &str) -> Client {
        Client::open(self.address, target).await
    }

    /// Requests the market to stop; [`Market::stopped`] waits for it.
    pub(crate) fn stop(self) -> Stopping {
        self.shutdown.send(()).unwrap();
        Stopping {
            served: self.served,
        }
    }

    /// A value of the metrics.
    pub(crate) async fn metric(&self, name: &str) -> f64 {
        let (_, text) = get(self.address, "/metrics").await;
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in {text}"))
            .parse()
            .unwrap()
    }
}

pub(crate) struct Stopping {
    served: JoinHandle<Result<Report, ServerError>>,
}

impl Stopping {
    pub(crate) async fn report(self) -> Report {
        soon(self.served).await.unwrap().unwrap()
    }
}

/// A WebSocket client.
pub(crate) struct Client {
    pub(crate) socket: WebSocketStream<TcpStream>,
}

impl Client {
    pub(crate) async fn open(address: SocketAddr, target: &str) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        let url = format!("ws://{address}{target}");
        let (socket, _) = soon(client_async(url, stream)).await.unwrap();
        Self { socket }
    }

    pub(crate) async fn send(&mut self, text: &str) {
        self.socket.send(Message::text(text)).await.unwrap();
    }

    /// The next message of any kind.
    pub(crate) async fn message(&mut self) -> Message {
        soon(self.socket.next())
            .await
            .expect("connection is open")
            .unwrap()
    }

    /// The next text, parsed; pings are skipped.
    pub(crate) async fn json(&mut self) -> Value {
        loop {
            match self.message().await {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("expected text, got {other:?}"),
            }
        }
    }

    /// Sends a request and returns the reply to it; what comes without being requested is skipped.
    pub(crate) async fn ask(&mut self, request: &str) -> Value {
        self.send(request).await;
        loop {
            let message = self.json().await;
            if message.get("re").is_some() {
                return message;
            }
        }
    }

    /// The next without being requested message of a type.
    pub(crate) async fn news(&mut self, kind: &str) -> Value {
        loop {
            let message = self.json().await;
            if message["type"] == kind {
                return message;
            }
        }
    }

    /// The code with which the server closes, whatever comes before.
    pub(crate) async fn close_code(&mut self) -> CloseCode {
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
pub(crate) const HANDSHAKE: &str = "GET /v1/stream HTTP/1.1\r\nHost: x\r\n\
    Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// A client's frame with up to 125 bytes; `first` is the byte of FIN and opcode.
pub(crate) fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    const MASK: [u8; 4] = [0x12, 0xff, 0, 0x7e];
    let mut bytes = vec![first, 0x80 | payload.len() as u8];
    bytes.extend(MASK);
    bytes.extend(payload.iter().zip(MASK.iter().cycle()).map(|(a, b)| a ^ b));
    bytes
}

/// Reads until `bytes` end with `end`.
pub(crate) async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(end.as_bytes()) {
        let count = soon(stream.read_buf(&mut bytes)).await.unwrap();
        assert!(
            count > 0,
            "ended with {:?}",
            String::from_utf8_lossy(&bytes)
        );
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// One GET on a connection of its own: status and body.
pub(crate) async fn get(address: SocketAddr, target: &str) -> (u16, String) {
    let request = format!("GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let response = raw(address, request.as_bytes()).await;
    let status = response.split(' ').nth(1).unwrap().parse().unwrap();
    let (_, body) = response.split_once("\r\n\r\n").unwrap();
    (status, body.to_owned())
}

/// Sends bytes on a connection of their own and returns all that comes back.
pub(crate) async fn raw(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut response = Vec::new();
    soon(stream.read_to_end(&mut response)).await.unwrap();
    String::from_utf8(response).unwrap()
}
