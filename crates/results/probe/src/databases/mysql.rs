//! MySQL and MariaDB: `SHOW GLOBAL STATUS`.

use std::collections::HashMap;
use std::error::Error;

use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder};
use plan::probes::Secret;
use trust::MysqlUrl;

use super::tls;
use crate::reading::Reading;
use crate::source::{ANSWER_MAX, ProbeError, ReadError, Source};

/// Most rows of an answer; servers have about 600 variables.
const ROWS_MAX: usize = 10_000;

/// Variables that are gauges.
const GAUGES: &[(&str, &str)] = &[
    ("Threads_connected", "1"),
    ("Threads_running", "1"),
    ("Max_used_connections", "1"),
    ("Innodb_row_lock_current_waits", "1"),
    ("Innodb_buffer_pool_bytes_data", "B"),
    ("Innodb_buffer_pool_bytes_dirty", "B"),
    ("Open_tables", "1"),
    ("Open_files", "1"),
    ("Innodb_history_list_length", "1"),
    ("Memory_used", "B"),
];

/// Variables that are counters.
const COUNTERS: &[(&str, &str)] = &[
    ("Queries", "1/s"),
    ("Questions", "1/s"),
    ("Slow_queries", "1/s"),
    ("Connections", "1/s"),
    ("Aborted_connects", "1/s"),
    ("Aborted_clients", "1/s"),
    ("Connection_errors_max_connections", "1/s"),
    ("Threads_created", "1/s"),
    ("Com_select", "1/s"),
    ("Com_insert", "1/s"),
    ("Com_update", "1/s"),
    ("Com_delete", "1/s"),
    ("Com_commit", "1/s"),
    ("Com_rollback", "1/s"),
    ("Bytes_received", "B/s"),
    ("Bytes_sent", "B/s"),
    ("Innodb_row_lock_waits", "1/s"),
    ("Innodb_deadlocks", "1/s"),
    ("Innodb_rows_read", "1/s"),
    ("Innodb_rows_inserted", "1/s"),
    ("Innodb_rows_updated", "1/s"),
    ("Innodb_rows_deleted", "1/s"),
    ("Innodb_buffer_pool_read_requests", "1/s"),
    ("Innodb_buffer_pool_reads", "1/s"),
    ("Innodb_data_fsyncs", "1/s"),
    ("Innodb_log_waits", "1/s"),
    ("Table_locks_waited", "1/s"),
    ("Created_tmp_disk_tables", "1/s"),
    ("Select_scan", "1/s"),
];

/// One server.
#[derive(Debug)]
pub(crate) struct Mysql {
    opts: Opts,
    connection: Option<Connection>,
}

#[derive(Debug)]
struct Connection {
    conn: Conn,
    /// `max_connections`, as it was when we came.
    connections_max: Option<f64>,
}

/// Checks whether the client accepts the URL.
pub(crate) fn check(url: &Secret) -> Result<(), ProbeError> {
    opts(url).map(drop)
}

fn opts(url: &Secret) -> Result<Opts, ProbeError> {
    let refused = |problem: String| ProbeError::url("mysql", url, &problem);
    let parsed = MysqlUrl::parse(url.reveal()).map_err(|error| refused(error.to_string()))?;
    let opts = Opts::from_url(&parsed.url).map_err(|error| refused(error.to_string()))?;
    let mut tls = opts.get_ssl_opts().cloned();
    if parsed.is_required {
        tls.get_or_insert_default();
    }
    if let Some(ca) = parsed.ca {
        tls::check_mysql(&ca).map_err(refused)?;
        tls = Some(tls.unwrap_or_default().with_root_cert_path(Some(ca)));
    }
    // The URL means the server at that address, not one behind a socket of this machine.
    let opts = OptsBuilder::from_opts(opts)
        .ssl_opts(tls)
        .prefer_socket(false)
        .tcp_connect_timeout(Some(ANSWER_MAX))
        .read_timeout(Some(ANSWER_MAX))
        .write_timeout(Some(ANSWER_MAX));
    Ok(opts.into())
}

