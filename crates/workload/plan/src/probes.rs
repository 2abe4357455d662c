//! Queries on the server's side during a run, as the scenario defines them.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::secret::MASK;

/// Shortest password that is no word by accident, if it has letters and digits.
const DISTINCTIVE_MIN: usize = 6;

/// One source that is polled at an interval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Probe {
    /// How, and where.
    pub kind: ProbeKind,
    /// The source's role in the system; `servers`, `redis`.
    pub role: String,
    /// Region of the source; may be empty.
    pub region: String,
    /// The source's own name; `None`: what [`ProbeKind::shown`] says, or the host's name.
    pub name: Option<String>,
    /// Nanoseconds between two queries.
    pub every_ns: u64,
}

/// The source that is queried, and the way to query it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum ProbeKind {
    /// The machine that the generator runs on.
    Host,
    /// Processes of this machine, added up.
    Process(ProcessSpec),
    /// A control group of this machine: its path below the hierarchy's root.
    Cgroup(String),
    /// `INFO` of a Redis server.
    Redis(Secret),
    /// Global status of MySQL or MariaDB.
    Mysql(Secret),
    /// Activity, database and statement statistics of PostgreSQL.
    Postgres(Secret),
    /// nginx's `stub_status`.
    Nginx(Page),
    /// Anything that speaks Prometheus' text format.
    Prometheus {
        /// The page with the metrics.
        page: Page,
        /// Regular expressions; a metric whose whole name matches one is kept. Empty: all.
        metrics: Vec<String>,
    },
}

/// Which processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum ProcessSpec {
    /// The process that serves the target.
    Target,
    /// The one of this number.
    Pid(u32),
    /// All whose name (`/proc/PID/comm`, at most 15 bytes) or program's file name it is.
    Name(String),
    /// All that listen on this TCP port.
    Port(u16),
}

/// A page that is fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Page {
    /// `http://…`, `https://…`, or a path at the target.
    pub url: Secret,
    /// Sent with the request.
    pub headers: Vec<(String, Secret)>,
}

/// Text that may hold a password: nothing prints it by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Text that is not to be shown.
    pub fn new(text: String) -> Secret {
        Secret(text)
    }

    /// The text itself, for whom it is meant for.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// A URL as people may see it: without its password, and without its query, which may hold one.
    pub fn shown_url(&self) -> String {
        let whole = self.0.split(['?', '#']).next().unwrap_or_default();
        let Some((scheme, rest)) = whole.split_once("://") else {
            return whole.to_owned();
        };
        let authority_end = rest.find('/').unwrap_or(rest.len());
        // A password that was not encoded may hold a slash or an @: the last one ends it.
        let Some(at) = rest.rfind('@') else {
            return whole.to_owned();
        };
        let user = rest[..at.min(authority_end)].split(':').next().unwrap_or_default();
        let host = &rest[at + 1..];
        match rest[..at].contains(':') {
            true => format!("{scheme}://{user}:{MASK}@{host}"),
            false => format!("{scheme}://{user}@{host}"),
        }
    }

    /// The password before the `@` of a URL.
    pub fn password(&self) -> Option<&str> {
        let (_, rest) = self.0.split_once("://")?;
        let (user, _) = rest.rsplit_once('@')?;
        let (_, password) = user.split_once(':')?;
        Some(password)
    }

    /// A text, which may repeat the URL or its password, without either. The password is hidden where it is one: before
    /// the `@`, behind `=`, or in quotes. Hidden wherever its letters stand in other words, a short one would be spelt.
    pub fn hide_in(&self, text: &str) -> String {
        let mut hidden = text.replace(&self.0, &self.shown_url());
        let Some(password) = self.password().filter(|password| !password.is_empty()) else {
            return hidden;
        };
        for (before, after) in [(":", "@"), ("=", "&"), ("=", " "), ("\"", "\""), ("'", "'")] {
            let shown = format!("{before}{password}{after}");
            hidden = hidden.replace(&shown, &format!("{before}{MASK}{after}"));
        }
        // No message has letters with digits among them by accident.
        let is_distinctive = password.len() >= DISTINCTIVE_MIN
            && password.chars().any(char::is_alphabetic)
            && password.chars().any(|c| c.is_ascii_digit());
        if is_distinctive { hidden.replace(password, MASK) } else { hidden }
    }

    /// True where a URL holds a password: before the `@`, or in the query.
    pub fn has_password(&self) -> bool {
        let (whole, query) = self.0.split_once('?').unwrap_or((&self.0, ""));
        let rest = whole.split_once("://").map_or(whole, |(_, rest)| rest);
        let before_at = rest.rfind('@').map_or("", |at| &rest[..at]);
        let named = |pair: &str| {
            let key = pair.split('=').next().unwrap_or_default();
            let key = key.to_ascii_lowercase();
            ["pass", "secret", "token", "key"].iter().any(|word| key.contains(word))
        };
        before_at.contains(':') || query.split('&').any(named)
    }
}

