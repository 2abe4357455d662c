//! PostgreSQL: activity, database and statement statistics (PostgreSQL 15, chapter 28.2, F.32).

use plan::probes::Secret;
use postgres::config::SslMode;
use postgres::{Client, Config, Statement};
use rustls::ClientConfig;
use tokio_postgres_rustls::MakeRustlsConnect;
use trust::PostgresUrl;

use super::tls;
use crate::reading::Reading;
use crate::source::{ANSWER_MAX, ProbeError, ReadError, Source};

/// Query for the activity of clients' sessions.
const ACTIVITY: &str = "\
    SELECT count(*)::float8 AS connections, \
    count(*) FILTER (WHERE state = 'active')::float8 AS active, \
    count(*) FILTER (WHERE state = 'idle')::float8 AS idle, \
    count(*) FILTER (WHERE state LIKE 'idle in transaction%')::float8 AS idle_in_transaction, \
    count(*) FILTER (WHERE wait_event_type = 'Lock')::float8 AS waiting_for_lock, \
    coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)::float8 \
        AS longest_transaction, \
    current_setting('max_connections')::float8 AS max_connections \
    FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
/// Units of its columns.
const ACTIVITY_UNITS: &[(&str, &str)] = &[
    ("connections", "1"),
    ("active", "1"),
    ("idle", "1"),
    ("idle_in_transaction", "1"),
    ("waiting_for_lock", "1"),
    ("longest_transaction", "s"),
    ("max_connections", "1"),
];

/// Totals of all databases.
const DATABASES: &str = "\
    SELECT sum(xact_commit)::float8 AS xact_commit, sum(xact_rollback)::float8 AS xact_rollback, \
    sum(blks_read)::float8 AS blks_read, sum(blks_hit)::float8 AS blks_hit, \
    sum(tup_returned)::float8 AS tup_returned, sum(tup_fetched)::float8 AS tup_fetched, \
    sum(tup_inserted)::float8 AS tup_inserted, sum(tup_updated)::float8 AS tup_updated, \
    sum(tup_deleted)::float8 AS tup_deleted, sum(conflicts)::float8 AS conflicts, \
    sum(deadlocks)::float8 AS deadlocks, sum(temp_bytes)::float8 AS temp_bytes \
    FROM pg_stat_database";
const DATABASE_UNITS: &[(&str, &str)] = &[
    ("xact_commit", "1/s"),
    ("xact_rollback", "1/s"),
    ("blks_read", "1/s"),
    ("blks_hit", "1/s"),
    ("tup_returned", "1/s"),
    ("tup_fetched", "1/s"),
    ("tup_inserted", "1/s"),
    ("tup_updated", "1/s"),
    ("tup_deleted", "1/s"),
    ("conflicts", "1/s"),
    ("deadlocks", "1/s"),
    ("temp_bytes", "B/s"),
];

/// The schema, quoted, of the extension that counts statements, where there is one whose times are
/// called as since PostgreSQL 13.
const STATEMENTS_SCHEMA: &str = "\
    SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace \
    WHERE e.extname = 'pg_stat_statements' \
    AND current_setting('server_version_num')::int >= 130000";
const STATEMENT_UNITS: &[(&str, &str)] =
    &[("statement_calls", "1/s"), ("statement_time", "s/s"), ("statement_rows", "1/s")];

/// One server.
pub(crate) struct Postgres {
    config: Config,
    tls: ClientConfig,
    connection: Option<Connection>,
}

struct Connection {
    client: Client,
    activity: Statement,
    databases: Statement,
    statements: Option<Statement>,
    /// Why there are no statistics of statements.
    remark: Option<String>,
}

/// Checks whether the client accepts the URL.
pub(crate) fn check(url: &Secret) -> Result<(), ProbeError> {
    config(url).map(drop)
}

fn config(url: &Secret) -> Result<(Config, PostgresUrl), ProbeError> {
    let refused = |problem: String| ProbeError::url("postgres", url, &problem);
    let parsed = PostgresUrl::parse(url.reveal()).map_err(|error| refused(error.to_string()))?;
    let config: Result<Config, postgres::Error> = parsed.url.parse();
    let mut config = config.map_err(|error| refused(error.to_string()))?;
    config
        .connect_timeout(ANSWER_MAX)
        .tcp_user_timeout(ANSWER_MAX)
        .application_name("throng-probe")
        .ssl_mode(match parsed.mode {
            Some(trust::SslMode::Disable) => SslMode::Disable,
            None | Some(trust::SslMode::Prefer) => SslMode::Prefer,
            Some(_) => SslMode::Require,
        });
    Ok((config, parsed))
}

