//! SQL as all database servers here understand it.

use super::address::DatabaseKind;

/// A value in a statement, or in a row of a result.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A text.
    Text(String),
    /// Any bytes, for a binary column. Rows have them as texts, so that only those of UTF-8 can be read.
    Bytes(Vec<u8>),
    /// No value.
    Null,
}

/// Why a statement or a connection failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SqlError {
    /// There is no connection, or it is broken.
    #[error("{0}")]
    Lost(String),
    /// A row with this key exists already.
    #[error("a row with this key exists already")]
    Duplicate,
    /// Other transactions hold what this one needs; to be tried again.
    #[error("other transactions hold the rows that this one needs")]
    Contended,
    /// The server refused the statement.
    #[error("{0}")]
    Refused(String),
}

/// One connection.
pub trait Sql {
    /// The rows of a query, or the first rows that a called procedure selects. Placeholders of values are written
    /// as `?`.
    ///
    /// # Errors
    /// When the statement or the connection fails.
    fn rows(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Vec<Value>>, SqlError>;

    /// Changes rows.
    ///
    /// # Errors
    /// As [`Sql::rows`].
    fn change(&mut self, sql: &str, values: &[Value]) -> Result<(), SqlError>;

    /// Changes rows, and says how many.
    ///
    /// # Errors
    /// As [`Sql::rows`].
    fn changed(&mut self, sql: &str, values: &[Value]) -> Result<u64, SqlError>;

    /// Runs statements without values and results.
    ///
    /// # Errors
    /// As [`Sql::rows`].
    fn plain(&mut self, sql: &str) -> Result<(), SqlError>;

    /// Kind of the server: their statements differ in places.
    fn kind(&self) -> DatabaseKind;
}
