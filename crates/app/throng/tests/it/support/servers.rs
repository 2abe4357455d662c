//! Servers with a script, built from the standard library and the ecosystem's codecs.
//!
//! Their threads live as long as the test binary: there is nothing they could keep it from.

use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use tungstenite::WebSocket;

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

/// Does nothing for this long.
pub(crate) fn pass(time: Duration) {
    let (_open, never) = channel::<()>();
    // Nobody sends: the time passes.
    let _ = never.recv_timeout(time);
}

/// Reads a request's head.
pub(crate) fn read_head(stream: &mut impl Read) -> io::Result<()> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(())
}

/// Answers the handshake of a WebSocket.
pub(crate) fn websocket(stream: TcpStream) -> io::Result<WebSocket<TcpStream>> {
    tungstenite::accept(stream).map_err(|error| io::Error::other(error.to_string()))
}

/// A port of 127.0.0.1 that is taken, so that nobody gets it, and where nobody listens.
pub(crate) struct Nobody {
    _socket: OwnedFd,
    pub(crate) address: SocketAddr,
}

impl Nobody {
    pub(crate) fn new() -> Nobody {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        let address = getsockname(&socket).unwrap().try_into().unwrap();
        Nobody { _socket: socket, address }
    }
}

/// An HTTPS server with a certificate that nobody has signed but itself.
pub(crate) struct Tls {
    pub(crate) address: SocketAddr,
    /// The certificate, PEM.
    pub(crate) certificate: String,
}

impl Tls {
    /// Plays `script` behind TLS.
    pub(crate) fn server(
        script: impl Fn(&mut StreamOwned<ServerConnection, TcpStream>) -> io::Result<()>
        + Send
        + Sync
        + 'static,
    ) -> Tls {
        Tls::server_for(None, script)
    }

    /// The same for clients alone that have a certificate of this authority.
    pub(crate) fn server_for(
        authority: Option<CertificateDer<'static>>,
        script: impl Fn(&mut StreamOwned<ServerConnection, TcpStream>) -> io::Result<()>
        + Send
        + Sync
        + 'static,
    ) -> Tls {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
        let key = PrivateKeyDer::Pkcs8(signing_key.serialize_der().into());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = match authority {
            None => builder.with_no_client_auth(),
            Some(authority) => {
                let mut roots = RootCertStore::empty();
                roots.add(authority).unwrap();
                let roots = Arc::new(roots);
                let clients = WebPkiClientVerifier::builder_with_provider(roots, provider);
                builder.with_client_cert_verifier(clients.build().unwrap())
            }
        };
        let config = builder.with_single_cert(vec![cert.der().clone()], key).unwrap();
        let config = Arc::new(config);
        let address = server(move |stream| {
            let session = ServerConnection::new(Arc::clone(&config)).map_err(io::Error::other)?;
            script(&mut StreamOwned::new(session, stream))
        });
        Tls { address, certificate: cert.pem() }
    }
}
