//! A chat: rooms over polling, long polling, server-sent events and WebSocket, and the same rooms
//! behind the protocols of ActionCable and Phoenix channels. `docs/chat.md` describes them.
//!
//! ```text
//!            speak                    ┌─► polls, held or not
//!   clients ───────► room: a log ─────┤
//!              │     read by cursors  └─► one cursor a thread ─► channels ─► WebSockets, streams
//!              └ store, if there is one
//! ```

mod cable;
mod channels;
mod fault;
mod guest;
mod house;
mod http;
mod hub;
mod message;
mod metrics;
mod options;
mod phoenix;
mod room;
mod socket;
mod store;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use hub::Hub;
use server::Stop;
use server::reactor;
use server::{Crew, Setup, limit_open_files, open_files_max, run_until};

pub use options::ChatOptions;
pub use store::StoreError;

/// What a chat did in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// WebSockets and streams opened.
    pub connections: u64,
    /// Messages taken.
    pub messages: u64,
    /// Connections cut for reading too slowly.
    pub slow_disconnects: u64,
    /// Connections that were still there when the time for stopping was over.
    pub connections_cut: u64,
}

/// Why a chat could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// An option has a value that it may not have.
    #[error("{0}")]
    Options(&'static str),
    /// The history cannot be kept there.
    #[error("cannot keep the history in {}", path.display())]
    Store {
        /// The file asked for.
        path: PathBuf,
        /// Why not.
        source: StoreError,
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

/// Runs a chat until `shutdown` resolves, and then stops it gracefully: no new connections, held
/// polls answered, streams ended, WebSockets closed with code 1001, an end after `stop_within` at
/// the latest. What was said is stored before that.
///
/// `ready` is called with the address as soon as connections are accepted. Must be called on a
/// tokio runtime with time enabled; connections are served on threads of their own.
///
/// # Errors
/// On bad options, when the store cannot be used or the address not be listened at, or when a
/// thread crashed.
pub async fn serve(
    options: ChatOptions,
    ready: impl FnOnce(SocketAddr),
    shutdown: impl Future<Output = ()>,
) -> Result<Report, ChatError> {
    options.check()?;
    let options = options.with_enough_threads(open_files_max())?;
    let (hub, writing) = Hub::open(&options)?;
    let hub = Arc::new(hub);
    let started = start(&options, &hub).await;
    let stopped = match started {
        Ok(crew) => {
            ready(crew.address());
            let served = crew.serve_until(shutdown, || hub.drain()).await;
            served.map_err(|_| ChatError::Crashed)
        }
        Err(error) => Err(error),
    };
    hub.end_store().await;
    let written = writing.is_none_or(|thread| thread.join().is_ok());
    stopped?;
    if !written {
        return Err(ChatError::Crashed);
    }
    let connections = &hub.metrics.connections;
    Ok(Report {
        connections: connections.opened.get(),
        messages: hub.metrics.spoken.get(),
        slow_disconnects: connections.slow_disconnects.get(),
        connections_cut: connections.cut.get(),
    })
}

/// [`serve`] on a runtime of its own, until `stop`; sets the limit on open files first: to `files`, or
/// as high as it goes. For a process that does nothing else.
///
/// # Errors
/// As [`serve`], and when the process cannot be set up.
pub fn run(
    mut options: ChatOptions,
    stop: Stop,
    ready: impl FnOnce(SocketAddr),
) -> Result<Report, ChatError> {
    // A limit for the whole process is none where each thread has a table.
    options.own_files &= options.files.is_none();
    run_until(stop, |stopped| async move {
        if let Some(files) = options.files {
            limit_open_files(files).map_err(ChatError::Process)?;
        }
        serve(options, ready, stopped).await
    })
    .map_err(ChatError::Process)?
}

async fn start(options: &ChatOptions, hub: &Arc<Hub>) -> Result<Crew, ChatError> {
    let setup = Setup {
        listen: options.listen,
        threads: options.threads,
        backlog: options.backlog,
        own_files: options.own_files,
        shared: false,
    };
    let (hub, work) = (Arc::clone(hub), options.front());
    Crew::start(setup, move |post| {
        reactor::serve(Arc::clone(&hub), work.clone(), post)
    })
    .await
    .map_err(|source| ChatError::Listen {
        address: options.listen,
        source,
    })
}
