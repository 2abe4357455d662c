//! A thread that serves plain HTTP: each connection is a task of hyper's.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;

use super::{ConnectionEnd, serve_http};
use crate::accept::accept_all;
use crate::metrics::HttpConnections;
use crate::{ThreadContext, ThreadWork, stopped};

/// The other end of a connection; an extension of its requests.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Address of the client.
    pub address: SocketAddr,
    /// While a request holds it, the connection counts as open and a stop waits for it.
    pub guard: Arc<ConnectionGuard>,
}

/// Keeps the connection's place among those that may be open.
#[derive(Debug)]
pub struct ConnectionGuard {
    _permit: OwnedSemaphorePermit,
    _alive: mpsc::Sender<Infallible>,
}

/// Bounds of a thread's connections.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    /// Most connections at once; further ones are dropped.
    pub connections_max: usize,
    /// How long a stop waits for requests in progress.
    pub stop_within: Duration,
}

/// Serves `router` on one thread until it is to stop, and then until the requests in progress are answered.
pub fn serve_connections(
    context: ThreadContext,
    limits: ConnectionLimits,
    counts: Arc<HttpConnections>,
    router: Router,
) -> ThreadWork {
    Box::pin(accept_until_stop(context, limits, counts, router))
}

async fn accept_until_stop(
    context: ThreadContext,
    limits: ConnectionLimits,
    counts: Arc<HttpConnections>,
    router: Router,
) {
    let ThreadContext { listener, mut stop, .. } = context;
    let (alive, mut all_gone) = mpsc::channel(1);
    let stopping = stop.clone();
    let permits = Arc::new(Semaphore::new(limits.connections_max));
    let open = |stream: TcpStream| {
        let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else {
            counts.refused.add(1);
            return;
        };
        counts.opened.add(1);
        let guard = Arc::new(ConnectionGuard { _permit: permit, _alive: alive.clone() });
        let counts = Arc::clone(&counts);
        let router = router.clone();
        let stopping = stopping.clone();
        tokio::task::spawn_local(async move {
            // A peer without an address has left already.
            if let Ok(address) = stream.peer_addr() {
                let router = router.layer(Extension(Peer { address, guard }));
                if serve_http(stream, Vec::new(), router, stopping).await == ConnectionEnd::TimedOut
                {
                    counts.timed_out.add(1);
                }
            }
            counts.closed.add(1);
        });
    };
    tokio::select! {
        // A connection that cannot be accepted is its client's to notice.
        () = accept_all(&listener, open, drop) => {}
        () = stopped(&mut stop) => {}
    }
    drop((listener, alive));
    // What is still open after that ends with the thread.
    let _ = timeout(limits.stop_within, all_gone.recv()).await;
}
