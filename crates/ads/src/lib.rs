//! An ad network under load: it chooses ads, follows them by events, and keeps records.
//!
//! `docs/ads.md` describes it.
//!
//! ```text
//!             ask for an ad ─► list of the publisher ─► filters ─► best by performance ─► offer
//!   clients                                                                                 │
//!             impression ─► redeem ─► claim ─► convert ─────────────────────────────────────┤
//!                                                       access log ◄── records, if stored ◄─┘
//! ```

mod address;
mod cache;
mod database;
mod draws;
mod fault;
mod http;
mod hub;
mod inventory;
mod log;
mod metrics;
mod offers;
mod options;
mod publishers;
mod records;
mod store;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::{Extension, Router};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use http::{Guest, Stay};
use hub::Hub;
use offers::Step;
use server::Stop;
use server::http::serve_http;
use server::metrics::Counter;
use server::{Crew, Post, Setup, accept_all, run_until, stopped};

pub use address::{AddressError, ServerAddress, StoreAddress};
pub use cache::CacheError;
pub use database::Unusable;
pub use log::LogFormat;
pub use options::{AdsOptions, Writes};
pub use publishers::{AboveOne, PUBLISHERS_FILE_MAX, Publisher, Publishers, PublishersError};
pub use store::StoreError;

/// What an ad network did in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Ads served.
    pub served: u64,
    /// Events that followed, each once an offer.
    pub events: u64,
    /// Records that could not be stored.
    pub records_lost: u64,
    /// Lines that the access log could not take.
    pub lines_dropped: u64,
    /// Connections to store and cache that were lost.
    pub connections_lost: u64,
}

/// Why an ad network could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdsError {
    /// An option has a value that it may not have.
    #[error("{0}")]
    Options(&'static str),
    /// Records cannot be kept there.
    #[error("cannot keep records in {at}")]
    Store {
        /// The file or server asked for, without its password.
        at: String,
        /// Why not.
        source: StoreError,
    },
    /// The cache cannot be used.
    #[error("cannot use the cache {at}")]
    Cache {
        /// The server asked for, without its password.
        at: String,
        /// Why not.
        source: CacheError,
    },
    /// The access log cannot be written there.
    #[error("cannot write the access log {}", path.display())]
    Log {
        /// The file asked for.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The address could not be listened at.
    #[error("cannot listen at {address}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// A thread crashed.
    #[error("a thread crashed")]
    Crashed,
    /// Runtime, signals or limits could not be set up.
    #[error("cannot set up the process")]
    Process(#[source] io::Error),
}

/// Runs an ad network until `shutdown` resolves, and then stops it gracefully: no new connections,
/// requests under way answered, all records and lines written, an end after `stop_within` at the
/// latest.
///
/// `ready` is called with the address as soon as connections are accepted. Must be called on a
/// tokio runtime with time enabled; connections are served on threads of their own.
///
/// # Errors
/// On bad options, when store, log or address cannot be used, or when a thread crashed.
pub async fn serve(
    options: AdsOptions,
    ready: impl FnOnce(SocketAddr),
    shutdown: impl Future<Output = ()>,
) -> Result<Report, AdsError> {
    options.check()?;
    // Databases may take their time, and their clients wait.
    let asked = options.clone();
    let opening = tokio::task::spawn_blocking(move || Hub::open(&asked));
    let (hub, writing) = opening.await.map_err(|_| AdsError::Crashed)??;
    let hub = Arc::new(hub);
    let served = match start(&hub).await {
        Ok(crew) => {
            ready(crew.address());
            let served = crew.serve_until(shutdown, || hub.drain()).await;
            served.map_err(|_| AdsError::Crashed)
        }
        Err(source) => Err(AdsError::Listen {
            address: options.listen,
            source,
        }),
    };
    hub.end().await;
    let ended: Vec<_> = writing
        .into_iter()
        .map(std::thread::JoinHandle::join)
        .collect();
    served?;
    if ended.iter().any(Result::is_err) {
        return Err(AdsError::Crashed);
    }
    let (metrics, first) = (&hub.metrics, Step::Impression as usize);
    Ok(Report {
        served: metrics.steps[Step::Served as usize].get(),
        events: metrics.steps[first..].iter().map(Counter::get).sum(),
        records_lost: metrics.records_lost.get(),
        lines_dropped: hub.log.as_ref().map_or(0, |log| log.counts.dropped.get()),
        connections_lost: metrics.store.lost.get() + metrics.cache.lost.get(),
    })
}

/// [`serve`] on a runtime of its own, until `stop`; raises the limit on open files
/// first. For a process that does nothing else.
///
/// # Errors
/// As [`serve`], and when the process cannot be set up.
pub fn run(
    options: AdsOptions,
    stop: Stop,
    ready: impl FnOnce(SocketAddr),
) -> Result<Report, AdsError> {
    run_until(stop, |stopped| serve(options, ready, stopped)).map_err(AdsError::Process)?
}

async fn start(hub: &Arc<Hub>) -> io::Result<Crew> {
    let setup = Setup {
        listen: hub.options.listen,
        threads: hub.options.threads,
        backlog: hub.options.backlog,
        own_files: true,
        shared: hub.options.group.is_some(),
    };
    let (hub, router) = (Arc::clone(hub), http::router(Arc::clone(hub)));
    Crew::start(setup, move |post| {
        work(post, Arc::clone(&hub), router.clone())
    })
    .await
}

/// One app server.
async fn work(post: Post, hub: Arc<Hub>, router: Router) {
    let Post { listener, mut stop } = post;
    let (alive, mut all_gone) = mpsc::channel(1);
    let stopping = stop.clone();
    let places = Arc::new(tokio::sync::Semaphore::new(hub.options.connections_max));
    let open = |stream: TcpStream| {
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            hub.metrics.connections_refused.add(1);
            return;
        };
        hub.metrics.connections_opened.add(1);
        let (hub, router) = (Arc::clone(&hub), router.clone());
        let stay = Arc::new(Stay {
            _place: place,
            _alive: alive.clone(),
        });
        let stopping = stopping.clone();
        tokio::task::spawn_local(async move {
            attend(stream, stay, router, stopping).await;
            hub.metrics.connections_closed.add(1);
        });
    };
    tokio::select! {
        // A connection that cannot be accepted is the client's to notice.
        () = accept_all(&listener, open, drop) => {}
        () = stopped(&mut stop) => {}
    }
    drop((listener, alive));
    // What is still there after that ends with the thread.
    let _ = timeout(hub.options.stop_within, all_gone.recv()).await;
}

async fn attend(
    stream: TcpStream,
    stay: Arc<Stay>,
    router: Router,
    stopping: watch::Receiver<bool>,
) {
    // Who has left already is not served.
    if let Ok(peer) = stream.peer_addr() {
        let router = router.layer(Extension(Guest { peer, stay }));
        serve_http(stream, Vec::new(), router, stopping).await;
    }
}
