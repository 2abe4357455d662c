//! Connections to MariaDB and MySQL.

use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder, Params, ServerError};

use super::{Dialect, Sql, Trouble, Value};
use crate::address::{AddressError, ServerAddress};

const DIALECT: Dialect = Dialect {
    count_tables: "SELECT count(*) FROM information_schema.tables WHERE table_schema = database()",
    add: "ON DUPLICATE KEY UPDATE total = total + VALUES(total)",
    // Names of locks are the whole server's, and at most 64 characters long.
    hold: "SELECT get_lock(concat('ads.', left(database(), 60)), 0)",
    let_go: "SELECT release_lock(concat('ads.', left(database(), 60)))",
};

/// Nothing here reads twice in a transaction, so none need hold the gaps between rows.
const BEGIN: &str = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";

/// One connection.
struct MySql(Conn);

pub(super) fn options(address: &ServerAddress) -> Result<Opts, AddressError> {
    let options =
        Opts::from_url(address.reveal()).map_err(|error| address.wrong(&error.to_string()))?;
    match options.get_db_name() {
        Some(name) if !name.is_empty() => Ok(options),
        _ => Err(address.wrong("name a database behind the last /")),
    }
}

pub(super) fn connect(
    address: &ServerAddress,
    limit: Duration,
) -> Result<impl Sql + Send + use<>, Trouble> {
    let options = options(address).map_err(|error| Trouble::Refused(error.to_string()))?;
    let options = OptsBuilder::from_opts(options)
        .tcp_connect_timeout(Some(limit))
        .read_timeout(Some(limit))
        .write_timeout(Some(limit))
        // A server on this machine is reached by the address that was given, too.
        .prefer_socket(false)
        .init(vec![BEGIN]);
    Ok(MySql(Conn::new(options).map_err(trouble)?))
}

fn trouble(error: mysql::Error) -> Trouble {
    let mysql::Error::MySqlError(told) = &error else {
        return match error {
            mysql::Error::IoError(error) => Trouble::Lost(error.to_string()),
            other => Trouble::Lost(other.to_string()),
        };
    };
    let is = |known: ServerError| told.code == known as u16;
    if is(ServerError::ER_DUP_ENTRY) {
        Trouble::Duplicate
    } else if is(ServerError::ER_LOCK_DEADLOCK) || is(ServerError::ER_LOCK_WAIT_TIMEOUT) {
        Trouble::Contended
    } else if is(ServerError::ER_SERVER_SHUTDOWN) || told.state.starts_with("08") {
        Trouble::Lost(told.message.clone())
    } else {
        Trouble::Refused(told.message.clone())
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
        Value::Null => mysql::Value::NULL,
    });
    Params::Positional(values.collect())
}

fn value(value: Option<mysql::Value>) -> Result<Value, Trouble> {
    match value.unwrap_or(mysql::Value::NULL) {
        mysql::Value::NULL => Ok(Value::Null),
        mysql::Value::Int(number) => Ok(Value::Int(number)),
        mysql::Value::UInt(number) => i64::try_from(number)
            .map(Value::Int)
            .map_err(|_| Trouble::Refused(format!("{number} is beyond any number here"))),
        mysql::Value::Float(number) => Ok(Value::Float(f64::from(number))),
        mysql::Value::Double(number) => Ok(Value::Float(number)),
        mysql::Value::Bytes(bytes) => String::from_utf8(bytes)
            .map(Value::Text)
            .map_err(|_| Trouble::Refused("a text that is no UTF-8".to_owned())),
        other => Err(Trouble::Refused(format!("{other:?} is not expected here"))),
    }
}

impl Sql for MySql {
    fn rows(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Vec<Value>>, Trouble> {
        let rows: Vec<mysql::Row> = self.0.exec(sql, params(values)).map_err(trouble)?;
        rows.into_iter()
            .map(|row| row.unwrap_raw().into_iter().map(value).collect())
            .collect()
    }

    fn change(&mut self, sql: &str, values: &[Value]) -> Result<(), Trouble> {
        self.0.exec_drop(sql, params(values)).map_err(trouble)
    }

    fn plain(&mut self, sql: &str) -> Result<(), Trouble> {
        self.0.query_drop(sql).map_err(trouble)
    }

    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }
}
