//! Connections to MariaDB and MySQL.

use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder, Params, ServerError};

use super::address::{AddressError, DatabaseKind, ServerAddress};
use super::sql::{Sql, SqlError, Value};
use super::tls;

/// No transaction here reads twice, so none needs gap locks.
const BEGIN: &str = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";

/// MariaDB's error of a connection that was killed.
const CONNECTION_KILLED: u16 = 1927;

/// One connection.
struct MySql(Conn);

pub(super) fn options(address: &ServerAddress) -> Result<Opts, AddressError> {
    let options = tls::mysql_options(address)?;
    match options.get_db_name() {
        Some(name) if !name.is_empty() => Ok(options),
        _ => Err(address.invalid("give the name of a database after the last /")),
    }
}

pub(super) fn connect(
    address: &ServerAddress,
    limit: Duration,
) -> Result<impl Sql + Send + use<>, SqlError> {
    let options = options(address).map_err(|error| SqlError::Refused(error.to_string()))?;
    let options = OptsBuilder::from_opts(options)
        .tcp_connect_timeout(Some(limit))
        .read_timeout(Some(limit))
        .write_timeout(Some(limit))
        // A server on this machine is reached by the given address, too.
        .prefer_socket(false)
        .init(vec![BEGIN]);
    Ok(MySql(Conn::new(options).map_err(sql_error)?))
}

fn sql_error(error: mysql::Error) -> SqlError {
    let mysql::Error::MySqlError(reported) = &error else {
        return SqlError::Lost(match (tls::mysql_problem(&error), error) {
            (Some(problem), _) => problem,
            (None, mysql::Error::IoError(error)) => error.to_string(),
            (None, other) => other.to_string(),
        });
    };
    let is = |known: ServerError| reported.code == known as u16;
    if is(ServerError::ER_DUP_ENTRY) {
        SqlError::Duplicate
    } else if is(ServerError::ER_LOCK_DEADLOCK) || is(ServerError::ER_LOCK_WAIT_TIMEOUT) {
        SqlError::Contended
    } else if is(ServerError::ER_SERVER_SHUTDOWN)
        || reported.code == CONNECTION_KILLED
        || reported.state.starts_with("08")
    {
        SqlError::Lost(reported.message.clone())
    } else {
        SqlError::Refused(reported.message.clone())
    }
}

fn params(values: &[Value]) -> Params {
    if values.is_empty() {
        return Params::Empty;
    }
    let values = values.iter().map(|value| match value {
        Value::Int(number) => mysql::Value::Int(*number),
        Value::Float(number) => mysql::Value::Double(*number),
        Value::Text(text) => mysql::Value::Bytes(text.clone().into_bytes()),
        Value::Bytes(bytes) => mysql::Value::Bytes(bytes.clone()),
        Value::Null => mysql::Value::NULL,
    });
    Params::Positional(values.collect())
}

fn value(value: Option<mysql::Value>) -> Result<Value, SqlError> {
    match value.unwrap_or(mysql::Value::NULL) {
        mysql::Value::NULL => Ok(Value::Null),
        mysql::Value::Int(number) => Ok(Value::Int(number)),
        mysql::Value::UInt(number) => i64::try_from(number)
            .map(Value::Int)
            .map_err(|_| SqlError::Refused(format!("{number} does not fit 64 bits with a sign"))),
        mysql::Value::Float(number) => Ok(Value::Float(f64::from(number))),
        mysql::Value::Double(number) => Ok(Value::Float(number)),
        mysql::Value::Bytes(bytes) => String::from_utf8(bytes)
            .map(Value::Text)
            .map_err(|_| SqlError::Refused("a text is not UTF-8".to_owned())),
        other => Err(SqlError::Refused(format!("unexpected value {other:?}"))),
    }
}

impl Sql for MySql {
    fn rows(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Vec<Value>>, SqlError> {
        let rows: Vec<mysql::Row> = self.0.exec(sql, params(values)).map_err(sql_error)?;
        rows.into_iter().map(|row| row.unwrap_raw().into_iter().map(value).collect()).collect()
    }

    fn change(&mut self, sql: &str, values: &[Value]) -> Result<(), SqlError> {
        self.0.exec_drop(sql, params(values)).map_err(sql_error)
    }

    fn changed(&mut self, sql: &str, values: &[Value]) -> Result<u64, SqlError> {
        self.change(sql, values)?;
        Ok(self.0.affected_rows())
    }

    fn plain(&mut self, sql: &str) -> Result<(), SqlError> {
        self.0.query_drop(sql).map_err(sql_error)
    }

    fn kind(&self) -> DatabaseKind {
        DatabaseKind::MySql
    }
}
