//! Connections to PostgreSQL.

use std::collections::HashMap;
use std::error::Error;
use std::time::Duration;

use bytes::BytesMut;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Config, Row, Statement};

use super::address::{AddressError, DatabaseKind, ServerAddress};
use super::sql::{Sql, SqlError, Value};
use super::tls;

/// Most statements that a connection keeps prepared; further ones are prepared each time.
const PREPARED_MAX: usize = 64;

/// How long a statement may run in the server after its client timed out.
const CANCEL_AFTER: Duration = Duration::from_secs(1);

/// A runtime that may be dropped on a thread that drives another.
struct Driver(Option<Runtime>);

/// One connection, with the runtime that drives it.
struct Postgres {
    runtime: Driver,
    client: Client,
    /// How long an answer may take.
    limit: Duration,
    prepared: HashMap<String, Statement>,
}

pub(super) fn config(address: &ServerAddress) -> Result<Config, AddressError> {
    let config = tls::postgres_config(address)?;
    match config.get_dbname() {
        None | Some("") => Err(address.invalid("give the name of a database after the last /")),
        Some(_) => Ok(config),
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
        .map(|runtime| Driver(Some(runtime)))
        .map_err(|error| SqlError::Lost(error.to_string()))?;
    let connecting = tls::connect_postgres(&config, address.tls());
    let connecting = async { tokio::time::timeout(limit, connecting).await };
    let (client, connection) = runtime
        .block_on(connecting)
        .map_err(|_| timed_out())?
        .map_err(|error| sql_error(&error))?;
    // The next statement reports how it ended.
    runtime.runtime().spawn(connection);
    let mut new = Postgres { runtime, client, limit, prepared: HashMap::new() };
    // The server cancels statements that timed out here, a little later than the client does.
    let limit_ms = (limit + CANCEL_AFTER).as_millis();
    new.plain(&format!("SET statement_timeout = {limit_ms}"))?;
    Ok(new)
}

impl Driver {
    fn runtime(&self) -> &Runtime {
        self.0.as_ref().expect("it is only taken by `drop`")
    }

    /// Blocks this thread until `future` is done. A thread that already drives a runtime waits for another thread
    /// that drives this one: tokio forbids it to drive two.
    fn block_on<F: Future<Output: Send> + Send>(&self, future: F) -> F::Output {
        let runtime = self.runtime();
        if Handle::try_current().is_err() {
            return runtime.block_on(future);
        }
        let driven = std::thread::scope(|scope| scope.spawn(|| runtime.block_on(future)).join());
        driven.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Does not wait, which tokio forbids on a thread of a runtime.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

pub(super) fn timed_out() -> SqlError {
    SqlError::Lost("no answer in time".to_owned())
}

/// The message of the server, or of the client with its cause.
pub(super) fn message(error: &tokio_postgres::Error) -> String {
    if let Some(problem) = tls::postgres_problem(error) {
        return problem;
    }
    match (error.as_db_error(), error.source()) {
        (Some(reported), _) => reported.message().to_owned(),
        (None, Some(cause)) => format!("{error}: {cause}"),
        (None, None) => error.to_string(),
    }
}

pub(super) fn sql_error(error: &tokio_postgres::Error) -> SqlError {
    let Some(code) = error.code() else {
        return SqlError::Lost(message(error));
    };
    if *code == SqlState::UNIQUE_VIOLATION {
        SqlError::Duplicate
    } else if *code == SqlState::T_R_DEADLOCK_DETECTED
        || *code == SqlState::T_R_SERIALIZATION_FAILURE
        || *code == SqlState::LOCK_NOT_AVAILABLE
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
            Value::Bytes(bytes) if *to == Type::BYTEA => bytes.to_sql(to, out),
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
        Type::BYTEA => {
            let value: Option<Vec<u8>> = row.try_get(place)?;
            Ok(value.map_or(Value::Null, Value::Bytes))
        }
        _ => {
            let value: Option<String> = row.try_get(place)?;
            Ok(value.map_or(Value::Null, Value::Text))
        }
    };
    columns.map(|(place, column)| value((place, column.type_()))).collect()
}

fn number<'a, N>(row: &'a Row, place: usize) -> Result<Value, tokio_postgres::Error>
where
    N: tokio_postgres::types::FromSql<'a> + Into<i64>,
{
    let value: Option<N> = row.try_get(place)?;
    Ok(value.map_or(Value::Null, |number| Value::Int(number.into())))
}

/// A statement, which is prepared if it is new.
async fn statement(
    client: &Client,
    prepared: &mut HashMap<String, Statement>,
    sql: &str,
) -> Result<Statement, tokio_postgres::Error> {
    if let Some(known) = prepared.get(sql) {
        return Ok(known.clone());
    }
    let new = client.prepare(&numbered(sql)).await?;
    if prepared.len() < PREPARED_MAX {
        prepared.insert(sql.to_owned(), new.clone());
    }
    Ok(new)
}

impl Postgres {
    fn query(&mut self, sql: &str, given: &[Value]) -> Result<Vec<Row>, SqlError> {
        let given: Vec<&(dyn ToSql + Sync)> = given.iter().map(|value| value as _).collect();
        let Postgres { runtime, client, limit, prepared } = self;
        let querying = async {
            let statement = statement(client, prepared, sql).await?;
            client.query(&statement, &given).await
        };
        let limited = async { tokio::time::timeout(*limit, querying).await };
        runtime.block_on(limited).map_err(|_| timed_out())?.map_err(|error| sql_error(&error))
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

    fn changed(&mut self, sql: &str, given: &[Value]) -> Result<u64, SqlError> {
        let given: Vec<&(dyn ToSql + Sync)> = given.iter().map(|value| value as _).collect();
        let Postgres { runtime, client, limit, prepared } = self;
        let changing = async {
            let statement = statement(client, prepared, sql).await?;
            client.execute(&statement, &given).await
        };
        let limited = async { tokio::time::timeout(*limit, changing).await };
        runtime.block_on(limited).map_err(|_| timed_out())?.map_err(|error| sql_error(&error))
    }

    fn plain(&mut self, sql: &str) -> Result<(), SqlError> {
        let limit = self.limit;
        let client = &self.client;
        let limited = async { tokio::time::timeout(limit, client.batch_execute(sql)).await };
        self.runtime.block_on(limited).map_err(|_| timed_out())?.map_err(|error| sql_error(&error))
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
