//! Options that every system has.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::error::ServerError;
use crate::sizing::{enough_threads, threads_of_cores};
use crate::tls::TlsFiles;

/// Most connections that can be expected.
pub const CONNECTIONS_MAX: usize = 10_000_000;
/// Fewest open files that a server can be limited to: listeners, runtimes and standard streams need some.
pub const FILES_MIN: u32 = 64;
/// Most connections that wait to be accepted, for each listener: as many as the kernel lets wait
/// (`net.core.somaxconn` limits this). In a connection storm, clients then wait instead of having
/// their SYNs dropped.
pub const BACKLOG: u32 = 65_535;

/// The address that a system listens on, the threads that serve it, and how it stops. By default it listens
/// on a free port of 127.0.0.1, with one thread for each core and at least 2.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerOptions {
    /// Address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Serving threads, 1 or more; there are more if `connections` need them.
    pub threads: usize,
    /// Connections that are expected at once, at most 10,000,000; 0, the default, if unknown. With
    /// `own_files` there are as many threads as their files need, and tables are allocated in advance.
    pub connections: usize,
    /// Whether every serving thread has a file table of its own, so that each may hold as many
    /// connections as the limit on open files allows for a process. On by default.
    pub own_files: bool,
    /// Limit on open files of the whole process, 64 or more. Threads then have no tables of their own.
    /// `None`, the default: as many as the system allows.
    pub files: Option<u32>,
    /// Connections that may wait to be accepted, for each thread.
    pub backlog: u32,
    /// Whether other processes listen on the same port, which a [`Port`](crate::Port) holds.
    pub shared_port: bool,
    /// TLS of the listeners, for systems on the [`reactor`](crate::reactor) and those of
    /// [`serve_either`](crate::http::serve_either). `None`, the default: they are plain.
    pub tls: Option<TlsFiles>,
    /// How long a stop may take; connections that are still open then are cut off.
    pub stop_within: Duration,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            threads: threads_of_cores(),
            connections: 0,
            own_files: true,
            files: None,
            backlog: BACKLOG,
            shared_port: false,
            tls: None,
            stop_within: Duration::from_secs(10),
        }
    }
}

impl ServerOptions {
    /// The default with one thread, for the smallest systems.
    #[must_use]
    pub fn single_threaded() -> Self {
        Self { threads: 1, ..Self::default() }
    }

    /// Checks what the types do not.
    ///
    /// # Errors
    /// On the first rule that does not hold.
    pub fn check(&self) -> Result<(), ServerError> {
        check_rules([
            (self.threads >= 1, "threads must be at least 1"),
            (self.connections <= CONNECTIONS_MAX, "connections must be at most 10,000,000"),
            (self.files.is_none_or(|files| files >= FILES_MIN), "files must be at least 64"),
        ])
    }

    /// These options with as many threads as `connections` need where a file table holds
    /// `files_max` files.
    ///
    /// # Errors
    /// When no number of threads is enough.
    pub fn with_enough_threads(mut self, files_max: Option<u64>) -> Result<Self, ServerError> {
        if let Some(files_max) = files_max.filter(|_| self.has_own_files()) {
            self.threads = enough_threads(self.threads, self.connections, files_max)
                .map_err(ServerError::Options)?;
        }
        Ok(self)
    }

    /// A limit on the whole process excludes a table for each thread.
    pub(crate) fn has_own_files(&self) -> bool {
        self.own_files && self.files.is_none()
    }
}

/// Checks options against rules that their types do not express.
///
/// # Errors
/// The first rule that does not hold, as [`ServerError::Options`].
pub fn check_rules<const N: usize>(rules: [(bool, &'static str); N]) -> Result<(), ServerError> {
    match rules.into_iter().find(|(holds, _)| !holds) {
        Some((_, rule)) => Err(ServerError::Options(rule)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_options_are_refused() {
        assert!(ServerOptions::default().check().is_ok());
        let changes: [fn(&mut ServerOptions); 3] = [
            |options| options.threads = 0,
            |options| options.connections = CONNECTIONS_MAX + 1,
            |options| options.files = Some(FILES_MIN - 1),
        ];
        for change in changes {
            let mut options = ServerOptions::default();
            change(&mut options);
            assert!(matches!(options.check(), Err(ServerError::Options(_))), "{options:?}");
        }
    }

    #[test]
    fn a_limit_on_the_process_excludes_tables_of_threads() {
        let mut options = ServerOptions::default();
        assert!(options.has_own_files());
        options.files = Some(FILES_MIN);
        options.connections = 1_000_000;
        let threads = options.threads;
        let options = options.with_enough_threads(Some(1024)).unwrap();
        assert_eq!(options.threads, threads);
    }
}
