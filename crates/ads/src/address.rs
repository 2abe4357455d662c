//! Addresses of database and cache: what is shown of them never holds their password.

use std::fmt;
use std::path::PathBuf;

/// What stands for a password wherever an address is shown.
const HIDDEN: &str = "***";

/// Where records are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreAddress {
    /// A SQLite file of this process alone.
    File(PathBuf),
    /// A database server.
    Server(ServerAddress),
}

/// A kind of server that is known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// MariaDB and MySQL.
    MySql,
    Postgres,
    Redis,
}

/// A server by its URL.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerAddress {
    pub(super) kind: Kind,
    url: String,
}

/// Why an address was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It names no database that keeps anything, or the URL's scheme is of none.
    #[error(
        "{0:?} is no database that is known here: a store is a file by its path, mysql://… or \
         postgres://…"
    )]
    Store(String),
    /// The URL's scheme is not that of Redis.
    #[error("{0:?} is no cache that is known here: a cache is redis://…, without TLS")]
    Cache(String),
    /// The client cannot read the URL.
    #[error("{shown} is no address of a {kind}: {problem}")]
    Url {
        /// Without its password.
        shown: String,
        /// What it should be of.
        kind: &'static str,
        /// What is wrong.
        problem: String,
    },
}

impl StoreAddress {
    /// `mysql://…`, `mariadb://…`, `postgres://…` and `postgresql://…` are servers, what has no `://`
    /// is the path of a file.
    ///
    /// # Errors
    /// On other schemes, on what the server's client cannot read, and on what SQLite would take for a
    /// database that nothing is kept of: nothing, `:memory:` and its own URLs.
    pub fn parse(text: &str) -> Result<StoreAddress, AddressError> {
        let Some((scheme, rest)) = text.split_once("://") else {
            if text.is_empty() || text == ":memory:" || text.starts_with("file:") {
                return Err(AddressError::Store(text.to_owned()));
            }
            return Ok(StoreAddress::File(text.into()));
        };
        let (kind, url) = match scheme {
            // The client knows the one name only.
            "mysql" | "mariadb" => (Kind::MySql, format!("mysql://{rest}")),
            "postgres" | "postgresql" => (Kind::Postgres, text.to_owned()),
            _ => return Err(AddressError::Store(scheme.to_owned())),
        };
        let address = ServerAddress { kind, url };
        super::database::check(&address)?;
        Ok(StoreAddress::Server(address))
    }
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
    /// A cache: `redis://…`.
    ///
    /// # Errors
    /// On other schemes, and on what the client cannot read.
    pub fn cache(text: &str) -> Result<ServerAddress, AddressError> {
        match text.split_once("://") {
            Some(("redis", _)) => {}
            Some((scheme, _)) => return Err(AddressError::Cache(scheme.to_owned())),
            None => return Err(AddressError::Cache(hidden(text))),
        }
        let address = ServerAddress {
            kind: Kind::Redis,
            url: text.to_owned(),
        };
        super::cache::check(&address)?;
        Ok(address)
    }

    /// With its password: for the client alone.
    pub(super) fn reveal(&self) -> &str {
        &self.url
    }

    /// What a client says, without the password, should it stand there.
    pub(super) fn hide_in(&self, text: &str) -> String {
        match password(&self.url) {
            Some(password) if !password.is_empty() => text.replace(password, HIDDEN),
            _ => text.to_owned(),
        }
    }

    /// An error of the address itself.
    pub(super) fn wrong(&self, problem: &str) -> AddressError {
        AddressError::Url {
            shown: self.to_string(),
            kind: match self.kind {
                Kind::MySql => "MariaDB or MySQL database",
                Kind::Postgres => "PostgreSQL database",
                Kind::Redis => "Redis",
            },
            problem: self.hide_in(problem),
        }
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hidden(&self.url))
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// What stands between the scheme and the host: user and password.
fn user_info(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    // A password may hold what should have been escaped: its end is the last @ of all.
    let (info, _) = rest.rsplit_once('@')?;
    Some(info)
}

fn password(url: &str) -> Option<&str> {
    Some(user_info(url)?.split_once(':')?.1)
}

/// The URL without its password and its query, either of which may hold secrets.
fn hidden(url: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_apart_by_their_scheme() {
        assert_eq!(
            StoreAddress::parse("a/b.sqlite"),
            Ok(StoreAddress::File("a/b.sqlite".into()))
        );
        for (text, kind) in [
            ("mysql://u:p@h:3306/db", Kind::MySql),
            ("mariadb://u:p@h/db", Kind::MySql),
            ("postgres://u:p@h/db", Kind::Postgres),
            ("postgresql://u:p@h:1/db", Kind::Postgres),
        ] {
            match StoreAddress::parse(text) {
                Ok(StoreAddress::Server(address)) => assert_eq!(address.kind, kind, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
        for text in [
            "http://h/db",
            "redis://h/",
            "sqlite://x",
            "",
            ":memory:",
            "file:x?mode=memory",
            "file:///x",
        ] {
            let error = StoreAddress::parse(text).unwrap_err();
            assert!(matches!(error, AddressError::Store(_)), "{error}");
        }
        assert!(ServerAddress::cache("redis://:p@h:6379/2").is_ok());
        for text in ["", "rediss://h/", "h:6379", "mysql://h/db"] {
            let error = ServerAddress::cache(text).unwrap_err();
            assert!(matches!(error, AddressError::Cache(_)), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_and_no_password_is_told() {
        for text in [
            "mysql://me:hunter2@host:notaport/db",
            "mysql://me:hunter2@host:3306/",
            "mysql://me:hunter2@host/db?no_such_option=hunter2",
            "postgres://me:hunter2@host:notaport/db",
            "postgres://me:hunter2@host/",
            "postgres://me:hunter2@host/db?sslmode=require",
        ] {
            let error = StoreAddress::parse(text).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
            assert!(error.contains("host"), "{error}");
        }
        let error = ServerAddress::cache("redis://:hunter2@host:notaport/").unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
        for (url, shown) in [
            ("redis://:secret@h:1/2", "redis://:***@h:1/2"),
            ("redis://h:1/2?password=x", "redis://h:1/2"),
            ("mysql://u:a@b:c@h/db?x=y", "mysql://u:***@h/db"),
            ("postgres://u@h/db", "postgres://u@h/db"),
        ] {
            assert_eq!(hidden(url), shown);
        }
        let Ok(StoreAddress::Server(address)) = StoreAddress::parse("mysql://u:hunter2@h/db")
        else {
            panic!("it is a server's");
        };
        assert_eq!(format!("{address:?}"), "mysql://u:***@h/db");
        assert_eq!(address.hide_in("no hunter2 here"), "no *** here");
    }
}
