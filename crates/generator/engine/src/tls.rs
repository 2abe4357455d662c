//! TLS of a client as a transformation of bytes: ciphertext in, plaintext out, and back.

mod own;

use std::io::{Read, Write};
use std::sync::Arc;

use plan::{EndpointId, HttpVersion, Plan, TlsResumption};
use record::Outcome;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig, ClientConnection, Error, HandshakeKind};

use trust::describe;

use crate::tables::slots::UserKey;
use own::OwnSessions;

#[cfg(test)]
pub(crate) use own::{ServerSessions, TICKETS_MAX};

/// HTTP/2 among the names of protocols (RFC 7301, RFC 9113 §3.1).
const HTTP2: &[u8] = b"h2";

/// The configuration from which TLS sessions of a shard are made.
#[derive(Debug)]
pub struct TlsClients {
    config: Option<Arc<ClientConfig>>,
    /// The same, with what connections offer that may speak HTTP/2.
    http2: Option<Arc<ClientConfig>>,
    /// By endpoint; `None` for plain TCP.
    names: Vec<Option<ServerName<'static>>>,
    /// Sessions to resume, where each user has its own.
    own: Option<Arc<OwnSessions>>,
}

impl TlsClients {
    /// The error is a name that no certificate can be for.
    pub fn new(plan: &Plan, config: Option<Arc<ClientConfig>>) -> Result<TlsClients, String> {
        let names = plan.endpoints.iter().map(|endpoint| {
            if !endpoint.tls {
                return Ok(None);
            }
            let own = plan.options.tls.server_name.as_ref();
            let name = own.unwrap_or(&endpoint.host).clone();
            ServerName::try_from(name.clone()).map(Some).map_err(|_| name)
        });
        let names = names.collect::<Result<_, _>>()?;
        let offered: &[&[u8]] = match plan.options.http {
            HttpVersion::Http1 => &[],
            HttpVersion::Http2 => &[HTTP2],
            HttpVersion::Auto => &[HTTP2, b"http/1.1"],
        };
        let mut own = None;
        let config = config.map(|config| {
            let resumption = match plan.options.tls.resumption {
                // All that are made from one configuration have one store.
                TlsResumption::Shared => return config,
                TlsResumption::Off => Resumption::disabled(),
                TlsResumption::Own => {
                    Resumption::store(own.insert(Arc::new(OwnSessions::new())).clone())
                }
            };
            let mut changed = ClientConfig::clone(&config);
            changed.resumption = resumption;
            Arc::new(changed)
        });
        let http2 = config.as_ref().map(|config| {
            let mut own = ClientConfig::clone(config);
            own.alpn_protocols = offered.iter().map(|name| name.to_vec()).collect();
            Arc::new(own)
        });
        Ok(TlsClients { config, http2, names, own })
    }

    /// A connection of this user begins TLS next, or bytes of it are decrypted; `NONE`: users share it.
    #[inline]
    pub(crate) fn enter(&self, user: impl FnOnce() -> UserKey) {
        if let Some(own) = &self.own {
            own.enter(user());
        }
    }

    /// The user is gone, and with it what it could resume.
    #[inline]
    pub(crate) fn forget(&self, user: UserKey) {
        if let Some(own) = &self.own {
            own.forget(user);
        }
    }

    /// A session with the endpoint; `None` for plain TCP. `may_be_http2`: that is offered if the plan
    /// wants it.
    pub fn session(
        &self,
        endpoint: EndpointId,
        may_be_http2: bool,
    ) -> Option<Result<Tls, TlsFailure>> {
        let name = self.names[endpoint.index()].as_ref()?;
        let config = match may_be_http2 {
            true => self.http2.as_ref()?,
            false => self.config.as_ref()?,
        };
        Some(Tls::new(config, name))
    }
}

/// One connection's TLS.
#[derive(Debug)]
pub struct Tls {
    session: ClientConnection,
}

/// Why TLS cannot continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFailure {
    /// As what it is counted.
    pub outcome: Outcome,
    /// The description by rustls.
    pub detail: String,
}

impl From<Error> for TlsFailure {
    fn from(error: Error) -> TlsFailure {
        let outcome = match &error {
            Error::InvalidCertificate(
                CertificateError::UnknownIssuer
                | CertificateError::Expired
                | CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYet
                | CertificateError::NotValidYetContext { .. }
                | CertificateError::NotValidForName
                | CertificateError::NotValidForNameContext { .. }
                | CertificateError::Revoked
                | CertificateError::BadSignature,
            ) => Outcome::TlsUntrusted,
            _ => Outcome::Tls,
        };
        TlsFailure { outcome, detail: describe(&error) }
    }
}

/// A failure of in-memory reads and writes, which rustls reports for misuse only.
fn internal(error: &std::io::Error) -> TlsFailure {
    TlsFailure { outcome: Outcome::Tls, detail: error.to_string() }
}

impl Tls {
    /// A session with the server of this name; nothing is sent yet.
    pub fn new(config: &Arc<ClientConfig>, name: &ServerName<'static>) -> Result<Tls, TlsFailure> {
        let session = ClientConnection::new(Arc::clone(config), name.clone())?;
        Ok(Tls { session })
    }

