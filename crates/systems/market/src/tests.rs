//! The market on real sockets, where a test must reach into it: a store that takes its
//! time.

mod bus_outages;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use rustix::net::sockopt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, LocalSet, spawn_local};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::protocol::STREAM;
use super::*;
use crate::bus::model::{Event, Game, GameId, PlacedPrediction, Pool, PoolId, User};
use crate::ledger::Money;
use crate::store::Store;
use crate::transactions::Answer;
use crate::transactions::{Prediction, Settlement, StoreError, Verdict};
use server::ThreadContext;
use server::reactor;

/// A store that lets nobody have a balance without a permit.
pub(crate) struct Slow {
    inner: Arc<dyn Store>,
    permits: Arc<Semaphore>,
    /// No event of this game is settled; whether that takes for ever.
    unsettled: Option<(GameId, bool)>,
    /// Nobody can count its money.
    uncounted: bool,
    /// No account can be closed now.
    pub(crate) away: Arc<AtomicBool>,
}

impl Slow {
    pub(crate) fn new(inner: &Arc<dyn Store>) -> Self {
        Self {
            inner: Arc::clone(inner),
            permits: Arc::new(Semaphore::new(0)),
            unsettled: None,
            uncounted: false,
            away: Arc::default(),
        }
    }

    /// Settles no event of `game`: refuses to, or hangs.
    pub(crate) fn without_settling(self, game: GameId, hangs: bool) -> Self {
        Self { unsettled: Some((game, hangs)), ..self }
    }
}

impl Store for Slow {
    fn games(&self) -> Answer<'_, Vec<Game>> {
        self.inner.games()
    }

    fn game(&self, id: GameId) -> Answer<'_, Option<Game>> {
        self.inner.game(id)
    }

    fn pools(&self, game: GameId) -> Answer<'_, Option<Vec<Pool>>> {
        self.inner.pools(game)
    }

    fn pool(&self, id: PoolId) -> Answer<'_, Option<Pool>> {
        self.inner.pool(id)
    }

    fn open_pool(&self, game: GameId) -> Answer<'_, Option<Pool>> {
        self.inner.open_pool(game)
    }

    fn open_account<'a>(&'a self, user: &'a User) -> Answer<'a, u64> {
        Box::pin(async move {
            self.permits.acquire().await.unwrap().forget();
            self.inner.open_account(user).await
        })
    }

    fn close_accounts<'a>(&'a self, users: &'a [User]) -> Answer<'a, ()> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            if self.away.load(Ordering::Relaxed) {
                return Err(StoreError::Unavailable("away".to_owned()));
            }
            self.inner.close_accounts(users).await
        })
    }

    fn predict<'a>(&'a self, prediction: &'a Prediction) -> Answer<'a, Verdict> {
        self.inner.predict(prediction)
    }

    fn predictions(&self, pool: PoolId) -> Answer<'_, Vec<PlacedPrediction>> {
        self.inner.predictions(pool)
    }

    fn last_event(&self, game: GameId) -> Answer<'_, u64> {
        self.inner.last_event(game)
    }

    fn record(&self, event: Event) -> Answer<'_, bool> {
        self.inner.record(event)
    }

    fn unsettled(&self) -> Answer<'_, Vec<Event>> {
        self.inner.unsettled()
    }

    fn pending(&self) -> Answer<'_, Vec<Event>> {
        self.inner.pending()
    }

    fn settle(&self, event: Event) -> Answer<'_, Settlement> {
        match self.unsettled {
            Some((game, true)) if game == event.game => Box::pin(std::future::pending()),
            Some((game, false)) if game == event.game => {
                Box::pin(async { Err(StoreError::Unbalanced { total: 1, out: 2 }) })
            }
            _ => self.inner.settle(event),
        }
    }

    fn announced(&self, event: Event) -> Answer<'_, ()> {
        self.inner.announced(event)
    }

    fn audit(&self) -> Answer<'_, Money> {
        match self.uncounted {
            true => Box::pin(async { Err(StoreError::Unavailable("away".to_owned())) }),
            false => self.inner.audit(),
        }
    }
}

struct Scene {
    state: Arc<MarketState>,
    address: SocketAddr,
    permits: Arc<Semaphore>,
    stop: watch::Sender<bool>,
    served: JoinHandle<()>,
}

