//! Figures of the connections to a database server or a cache.

use std::sync::atomic::AtomicUsize;

use server::metrics::Counter;

/// Events on the connections to a server.
#[derive(Debug, Default)]
pub(super) struct LinkFigures {
    /// Connections that are open.
    pub(super) open: AtomicUsize,
    /// Connections that were lost.
    pub(super) lost: Counter,
    /// Lost connections that were restored.
    pub(super) renewed: Counter,
    /// Requests that waited until their timeout.
    pub(super) timeouts: Counter,
}