    /// Both sides will speak HTTP/2.
    pub fn agreed_on_http2(&self) -> bool {
        self.session.alpn_protocol() == Some(HTTP2)
    }

    /// The handshake resumed a session.
    pub fn is_resumed(&self) -> bool {
        self.session.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// The handshake is not done.
    pub fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    /// Appends what the peer must be sent now.
    pub fn flush(&mut self, out: &mut Vec<u8>) -> Result<(), TlsFailure> {
        while self.session.wants_write() {
            self.session.write_tls(out).map_err(|e| internal(&e))?;
        }
        Ok(())
    }

    /// Encrypts `plain`, appending what the peer must be sent.
    pub fn send(&mut self, mut plain: &[u8], out: &mut Vec<u8>) -> Result<(), TlsFailure> {
        // The session buffers up to its limit; it is emptied between pieces.
        while !plain.is_empty() {
            let taken = self.session.writer().write(plain).map_err(|e| internal(&e))?;
            plain = &plain[taken..];
            self.flush(out)?;
        }
        Ok(())
    }

    /// Decrypts, appending plaintext to `plain` and answers of TLS itself to `out`. True once the
    /// peer has closed its side: what follows is no part of the session any more and is
    /// dropped (RFC 8446 §6.1).
    pub fn receive(
        &mut self,
        mut cipher: &[u8],
        plain: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<bool, TlsFailure> {
        let mut closed = false;
        while !closed && !cipher.is_empty() {
            self.session.read_tls(&mut cipher).map_err(|e| internal(&e))?;
            let state = match self.session.process_new_packets() {
                Ok(state) => state,
                Err(error) => {
                    // The alert states the reason to the peer; it is worth sending although we close.
                    self.flush(out)?;
                    return Err(error.into());
                }
            };
            let start = plain.len();
            plain.resize(start + state.plaintext_bytes_to_read(), 0);
            self.session.reader().read_exact(&mut plain[start..]).map_err(|e| internal(&e))?;
            self.flush(out)?;
            closed = state.peer_has_closed();
        }
        Ok(closed)
    }
}

#[cfg(test)]
mod tests {
    use rustls::ServerConnection;
    use rustls::pki_types::PrivateKeyDer;

    use super::*;

    /// A client and a server that know each other.
    fn pair() -> (Tls, ServerConnection) {
        let mut server = ServerConnection::new(server_config()).unwrap();
        let config = trust::client_config(trust::Verify::Nothing, &[], None).unwrap();
        let mut tls = Tls::new(&config, &"localhost".try_into().unwrap()).unwrap();
        let mut out = Vec::new();
        tls.flush(&mut out).unwrap();
        while tls.is_handshaking() || server.is_handshaking() {
            take(&mut server, &out);
            out.clear();
            tls.receive(&output(&mut server), &mut Vec::new(), &mut out).unwrap();
        }
        (tls, server)
    }

    fn server_config() -> Arc<rustls::ServerConfig> {
        let names = ["localhost".to_owned()];
        let own = rcgen::generate_simple_self_signed(names).unwrap();
        let key = PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![own.cert.der().clone()], key);
        Arc::new(config.unwrap())
    }

    fn take(server: &mut ServerConnection, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            server.read_tls(&mut bytes).unwrap();
            server.process_new_packets().unwrap();
        }
    }

    /// What the server sends now.
    fn output(server: &mut ServerConnection) -> Vec<u8> {
        let mut out = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut out).unwrap();
        }
        out
    }

    #[test]
    fn bytes_after_the_peers_close_are_dropped() {
        let (mut tls, mut server) = pair();
        server.writer().write_all(b"goodbye").unwrap();
        server.send_close_notify();
        let mut wire = output(&mut server);
        wire.extend_from_slice(&[0x17; 40_000]);
        let mut plain = Vec::new();
        let mut out = Vec::new();
        assert_eq!(tls.receive(&wire, &mut plain, &mut out), Ok(true));
        assert_eq!(plain, b"goodbye");
        assert_eq!(tls.receive(&[0x17; 40], &mut plain, &mut out), Ok(true));
        assert_eq!(plain, b"goodbye");
    }

    #[test]
    fn a_peer_that_sends_more_has_not_closed() {
        let (mut tls, mut server) = pair();
        server.writer().write_all(b"hello").unwrap();
        let mut plain = Vec::new();
        let mut out = Vec::new();
        let wire = output(&mut server);
        assert_eq!(tls.receive(&wire, &mut plain, &mut out), Ok(false));
        assert_eq!(plain, b"hello");
    }

    #[test]
    fn the_answer_of_a_plain_port_is_named() {
        let config = trust::client_config(trust::Verify::All, &[], None).unwrap();
        let mut tls = Tls::new(&config, &"localhost".try_into().unwrap()).unwrap();
        let mut out = Vec::new();
        tls.flush(&mut out).unwrap();
        let plain = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n";
        let failure = tls.receive(plain, &mut Vec::new(), &mut out).unwrap_err();
        let detail = "the server answered without TLS".to_owned();
        assert_eq!(failure, TlsFailure { outcome: Outcome::Tls, detail });
    }
}
