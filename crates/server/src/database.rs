//! Clients of databases: SQLite files, MariaDB, MySQL and PostgreSQL servers by the same statements, and the
//! addresses of all of them. They block; run them on threads of their own.

mod address;
mod clients;
mod mysql;
mod postgres;
mod sql;
mod sqlite;
mod tls;

pub use address::{AddressError, DatabaseKind, ServerAddress, StoreAddress};
pub use clients::connect;
pub use sql::{Sql, SqlError, Value};
pub use sqlite::{OpenError, SqliteFile};
