//! A relay's connections to the API: always open, shared by all users.
//!
//! Answers come in the order of requests, so that none needs a number. A connection that is silent for too long is
//! given up, and the requests that wait on it fail: they may have been done, and are not sent again.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use crate::bus::model::GameId;
use crate::envelope::{ApiAnswer, Demand, PATH};
use server::reactor::{Kind, Notice};
use server::websocket::frames;

/// Requests that may wait for one connection.
const WAITING_MAX: usize = 4_096;
/// Requests that are under way on one connection: of one beyond them that is given up, the API gets no notice.
const UNDER_WAY_MAX: usize = 64;
/// How much longer a connection may be silent while requests are under way on it: the API reads nothing, pings
/// among it, while it works, which may take its own wait.
const WORKING_FACTOR: u32 = 2;
/// How often a connection is looked after.
const TICK: Duration = Duration::from_millis(500);
/// Pauses between attempts to connect: the first, and the longest.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// Why a request has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum UpstreamError {
    /// Nothing was sent.
    #[error("there is no connection to the market")]
    Away,
    /// Nothing was sent.
    #[error("too many requests wait for the market")]
    Full,
    /// It may have been done.
    #[error("the connection to the market was lost")]
    Lost,
    /// It may have been done.
    #[error("the market did not answer in time")]
    Late,
}

/// A request on its way.
struct PendingRequest {
    text: String,
    answer: oneshot::Sender<ApiAnswer>,
}

/// One connection, as those who send see it.
pub(super) struct Upstream {
    requests: mpsc::Sender<PendingRequest>,
    /// Requests that wait for their answers, and whether there is a connection.
    load: AtomicUsize,
    is_open: std::sync::atomic::AtomicBool,
}

/// The other end, of the task that owns the connection.
pub(super) struct Requests(mpsc::Receiver<PendingRequest>);

impl Upstream {
    pub(super) fn new() -> (Self, Requests) {
        let (requests, receiver) = mpsc::channel(WAITING_MAX);
        let upstream = Self { requests, load: AtomicUsize::new(0), is_open: false.into() };
        (upstream, Requests(receiver))
    }

    pub(super) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Relaxed)
    }

    pub(super) fn load(&self) -> usize {
        self.load.load(Ordering::Relaxed)
    }

    /// Sends a request, and waits this long.
    pub(super) async fn send(
        &self,
        demand: &Demand<'_>,
        wait: Duration,
    ) -> Result<ApiAnswer, UpstreamError> {
        if !self.is_open() {
            return Err(UpstreamError::Away);
        }
        let (answer, answered) = oneshot::channel();
        let waiting = PendingRequest { text: demand.text(), answer };
        let sent = self.requests.try_send(waiting);
        sent.map_err(|_| UpstreamError::Full)?;
        self.load.fetch_add(1, Ordering::Relaxed);
        let answered = timeout(wait, answered).await;
        self.load.fetch_sub(1, Ordering::Relaxed);
        match answered {
            Ok(Ok(answered)) => Ok(answered),
            Ok(Err(_)) => Err(UpstreamError::Lost),
            Err(_) => Err(UpstreamError::Late),
        }
    }
}

/// Why a connection ended.
struct ConnectionEnd;

