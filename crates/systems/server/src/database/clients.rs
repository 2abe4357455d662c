//! Reading addresses, and connecting to them.

use std::time::Duration;

use super::address::{AddressError, DatabaseKind, ServerAddress, StoreAddress, without_secrets};
use super::sql::{Sql, SqlError};
use super::{mysql, postgres, tls};

impl StoreAddress {
    /// `mysql://…`, `mariadb://…`, `postgres://…` and `postgresql://…` are servers; a text without `://`
    /// is the path of a file.
    ///
    /// # Errors
    /// On other schemes, on URLs that the client cannot read, and on paths that SQLite would interpret as
    /// databases that keep nothing: the empty one, `:memory:` and its own URLs.
    pub fn parse(text: &str) -> Result<StoreAddress, AddressError> {
        let Some((scheme, rest)) = text.split_once("://") else {
            if text.is_empty() || text == ":memory:" || text.starts_with("file:") {
                return Err(AddressError::Store(text.to_owned()));
            }
            return Ok(StoreAddress::File(text.into()));
        };
        let (kind, url) = match scheme {
            // The client knows this name only.
            "mysql" | "mariadb" => (DatabaseKind::MySql, format!("mysql://{rest}")),
            "postgres" | "postgresql" => (DatabaseKind::Postgres, text.to_owned()),
            _ => return Err(AddressError::Store(scheme.to_owned())),
        };
        let address = ServerAddress::new(kind, url);
        match kind {
            DatabaseKind::MySql => mysql::options(&address).map(drop)?,
            DatabaseKind::Postgres => postgres::config(&address).map(drop)?,
            DatabaseKind::Redis => {}
        }
        Ok(StoreAddress::Server(tls::load(address)?))
    }
}

impl ServerAddress {
    /// A cache: `redis://…`, or `rediss://…` for TLS.
    ///
    /// # Errors
    /// On other schemes, and on URLs that the client cannot read.
    pub fn cache(text: &str) -> Result<ServerAddress, AddressError> {
        match text.split_once("://") {
            Some(("redis" | "rediss", _)) => {}
            Some((scheme, _)) => return Err(AddressError::Cache(scheme.to_owned())),
            None => return Err(AddressError::Cache(without_secrets(text))),
        }
        let address = ServerAddress::new(DatabaseKind::Redis, text.to_owned());
        address.redis_client().map(|_| address)
    }

    /// The client of a cache.
    ///
    /// # Errors
    /// As [`ServerAddress::cache`].
    pub fn redis_client(&self) -> Result<redis::Client, AddressError> {
        tls::redis_client(self)
    }

    /// Text of an error of that client, without the password.
    #[must_use]
    pub fn redis_problem(&self, error: &redis::RedisError) -> String {
        self.redact(&tls::redis_problem(error).unwrap_or_else(|| error.to_string()))
    }
}

/// Makes this many connections at once: one after the other, they would take as many round trips as one of them, times
/// their number.
///
/// # Errors
/// The first that `connect` returns.
pub fn connect_all<T: Send, E: Send>(
    count: usize,
    connect: impl Fn() -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|_| scope.spawn(&connect)).collect();
        let ended = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        ended.map(|ended| ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

/// Opens a connection under the name of an application; neither that nor an answer takes longer than `limit`.
///
/// # Errors
/// When the server cannot be reached or refuses, without the password.
pub fn connect(
    address: &ServerAddress,
    application: &str,
    limit: Duration,
) -> Result<Box<dyn Sql + Send>, SqlError> {
    let connected: Result<Box<dyn Sql + Send>, SqlError> = match address.kind() {
        DatabaseKind::MySql => mysql::connect(address, limit).map(|it| Box::new(it) as _),
        DatabaseKind::Postgres => {
            postgres::connect(address, application, limit).map(|it| Box::new(it) as _)
        }
        DatabaseKind::Redis => Err(SqlError::Refused("Redis does not speak SQL".to_owned())),
    };
    connected.map_err(|error| match error {
        SqlError::Lost(what) => SqlError::Lost(address.redact(&what)),
        SqlError::Refused(what) => SqlError::Refused(address.redact(&what)),
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_distinguished_by_their_scheme() {
        assert_eq!(StoreAddress::parse("a/b.sqlite"), Ok(StoreAddress::File("a/b.sqlite".into())));
        for (text, kind) in [
            ("mysql://u:p@h:3306/db", DatabaseKind::MySql),
            ("mariadb://u:p@h/db", DatabaseKind::MySql),
            ("postgres://u:p@h/db", DatabaseKind::Postgres),
            ("postgresql://u:p@h:1/db", DatabaseKind::Postgres),
        ] {
            match StoreAddress::parse(text) {
                Ok(StoreAddress::Server(address)) => assert_eq!(address.kind(), kind, "{text}"),
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
        assert!(ServerAddress::cache("rediss://:p@h:6379/2").is_ok());
        for text in ["", "h:6379", "mysql://h/db"] {
            let error = ServerAddress::cache(text).unwrap_err();
            assert!(matches!(error, AddressError::Cache(_)), "{error}");
        }
    }

    #[test]
    fn invalid_addresses_are_refused_without_showing_the_password() {
        for text in [
            "mysql://me:hunter2@host:notaport/db",
            "mysql://me:hunter2@host:3306/",
            "mysql://me:hunter2@host/db?no_such_option=hunter2",
            "postgres://me:hunter2@host:notaport/db",
            "postgres://me:hunter2@host/",
            "postgres://me:hunter2@host/db?sslmode=allow",
            "postgres://me:hunter2@host/db?sslrootcert=ca.pem",
            "postgres://me:hunter2@host/db?sslmode=require&sslrootcert=/no/such/ca.pem",
            "mysql://me:hunter2@host/db?ssl_ca=/no/such/ca.pem",
            "mysql://me:hunter2@host/db?require_ssl=hunter2",
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
            assert_eq!(without_secrets(url), shown);
        }
        let Ok(StoreAddress::Server(address)) = StoreAddress::parse("mysql://u:hunter2@h/db")
        else {
            panic!("not a server");
        };
        assert_eq!(format!("{address:?}"), "mysql://u:***@h/db");
        assert_eq!(address.redact("no hunter2 here"), "no *** here");
        // Clients have it without the URL's escapes.
        let Ok(StoreAddress::Server(address)) = StoreAddress::parse("mysql://u:hunter%2F2@h/db")
        else {
            panic!("not a server");
        };
        assert_eq!(address.redact("neither hunter/2 nor hunter%2F2"), "neither *** nor ***");
        // A short one is hidden where it is the password, and not among the letters of other words.
        let Ok(StoreAddress::Server(address)) = StoreAddress::parse("mysql://u:e@h/db") else {
            panic!("not a server");
        };
        let text = "connection refused: mysql://u:e@h/db";
        assert_eq!(address.redact(text), "connection refused: mysql://u:***@h/db");
    }
}