impl Scene {
    async fn set() -> Self {
        let options = MarketOptions::default();
        let mut state = MarketState::new(&options);
        let slow = Slow::new(&state.store);
        let permits = Arc::clone(&slow.permits);
        state.store = Arc::new(slow);
        let state = Arc::new(state);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopping) = watch::channel(false);
        let post = ThreadContext { listener, stop: stopping, tls: None };
        let served = spawn_local(reactor::serve(Arc::clone(&state), options.reactor(), post));
        Self { state, address, permits, stop, served }
    }

    async fn connect(&self) -> WebSocketStream<TcpStream> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let url = format!("ws://{}{STREAM}", self.address);
        tokio_tungstenite::client_async(url, stream).await.unwrap().0
    }

    /// Waits until this number of messages was received.
    async fn received(&self, count: u64) {
        while self.state.metrics.connections.messages_received.get() < count {
            tokio::task::yield_now().await;
        }
    }
}

async fn say(socket: &mut WebSocketStream<TcpStream>, text: &str) {
    socket.send(Message::text(text)).await.unwrap();
}

/// What the next reply is to.
async fn next_reply(socket: &mut WebSocketStream<TcpStream>) -> String {
    let message = socket.next().await.unwrap().unwrap();
    let reply: serde_json::Value = serde_json::from_str(message.to_text().unwrap()).unwrap();
    reply["re"].as_str().unwrap().to_owned()
}

/// Runs a test as a thread of the pool would.
async fn on_stage(test: impl Future<Output = ()>) {
    let queue_limits = Duration::from_secs(20);
    let stage = LocalSet::new();
    let test = stage.run_until(async { tokio::time::timeout(queue_limits, test).await });
    test.await.expect("should have happened long ago");
}

const JOIN: &str = r#"{"op":"join","game":"g1"}"#;
const LEAVE: &str = r#"{"op":"leave"}"#;

#[tokio::test]
async fn replies_keep_their_order_when_the_store_takes_its_time() {
    on_stage(async {
        let scene = Scene::set().await;
        let mut waiting = scene.connect().await;
        let mut other = scene.connect().await;
        for text in [LEAVE, JOIN, LEAVE, JOIN, LEAVE] {
            say(&mut waiting, text).await;
        }
        // It is served up to the first join, and others are not held up by it.
        assert_eq!(next_reply(&mut waiting).await, "leave");
        scene.received(2).await;
        say(&mut other, LEAVE).await;
        assert_eq!(next_reply(&mut other).await, "leave");
        assert_eq!(scene.state.metrics.connections.messages_received.get(), 3, "not even read");
        scene.permits.add_permits(1);
        for expected in ["join", "leave"] {
            assert_eq!(next_reply(&mut waiting).await, expected);
        }
        scene.permits.add_permits(1);
        for expected in ["join", "leave"] {
            assert_eq!(next_reply(&mut waiting).await, expected);
        }
    })
    .await;
}

#[tokio::test]
async fn money_that_nobody_could_count_is_not_said_to_be_lost() {
    let mut state = MarketState::new(&MarketOptions::default());
    assert_eq!(report(&state).await.balanced, Some(true));
    let slow = Slow::new(&state.store);
    state.store = Arc::new(Slow { uncounted: true, ..slow });
    assert_eq!(report(&state).await.balanced, None);
    state.audits = false;
    assert_eq!(report(&state).await.balanced, None);
}

#[tokio::test]
async fn an_account_is_closed_though_its_owner_was_gone_before_it_was_open() {
    on_stage(async {
        let scene = Scene::set().await;
        let mut fan = scene.connect().await;
        say(&mut fan, JOIN).await;
        scene.received(1).await;
        // A reset, which the market notices though it does not read.
        sockopt::set_socket_linger(fan.get_ref(), Some(Duration::ZERO)).unwrap();
        drop(fan);
        while scene.state.metrics.connections.closed.get() < 1 {
            tokio::task::yield_now().await;
        }
        scene.permits.add_permits(1);
        let closed = async || {
            let money = scene.state.store.audit().await.unwrap();
            assert!(money.balanced());
            money.withdrawn > 0
        };
        while !closed().await {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_request_under_way_is_answered_before_the_stop() {
    on_stage(async {
        let scene = Scene::set().await;
        let mut fan = scene.connect().await;
        say(&mut fan, JOIN).await;
        scene.received(1).await;
        scene.stop.send_replace(true);
        // The listener goes first.
        while TcpStream::connect(scene.address).await.is_ok() {
            tokio::task::yield_now().await;
        }
        scene.permits.add_permits(1);
        assert_eq!(next_reply(&mut fan).await, "join");
        let last = fan.next().await.unwrap().unwrap();
        let Message::Close(Some(frame)) = last else {
            panic!("{last:?}");
        };
        assert_eq!(u16::from(frame.code), 1001);
        drop(fan);
        scene.served.await.unwrap();
        assert_eq!(scene.state.metrics.connections.closed.get(), 1);
        assert!(scene.state.store.audit().await.unwrap().withdrawn > 0);
    })
    .await;
}