/// Keeps one connection open for ever.
pub(super) async fn keep_open(
    upstream: &Upstream,
    Requests(mut requests): Requests,
    address: &str,
    wait: Duration,
) {
    let mut pause = PAUSE_FIRST;
    loop {
        if let Ok(socket) = connect(address, wait).await {
            pause = PAUSE_FIRST;
            upstream.is_open.store(true, Ordering::Relaxed);
            let ConnectionEnd = carry(socket, &mut requests, wait).await;
            upstream.is_open.store(false, Ordering::Relaxed);
            // What had not been sent fails at once, by being dropped.
            while requests.try_recv().is_ok() {}
        }
        sleep(server::stretch(pause)).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// A WebSocket to the API's listener for relays.
async fn connect(
    address: &str,
    wait: Duration,
) -> Result<WebSocketStream<TcpStream>, ConnectionEnd> {
    let connecting = async {
        let stream = TcpStream::connect(address).await.map_err(|_| ConnectionEnd)?;
        stream.set_nodelay(true).map_err(|_| ConnectionEnd)?;
        let url = format!("ws://{address}{PATH}");
        let opened = tokio_tungstenite::client_async(url, stream).await;
        opened.map(|(socket, _)| socket).map_err(|_| ConnectionEnd)
    };
    timeout(wait, connecting).await.unwrap_or(Err(ConnectionEnd))
}

/// Sends requests and brings answers until the connection ends. Those that wait then are dropped, and fail.
async fn carry(
    mut socket: WebSocketStream<TcpStream>,
    requests: &mut mpsc::Receiver<PendingRequest>,
    wait: Duration,
) -> ConnectionEnd {
    let mut waiting: VecDeque<oneshot::Sender<ApiAnswer>> = VecDeque::new();
    let mut silence = Silence::new();
    loop {
        tokio::select! {
            request = requests.recv(), if waiting.len() < UNDER_WAY_MAX => {
                let Some(request) = request else { return ConnectionEnd };
                // Who gave up before it was sent does not get it done.
                if request.answer.is_closed() {
                    continue;
                }
                waiting.push_back(request.answer);
                if send(&mut socket, Message::text(request.text), wait).await.is_err() {
                    return ConnectionEnd;
                }
            }
            message = socket.next() => {
                silence.end();
                match message {
                    Some(Ok(Message::Text(text))) => {
                        let (Some(answered), Some(answer)) = (ApiAnswer::read(&text), waiting.pop_front()) else {
                            return ConnectionEnd;
                        };
                        // Who gave up gets no answer, and the next one gets its own.
                        drop(answer.send(answered));
                    }
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return ConnectionEnd,
                    Some(Ok(_)) => {}
                }
            }
            () = silence.tick() => {
                let factor = if waiting.is_empty() { 1 } else { WORKING_FACTOR };
                if silence.is_longer_than(wait * factor) || ping(&mut socket, wait).await.is_err() {
                    return ConnectionEnd;
                }
            }
        }
    }
}

/// Subscribes to a game and passes on what is published there, for ever: again after each loss.
pub(super) async fn watch(
    game: GameId,
    news: &broadcast::Sender<Notice>,
    address: &str,
    wait: Duration,
    resumed: impl Fn(),
) {
    let mut pause = PAUSE_FIRST;
    loop {
        if let Ok(mut socket) = connect(address, wait).await {
            let watch = Message::text(Demand::Watch { game }.text());
            if send(&mut socket, watch, wait).await.is_ok() {
                pause = PAUSE_FIRST;
                resumed();
                let ConnectionEnd = listen(socket, news, wait).await;
            }
        }
        sleep(server::stretch(pause)).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

async fn listen(
    mut socket: WebSocketStream<TcpStream>,
    news: &broadcast::Sender<Notice>,
    wait: Duration,
) -> ConnectionEnd {
    let mut silence = Silence::new();
    loop {
        tokio::select! {
            message = socket.next() => {
                silence.end();
                match message {
                    Some(Ok(Message::Text(text))) if text.starts_with('{') => {
                        // Without subscribers on any thread it goes nowhere.
                        let _ = news.send(notice(&text));
                    }
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return ConnectionEnd,
                    Some(Ok(_)) => {}
                }
            }
            () = silence.tick() => {
                if silence.is_longer_than(wait) || ping(&mut socket, wait).await.is_err() {
                    return ConnectionEnd;
                }
            }
        }
    }
}

/// A published message, as users get it.
fn notice(text: &Utf8Bytes) -> Notice {
    let kind = match text.starts_with("{\"type\":\"distribution\"") {
        true => Kind::State,
        false => Kind::Event,
    };
    let frame = frames::text(|bytes| bytes.extend_from_slice(text.as_bytes()));
    Notice { kind, frame }
}

async fn ping(
    socket: &mut WebSocketStream<TcpStream>,
    wait: Duration,
) -> Result<(), ConnectionEnd> {
    send(socket, Message::Ping(Default::default()), wait).await
}

/// Sends unless the peer takes nothing for too long.
async fn send(
    socket: &mut WebSocketStream<TcpStream>,
    message: Message,
    wait: Duration,
) -> Result<(), ConnectionEnd> {
    let sent = timeout(wait, socket.send(message)).await;
    sent.map_err(|_| ConnectionEnd)?.map_err(|_| ConnectionEnd)
}

/// How long nothing came from a peer that must give a sign of life now and then.
struct Silence {
    since: Instant,
    ticks: tokio::time::Interval,
}

impl Silence {
    fn new() -> Self {
        let mut ticks = interval(server::stretch(TICK));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { since: Instant::now(), ticks }
    }

    fn end(&mut self) {
        self.since = Instant::now();
    }

    async fn tick(&mut self) {
        self.ticks.tick().await;
    }

    fn is_longer_than(&self, limit: Duration) -> bool {
        self.since.elapsed() > limit
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::future::join_all;
    use tokio::net::TcpListener;

    use super::*;
    use crate::bus::model::User;

    /// A relay's connection, and the API's end of it.
    async fn connected(wait: Duration) -> (Arc<Upstream>, WebSocketStream<TcpStream>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (upstream, requests) = Upstream::new();
        let upstream = Arc::new(upstream);
        let kept = Arc::clone(&upstream);
        tokio::spawn(async move { keep_open(&kept, requests, &address, wait).await });
        let (stream, _) = listener.accept().await.unwrap();
        let api = tokio_tungstenite::accept_async(stream).await.unwrap();
        while !upstream.is_open() {
            tokio::task::yield_now().await;
        }
        (upstream, api)
    }

    /// The next request.
    async fn next(api: &mut WebSocketStream<TcpStream>) -> String {
        loop {
            if let Message::Text(text) = api.next().await.unwrap().unwrap() {
                return text.to_string();
            }
        }
    }

    fn demand(text: &str) -> Demand<'_> {
        Demand::Request { user: User::Named("ann".into()), joined: None, text }
    }

    #[tokio::test]
    async fn a_request_that_was_given_up_in_the_queue_is_not_sent() {
        let (upstream, mut api) = connected(Duration::from_secs(20)).await;
        let old = demand("old");
        let new = demand("new");
        let short = Duration::from_millis(200);
        let answers = join_all((0..UNDER_WAY_MAX + 36).map(|_| upstream.send(&old, short))).await;
        assert!(answers.iter().all(|answer| *answer == Err(UpstreamError::Late)));
        for _ in 0..UNDER_WAY_MAX {
            assert!(next(&mut api).await.ends_with("old"));
            api.send(Message::text("- good\n")).await.unwrap();
        }
        let answer = async {
            assert!(next(&mut api).await.ends_with("new"));
            api.send(Message::text("- good\nyes")).await.unwrap();
        };
        let (answered, ()) = tokio::join!(upstream.send(&new, Duration::from_secs(20)), answer);
        assert_eq!(answered.unwrap().text, "yes");
    }

    #[tokio::test]
    async fn an_api_that_works_on_a_request_may_be_silent_for_longer() {
        let wait = Duration::from_secs(1);
        let (upstream, mut api) = connected(wait).await;
        let first = demand("first");
        assert_eq!(upstream.send(&first, wait).await, Err(UpstreamError::Late));
        // Pings are not answered meanwhile.
        sleep(wait * 6 / 10).await;
        assert!(upstream.is_open());
        assert!(next(&mut api).await.ends_with("first"));
        api.send(Message::text("- good\n")).await.unwrap();
    }
}
