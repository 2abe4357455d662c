//! TLS of the systems' own listeners: certificate and key from files, sessions between bytes and bytes ([`session`]),
//! and a stream for tasks ([`stream`]). The reactor keeps its sessions beside its table.

mod session;
mod stream;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;

pub(crate) use session::{Failure, PeerState, Session};
pub(crate) use stream::TlsStream;

/// Protocol inside TLS; clients may require it.
const ALPN: &[u8] = b"http/1.1";

/// PEM files by which a server identifies itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate, and those between it and its authority.
    pub certificate: PathBuf,
    /// The key of the certificate.
    pub key: PathBuf,
}

/// Why they cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file does not contain what it should.
    #[error("{}: {problem}", file.display())]
    Content {
        /// The file.
        file: PathBuf,
        /// The problem in words.
        problem: String,
    },
    /// Certificate and key do not belong together.
    #[error("the key in {} does not belong to the certificate in {}", key.display(), certificate.display())]
    Mismatch {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
}

impl TlsFiles {
    /// Reads both files.
    ///
    /// # Errors
    /// When one cannot be read or used, or when they do not belong together.
    pub fn load(&self) -> Result<Arc<ServerConfig>, TlsError> {
        let chain = trust::pem::certificates(&read(&self.certificate)?)
            .map_err(|problem| content(&self.certificate, &problem))?;
        let key =
            trust::pem::key(&read(&self.key)?).map_err(|problem| content(&self.key, &problem))?;
        let provider = Arc::new(ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
        let mut config = config.map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => {
                TlsError::Mismatch { certificate: self.certificate.clone(), key: self.key.clone() }
            }
            rustls::Error::InvalidCertificate(_) => content(&self.certificate, &error.to_string()),
            error => content(&self.key, &error.to_string()),
        })?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        // Resumption without memory here: what is to be remembered is with the client, sealed.
        if let Ok(ticketer) = ring::Ticketer::new() {
            config.ticketer = ticketer;
            config.send_tls13_tickets = 1;
        }
        Ok(Arc::new(config))
    }
}

fn content(file: &Path, problem: &str) -> TlsError {
    TlsError::Content { file: file.to_owned(), problem: problem.to_owned() }
}

fn read(file: &Path) -> Result<Vec<u8>, TlsError> {
    regular::read(file, trust::pem::FILE_BYTES_MAX)
        .map_err(|source| TlsError::Read { file: file.to_owned(), source })
}

#[cfg(test)]
mod tests;
