//! HTTP/1.1 by hyper, for every connection that is not a WebSocket.

mod connections;
mod head;
mod rewind;

use axum::Router;
use bytes::Bytes;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::stopped;
use rewind::Rewind;

pub use connections::{ConnectionGuard, ConnectionLimits, Peer, serve_connections};
pub use head::{Endpoint, OpenRequest, Opening, Route, read_opening, route, upgrade_response};

/// Serves requests by `router` until the peer leaves; once `stop` turns true the request under
/// way is answered and the connection closed. `head` holds the bytes that were read already.
pub async fn serve_http(
    stream: TcpStream,
    head: Vec<u8>,
    router: Router,
    mut stop: watch::Receiver<bool>,
) {
    let io = TokioIo::new(Rewind::new(Bytes::from(head), stream));
    let connection = http1::Builder::new().serve_connection(io, TowerToHyperService::new(router));
    let mut connection = std::pin::pin!(connection);
    // How a peer's connection ended is its own affair: a broken one is simply over.
    tokio::select! {
        _ = connection.as_mut() => {}
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}
