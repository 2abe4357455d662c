//! A relay: users' connections, and their TLS, end near them; requests go on over connections that are open already.
//!
//! A message that is published in a game comes once and is passed on to all. A relay knows nothing of money.

mod upstream;

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::sync::{broadcast, mpsc};
use tokio::task::{JoinSet, spawn_local};
use tokio::time::{Instant, timeout_at};

use super::envelope::{Demand, HEAD_MAX};
use super::options::MarketOptions;
use super::protocol::{Reply, Request, RequestError, STREAM, UNAVAILABLE};
use super::service::{BAD_USER, user_name};
use super::{MarketError, Report};
use crate::bus::model::{GameId, User};
use server::http::{Endpoint, OpenRequest};
use server::metrics::{Connections, Counter, Page};
use server::reactor::{
    self, AcceptedConnection, HandleResult, KeepAlive, Later, Notice, Response, Service,
    SharedReactor, SubscriptionChange,
};
use server::websocket::frames;
use server::{Drain, Draws, Operations, Ready, Shutdown, operator_routes, wall_ms};
use upstream::{Requests, Upstream, keep_open, watch};

/// Messages of a game that may wait for a thread.
const NEWS_MAX: usize = 64;
/// Connections for requests.
const UPSTREAMS: usize = 16;
/// Users who have left whose accounts are closed at the same time, on each connection.
const CLOSED_AT_ONCE: usize = 32;
/// How long it is waited after one could not be closed.
const CLOSE_PAUSE: Duration = Duration::from_millis(500);
/// How often a stop looks whether all are closed.
const LOOK: Duration = Duration::from_millis(10);

/// Receives users who have left.
type LeaverReceiver = mpsc::UnboundedReceiver<User>;

/// A relay's state.
pub(crate) struct Relay {
    upstreams: Vec<Arc<Upstream>>,
    /// By connection: users who have left.
    left: Vec<mpsc::UnboundedSender<User>>,
    /// How many accounts of users who have left are not closed yet.
    leaving: AtomicU64,
    news: Vec<broadcast::Sender<Notice>>,
    wait: Duration,
    /// Names this relay's users without a name.
    name: String,
    users: AtomicU64,
    connections: Connections,
    requests: Counter,
    unavailable: Counter,
    resumed: Counter,
    lost: Counter,
    drain: Drain,
}

/// One user's connection.
pub(crate) struct RelayedUser {
    user: User,
    joined: Option<GameId>,
    /// Whether an account may have been opened that goes with the connection.
    to_close: bool,
    /// Which connection carried the last request.
    carried_by: usize,
}

impl RelayedUser {
    fn response(&self, frames: Bytes, good: bool) -> Response {
        Response {
            frames,
            count: 1,
            good,
            subscription: SubscriptionChange::Only(self.joined.map(GameId::channel)),
            end: None,
        }
    }
}

impl Relay {
    fn new(options: &MarketOptions) -> (Self, Vec<(Requests, LeaverReceiver)>) {
        let (upstreams, requests): (Vec<_>, Vec<_>) =
            (0..UPSTREAMS).map(|_| Upstream::new()).unzip();
        let (left, leave): (Vec<_>, Vec<_>) =
            (0..UPSTREAMS).map(|_| mpsc::unbounded_channel()).unzip();
        let name = Draws::from_keys(&[wall_ms().to_bits(), u64::from(std::process::id())]).bits();
        let games = 0..options.games_and_slots();
        let relay = Self {
            upstreams: upstreams.into_iter().map(Arc::new).collect(),
            left,
            leaving: AtomicU64::new(0),
            news: games.map(|_| broadcast::Sender::new(NEWS_MAX)).collect(),
            wait: options.backing.wait,
            name: format!("{name:x}"),
            users: AtomicU64::new(0),
            connections: Connections::default(),
            requests: Counter::default(),
            unavailable: Counter::default(),
            resumed: Counter::default(),
            lost: Counter::default(),
            drain: Drain::default(),
        };
        (relay, requests.into_iter().zip(leave).collect())
    }

    /// The connection on which the fewest wait.
    fn least_loaded(&self) -> Option<usize> {
        let open = self.upstreams.iter().enumerate();
        let open = open.filter(|(_, upstream)| upstream.is_open());
        let least = open.min_by_key(|(_, upstream)| upstream.load());
        least.map(|(place, _)| place)
    }

