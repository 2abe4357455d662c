//! Probes of databases, by their clients.

mod mysql;
mod postgres;
mod redis;
mod tls;

use plan::probes::{ProbeKind, Secret};

use crate::source::{ProbeError, Source};

/// Checks a probe's URL, if it is of a database.
pub(crate) fn check(kind: &ProbeKind) -> Result<(), ProbeError> {
    match kind {
        ProbeKind::Redis(url) => redis::check(url),
        ProbeKind::Mysql(url) => mysql::check(url),
        ProbeKind::Postgres(url) => postgres::check(url),
        _ => Ok(()),
    }
}

/// The source of a database's probe; `None`: it is no database's.
pub(crate) fn open(kind: &ProbeKind) -> Result<Option<Box<dyn Source>>, ProbeError> {
    Ok(match kind {
        ProbeKind::Redis(url) => Some(Box::new(redis::Redis::new(url)?)),
        ProbeKind::Mysql(url) => Some(Box::new(mysql::Mysql::new(url)?)),
        ProbeKind::Postgres(url) => Some(Box::new(postgres::Postgres::new(url)?)),
        _ => None,
    })
}

impl ProbeError {
    /// A URL that cannot be used.
    fn url(kind: &'static str, url: &Secret, problem: &str) -> Self {
        Self::Url { kind, problem: url.hide_in(problem) }
    }
}
