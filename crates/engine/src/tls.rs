//! TLS as a transformation of bytes: ciphertext in, plaintext out, and back.

use std::io::{Read, Write};
use std::sync::Arc;

use record::Outcome;
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig, ClientConnection, Error};

/// One connection's TLS.
#[derive(Debug)]
pub(crate) struct Tls {
    session: ClientConnection,
}

/// Why TLS cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TlsFailure {
    pub(crate) outcome: Outcome,
    pub(crate) detail: String,
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
        TlsFailure {
            outcome,
            detail: error.to_string(),
        }
    }
}

/// A failure of in-memory reads and writes, which rustls reports for misuse only.
fn internal(error: &std::io::Error) -> TlsFailure {
    TlsFailure {
        outcome: Outcome::Tls,
        detail: error.to_string(),
    }
}

impl Tls {
    pub(crate) fn new(
        config: &Arc<ClientConfig>,
        name: &ServerName<'static>,
    ) -> Result<Tls, TlsFailure> {
        let session = ClientConnection::new(Arc::clone(config), name.clone())?;
        Ok(Tls { session })
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    /// Appends what the peer must be sent now.
    pub(crate) fn flush(&mut self, out: &mut Vec<u8>) -> Result<(), TlsFailure> {
        while self.session.wants_write() {
            self.session.write_tls(out).map_err(|e| internal(&e))?;
        }
        Ok(())
    }

    /// Encrypts `plain`, appending what the peer must be sent.
    pub(crate) fn send(&mut self, mut plain: &[u8], out: &mut Vec<u8>) -> Result<(), TlsFailure> {
        // The session buffers up to its limit; it is emptied between pieces.
        while !plain.is_empty() {
            let taken = self
                .session
                .writer()
                .write(plain)
                .map_err(|e| internal(&e))?;
            plain = &plain[taken..];
            self.flush(out)?;
        }
        Ok(())
    }

    /// Decrypts, appending plaintext to `plain` and answers of TLS itself to `out`.
    pub(crate) fn receive(
        &mut self,
        mut cipher: &[u8],
        plain: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), TlsFailure> {
        while !cipher.is_empty() {
            self.session
                .read_tls(&mut cipher)
                .map_err(|e| internal(&e))?;
            let state = match self.session.process_new_packets() {
                Ok(state) => state,
                Err(error) => {
                    // The alert tells the peer why; it is worth sending though we hang up.
                    self.flush(out)?;
                    return Err(error.into());
                }
            };
            let start = plain.len();
            plain.resize(start + state.plaintext_bytes_to_read(), 0);
            self.session
                .reader()
                .read_exact(&mut plain[start..])
                .map_err(|e| internal(&e))?;
            self.flush(out)?;
        }
        Ok(())
    }
}
