//! The exports of a run: one queue and one thread for each.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::export::server::Server;
use crate::export::snapshot::{Second, Snapshot, Totals};
use crate::export::{otlp, prometheus, statsd};

/// Most seconds in a queue.
const QUEUE_MAX: usize = 8;
/// How long the end of a run waits for the queues to empty.
const END_TIMEOUT: Duration = Duration::from_secs(3);
/// Time for one post.
const POST_TIMEOUT: Duration = Duration::from_secs(2);

/// Destinations of exports.
#[derive(Debug, Clone, Default)]
pub struct Targets {
    /// The address of a page for Prometheus.
    pub prometheus: Option<SocketAddr>,
    /// The URL for OTLP.
    pub otlp: Option<String>,
    /// `host:port` of a StatsD server.
    pub statsd: Option<String>,
}

/// Why an export cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("cannot serve metrics at {address}")]
    Listen {
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
    #[error("cannot find the StatsD server {address:?}; write it as HOST:PORT")]
    Statsd {
        address: String,
        #[source]
        source: io::Error,
    },
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
}

/// Checks a URL for OTLP and returns it with its path, or an error in words.
pub fn check_otlp(url: &str) -> Result<String, String> {
    let rest = url
        .strip_prefix("http://")
        .or_else(|| url.strip_prefix("https://"))
        .filter(|rest| !rest.is_empty() && !rest.starts_with('/'))
        .ok_or_else(|| "write it like http://127.0.0.1:4318".to_owned())?;
    Ok(match rest.trim_end_matches('/').contains('/') {
        true => url.to_owned(),
        false => format!("{}/v1/metrics", url.trim_end_matches('/')),
    })
}

/// An export that is sent each second.
#[derive(Debug)]
struct Exporter {
    name: &'static str,
    queue: SyncSender<Arc<Snapshot>>,
    /// Carries no values: it disconnects when the thread has sent everything.
    ended: mpsc::Receiver<()>,
    dropped: u64,
    failures: Arc<Failures>,
}

/// Seconds that could not be sent.
#[derive(Debug, Default)]
struct Failures {
    count: AtomicU64,
    first: Mutex<Option<String>>,
}

impl Failures {
    fn add(&self, why: String) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(why);
    }
}

/// All exports of a run.
#[derive(Debug)]
pub struct Exports {
    totals: Totals,
    seconds: u64,
    newest: Arc<Mutex<Arc<Snapshot>>>,
    server: Option<Server>,
    exporters: Vec<Exporter>,
}

impl Exports {
    /// Starts all exports.
    ///
    /// # Errors
    /// An address is in use, or a name is unknown.
    pub fn start(targets: &Targets) -> Result<Exports, ExportError> {
        let newest = Arc::<Mutex<Arc<Snapshot>>>::default();
        let server = match targets.prometheus {
            Some(address) => {
                let newest = Arc::clone(&newest);
                let page = move || {
                    let snapshot =
                        Arc::clone(&newest.lock().unwrap_or_else(PoisonError::into_inner));
                    prometheus::render(&snapshot)
                };
                let listen = |source| ExportError::Listen { address, source };
                Some(Server::start(address, page).map_err(listen)?)
            }
            None => None,
        };
        let mut exporters = Vec::new();
        if let Some(url) = &targets.otlp {
            let poster = probe::Poster::new(url, POST_TIMEOUT);
            exporters.push(exporter("otlp", move |snapshot| {
                let body = otlp::render(snapshot).to_string();
                otlp::check_reply(&poster.post_json(&body)?)
            })?);
        }
        if let Some(address) = &targets.statsd {
            let socket = statsd_socket(address)
                .map_err(|source| ExportError::Statsd { address: address.clone(), source })?;
            exporters.push(exporter("statsd", move |snapshot| {
                for datagram in statsd::render(snapshot) {
                    let sent = socket.send(datagram.as_bytes());
                    sent.map_err(|error| error.to_string())?;
                }
                Ok(())
            })?);
        }
        Ok(Exports { totals: Totals::default(), seconds: 0, newest, server, exporters })
    }

