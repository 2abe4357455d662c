//! Connections to PostgreSQL.

use std::collections::HashMap;
use std::error::Error;
use std::time::Duration;

use bytes::BytesMut;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Config, NoTls, Row, Statement};

use super::address::{AddressError, DatabaseKind, ServerAddress};
use super::sql::{Sql, SqlError, Value};

/// Most statements that a connection keeps prepared; further ones are prepared each time.
const PREPARED_MAX: usize = 32;

/// How long a statement may run in the server after its client timed out.
const CANCEL_AFTER: Duration = Duration::from_secs(1);

/// One connection, with the runtime that drives it.
struct Postgres {
    runtime: Runtime,
    client: Client,
    /// How long an answer may take.
    limit: Duration,
    prepared: HashMap<String, Statement>,
}

pub(super) fn config(address: &ServerAddress) -> Result<Config, AddressError> {
    let config: Config = address
        .reveal()
        .parse()
        .map_err(|error: tokio_postgres::Error| address.invalid(&message(&error)))?;
    match (config.get_dbname(), config.get_ssl_mode()) {
        (None | Some(""), _) => {
            Err(address.invalid("give the name of a database after the last /"))
        }
        (_, SslMode::Disable | SslMode::Prefer) => Ok(config),
        _ => Err(address.invalid("TLS is not supported; omit sslmode")),
    }
}

pub(super) fn connect(
    address: &ServerAddress,
    application: &str,
    limit: Duration,
) -> Result<impl Sql + Send + use<>, SqlError> {
    let mut config = config(address).map_err(|error| SqlError::Refused(error.to_string()))?;
    config.application_name(application).connect_timeout(limit);
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| SqlError::Lost(error.to_string()))?;
    let connecting = async { tokio::time::timeout(limit, config.connect(NoTls)).await };
    let (client, connection) = runtime
        .block_on(connecting)
        .map_err(|_| timed_out())?
        .map_err(|error| sql_error(&error))?;
    // The next statement reports how it ended.
    runtime.spawn(async move { drop(connection.await) });
    let mut new = Postgres {
        runtime,
        client,
        limit,
        prepared: HashMap::new(),
    };
    // The server cancels statements that timed out here, a little later than the client does.
    let limit_ms = (limit + CANCEL_AFTER).as_millis();
    new.plain(&format!("SET statement_timeout = {limit_ms}"))?;
    Ok(new)
}

fn timed_out() -> SqlError {
    SqlError::Lost("no answer in time".to_owned())
}

/// The message of the server, or of the client with its cause.
fn message(error: &tokio_postgres::Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(reported), _) => reported.message().to_owned(),
        (None, Some(cause)) => format!("{error}: {cause}"),
        (None, None) => error.to_string(),
    }
}

fn sql_error(error: &tokio_postgres::Error) -> SqlError {
    let Some(code) = error.code() else {
        return SqlError::Lost(message(error));
    };
    if *code == SqlState::UNIQUE_VIOLATION {
        SqlError::Duplicate
    } else if *code == SqlState::T_R_DEADLOCK_DETECTED
        || *code == SqlState::T_R_SERIALIZATION_FAILURE
    {
        SqlError::Contended
    } else if code.code().starts_with("57") || code.code().starts_with("08") {
        // It stops, does not accept sessions yet, or took too long: the statement itself is fine.
        SqlError::Lost(message(error))
    } else {
        SqlError::Refused(message(error))
    }
}

/// `?` as `$1`, `$2` and so on. No text of ours contains a question mark.
fn numbered(sql: &str) -> String {
    let mut parts = sql.split('?');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for (place, part) in (1..).zip(parts) {
        text.push_str(&format!("${place}{part}"));
    }
    text
}

impl ToSql for Value {
    fn to_sql(
        &self,
        to: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Value::Int(number) if *to == Type::INT2 => i16::try_from(*number)?.to_sql(to, out),
            Value::Int(number) if *to == Type::INT4 => i32::try_from(*number)?.to_sql(to, out),
            Value::Int(number) if *to == Type::INT8 => number.to_sql(to, out),
            Value::Float(number) if *to == Type::FLOAT8 => number.to_sql(to, out),
            Value::Text(text) if <&str as ToSql>::accepts(to) => text.to_sql(to, out),
            Value::Null => Ok(IsNull::Yes),
            other => Err(format!("{other:?} is not a {to}").into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

fn values(row: &Row) -> Result<Vec<Value>, tokio_postgres::Error> {
    let columns = row.columns().iter().enumerate();
    let value = |(place, kind): (usize, &Type)| match *kind {
        Type::INT2 => number::<i16>(row, place),
        Type::INT4 => number::<i32>(row, place),
        Type::INT8 => number::<i64>(row, place),
        Type::FLOAT8 => {
            let value: Option<f64> = row.try_get(place)?;
            Ok(value.map_or(Value::Null, Value::Float))
        }
        _ => {
            let value: Option<String> = row.try_get(place)?;
            Ok(value.map_or(Value::Null, Value::Text))
        }
    };
    columns
        .map(|(place, column)| value((place, column.type_())))
        .collect()
}

fn number<'a, N>(row: &'a Row, place: usize) -> Result<Value, tokio_postgres::Error>
where
    N: tokio_postgres::types::FromSql<'a> + Into<i64>,
{
    let value: Option<N> = row.try_get(place)?;
    Ok(value.map_or(Value::Null, |number| Value::Int(number.into())))
}

impl Postgres {
    fn query(&mut self, sql: &str, given: &[Value]) -> Result<Vec<Row>, SqlError> {
        let given: Vec<&(dyn ToSql + Sync)> = given.iter().map(|value| value as _).collect();
        let Postgres {
            runtime,
            client,
            limit,
            prepared,
        } = self;
        let querying = async {
            let statement = match prepared.get(sql) {
                Some(statement) => statement.clone(),
                None => {
                    let statement = client.prepare(&numbered(sql)).await?;
                    if prepared.len() < PREPARED_MAX {
                        prepared.insert(sql.to_owned(), statement.clone());
                    }
                    statement
                }
            };
            client.query(&statement, &given).await
        };
        runtime
            .block_on(async { tokio::time::timeout(*limit, querying).await })
            .map_err(|_| timed_out())?
            .map_err(|error| sql_error(&error))
    }
}

impl Sql for Postgres {
    fn rows(&mut self, sql: &str, given: &[Value]) -> Result<Vec<Vec<Value>>, SqlError> {
        let rows = self.query(sql, given)?;
        let rows: Result<Vec<_>, _> = rows.iter().map(values).collect();
        rows.map_err(|error| SqlError::Refused(message(&error)))
    }

    fn change(&mut self, sql: &str, given: &[Value]) -> Result<(), SqlError> {
        self.query(sql, given).map(drop)
    }

    fn plain(&mut self, sql: &str) -> Result<(), SqlError> {
        let (limit, client) = (self.limit, &self.client);
        self.runtime
            .block_on(async { tokio::time::timeout(limit, client.batch_execute(sql)).await })
            .map_err(|_| timed_out())?
            .map_err(|error| sql_error(&error))
    }

    fn kind(&self) -> DatabaseKind {
        DatabaseKind::Postgres
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_numbered() {
        assert_eq!(numbered("SELECT 1"), "SELECT 1");
        assert_eq!(numbered("(?, ?), (?)"), "($1, $2), ($3)");
    }
}
