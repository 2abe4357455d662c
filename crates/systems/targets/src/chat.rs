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
mod connection;
mod http;
mod message;
mod metrics;
mod options;
mod paths;
mod phoenix;
mod reply;
mod request_error;
mod room;
mod service;
mod socket;
mod state;
#[cfg(feature = "full")]
mod store;
#[cfg(not(feature = "full"))]
#[path = "chat/no_store.rs"]
mod store;

use std::path::PathBuf;
use std::sync::Arc;

use server::{Operations, Ready, ServerError, Serving, Shutdown, Stop, reactor};
use state::ChatState;

pub use options::{ChatOptions, Names};
pub use store::StoreError;

/// Figures of a chat from its start to its end.
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
    /// It could not be served.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The history cannot be kept there.
    #[error("cannot keep the history in {}", path.display())]
    Store {
        /// The file that is set.
        path: PathBuf,
        /// Why not.
        source: StoreError,
    },
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
pub fn serve(
    options: ChatOptions,
    ready: Ready,
    shutdown: Shutdown,
) -> Serving<'static, Report, ChatError> {
    Box::pin(serve_until(options, ready, shutdown))
}

async fn serve_until(
    options: ChatOptions,
    ready: Ready,
    shutdown: Shutdown,
) -> Result<Report, ChatError> {
    options.check()?;
    let options = options.stretched();
    let options = options.with_enough_threads(server::open_files_max())?;
    let (state, writing) = ChatState::open(&options)?;
    let state = Arc::new(state);
    let work = {
        let state = Arc::clone(&state);
        let reactor = options.reactor();
        move |context| reactor::serve(Arc::clone(&state), reactor.clone(), context)
    };
    let drain = || state.drain().begin();
    let served = server::serve(&options.server, work, ready, shutdown, drain).await;
    state.end_store().await;
    let written = writing.is_none_or(|thread| thread.join().is_ok());
    served?;
    if !written {
        return Err(ServerError::Crashed.into());
    }
    let connections = &state.metrics.connections;
    Ok(Report {
        connections: connections.opened.get(),
        messages: state.metrics.spoken.get(),
        slow_disconnects: connections.slow_disconnects.get(),
        connections_cut: connections.cut.get(),
    })
}

/// [`serve`] on a runtime of its own, until `stop`; sets the limit on open files first: to `files`, or
/// as high as it goes. For a process that does nothing else.
///
/// # Errors
/// As [`serve`], and when the process cannot be set up.
pub fn run(options: ChatOptions, stop: Stop, ready: Ready) -> Result<Report, ChatError> {
    let server = options.server.clone();
    server::run(&server, stop, |shutdown| serve(options, ready, shutdown))
}