    /// Has the accounts of users closed who have left, for ever. The connection is the one that carried their last
    /// requests: what is behind them is done after them.
    async fn close_accounts(self: Arc<Self>, place: usize, left: LeaverReceiver) {
        let next = async |mut left: LeaverReceiver| Some((left.recv().await?, left));
        let close = async |user| {
            let close = Demand::Close { user };
            while self.upstreams[place].send(&close, self.wait).await.is_err() {
                tokio::time::sleep(server::stretch(CLOSE_PAUSE)).await;
            }
            self.leaving.fetch_sub(1, Ordering::Relaxed);
        };
        let users = futures_util::stream::unfold(left, next);
        users.for_each_concurrent(CLOSED_AT_ONCE, close).await;
    }

    async fn pass_on(&self, mut relayed: RelayedUser, text: &str) -> (RelayedUser, Response) {
        self.requests.add(1);
        relayed.to_close = matches!(relayed.user, User::Relayed(_));
        let demand = Demand::Request { user: relayed.user.clone(), joined: relayed.joined, text };
        let answered = match self.least_loaded() {
            Some(place) => {
                relayed.carried_by = place;
                self.upstreams[place].send(&demand, self.wait).await
            }
            None => Err(upstream::UpstreamError::Away),
        };
        match answered {
            Ok(answered) => {
                let plays = |game: &GameId| (game.channel() as usize) < self.news.len();
                relayed.joined = answered.joined.filter(plays);
                let frame = frames::text(|bytes| bytes.extend_from_slice(answered.text.as_bytes()));
                let response = relayed.response(frame, answered.good);
                (relayed, response)
            }
            Err(error) => {
                self.unavailable.add(1);
                let reply =
                    Reply::Failed { error: RequestError::new(UNAVAILABLE, error.to_string()) };
                let frame = match Request::parse(text) {
                    Ok(request) => reply.encode(Some(&request.op), request.id),
                    Err(unreadable) => {
                        reply.encode(unreadable.op.as_deref(), unreadable.id.as_deref())
                    }
                };
                let response = relayed.response(frame, true);
                (relayed, response)
            }
        }
    }
}

impl Service for Relay {
    type Connection = RelayedUser;
    type ThreadState = ();

    fn endpoint(path: &str) -> Option<Endpoint> {
        (path == STREAM).then_some(Endpoint::WebSocket)
    }

    fn router(self: &Arc<Self>) -> Router {
        let elsewhere = || async { (StatusCode::NOT_FOUND, "a relay has WebSockets only\n") };
        Router::new()
            .route("/hello", get(|| async { "ok\n" }))
            .fallback(elsewhere)
            .merge(operator_routes(self))
    }

    fn connections(&self) -> &Connections {
        &self.connections
    }

    fn thread_state(self: &Arc<Self>) {}

    fn start(self: &Arc<Self>, reactor: &SharedReactor<Self>) {
        for (channel, news) in (0..).zip(&self.news) {
            let task = fan_out(Arc::clone(self), Rc::clone(reactor), channel, news.subscribe());
            spawn_local(task);
        }
    }

    fn accept(
        self: &Arc<Self>,
        (): &mut (),
        open_request: &OpenRequest,
    ) -> Result<AcceptedConnection<RelayedUser>, Bytes> {
        let name = user_name(open_request.query.as_deref())
            .map_err(|()| Bytes::from_static(BAD_USER.as_bytes()))?;
        let user = name.map_or_else(
            || {
                let number = self.users.fetch_add(1, Ordering::Relaxed);
                User::Relayed(format!("{}.{number}", self.name).into())
            },
            User::Named,
        );
        Ok(AcceptedConnection {
            connection: RelayedUser { user, joined: None, to_close: false, carried_by: 0 },
            keep_alive: KeepAlive::PingAndTimeout,
            protocol: None,
            greeting: Vec::new(),
            greetings_count: 0,
            channel: None,
        })
    }

    fn on_text(
        self: &Arc<Self>,
        (): &mut (),
        relayed: RelayedUser,
        text: &str,
    ) -> HandleResult<RelayedUser> {
        let relay = Arc::clone(self);
        let text = text.to_owned();
        HandleResult::Later(Box::pin(async move { relay.pass_on(relayed, &text).await }))
    }

    fn binary_as_text(&self, _: &RelayedUser) -> bool {
        false
    }

