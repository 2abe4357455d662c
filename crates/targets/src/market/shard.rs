//! One serving thread: its front, its end of the bus, its beat, its end.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::{spawn_local, yield_now};
use tokio::time::{sleep, timeout};

use super::bus::{Delivery, Subscription};
use super::front::Front;
use super::hub::Hub;
use super::model::GameId;
use super::options::MarketOptions;
use crate::wire::{Post, stopped};

/// A front as the tasks of its thread share it. None of them holds it over an `await`.
type Shared = Rc<RefCell<Front>>;

/// Serves on one thread until told to stop, and then until the last connection has ended or the
/// time for stopping is over. Ends at once when the kernel has no room to serve at all.
pub(super) async fn serve(hub: Arc<Hub>, options: MarketOptions, post: Post) {
    let Post { listener, mut stop } = post;
    let (alive, mut last_gone) = mpsc::channel(1);
    let front = unregistered(listener)
        .and_then(|listener| Front::new(&hub, &options, listener, stop.clone(), alive));
    // An end before the stop is taken for what it is: a crash.
    let Ok(front) = front else { return };
    for game in hub.games() {
        let channel = hub.bus.subscribe(game);
        spawn_local(fan_out(Arc::clone(&hub), Rc::clone(&front), game, channel));
    }
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
    if timeout(options.stop_within, stopping).await.is_err() {
        let left = front.borrow().sockets();
        hub.metrics.connections_cut.add(left as u64);
    }
}

/// The listener, no longer known to the runtime.
fn unregistered(listener: TcpListener) -> io::Result<OwnedFd> {
    listener.into_std().map(OwnedFd::from)
}

/// Looks after all connections, until the thread's epoll instance breaks.
async fn attend(front: Shared) -> io::Result<()> {
    loop {
        poll_fn(|cx| front.borrow_mut().poll_turn(cx)).await?;
        yield_now().await;
    }
}

/// Brings everything published for `game` to the thread's subscribers, for ever. Notices that
/// come faster wait on the bus.
async fn fan_out(hub: Arc<Hub>, front: Shared, game: GameId, mut channel: Box<dyn Subscription>) {
    while let Some(delivery) = channel.next().await {
        match delivery {
            Delivery::Notice(notice) => {
                front.borrow_mut().begin_broadcast(game);
                while front.borrow_mut().broadcast_lot(game, &notice) {
                    // The thread looks at its sockets: no request waits for a whole broadcast.
                    yield_now().await;
                }
            }
            Delivery::Lost(count) => hub.metrics.bus_lost.add(count),
        }
    }
}

/// Ends what has taken too long and pings the silent, for ever.
async fn keep_time(front: Shared) {
    let every = front.borrow().beat_time();
    loop {
        sleep(every).await;
        if front.borrow_mut().beat() {
            all_lots(&front, Front::sweep_lot).await;
        }
    }
}

/// Does something with all rows, lot by lot, between which the thread looks at its sockets.
async fn all_lots(front: &Shared, lot: impl Fn(&mut Front, u32) -> Option<u32>) {
    let mut at = Some(0);
    while let Some(place) = at {
        at = lot(&mut front.borrow_mut(), place);
        yield_now().await;
    }
}
