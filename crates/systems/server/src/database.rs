//! Clients of databases: SQLite files, MariaDB, MySQL and PostgreSQL servers by the same statements, and the
//! addresses of all of them. They block; run them on threads of their own. [`connect_postgres`] is the one that does not.

mod address;
mod asynchronous;
mod clients;
mod mysql;
mod postgres;
mod sql;
mod sqlite;
mod tls;

pub use address::{AddressError, DatabaseKind, ServerAddress, StoreAddress};
pub use asynchronous::{PostgresConnection, connect_postgres, postgres_error};
pub use clients::{connect, connect_all};
pub use sql::{Sql, SqlError, Value};
pub use sqlite::{OpenError, SqliteFile};