impl Postgres {
    pub(crate) fn new(url: &Secret) -> Result<Postgres, ProbeError> {
        let (config, parsed) = config(url)?;
        let tls = tls::postgres(&parsed);
        let tls = tls.map_err(|problem| ProbeError::url("postgres", url, &problem))?;
        Ok(Postgres { config, tls, connection: None })
    }

    fn connect(&self) -> Result<Connection, postgres::Error> {
        let mut client = self.config.connect(MakeRustlsConnect::new(self.tls.clone()))?;
        let timeout_ms = ANSWER_MAX.as_millis();
        client.batch_execute(&format!("SET statement_timeout = {timeout_ms}"))?;
        let activity = client.prepare(ACTIVITY)?;
        let databases = client.prepare(DATABASES)?;
        let (statements, remark) = match statements(&mut client) {
            Ok(Some(statement)) => (Some(statement), None),
            Ok(None) => (None, Some("there is no pg_stat_statements here".to_owned())),
            Err(error) => (None, Some(format!("pg_stat_statements: {}", message(&error)))),
        };
        Ok(Connection { client, activity, databases, statements, remark })
    }

    fn query(&mut self, reading: &mut Reading) -> Result<(), postgres::Error> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect()?,
        };
        connection.read_into(reading)?;
        self.connection = Some(connection);
        Ok(())
    }
}

impl Connection {
    fn read_into(&mut self, reading: &mut Reading) -> Result<(), postgres::Error> {
        let row = self.client.query_one(&self.activity, &[])?;
        for (place, (metric, unit)) in ACTIVITY_UNITS.iter().enumerate() {
            reading.gauge(metric, unit, row.try_get(place)?);
        }
        let row = self.client.query_one(&self.databases, &[])?;
        counters(&row, DATABASE_UNITS, reading)?;
        if let Some(statement) = &self.statements {
            let row = self.client.query_one(statement, &[])?;
            counters(&row, STATEMENT_UNITS, reading)?;
        }
        if let Some(text) = self.remark.take() {
            reading.remark(text);
        }
        Ok(())
    }
}

fn counters(
    row: &postgres::Row,
    metrics: &[(&str, &str)],
    reading: &mut Reading,
) -> Result<(), postgres::Error> {
    for (place, (metric, unit)) in metrics.iter().enumerate() {
        // Sums of nothing are null.
        if let Some(total) = row.try_get::<_, Option<f64>>(place)? {
            reading.counter(metric, unit, total);
        }
    }
    Ok(())
}

/// The query for statistics of statements, tried once: the extension may be there without its library.
fn statements(client: &mut Client) -> Result<Option<Statement>, postgres::Error> {
    let Some(row) = client.query_opt(STATEMENTS_SCHEMA, &[])? else {
        return Ok(None);
    };
    let schema: String = row.try_get(0)?;
    // Without the texts, which are what is large.
    let query = format!(
        "SELECT sum(calls)::float8, (sum(total_exec_time) / 1000)::float8, sum(rows)::float8 \
         FROM {schema}.pg_stat_statements(false)"
    );
    let statement = client.prepare(&query)?;
    client.query_one(&statement, &[])?;
    Ok(Some(statement))
}

impl Source for Postgres {
    fn read(&mut self, reading: &mut Reading) -> Result<(), ReadError> {
        self.query(reading).map_err(|error| ReadError::Unreachable(message(&error)))
    }
}

/// The error's message, as the server words it.
fn message(error: &postgres::Error) -> String {
    match error.as_db_error() {
        Some(db) => db.message().to_owned(),
        None => {
            if let Some(problem) = trust::describe_cause(error, "sslrootcert") {
                return problem;
            }
            let cause = std::error::Error::source(error);
            let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
            format!("{error}{cause}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_is_none_is_refused_without_its_password() {
        let url = Secret::new("postgres://me:hunter2@host:notaport/db".to_owned());
        let error = check(&url).unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }
}