    /// The address of the page for Prometheus.
    pub fn page_address(&self) -> Option<SocketAddr> {
        self.server.as_ref().map(Server::address)
    }

    /// Exports a second. Returns at once, however slow the receivers are.
    pub fn second(&mut self, second: Second<'_>) {
        let dropped: Vec<(&str, u64)> =
            self.exporters.iter().map(|exporter| (exporter.name, exporter.dropped)).collect();
        let snapshot = Arc::new(self.totals.add(second, &dropped));
        self.seconds += 1;
        for exporter in &mut self.exporters {
            match exporter.queue.try_send(Arc::clone(&snapshot)) {
                Ok(()) => {}
                Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => exporter.dropped += 1,
            }
        }
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = snapshot;
    }

    /// Waits a while for the queues to empty; returns a sentence for each kind of loss.
    pub fn end(self) -> Vec<String> {
        let seconds = self.seconds;
        let mut losses = Vec::new();
        for exporter in self.exporters {
            drop(exporter.queue);
            let is_done = !matches!(
                exporter.ended.recv_timeout(END_TIMEOUT),
                Err(mpsc::RecvTimeoutError::Timeout)
            );
            let failed = exporter.failures.count.load(Ordering::Relaxed);
            let first = exporter.failures.first.lock();
            let first = first.unwrap_or_else(PoisonError::into_inner).take();
            let why = first.map(|why| format!(" ({why})")).unwrap_or_default();
            let name = exporter.name;
            if failed > 0 {
                losses
                    .push(format!("{name}: {failed} of {seconds} seconds could not be sent{why}"));
            }
            if exporter.dropped > 0 {
                let dropped = exporter.dropped;
                losses.push(format!(
                    "{name}: {dropped} of {seconds} seconds were dropped because it was too slow"
                ));
            }
            if !is_done {
                losses.push(format!("{name}: the last seconds were not sent before the run's end"));
            }
        }
        losses
    }
}

/// Starts a thread that sends snapshots.
fn exporter(
    name: &'static str,
    send: impl Fn(&Snapshot) -> Result<(), String> + Send + 'static,
) -> Result<Exporter, ExportError> {
    let (queue, snapshots) = sync_channel::<Arc<Snapshot>>(QUEUE_MAX);
    let (alive, ended) = sync_channel(0);
    let failures = Arc::<Failures>::default();
    let failed = Arc::clone(&failures);
    std::thread::Builder::new()
        .name(format!("export {name}"))
        .spawn(move || {
            for snapshot in snapshots {
                if let Err(why) = send(&snapshot) {
                    failed.add(why);
                }
            }
            drop::<SyncSender<()>>(alive);
        })
        .map_err(ExportError::Thread)?;
    Ok(Exporter { name, queue, ended, dropped: 0, failures })
}

/// A non-blocking socket of the address's family.
fn statsd_socket(address: &str) -> io::Result<UdpSocket> {
    let mut found = address.to_socket_addrs()?;
    let address = found.next().ok_or_else(|| io::Error::other("the name has no address"))?;
    let any: SocketAddr = match address {
        SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
        SocketAddr::V6(_) => ([0u16; 8], 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    socket.connect(address)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_without_a_path_gets_the_one_of_metrics() {
        let path = |url| check_otlp(url).unwrap();
        assert_eq!(path("http://h:4318"), "http://h:4318/v1/metrics");
        assert_eq!(path("http://h:4318/"), "http://h:4318/v1/metrics");
        assert_eq!(path("https://h/otlp/v1/metrics"), "https://h/otlp/v1/metrics");
        assert!(check_otlp("h:4318").is_err());
        assert!(check_otlp("http://").is_err());
    }
}
