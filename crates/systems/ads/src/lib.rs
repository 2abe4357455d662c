//! An ad network under load: it chooses ads, follows them by events, and keeps records.
//!
//! `docs/ads.md` describes it.
//!
//! ```text
//!             request an ad ─► list of the publisher ─► filters ─► best by performance ─► offer
//!   clients                                                                                 │
//!             impression ─► redeem ─► claim ─► convert ─────────────────────────────────────┤
//!                                                       access log ◄── records, if stored ◄─┘
//! ```

mod cache;
mod database;
mod http;
mod inventory;
mod link;
mod metrics;
mod offers;
mod options;
mod page;
mod publishers;
mod record;
mod records;
mod request_error;
mod state;
mod step;
mod store;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use server::http::{ConnectionLimits, serve_connections};
use server::metrics::Counter;
use server::{Ready, ServerError, Serving, Shutdown, Stop};
use tokio::sync::oneshot;

use state::AdsState;
use step::Step;

pub use cache::CacheError;
pub use database::DatabaseError;
pub use server::access_log::LogFormat;
pub use server::database::{AddressError, ServerAddress, StoreAddress};

pub use options::{AdsOptions, Writes};
pub use publishers::{AboveOne, PUBLISHERS_FILE_MAX, Publisher, Publishers, PublishersError};
pub use store::StoreError;

/// Figures of an ad network from its start to its end.
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
    /// It could not be served.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// Records cannot be kept there.
    #[error("cannot keep records in {at}")]
    Store {
        /// The file or server that is set, without its password.
        at: String,
        /// Why not.
        source: StoreError,
    },
    /// The cache cannot be used.
    #[error("cannot use the cache {at}")]
    Cache {
        /// The server that is set, without its password.
        at: String,
        /// Why not.
        source: CacheError,
    },
    /// The access log cannot be written there.
    #[error("cannot write the access log {}", path.display())]
    Log {
        /// The file that is set.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
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
pub fn serve(
    options: AdsOptions,
    ready: Ready,
    shutdown: Shutdown,
) -> Serving<'static, Report, AdsError> {
    Box::pin(serve_until(options, ready, shutdown))
}

async fn serve_until(
    mut options: AdsOptions,
    ready: Ready,
    shutdown: Shutdown,
) -> Result<Report, AdsError> {
    options.check()?;
    options.store_wait = server::stretch(options.store_wait);
    // Databases may take their time, and their clients block.
    let (opened, opening) = oneshot::channel();
    let own = options.clone();
    let thread = std::thread::Builder::new().name("open".to_owned());
    // Nobody waits any more if the server was stopped meanwhile.
    let started = thread.spawn(move || drop(opened.send(AdsState::open(&own))));
    started.map_err(ServerError::Process)?;
    let (state, writing) = opening.await.map_err(|_| ServerError::Crashed)??;
    let state = Arc::new(state);
    let limits = ConnectionLimits {
        connections_max: options.connections_max,
        stop_within: options.server.stop_within,
    };
    let counts = Arc::clone(&state.metrics.connections);
    let router = http::router(&state);
    let work =
        move |context| serve_connections(context, limits, Arc::clone(&counts), router.clone());
    let drain = || state.drain.begin();
    let mut server = options.server.clone();
    server.shared_port |= options.group.is_some();
    let served = server::serve(&server, work, ready, shutdown, drain).await;
    state.end().await;
    let ended: Vec<_> = writing.into_iter().map(std::thread::JoinHandle::join).collect();
    served?;
    if ended.iter().any(Result::is_err) {
        return Err(ServerError::Crashed.into());
    }
    let metrics = &state.metrics;
    let first = Step::Impression as usize;
    Ok(Report {
        served: metrics.steps[Step::Served as usize].get(),
        events: metrics.steps[first..].iter().map(Counter::get).sum(),
        records_lost: metrics.records_lost.get(),
        lines_dropped: state.log.as_ref().map_or(0, |log| log.counts().dropped.get()),
        connections_lost: metrics.store.lost.get() + metrics.cache.lost.get(),
    })
}

/// [`serve`] on a runtime of its own, until `stop`; raises the limit on open files
/// first. For a process that does nothing else.
///
/// # Errors
/// As [`serve`], and when the process cannot be set up.
pub fn run(options: AdsOptions, stop: Stop, ready: Ready) -> Result<Report, AdsError> {
    let server = options.server.clone();
    server::run(&server, stop, |shutdown| serve(options, ready, shutdown))
}
