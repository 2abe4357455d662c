//! One serving thread: its front, its beat, its end.

use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::{spawn_local, yield_now};
use tokio::time::{sleep, timeout};

use super::Front;
use super::notice::Notice;
use super::service::{FrontOptions, House, Shared};
use crate::{ThreadContext, stopped};

/// Serves on one thread until told to stop, and then until the last connection has ended or the
/// time for stopping is over. Ends at once when the kernel has no room to serve at all.
pub async fn serve<H: House>(house: Arc<H>, options: FrontOptions, context: ThreadContext) {
    let ThreadContext { listener, mut stop } = context;
    let stop_within = options.stop_within;
    let (alive, mut last_gone) = mpsc::channel(1);
    let front = unregistered(listener)
        .and_then(|listener| Front::new(&house, options, listener, stop.clone(), alive));
    // An end before the stop is taken for what it is: a crash.
    let Ok(front) = front else { return };
    house.begin(&front);
    spawn_local(keep_time(Rc::clone(&front)));
    let attending = spawn_local(attend(Rc::clone(&front)));
    tokio::select! {
        _ = attending => return,
        () = stopped(&mut stop) => {}
    }
    front.borrow_mut().close_doors();
    let stopping = async {
        all_lots(&front, Front::shut_lot).await;
        // Nothing is ever sent: it is the end of those who could.
        last_gone.recv().await
    };
    if timeout(stop_within, stopping).await.is_err() {
        let left = front.borrow().opened();
        house.connections().cut.add(left as u64);
    }
}

/// Brings `notice` to those for whom a broadcast in `channel` was begun.
pub async fn broadcast<H: House>(front: &Shared<H>, channel: u32, notice: &Notice) {
    while front.borrow_mut().broadcast_lot(channel, notice) {
        // The thread looks at its sockets: no request waits for a whole broadcast.
        yield_now().await;
    }
}

/// The listener, no longer known to the runtime.
fn unregistered(listener: TcpListener) -> io::Result<OwnedFd> {
    listener.into_std().map(OwnedFd::from)
}

/// Looks after all connections, until the thread's epoll instance breaks.
async fn attend<H: House>(front: Shared<H>) -> io::Result<()> {
    loop {
        poll_fn(|cx| front.borrow_mut().poll_turn(cx)).await?;
        yield_now().await;
    }
}

/// Ends what has taken too long and pings the silent, for ever.
async fn keep_time<H: House>(front: Shared<H>) {
    let every = front.borrow().beat_time();
    loop {
        sleep(every).await;
        if front.borrow_mut().beat() {
            all_lots(&front, Front::sweep_lot).await;
        }
    }
}

/// Does something with all rows, lot by lot, between which the thread looks at its sockets.
async fn all_lots<H: House>(front: &Shared<H>, lot: impl Fn(&mut Front<H>, u32) -> Option<u32>) {
    let mut at = Some(0);
    while let Some(place) = at {
        at = lot(&mut front.borrow_mut(), place);
        yield_now().await;
    }
}
