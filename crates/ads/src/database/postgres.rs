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

use super::{Dialect, Sql, Trouble, Value};
use crate::address::{AddressError, ServerAddress};

/// Most statements that a connection keeps prepared; further ones are prepared each time.
const PREPARED_MAX: usize = 32;

/// How long after it was given up a statement may still run in the server.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(1);

const DIALECT: Dialect = Dialect {
    count_tables: "SELECT count(*) FROM information_schema.tables \
                   WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'",
    add: "ON CONFLICT (ad, step) DO UPDATE SET total = ads_performance.total + excluded.total",
    // Numbers of locks are the database's: "adnw" in ASCII.
    hold: "SELECT CASE WHEN pg_try_advisory_lock(1633971831) THEN 1 ELSE 0 END",
    let_go: "SELECT CASE WHEN pg_advisory_unlock(1633971831) THEN 1 ELSE 0 END",
};

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
        .map_err(|error: tokio_postgres::Error| address.wrong(&told(&error)))?;
    match (config.get_dbname(), config.get_ssl_mode()) {
        (None | Some(""), _) => Err(address.wrong("name a database behind the last /")),
        (_, SslMode::Disable | SslMode::Prefer) => Ok(config),
        _ => Err(address.wrong("TLS is not spoken here; leave sslmode out")),
    }
}

pub(super) fn connect(
    address: &ServerAddress,
    limit: Duration,
) -> Result<impl Sql + Send + use<>, Trouble> {
    let mut config = config(address).map_err(|error| Trouble::Refused(error.to_string()))?;
    config.application_name("throng-ads").connect_timeout(limit);
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Trouble::Lost(error.to_string()))?;
    let connecting = async { tokio::time::timeout(limit, config.connect(NoTls)).await };
    let (client, connection) = runtime
        .block_on(connecting)
        .map_err(|_| late())?
        .map_err(|error| trouble(&error))?;
    // How it ends, the next statement tells.
    runtime.spawn(async move { drop(connection.await) });
    let mut new = Postgres {
        runtime,
        client,
        limit,
        prepared: HashMap::new(),
    };
    // What nobody waits for any more shall not go on there; that it is given up is told here first.
    let limit_ms = (limit + GIVEN_UP_AFTER).as_millis();
    new.plain(&format!("SET statement_timeout = {limit_ms}"))?;
    Ok(new)
}

fn late() -> Trouble {
    Trouble::Lost("no answer in time".to_owned())
}

/// What went wrong, with what the server says.
fn told(error: &tokio_postgres::Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(told), _) => told.message().to_owned(),
        (None, Some(cause)) => format!("{error}: {cause}"),
        (None, None) => error.to_string(),
    }
}

fn trouble(error: &tokio_postgres::Error) -> Trouble {
    let Some(code) = error.code() else {
        return Trouble::Lost(told(error));
    };
    if *code == SqlState::UNIQUE_VIOLATION {
        Trouble::Duplicate
    } else if *code == SqlState::T_R_DEADLOCK_DETECTED
        || *code == SqlState::T_R_SERIALIZATION_FAILURE
    {
        Trouble::Contended
    } else if code.code().starts_with("57") || code.code().starts_with("08") {
        // It stops, does not take sessions yet, or took too long: nothing is wrong with what was asked.
        Trouble::Lost(told(error))
    } else {
        Trouble::Refused(told(error))
    }
}

/// `?` as `$1`, `$2` and so on. No text of ours holds a question mark.
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
            other => Err(format!("{other:?} is no {to}").into()),
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
    fn ask(&mut self, sql: &str, given: &[Value]) -> Result<Vec<Row>, Trouble> {
        let given: Vec<&(dyn ToSql + Sync)> = given.iter().map(|value| value as _).collect();
        let Postgres {
            runtime,
            client,
            limit,
            prepared,
        } = self;
        let asking = async {
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
            .block_on(async { tokio::time::timeout(*limit, asking).await })
            .map_err(|_| late())?
            .map_err(|error| trouble(&error))
    }
}

impl Sql for Postgres {
    fn rows(&mut self, sql: &str, given: &[Value]) -> Result<Vec<Vec<Value>>, Trouble> {
        let rows = self.ask(sql, given)?;
        let rows: Result<Vec<_>, _> = rows.iter().map(values).collect();
        rows.map_err(|error| Trouble::Refused(told(&error)))
    }

    fn change(&mut self, sql: &str, given: &[Value]) -> Result<(), Trouble> {
        self.ask(sql, given).map(drop)
    }

    fn plain(&mut self, sql: &str) -> Result<(), Trouble> {
        let (limit, client) = (self.limit, &self.client);
        self.runtime
            .block_on(async { tokio::time::timeout(limit, client.batch_execute(sql)).await })
            .map_err(|_| late())?
            .map_err(|error| trouble(&error))
    }

    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_values_are_numbered() {
        assert_eq!(numbered("SELECT 1"), "SELECT 1");
        assert_eq!(numbered("(?, ?), (?)"), "($1, $2), ($3)");
    }
}
