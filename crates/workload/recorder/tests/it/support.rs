//! Servers with a script, clients, and recorders between them.
//!
//! The servers' threads live as long as the test binary: there is nothing they could keep it from.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail their test")]

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use recorder::{Authority, Limits, Recorder, Recording, Settings};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned,
};
use serde_json::Value;

/// Longer than anything here takes unless it hangs.
const TIMEOUT: Duration = Duration::from_secs(20);

#[expect(clippy::disallowed_methods, reason = "clients verify certificates by the wall clock")]
pub(crate) fn now() -> Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap()
}

pub(crate) fn authority() -> Authority {
    Authority::new(now()).unwrap()
}

/// A recorder, and the certificate of its authority.
pub(crate) fn recorder_with(
    limits: Limits,
    trusted: Vec<(String, Vec<u8>)>,
) -> (Recorder, CertificateDer<'static>) {
    let authority = authority();
    let certificate = authority.certificate().clone();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let settings = Settings { address, authority, limits, trusted, now: now() };
    (Recorder::start(settings).unwrap(), certificate)
}

pub(crate) fn recorder_trusting(
    trusted: Vec<(String, Vec<u8>)>,
) -> (Recorder, CertificateDer<'static>) {
    recorder_with(Limits::default(), trusted)
}

pub(crate) fn recorder() -> Recorder {
    recorder_trusting(Vec::new()).0
}

/// Ends a recording; its entries.
pub(crate) fn record(recorder: Recorder) -> Vec<Value> {
    entries(&recorder.finish())
}

pub(crate) fn entries(recording: &Recording) -> Vec<Value> {
    let archive: Value = serde_json::from_str(&recording.har()).unwrap();
    archive["log"]["entries"].as_array().unwrap().clone()
}

/// Plays `script` to every connection, each on a thread. Its errors are the client's doing.
pub(crate) fn server(
    script: impl Fn(TcpStream) -> io::Result<()> + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let script = Arc::new(script);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let script = Arc::clone(&script);
            std::thread::spawn(move || script(stream));
        }
    });
    address
}

/// An HTTPS server with a certificate that nobody has signed but itself.
pub(crate) struct Tls {
    pub(crate) address: SocketAddr,
    pub(crate) pem: Vec<u8>,
}

impl Tls {
    pub(crate) fn server(
        script: impl Fn(&mut StreamOwned<ServerConnection, TcpStream>) -> io::Result<()>
        + Send
        + Sync
        + 'static,
    ) -> Tls {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let key = PrivateKeyDer::Pkcs8(signing_key.serialize_der().into());
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap();
        let config = Arc::new(config);
        let address = server(move |stream| {
            let session = ServerConnection::new(Arc::clone(&config)).map_err(io::Error::other)?;
            script(&mut StreamOwned::new(session, stream))
        });
        Tls { address, pem: cert.pem().into_bytes() }
    }
}

/// A connection to the recorder.
pub(crate) fn connect(recorder: &Recorder) -> TcpStream {
    let stream = TcpStream::connect(recorder.address()).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// A tunnel through the recorder.
pub(crate) fn tunnel(recorder: &Recorder, address: SocketAddr) -> TcpStream {
    let mut stream = connect(recorder);
    write!(stream, "CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let head = read_head(&mut stream).unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    stream
}

/// TLS of a client that trusts one certificate.
pub(crate) fn tls_client(
    stream: TcpStream,
    name: &'static str,
    trusted: &CertificateDer<'static>,
) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    // As browsers do. The recorder has to choose the second.
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let name = ServerName::try_from(name).unwrap();
    StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), stream)
}

/// A head, up to the empty line; nothing at the end.
pub(crate) fn read_head(stream: &mut impl Read) -> io::Result<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte)? == 0 {
            break;
        }
        head.push(byte[0]);
    }
    String::from_utf8(head).map_err(io::Error::other)
}

pub(crate) fn body(stream: &mut impl Read, length: usize) -> Vec<u8> {
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    body
}

/// A request of a client for the recorder.
pub(crate) fn get(address: SocketAddr, path: &str) -> String {
    format!("GET http://{address}{path} HTTP/1.1\r\nHost: {address}\r\n\r\n")
}

/// Sends a request; the response, whose length its head says.
pub(crate) fn exchange(stream: &mut (impl Read + Write), request: &str) -> String {
    stream.write_all(request.as_bytes()).unwrap();
    stream.flush().unwrap();
    let head = read_head(stream).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let body = body(stream, length.unwrap_or_else(|| panic!("{head}")).parse().unwrap());
    head + &String::from_utf8(body).unwrap()
}

/// Waits for what happens on another thread.
pub(crate) fn wait_until(holds: impl Fn() -> bool) {
    let (_open, never) = channel::<()>();
    for _ in 0..2000 {
        if holds() {
            return;
        }
        // Nobody sends: the time passes.
        let _ = never.recv_timeout(Duration::from_millis(10));
    }
    panic!("it did not happen");
}
