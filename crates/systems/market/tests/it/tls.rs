//! The market by TLS, spoken to by the clients of others: handshakes of all kinds, broadcasts, slow readers, the end.

mod openssl;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use market::MarketOptions;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use server::TlsFiles;
use tempfile::TempDir;
use testkit::client::Client;
use testkit::http::{raw, soon};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::support::{
    Fan, JOIN, Market, PREDICT, calm, fall_behind_and_catch_up, for_slow_readers, refused,
};

/// A certificate for localhost, and clients that trust it.
pub(crate) struct Secure {
    pub(crate) folder: TempDir,
    pub(crate) client: Arc<ClientConfig>,
}

impl Secure {
    pub(crate) fn new() -> Self {
        let made = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let CertifiedKey { cert, signing_key } = made;
        let folder = tempfile::tempdir().unwrap();
        let files = Self::files(folder.path());
        std::fs::write(&files.certificate, cert.pem()).unwrap();
        std::fs::write(&files.key, signing_key.serialize_pem()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(cert.der().clone()).unwrap();
        let client = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let client = Arc::new(client);
        Self { folder, client }
    }

    pub(crate) fn files(folder: &Path) -> TlsFiles {
        TlsFiles { certificate: folder.join("server.pem"), key: folder.join("server.key") }
    }

    async fn start(&self, mut options: MarketOptions) -> Market {
        options.server.tls = Some(Self::files(self.folder.path()));
        Market::start(options).await
    }

    async fn connect(&self, market: &Market) -> TlsStream<TcpStream> {
        let stream = TcpStream::connect(market.address).await.unwrap();
        let connector = TlsConnector::from(Arc::clone(&self.client));
        let name = "localhost".try_into().unwrap();
        soon(connector.connect(name, stream)).await.unwrap()
    }

    async fn open(&self, market: &Market) -> Client<TlsStream<TcpStream>> {
        let stream = self.connect(market).await;
        let url = "wss://localhost/v1/stream";
        let (socket, _) = soon(client_async(url, stream)).await.unwrap();
        Client { socket }
    }

    /// The whole answer to a request, whose end is the proper one of TLS.
    async fn get(&self, market: &Market, target: &str) -> String {
        let mut stream = self.connect(market).await;
        let request = format!("GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        soon(stream.read_to_string(&mut answer)).await.unwrap();
        answer
    }

    async fn metric(&self, market: &Market, name: &str) -> f64 {
        let text = self.get(market, "/metrics").await;
        let mut lines = text.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.unwrap().parse().unwrap()
    }
}

#[tokio::test]
async fn websockets_and_plain_http_have_tls() {
    let secure = Secure::new();
    let mut options = calm();
    // A reply longer than a record.
    options.games = 500;
    let market = secure.start(options).await;
    let mut fan = secure.open(&market).await;
    assert_eq!(fan.request(JOIN).await["game"], "g1");
    let games = fan.request(r#"{"op":"games"}"#).await;
    assert_eq!(games["games"].as_array().unwrap().len(), 500);
    let predict = r#"{"op":"predict","pool":"p1","option":"home","amount":7}"#;
    assert_eq!(fan.request(predict).await["accepted"], true);
    assert_eq!(fan.news("distribution").await["total"], 7);
    let hello = secure.get(&market, "/hello").await;
    assert!(hello.starts_with("HTTP/1.1 200 "), "{hello}");
    assert_eq!(secure.metric(&market, "market_connections").await, 1.0);
    // Several requests on one connection, in pieces.
    let mut stream = secure.connect(&market).await;
    for piece in [1, 7, 100] {
        for bytes in b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n".chunks(piece) {
            stream.write_all(bytes).await.unwrap();
            stream.flush().await.unwrap();
        }
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\nok\n") {
            assert!(soon(stream.read_buf(&mut answer)).await.unwrap() > 0);
        }
    }
    assert_eq!(secure.metric(&market, "market_tls_failures_total").await, 0.0);
}

#[tokio::test]
async fn handshakes_that_are_late_or_wrong_end() {
    let secure = Secure::new();
    let mut options = calm();
    options.opening_timeout = Duration::from_millis(400);
    let market = secure.start(options).await;
    let mut fan = secure.open(&market).await;
    // One that says nothing, one that stops within the handshake, and one that stops behind it.
    let mut silent = TcpStream::connect(market.address).await.unwrap();
    let mut half = TcpStream::connect(market.address).await.unwrap();
    half.write_all(&[22, 3, 1, 1, 0, 1, 0]).await.unwrap();
    let mut mute = secure.connect(&market).await;
    for stream in [&mut silent, &mut half] {
        assert_eq!(soon(stream.read(&mut [0; 8])).await.unwrap(), 0);
    }
    assert_eq!(soon(mute.read(&mut [0; 8])).await.unwrap(), 0);
    assert_eq!(secure.metric(&market, "market_opening_timeouts_total").await, 3.0);
    // Who speaks no TLS learns that it must.
    let plain = raw(market.address, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(plain.starts_with("HTTP/1.1 400 "), "{plain}");
    assert!(plain.ends_with("\r\n\r\nthis port speaks TLS: use https:// and wss://\n"), "{plain}");
    // Garbage, and a record that is too long, get an alert.
    for garbage in [&[0x99; 4000][..], &[22, 3, 1, 0xff, 0xff]] {
        let mut stream = TcpStream::connect(market.address).await.unwrap();
        stream.write_all(garbage).await.unwrap();
        let mut answer = Vec::new();
        soon(stream.read_to_end(&mut answer)).await.unwrap();
        assert_eq!((answer.first(), answer.len()), (Some(&21), 7), "{answer:?}");
    }
    assert_eq!(secure.metric(&market, "market_tls_failures_total").await, 3.0);
    assert_eq!(fan.request(r#"{"op":"leave"}"#).await["re"], "leave");
}

#[tokio::test]
async fn everyone_gets_the_same_message_once_by_tls() {
    let secure = Secure::new();
    let market = secure.start(calm()).await;
    let mut fans = Vec::new();
    // Several lots.
    for _ in 0..150 {
        let mut fan = secure.open(&market).await;
        fan.request(JOIN).await;
        fans.push(fan);
    }
    for total in 1..=5 {
        fans[0].request(PREDICT).await;
        for fan in &mut fans {
            let news = fan.json().await;
            assert_eq!((&news["total"], &news["seq"]), (&total.into(), &total.into()));
        }
    }
}

/// What is sealed goes out in that order; what is not sealed yet is superseded.
#[tokio::test]
async fn a_slow_reader_by_tls_catches_up() {
    let secure = Secure::new();
    let market = secure.start(for_slow_readers()).await;
    let mut slow = secure.open(&market).await;
    slow.request(JOIN).await;
    let mut fan = secure.open(&market).await;
    fan.request(JOIN).await;
    let superseded = async || {
        let name = "market_distributions_superseded_total";
        secure.metric(&market, name).await
    };
    fall_behind_and_catch_up(&mut slow, &mut fan, superseded).await;
    assert_eq!(secure.metric(&market, "market_slow_disconnects_total").await, 0.0);
}

#[tokio::test]
async fn readers_that_read_nothing_are_given_up_by_tls() {
    let secure = Secure::new();
    let mut options = calm();
    options.batch = Duration::from_millis(1);
    options.missed_max = 3;
    options.broadcast_size = 1 << 18;
    let market = secure.start(options).await;
    let mut slow = secure.open(&market).await;
    slow.request(JOIN).await;
    let mut fan = secure.open(&market).await;
    let given_up = async {
        while secure.metric(&market, "market_slow_disconnects_total").await < 1.0 {
            fan.request(PREDICT).await;
        }
    };
    soon(given_up).await;
}

/// The last words are those of the WebSocket, then of TLS; an end without the latter would be an error of the client.
#[tokio::test]
async fn a_stop_ends_tls_properly() {
    let secure = Secure::new();
    let market = secure.start(calm()).await;
    let mut fan = secure.open(&market).await;
    let stopping = market.stop();
    assert_eq!(fan.close_code().await, CloseCode::Away);
    let mut stream = fan.socket.into_inner();
    assert_eq!(soon(stream.read(&mut [0; 8])).await.unwrap(), 0);
    drop(stream);
    assert_eq!(stopping.report().await.connections_cut, 0);
}

#[tokio::test]
async fn a_key_of_another_certificate_is_refused_at_the_start() {
    let secure = Secure::new();
    let other = Secure::new();
    let mut options = calm();
    options.server.tls = Some(TlsFiles {
        key: Secure::files(other.folder.path()).key,
        ..Secure::files(secure.folder.path())
    });
    let refused = refused(options).await.to_string();
    assert!(refused.contains("does not belong to the certificate in"), "{refused}");
}
