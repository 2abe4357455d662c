//! A serving thread: it accepts connections, each of which is a task.

use std::convert::Infallible;
use std::io::Write;
use std::sync::Arc;

use server::{ThreadContext, accept_all, stopped};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::connection::Connection;
use crate::jobs::JobSender;
use crate::state::State;
use crate::wire::{Code, Writer, add_trailer};

/// Serves one thread until it is to stop, and then until the requests in progress are answered.
pub(crate) async fn serve(context: ThreadContext, state: Arc<State>, jobs: JobSender) {
    let ThreadContext { listener, mut stop, .. } = context;
    let (alive, mut all_gone) = mpsc::channel::<Infallible>(1);
    let stopping = stop.clone();
    let open = |stream: TcpStream| {
        if state.metrics.connections.up() >= state.connections_max {
            refuse(stream, &state);
            state.metrics.connections.down();
            return;
        }
        state.metrics.connections_opened.add(1);
        let alive = alive.clone();
        let connection =
            Connection::new(stream, Arc::clone(&state), jobs.clone(), stopping.clone());
        let state = Arc::clone(&state);
        tokio::task::spawn_local(async move {
            connection.serve().await;
            state.metrics.connections.down();
            drop(alive);
        });
    };
    let failed = |_| state.metrics.accept_errors.add(1);
    tokio::select! {
        () = accept_all(&listener, open, failed) => {}
        () = stopped(&mut stop) => {}
    }
    drop((listener, alive));
    // What is still open after that ends with the thread.
    let _ = timeout(state.stop_within, all_gone.recv()).await;
}

/// Closes a connection that is one too many.
fn refuse(stream: TcpStream, state: &State) {
    state.metrics.connections_refused.add(1);
    let text = format!("{} connections are open, the maximum", state.connections_max);
    let mut out = Vec::new();
    Writer::error(&mut out, 0, Code::Connections, &text).finish();
    if state.timing {
        // No part of it took any time.
        add_trailer(&mut out, 0, [0; 4]);
    }
    // The runtime does not know yet that it can be written to, the kernel does: its buffer is empty.
    if let Ok(mut stream) = stream.into_std() {
        // A client that has left does not miss it.
        let _ = stream.write(&out);
    }
}
