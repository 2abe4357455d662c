//! The chat, spoken to by independent clients over every transport.

mod cable;
mod cursors;
mod phoenix;
mod polling;
mod slow;
mod socket;
mod store;
mod streaming;

use std::net::SocketAddr;

use serde_json::Value;
use targets::chat::{self, ChatError, ChatOptions, Report};
use testkit::client::Client;
use testkit::http::{get, raw, soon};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::Response;

/// Options for a test: one thread without files of its own.
fn options() -> ChatOptions {
    let mut options = ChatOptions::default();
    options.server.threads = 1;
    options.server.own_files = false;
    options
}

/// A running chat.
struct Chat {
    address: SocketAddr,
    shutdown: oneshot::Sender<()>,
    served: JoinHandle<Result<Report, ChatError>>,
}

impl Chat {
    async fn start(options: ChatOptions) -> Self {
        let (shutdown, stop) = oneshot::channel();
        let (ready, address) = oneshot::channel();
        let ready = Box::new(move |address| ready.send(address).unwrap());
        let stopped = Box::pin(async { drop(stop.await) });
        let served = tokio::spawn(chat::serve(options, ready, stopped));
        Self { address: soon(address).await.unwrap(), shutdown, served }
    }

    async fn connect(&self, target: &str) -> Client {
        Client::open(self.address, target).await
    }

    /// A WebSocket that offers subprotocols, and the answer to its handshake.
    async fn offer(&self, target: &str, protocols: &'static str) -> (Client, Response) {
        let stream = tokio::net::TcpStream::connect(self.address).await.unwrap();
        let url = format!("ws://{}{target}", self.address);
        let mut request = url.into_client_request().unwrap();
        let offered = protocols.parse().unwrap();
        request.headers_mut().insert("Sec-WebSocket-Protocol", offered);
        let (socket, response) = soon(client_async(request, stream)).await.unwrap();
        (Client { socket }, response)
    }

    /// Status and body of a GET, as JSON.
    async fn json(&self, target: &str) -> (u16, Value) {
        let (status, body) = get(self.address, target).await;
        (status, serde_json::from_str(&body).unwrap())
    }

    /// Status and body of a POST, as JSON.
    async fn post(&self, target: &str, kind: &str, body: &str) -> (u16, Value) {
        let request = format!(
            "POST {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: {kind}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let response = raw(self.address, request.as_bytes()).await;
        let status = response.split(' ').nth(1).unwrap().parse().unwrap();
        let (_, body) = response.split_once("\r\n\r\n").unwrap();
        (status, serde_json::from_str(body).unwrap())
    }

    /// Says something over HTTP; the message's number.
    async fn speak(&self, room: &str, message: &str) -> u64 {
        let target = format!("/chat/speak?room={room}");
        let body = serde_json::json!({"message": message, "from": "ann"}).to_string();
        let (status, answer) = self.post(&target, "application/json", &body).await;
        assert_eq!(status, 200, "{answer}");
        answer["id"].as_u64().unwrap()
    }

    async fn metric(&self, name: &str) -> f64 {
        let (_, text) = get(self.address, "/metrics").await;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let line = line.unwrap_or_else(|| panic!("no {name} in {text}"));
        line.parse().unwrap()
    }

    /// Waits until a figure is at least so much.
    async fn until(&self, name: &str, least: f64) {
        let reached = async {
            while self.metric(name).await < least {
                tokio::task::yield_now().await;
            }
        };
        soon(reached).await;
    }

    fn begin_stop(self) -> JoinHandle<Result<Report, ChatError>> {
        self.shutdown.send(()).unwrap();
        self.served
    }

    async fn stop(self) -> Report {
        soon(self.begin_stop()).await.unwrap().unwrap()
    }
}

/// The numbers of messages.
fn ids(messages: &Value) -> Vec<u64> {
    let messages = messages.as_array().unwrap().iter();
    messages.map(|m| m["id"].as_u64().unwrap()).collect()
}
