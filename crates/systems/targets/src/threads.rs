//! Work of a serving thread that speaks HTTP/1.1 and HTTP/2.

use axum::Router;

use server::http::{EitherTls, serve_either};
use server::{ThreadContext, accept_all, stopped};

/// Serves connections of HTTP/1.1 and HTTP/2 on a thread.
pub(crate) async fn work(context: ThreadContext, tls: Option<EitherTls>, router: Router) {
    let ThreadContext { listener, mut stop, .. } = context;
    let stopping = stop.clone();
    let open = |stream| {
        tokio::task::spawn_local(serve_either(
            stream,
            tls.clone(),
            router.clone(),
            stopping.clone(),
        ));
    };
    tokio::select! {
        // A connection that cannot be accepted is the client's to notice.
        () = accept_all(&listener, open, drop) => {}
        () = stopped(&mut stop) => {}
    }
}
