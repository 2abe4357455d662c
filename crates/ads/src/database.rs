//! Records in MariaDB, MySQL or PostgreSQL.
//!
//! Both kinds are spoken to by the same statements (`tables`) through [`Sql`]; `pool` holds the
//! connections, each on a thread of its own, so that no app server ever waits for a database.

mod mysql;
mod pool;
mod postgres;
mod tables;

use std::time::Duration;

use super::address::{AddressError, Kind, ServerAddress};

pub(super) use pool::{Figures, Pool, Settings, Told};
pub use tables::Unusable;
pub(super) use tables::{Begun, Tables, performance};

/// A value in a statement, or in a row that came back.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Int(i64),
    Float(f64),
    Text(String),
    Null,
}

/// What went wrong with a statement or a connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Trouble {
    /// The connection is of no use any more, or there is none.
    #[error("{0}")]
    Lost(String),
    /// A row by this key is there already.
    #[error("it is there already")]
    Duplicate,
    /// Others hold what this needs; to be tried again.
    #[error("others hold what it needs")]
    Contended,
    /// The server does not do this.
    #[error("{0}")]
    Refused(String),
}

/// One connection.
pub(super) trait Sql {
    /// What a query answers. Places of values are written as `?`.
    fn rows(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Vec<Value>>, Trouble>;

    /// Changes rows.
    fn change(&mut self, sql: &str, values: &[Value]) -> Result<(), Trouble>;

    /// Runs statements that have no values and no answer.
    fn plain(&mut self, sql: &str) -> Result<(), Trouble>;

    /// Where the two kinds differ.
    fn dialect(&self) -> &'static Dialect;
}

/// What the two kinds of servers write differently.
#[derive(Debug)]
pub(super) struct Dialect {
    /// Tables of the database itself.
    count_tables: &'static str,
    /// Behind an insertion of counts: adds them to those that are there.
    add: &'static str,
    /// 1 where this connection now holds the database for one server alone, else 0.
    hold: &'static str,
    /// Lets it go again.
    let_go: &'static str,
}

/// Tells whether the client takes the address.
pub(super) fn check(address: &ServerAddress) -> Result<(), AddressError> {
    match address.kind {
        Kind::MySql => mysql::options(address).map(drop),
        Kind::Postgres => postgres::config(address).map(drop),
        Kind::Redis => Err(address.wrong("it is none")),
    }
}

/// Opens a connection; neither that nor an answer takes longer than `limit`.
pub(super) fn connect(
    address: &ServerAddress,
    limit: Duration,
) -> Result<Box<dyn Sql + Send>, Trouble> {
    let connected: Result<Box<dyn Sql + Send>, Trouble> = match address.kind {
        Kind::MySql => mysql::connect(address, limit).map(|it| Box::new(it) as _),
        Kind::Postgres => postgres::connect(address, limit).map(|it| Box::new(it) as _),
        Kind::Redis => Err(Trouble::Refused("Redis keeps no records".to_owned())),
    };
    connected.map_err(|trouble| match trouble {
        Trouble::Lost(what) => Trouble::Lost(address.hide_in(&what)),
        Trouble::Refused(what) => Trouble::Refused(address.hide_in(&what)),
        other => other,
    })
}