/// A placeholder, so that a secret reaches no record and no digest.
impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(MASK)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl ProbeKind {
    /// The word that a scenario calls it by.
    pub fn word(&self) -> &'static str {
        match self {
            ProbeKind::Host => "host",
            ProbeKind::Process(_) => "process",
            ProbeKind::Cgroup(_) => "cgroup",
            ProbeKind::Redis(_) => "redis",
            ProbeKind::Mysql(_) => "mysql",
            ProbeKind::Postgres(_) => "postgres",
            ProbeKind::Nginx(_) => "nginx",
            ProbeKind::Prometheus { .. } => "prometheus",
        }
    }

    /// The queried source, for people and without secrets: `port 8080`, `redis://127.0.0.1:6379/`.
    pub fn shown(&self) -> String {
        match self {
            ProbeKind::Host => "this host".to_owned(),
            ProbeKind::Process(ProcessSpec::Target) => "target".to_owned(),
            ProbeKind::Process(ProcessSpec::Pid(pid)) => format!("pid {pid}"),
            ProbeKind::Process(ProcessSpec::Name(name)) => name.clone(),
            ProbeKind::Process(ProcessSpec::Port(port)) => format!("port {port}"),
            ProbeKind::Cgroup(path) => path.clone(),
            ProbeKind::Redis(url) | ProbeKind::Mysql(url) | ProbeKind::Postgres(url) => {
                url.shown_url()
            }
            ProbeKind::Nginx(page) | ProbeKind::Prometheus { page, .. } => page.url.shown_url(),
        }
    }
}

impl Probe {
    /// How the source is called in the record, but for a host without a name.
    pub fn source(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.kind.shown())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_passwords_are_hidden_where_they_are_passwords() {
        let hidden = |password: &str, text: &str| {
            Secret::new(format!("mysql://u:{password}@h/db")).hide_in(text)
        };
        assert_eq!(hidden("e", "connection refused"), "connection refused");
        assert_eq!(hidden("e", "mysql://u:e@h/db is no URL"), "mysql://u:***@h/db is no URL");
        assert_eq!(hidden("e", "bad password 'e' of :e@h"), "bad password '***' of :***@h");
        assert_eq!(hidden("password", "using password: YES"), "using password: YES");
        assert_eq!(hidden("hunter2", "no hunter2 here"), "no *** here");
    }

    #[test]
    fn passwords_are_struck_out() {
        for (url, shown, has) in [
            ("redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/0", false),
            ("redis://:pw@h:1/", "redis://:***@h:1/", true),
            ("mysql://root:p/w@x@h/db", "mysql://root:***@h/db", true),
            ("postgres://me@h/db?password=x", "postgres://me@h/db", true),
            ("http://h/m?token=1#f", "http://h/m", true),
            ("http://h/m?a=b", "http://h/m", false),
            ("/metrics", "/metrics", false),
        ] {
            let secret = Secret::new(url.to_owned());
            assert_eq!(secret.shown_url(), shown);
            assert_eq!(secret.has_password(), has, "{url}");
            assert_eq!(format!("{secret:?}"), "***");
        }
    }
}