impl Mysql {
    pub(crate) fn new(url: &Secret) -> Result<Mysql, ProbeError> {
        Ok(Mysql { opts: opts(url)?, connection: None })
    }

    fn connect(&self) -> mysql::Result<Connection> {
        let mut conn = Conn::new(self.opts.clone())?;
        let limits = variables(&mut conn, "SHOW GLOBAL VARIABLES LIKE 'max_connections'")?;
        Ok(Connection { conn, connections_max: limits.get("max_connections").copied() })
    }

    fn query(&mut self) -> mysql::Result<(HashMap<String, f64>, Option<f64>)> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect()?,
        };
        let status = variables(&mut connection.conn, "SHOW GLOBAL STATUS")?;
        let connections_max = connection.connections_max;
        self.connection = Some(connection);
        Ok((status, connections_max))
    }
}

/// Variables that are numbers.
fn variables(conn: &mut Conn, query: &str) -> mysql::Result<HashMap<String, f64>> {
    let rows = conn.query_iter(query)?;
    let mut found = HashMap::new();
    for row in rows.take(ROWS_MAX) {
        let pair: Result<(String, String), _> = mysql::from_row_opt(row?);
        let Ok((name, value)) = pair else { continue };
        if let Ok(value) = value.parse() {
            found.insert(name, value);
        }
    }
    Ok(found)
}

impl Source for Mysql {
    fn read(&mut self, reading: &mut Reading) -> Result<(), ReadError> {
        let answer = self.query();
        let (status, connections_max) =
            answer.map_err(|error| ReadError::Unreachable(message(&error)))?;
        read_into(&status, reading)?;
        if let Some(max) = connections_max {
            reading.gauge("max_connections", "1", max);
        }
        Ok(())
    }
}

/// The error's message, in plain words if it is about the server's TLS.
fn message(error: &mysql::Error) -> String {
    // It does not name its sources.
    let source: Option<&(dyn Error + 'static)> = match error {
        mysql::Error::IoError(error) => Some(error),
        mysql::Error::CodecError(error) => Some(error),
        mysql::Error::TlsError(error) => Some(error),
        _ => None,
    };
    let of_tls = source.and_then(|source| trust::describe_cause(source, "ssl_ca"));
    of_tls.unwrap_or_else(|| error.to_string())
}

fn read_into(status: &HashMap<String, f64>, reading: &mut Reading) -> Result<(), ReadError> {
    if !status.contains_key("Queries") {
        let what = "its status has no `Queries`".to_owned();
        return Err(ReadError::Nonsense(what));
    }
    for (name, unit) in GAUGES {
        if let Some(&value) = status.get(*name) {
            reading.gauge(name, unit, value);
        }
    }
    for (name, unit) in COUNTERS {
        if let Some(&total) = status.get(*name) {
            reading.counter(name, unit, total);
        }
    }
    // In milliseconds; as a rate it is how many transactions wait at once.
    if let Some(&ms) = status.get("Innodb_row_lock_time") {
        reading.counter("Innodb_row_lock_time", "s/s", ms / 1e3);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::tests::{Names, reading};

    #[test]
    fn gauges_counters_and_lock_time_are_recorded() {
        let status = |queries: f64, lock_ms: f64| {
            let pairs =
                [("Queries", queries), ("Threads_running", 2.0), ("Innodb_row_lock_time", lock_ms)];
            pairs.map(|(name, value)| (name.to_owned(), value)).into()
        };
        let mut reading = reading();
        let mut names = Names::new();
        reading.begin(0);
        read_into(&status(100.0, 0.0), &mut reading).unwrap();
        names.lines(reading.take());
        reading.begin(2_000_000_000);
        read_into(&status(300.0, 3000.0), &mut reading).unwrap();
        let expected = ["Threads_running 1 2", "Queries 1/s 100", "Innodb_row_lock_time s/s 1.5"];
        assert_eq!(names.lines(reading.take()), expected);
        assert!(read_into(&HashMap::new(), &mut reading).is_err());
    }

    #[test]
    fn a_url_that_is_none_is_refused_without_its_password() {
        let url = Secret::new("mysql://root:hunter2@host/?no_such_option=1".to_owned());
        let error = check(&url).unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }
}
