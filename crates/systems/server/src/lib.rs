//! The framework that every built-in system under test is built on.
//!
//! An island with the systems: none of these crates imports another crate of the project, but `trust` for
//! connections to databases, and `regular` for files of settings. They are
//! built with the ecosystem's own (tokio, hyper, axum, tungstenite), so that they are an
//! independent oracle for the codecs on the other end of the wire.
//!
//! # Adding a system
//!
//! 1. Its options are a struct with a [`ServerOptions`] in it and what is its own;
//!    [`check_rules`] validates the latter.
//! 2. Its shared state implements [`Operations`], which gives it `/healthz` and `/metrics`
//!    ([`operator_routes`]; [`metrics::Page`] writes the page), and with long-lived connections
//!    [`reactor::Service`].
//! 3. `serve(options, ready, shutdown)` returns [`Serving`], which checks the options, makes the state and calls
//!    [`serve`] with the work of a thread: [`reactor::serve`] if it has WebSockets or event streams, else
//!    [`http::serve_connections`]. `run(options, stop, ready)` is [`run`] around it.
//! 4. `throng` needs a variant of `args::System` with its flags, and a branch in `verbs/quick/serve.rs`;
//!    `run.target` in scenarios and their checks follow from these flags.
//! 5. A page `docs/NAME.md`, an example, tests on real sockets in the crate's `tests/it`.
//!
//! Threads, file tables, listeners, the drain, signals, process counters, the access log
//! ([`access_log`]), database clients ([`database`]) and seeded draws ([`Draws`]) are here.

pub mod access_log;
#[cfg(feature = "full")]
pub mod database;
#[doc(hidden)]
pub mod fuzzing;
pub mod http;
pub mod metrics;
pub mod reactor;
pub mod sse;
pub mod websocket;

mod accept;
mod budget;
mod clock;
mod error;
mod operations;
mod options;
mod poller;
mod process;
mod random;
mod recent;
mod secret;
mod serving;
mod sizing;
mod threads;
mod tls;

pub use accept::accept_all;
pub use clock::{dilate, follow_skew, shrink, since_1970, stretch, wall, wall_ms};
pub use error::ServerError;
pub use operations::{Drain, Operations, operator_routes};
pub use options::{BACKLOG, CONNECTIONS_MAX, FILES_MIN, ServerOptions, check_rules};
pub use process::{Stop, run};
pub use random::Draws;
pub use recent::Recent;
pub use secret::{HIDDEN, redacted};
pub use serving::{Ready, Serving, Shutdown, ThreadWork};
pub use sizing::connections_each;
pub use threads::{Port, ThreadContext, open_files_max, serve};
pub use tls::{TlsError, TlsFiles};

/// Resolves once `stop` turns true, and also when its sender is gone.
pub async fn stopped(stop: &mut tokio::sync::watch::Receiver<bool>) {
    // An error means that the sender is gone: then there is nothing left to serve for.
    let _ = stop.wait_for(|stop| *stop).await;
}
