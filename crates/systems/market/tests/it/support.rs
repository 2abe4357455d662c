//! A market for one test, and requests to it.

use std::net::SocketAddr;
use std::time::Duration;

use market::{MarketError, MarketOptions, Report};
use serde_json::Value;
use testkit::client::Client;
use testkit::http::{get, soon};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;

/// Options without goals during a test, on one thread.
pub(crate) fn calm() -> MarketOptions {
    let mut options = MarketOptions::default();
    options.server.threads = 1;
    options.server.own_files = false;
    options.batch = Duration::from_millis(20);
    options.goal_every = Duration::from_secs(1_000_000);
    options
}

/// A join, and a prediction.
pub(crate) const JOIN: &str = r#"{"op":"join","game":"g1"}"#;
pub(crate) const PREDICT: &str = r#"{"op":"predict","pool":"p1","option":"home","amount":1}"#;

/// Options under which a slow reader is waited for, and misses distributions soon.
pub(crate) fn for_slow_readers() -> MarketOptions {
    let mut options = calm();
    options.batch = Duration::from_millis(1);
    options.missed_max = u32::MAX;
    // Makes replies long: they fill whatever the kernel holds.
    options.games = 500;
    options
}

/// Why a market with these options does not start.
pub(crate) async fn refused(options: MarketOptions) -> MarketError {
    let ready = Box::new(|_| panic!("it started"));
    let result = market::serve(options, ready, Box::pin(std::future::pending())).await;
    result.unwrap_err()
}

/// A running market.
pub(crate) struct Market {
    pub(crate) address: SocketAddr,
    shutdown: oneshot::Sender<()>,
    served: JoinHandle<Result<Report, MarketError>>,
}

impl Market {
    pub(crate) async fn start(options: MarketOptions) -> Self {
        let (shutdown, stop) = oneshot::channel();
        let (ready, address) = oneshot::channel();
        let ready = Box::new(move |address| ready.send(address).unwrap());
        let stopped = Box::pin(async { drop(stop.await) });
        let served = tokio::spawn(market::serve(options, ready, stopped));
        Self { address: soon(address).await.unwrap(), shutdown, served }
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
        Stopping { served: self.served }
    }

    /// A value of the metrics.
    pub(crate) async fn metric(&self, name: &str) -> f64 {
        let (_, text) = get(self.address, "/metrics").await;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
    }
}

pub(crate) struct Stopping {
    served: JoinHandle<Result<Report, MarketError>>,
}

impl Stopping {
    pub(crate) async fn report(self) -> Report {
        soon(self.served).await.unwrap().unwrap()
    }
}

/// What a fan does on a connection to the market.
pub(crate) trait Fan {
    /// Sends a request and returns the reply to it; pushed messages are skipped.
    async fn request(&mut self, request: &str) -> Value;

    /// The next pushed message of a type.
    async fn news(&mut self, kind: &str) -> Value;
}

impl<S: AsyncRead + AsyncWrite + Unpin> Fan for Client<S> {
    async fn request(&mut self, request: &str) -> Value {
        self.send(request).await;
        loop {
            let message = self.json().await;
            if message.get("re").is_some() {
                return message;
            }
        }
    }

    async fn news(&mut self, kind: &str) -> Value {
        loop {
            let message = self.json().await;
            if message["type"] == kind {
                return message;
            }
        }
    }
}

/// A client's frame with up to 125 bytes; `first` is the byte of FIN and opcode.
pub(crate) fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    const MASK: [u8; 4] = [0x12, 0xff, 0, 0x7e];
    let mut bytes = vec![first, 0x80 | payload.len() as u8];
    bytes.extend(MASK);
    bytes.extend(payload.iter().zip(MASK.iter().cycle()).map(|(a, b)| a ^ b));
    bytes
}

/// Two who joined the same game: one does not read until it missed some distributions, then gets all replies and, of
/// the distributions, the newest.
pub(crate) async fn fall_behind_and_catch_up<S: AsyncRead + AsyncWrite + Unpin>(
    slow: &mut Client<S>,
    fan: &mut Client<S>,
    superseded: impl AsyncFn() -> f64,
) {
    let mut requests = 0;
    let mut predicted = 0;
    let fill = async {
        while superseded().await < 5.0 {
            for id in requests..requests + 10 {
                let request = format!(r#"{{"op":"games","id":{id}}}"#);
                let bytes = frame(0x81, request.as_bytes());
                slow.socket.get_mut().write_all(&bytes).await.unwrap();
                slow.socket.get_mut().flush().await.unwrap();
            }
            requests += 10;
            fan.request(PREDICT).await;
            predicted += 1;
        }
    };
    soon(fill).await;

    let mut replies = 0;
    let mut seqs = Vec::new();
    let mut total = 0;
    while replies < requests || total < predicted {
        let Message::Text(text) = slow.message().await else {
            continue;
        };
        if let Some(reply) = text.strip_prefix(r#"{"re":"games","id":"#) {
            assert_eq!(reply.split(',').next().unwrap(), replies.to_string());
            replies += 1;
        } else {
            let news: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(news["type"], "distribution");
            seqs.push(news["seq"].as_u64().unwrap());
            total = news["total"].as_u64().unwrap();
        }
    }
    assert!(seqs.is_sorted_by(|a, b| a < b), "{seqs:?}");
    let missed = seqs.last().unwrap() - seqs.len() as u64;
    assert_eq!(missed as f64, superseded().await);
}