    fn on_binary(&self, relayed: &RelayedUser) -> Response {
        let error = RequestError::new("binary", "requests are text messages");
        relayed.response(Reply::Failed { error }.encode(None, None), false)
    }

    fn on_close(self: &Arc<Self>, relayed: RelayedUser) -> Option<Later<()>> {
        if relayed.to_close {
            self.leaving.fetch_add(1, Ordering::Relaxed);
            // Its receiver lives as long as the relay serves.
            let _ = self.left[relayed.carried_by].send(relayed.user);
        }
        None
    }

    fn closing_message(&self, _: &RelayedUser) -> Bytes {
        Bytes::new()
    }

    fn on_empty_channel((): &mut (), _: u32) {}
}

/// Brings what was published in a game to a thread's subscribers, for ever.
async fn fan_out(
    relay: Arc<Relay>,
    reactor: SharedReactor<Relay>,
    channel: u32,
    mut news: broadcast::Receiver<Notice>,
) {
    loop {
        match news.recv().await {
            Ok(notice) => {
                reactor.borrow_mut().begin_broadcast(channel);
                reactor::broadcast(&reactor, channel, &notice).await;
            }
            Err(broadcast::error::RecvError::Lagged(count)) => relay.lost.add(count),
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}

impl Operations for Relay {
    fn drain(&self) -> &Drain {
        &self.drain
    }

    fn problem(&self) -> Option<&'static str> {
        let any_open = self.upstreams.iter().any(|upstream| upstream.is_open());
        (!any_open).then_some("no connection to the market")
    }

    async fn metrics(self: Arc<Self>) -> Result<String, axum::response::Response> {
        let mut page = Page::new("market");
        page.connections("WebSockets", &self.connections);
        for (name, help, value) in [
            ("relay_requests_total", "Requests passed on", self.requests.get()),
            ("unavailable_total", "Requests without an answer", self.unavailable.get()),
            ("relay_resumed_total", "Subscriptions made and resumed", self.resumed.get()),
            ("bus_lost_total", "Messages lost between threads", self.lost.get()),
        ] {
            page.counter(name, help, value);
        }
        let open = self.upstreams.iter().filter(|upstream| upstream.is_open());
        page.gauge("relay_upstreams", "Connections to the market", open.count());
        Ok(page.finish())
    }
}

/// Runs a relay until `shutdown` resolves.
pub(crate) async fn serve(
    options: &MarketOptions,
    upstream: &str,
    ready: Ready,
    shutdown: Shutdown,
) -> Result<Report, MarketError> {
    let (relay, requests) = Relay::new(options);
    let relay = Arc::new(relay);
    let mut tasks = JoinSet::new();
    for (place, (requests, left)) in requests.into_iter().enumerate() {
        let connection = Arc::clone(&relay.upstreams[place]);
        let address = upstream.to_owned();
        let wait = relay.wait;
        tasks.spawn(async move { keep_open(&connection, requests, &address, wait).await });
        tasks.spawn(Arc::clone(&relay).close_accounts(place, left));
    }
    for game in GameId::all(relay.news.len()) {
        let relay = Arc::clone(&relay);
        let address = upstream.to_owned();
        tasks.spawn(async move {
            let news = &relay.news[game.channel() as usize];
            watch(game, news, &address, relay.wait, || relay.resumed.add(1)).await;
        });
    }
    let mut reactor = options.reactor();
    // The API takes no longer messages, and each gets a line before it.
    reactor.message_max = reactor.message_max.saturating_sub(HEAD_MAX).max(1);
    let serving = Arc::clone(&relay);
    let work = move |context| reactor::serve(Arc::clone(&serving), reactor.clone(), context);
    let mut stopping = None;
    server::serve(&options.server, work, ready, shutdown, || {
        relay.drain.begin();
        stopping = Some(Instant::now());
    })
    .await?;
    let closed = async {
        while relay.leaving.load(Ordering::Relaxed) > 0 {
            tokio::time::sleep(LOOK).await;
        }
    };
    // Whoever is left when the time is over keeps an account.
    let end = stopping.unwrap_or_else(Instant::now) + options.server.stop_within;
    let _ = timeout_at(end, closed).await;
    drop(tasks);
    Ok(Report {
        connections: relay.connections.opened.get(),
        predictions: 0,
        pools_settled: 0,
        connections_cut: relay.connections.cut.get(),
        balanced: None,
    })
}
