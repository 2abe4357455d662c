//! Why a system could not be served.

use std::io;
use std::net::SocketAddr;

use crate::tls::TlsError;

/// Why a system could not be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// An option has an invalid value.
    #[error("{0}")]
    Options(&'static str),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The requested address.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// The certificate or its key cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A thread crashed.
    #[error("a thread crashed")]
    Crashed,
    /// Runtime, signals or limits cannot be set up.
    #[error("cannot set up the process")]
    Process(#[source] io::Error),
}
