//! Redis: `INFO`, by its own protocol.

mod connection;

use std::io::{self, ErrorKind};

use connection::Connection;
use plan::probes::Secret;
use redis::{ConnectionInfo, IntoConnectionInfo};

use crate::reading::Reading;
use crate::source::{ProbeError, ReadError, Source};

/// Gauges: the field, its name here, its unit.
const GAUGES: &[(&str, &str, &str)] = &[
    ("connected_clients", "connected_clients", "1"),
    ("blocked_clients", "blocked_clients", "1"),
    ("maxclients", "maxclients", "1"),
    ("used_memory", "used_memory", "B"),
    ("used_memory_rss", "used_memory_rss", "B"),
    ("maxmemory", "maxmemory", "B"),
    ("mem_fragmentation_ratio", "mem_fragmentation_ratio", "1"),
    ("connected_slaves", "connected_slaves", "1"),
    ("rdb_bgsave_in_progress", "rdb_bgsave_in_progress", "1"),
];

/// Counters.
const COUNTERS: &[(&str, &str)] = &[
    ("total_connections_received", "1/s"),
    ("total_commands_processed", "1/s"),
    ("keyspace_hits", "1/s"),
    ("keyspace_misses", "1/s"),
    ("expired_keys", "1/s"),
    ("evicted_keys", "1/s"),
    ("rejected_connections", "1/s"),
    ("total_net_input_bytes", "B/s"),
    ("total_net_output_bytes", "B/s"),
    ("total_error_replies", "1/s"),
];

/// Seconds of CPU, recorded as percent of a core.
const CPU: &[&str] = &["used_cpu_user", "used_cpu_sys"];
/// Seconds of CPU of the thread that runs the commands, which is the limit of one server.
const CPU_MAIN: &[&str] = &["used_cpu_user_main_thread", "used_cpu_sys_main_thread"];

/// One server.
pub(crate) struct Redis {
    info: ConnectionInfo,
    connection: Option<Connection>,
}

/// Checks whether the client accepts the URL.
pub(crate) fn check(url: &Secret) -> Result<(), ProbeError> {
    info(url).map(drop)
}

fn info(url: &Secret) -> Result<ConnectionInfo, ProbeError> {
    let info = url.reveal().into_connection_info();
    info.map_err(|error| ProbeError::Url {
        kind: "redis",
        problem: url.hide_in(&error.to_string()),
    })
}

impl Redis {
    pub(crate) fn new(url: &Secret) -> Result<Redis, ProbeError> {
        Ok(Redis { info: info(url)?, connection: None })
    }

    fn query(&mut self) -> io::Result<String> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(&self.info)?,
        };
        let answer = connection.query(&["INFO"])?;
        // Kept only now: after a fault an answer may still arrive.
        self.connection = Some(connection);
        Ok(answer)
    }
}

impl Source for Redis {
    fn read(&mut self, reading: &mut Reading) -> Result<(), ReadError> {
        let answer = self.query().map_err(|error| match error.kind() {
            ErrorKind::InvalidData => ReadError::Nonsense(error.to_string()),
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                ReadError::Unreachable("no answer in time".to_owned())
            }
            _ => ReadError::Unreachable(error.to_string()),
        });
        read_into(&answer?, reading)
    }
}

fn read_into(text: &str, reading: &mut Reading) -> Result<(), ReadError> {
    let value = |name: &str| {
        let mut lines = text.lines();
        let text = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        text.trim().parse::<f64>().ok()
    };
    if value("connected_clients").is_none() {
        let what = "it is not an INFO of Redis".to_owned();
        return Err(ReadError::Nonsense(what));
    }
    for (field, metric, unit) in GAUGES {
        if let Some(value) = value(field) {
            reading.gauge(metric, unit, value);
        }
    }
    for (field, unit) in COUNTERS {
        if let Some(total) = value(field) {
            reading.counter(field, unit, total);
        }
    }
    for (metric, fields) in [("cpu", CPU), ("cpu_main_thread", CPU_MAIN)] {
        let seconds: Option<f64> = fields.iter().map(|field| value(field)).sum();
        if let Some(seconds) = seconds {
            reading.counter(metric, "%", 100.0 * seconds);
        }
    }
    reading.gauge("keys", "1", keys(text));
    Ok(())
}

/// Keys of all databases: lines like `db0:keys=4,expires=0,avg_ttl=0`.
fn keys(text: &str) -> f64 {
    let counts = text.lines().filter_map(|line| {
        let (name, rest) = line.split_once(":keys=")?;
        let number = name.strip_prefix("db")?;
        number.parse::<u32>().ok()?;
        rest.split(',').next()?.parse::<f64>().ok()
    });
    // The sum of nothing would be -0.
    counts.fold(0.0, |sum, count| sum + count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::tests::{Names, reading};

    #[test]
    fn the_fields_are_found_by_their_whole_name() {
        let info = |hits| {
            format!(
                "# Clients\r\nconnected_clients:3\r\n# Memory\r\nused_memory:1000\r\n\
                 used_memory_rss:2000\r\n# Stats\r\nkeyspace_hits:{hits}\r\nused_cpu_user:1.5\r\n\
                 used_cpu_sys:0.5\r\n# Keyspace\r\ndb0:keys=4,expires=0\r\ndb12:keys=5,expires=1\r\n"
            )
        };
        let mut reading = reading();
        let mut names = Names::new();
        reading.begin(0);
        read_into(&info(10), &mut reading).unwrap();
        let expected =
            ["connected_clients 1 3", "used_memory B 1000", "used_memory_rss B 2000", "keys 1 9"];
        assert_eq!(names.lines(reading.take()), expected);
        reading.begin(500_000_000);
        read_into(&info(20), &mut reading).unwrap();
        let lines = names.lines(reading.take());
        assert!(lines.contains(&"keyspace_hits 1/s 20".to_owned()), "{lines:?}");
        assert!(lines.contains(&"cpu % 0".to_owned()), "{lines:?}");
        assert!(read_into("HTTP/1.1 200 OK", &mut reading).is_err());
    }

    #[test]
    fn a_url_that_is_none_is_refused_without_its_password() {
        let url = Secret::new("redis://:hunter2@host:notaport/".to_owned());
        let error = check(&url).unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }
}
