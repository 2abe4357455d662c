//! One serving thread: its reactor, its tick, its end.

use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::{spawn_local, yield_now};
use tokio::time::{sleep, timeout};

use super::Reactor;
use super::notice::Notice;
use super::service::{ReactorOptions, Service, SharedReactor};
use crate::{ThreadContext, ThreadWork, stopped};

/// Serves on one thread until it is stopped, and then until the last connection has ended or the
/// time for stopping is over. Ends at once when the kernel has no room to serve at all.
pub fn serve<S: Service>(
    service: Arc<S>,
    options: ReactorOptions,
    context: ThreadContext,
) -> ThreadWork {
    Box::pin(serve_until_stop(service, options, context))
}

async fn serve_until_stop<S: Service>(
    service: Arc<S>,
    options: ReactorOptions,
    context: ThreadContext,
) {
    let ThreadContext { listener, mut stop, tls } = context;
    let stop_within = options.stop_within;
    let (alive, mut last_gone) = mpsc::channel(1);
    let reactor = unregistered(listener)
        .and_then(|listener| Reactor::new(&service, options, listener, tls, stop.clone(), alive));
    // An end before the stop is taken for what it is: a crash.
    let Ok(reactor) = reactor else { return };
    service.start(&reactor);
    spawn_local(run_clock(Rc::clone(&reactor)));
    let running = spawn_local(run(Rc::clone(&reactor)));
    tokio::select! {
        _ = running => return,
        () = stopped(&mut stop) => {}
    }
    reactor.borrow_mut().stop_accepting();
    let stopping = async {
        for_all_rows(&reactor, Reactor::close_batch).await;
        // Nothing is ever sent: it is the end of those who could.
        last_gone.recv().await
    };
    if timeout(stop_within, stopping).await.is_err() {
        let left = reactor.borrow().opened();
        service.connections().cut.add(left as u64);
    }
}

/// Brings `notice` to those for whom a broadcast in `channel` was begun.
pub async fn broadcast<S: Service>(reactor: &SharedReactor<S>, channel: u32, notice: &Notice) {
    while reactor.borrow_mut().broadcast_batch(channel, notice) {
        // The thread looks at its sockets: no request waits for a whole broadcast.
        yield_now().await;
    }
}

/// The listener, no longer known to the runtime.
fn unregistered(listener: TcpListener) -> io::Result<OwnedFd> {
    listener.into_std().map(OwnedFd::from)
}

/// Looks after all connections, until the thread's epoll instance breaks.
async fn run<S: Service>(reactor: SharedReactor<S>) -> io::Result<()> {
    loop {
        poll_fn(|cx| reactor.borrow_mut().poll_turn(cx)).await?;
        yield_now().await;
    }
}

/// Ends what has taken too long and pings the silent, for ever.
async fn run_clock<S: Service>(reactor: SharedReactor<S>) {
    let every = reactor.borrow().tick_time();
    loop {
        sleep(every).await;
        if reactor.borrow_mut().tick() {
            for_all_rows(&reactor, Reactor::sweep_batch).await;
        }
    }
}

/// Does something with all rows, batch by batch, between which the thread looks at its sockets.
async fn for_all_rows<S: Service>(
    reactor: &SharedReactor<S>,
    batch: impl Fn(&mut Reactor<S>, u32) -> Option<u32>,
) {
    let mut at = Some(0);
    while let Some(place) = at {
        at = batch(&mut reactor.borrow_mut(), place);
        yield_now().await;
    }
}
