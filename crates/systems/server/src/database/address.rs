//! Addresses of databases and caches. They are never shown with their passwords.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use trust::ClientConfig;

use crate::secret::{HIDDEN, redacted};

/// Location of a system's data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreAddress {
    /// A SQLite file, used by this process only.
    File(PathBuf),
    /// A database server.
    Server(ServerAddress),
}

/// A kind of database server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseKind {
    /// MariaDB and MySQL.
    MySql,
    /// PostgreSQL.
    Postgres,
    /// Redis.
    Redis,
}

/// A server's URL.
#[derive(Clone)]
pub struct ServerAddress {
    kind: DatabaseKind,
    url: String,
    /// The TLS that the URL wants, for clients that take it.
    tls: Option<Arc<ClientConfig>>,
}

impl PartialEq for ServerAddress {
    fn eq(&self, other: &Self) -> bool {
        // The URL says everything.
        (self.kind, &self.url) == (other.kind, &other.url)
    }
}

impl Eq for ServerAddress {}

/// Why an address was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It names no database that keeps data, or the URL has another scheme.
    #[error("{0:?} is not a supported store: give the path of a file, mysql://… or postgres://…")]
    Store(String),
    /// The URL's scheme is not that of Redis.
    #[error("{0:?} is not a supported cache: give redis://… or rediss://…")]
    Cache(String),
    /// The client cannot read the URL.
    #[error("{shown} is not the address of a {kind}: {problem}")]
    Url {
        /// Without its password.
        shown: String,
        /// The kind that was expected.
        kind: &'static str,
        /// The reason.
        problem: String,
    },
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreAddress::File(path) => write!(f, "{}", path.display()),
            StoreAddress::Server(address) => write!(f, "{address}"),
        }
    }
}

impl ServerAddress {
    /// An address that was not checked.
    pub(super) fn new(kind: DatabaseKind, url: String) -> Self {
        Self { kind, url, tls: None }
    }

    pub(super) fn with_tls(self, tls: Option<Arc<ClientConfig>>) -> Self {
        Self { tls, ..self }
    }

    pub(super) fn tls(&self) -> Option<&Arc<ClientConfig>> {
        self.tls.as_ref()
    }

    /// Kind of the server.
    #[must_use]
    pub fn kind(&self) -> DatabaseKind {
        self.kind
    }

    /// The URL with its password, for the client only.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.url
    }

    /// A client's message [without the password](redacted), as it is and as the URL has it.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        let text = text.replace(&self.url, &self.to_string());
        let written = password(&self.url).unwrap_or_default();
        let text = redacted(&text, written);
        match trust::decoded(written) {
            same if same == written => text,
            plain => redacted(&text, &plain),
        }
    }

    /// An error about the address itself.
    pub(super) fn invalid(&self, problem: &str) -> AddressError {
        AddressError::Url {
            shown: self.to_string(),
            kind: match self.kind {
                DatabaseKind::MySql => "MariaDB or MySQL database",
                DatabaseKind::Postgres => "PostgreSQL database",
                DatabaseKind::Redis => "Redis",
            },
            problem: self.redact(problem),
        }
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_secrets(&self.url))
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// User and password, between the scheme and the host.
fn user_info(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    // A password may contain unescaped characters: it ends at the last @.
    let (info, _) = rest.rsplit_once('@')?;
    Some(info)
}

fn password(url: &str) -> Option<&str> {
    Some(user_info(url)?.split_once(':')?.1)
}

/// The URL without its password and its query, either of which may contain secrets.
pub(super) fn without_secrets(url: &str) -> String {
    let Some(info) = user_info(url) else {
        return url.split('?').next().unwrap_or_default().to_owned();
    };
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let behind = rest[info.len()..].split('?').next().unwrap_or_default();
    match info.split_once(':') {
        Some((user, _)) => format!("{scheme}://{user}:{HIDDEN}{behind}"),
        None => format!("{scheme}://{info}{behind}"),
    }
}
