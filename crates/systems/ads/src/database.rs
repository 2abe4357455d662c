//! Records in MariaDB, MySQL or PostgreSQL.
//!
//! The same statements serve both (`tables`); `pool` holds the connections, each on a thread of its own, so
//! that no serving thread ever waits for a database.

mod dialect;
mod pool;
mod tables;

use std::time::Duration;

use server::database::{ServerAddress, Sql, SqlError};

pub(super) use pool::{Pool, Reports, Settings};
pub use tables::DatabaseError;
pub(super) use tables::{Registration, Tables, performance};

/// Opens a connection; neither that nor an answer takes longer than `limit`.
pub(super) fn connect(
    address: &ServerAddress,
    limit: Duration,
) -> Result<Box<dyn Sql + Send>, SqlError> {
    server::database::connect(address, "throng-ads", limit)
}
