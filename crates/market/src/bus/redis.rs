//! The bus of several processes: Redis numbers messages and passes them on.
//!
//! A publication is one script, which Redis runs in one go: it compares the publication with the last one, numbers,
//! stamps and publishes it. Each process has two connections, on a thread of their own: one for commands, one that
//! subscribes to all games (`subscriber`) and passes messages to the process's threads. Each message starts with
//! its number, so that a process knows what it lost, and delivers nothing twice. A Redis that lost its data gets the
//! highest number that any process saw back from it.

pub(crate) mod link;
mod metrics;
mod order;
mod scripts;
mod subscriber;

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::cmd;
use tokio::sync::{Notify, watch};

use super::channels::Channels;
use super::{Answer, Bus, BusError, Claim, Publication, Subscription};
use crate::model::GameId;
use crate::protocol::Update;
use link::{Dialer, Link, LinkError, Thread};
use scripts::{Names, Stamp, Token};
use server::database::ServerAddress;
use server::wall_ms;
use subscriber::Subscriber;

pub(crate) use metrics::BusMetrics;

/// Longest name of a market.
const NAME_MAX: usize = 64;
/// How many times the wait a start may take: both connections, each in several steps.
const START_WAITS: u32 = 8;
/// Games whose numbers are raised by one command.
const RAISED_EACH: usize = 500;

/// How processes agree on who publishes a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Claims {
    /// The claim is one command, and the comparison with the last distribution part of the one that publishes.
    #[default]
    Atomic,
    /// The claim is read and then set, and the last distribution is read and then replaced: another process may
    /// do the same in between, and both publish.
    Racing(ClaimSet),
}

/// When a racing claim is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClaimSet {
    /// As soon as it was found free, before the message is made.
    #[default]
    Early,
    /// When the message is made, just before it is published.
    Late,
}

/// How a bus on Redis is used.
#[derive(Debug, Clone)]
pub(crate) struct RedisBusOptions {
    pub(crate) address: ServerAddress,
    /// The market in its store: what another market left in the same Redis means nothing to this one.
    /// 1 to 64 letters, digits, `-` or `_`.
    pub(crate) market: String,
    /// Games 1 to this one.
    pub(crate) games: u32,
    /// How long any call and any attempt to connect may take.
    pub(crate) wait: Duration,
    pub(crate) claims: Claims,
}

/// The bus on Redis. Calls may come from any runtime with time enabled.
pub(crate) struct RedisBus {
    shared: Arc<Shared>,
    claims: Claims,
    /// By game: the claim that this process holds.
    held: Vec<Mutex<Option<Token>>>,
    /// Names the claims of this process.
    process: u64,
    claims_count: AtomicU64,
    _thread: Thread,
}

/// What the bus and its thread share.
struct Shared {
    names: Names,
    dialer: Dialer,
    link: Link,
    channels: Channels,
    /// By game.
    seen: Vec<Seen>,
    metrics: Arc<BusMetrics>,
    /// Counts the returns of the bus.
    returned: watch::Sender<u64>,
    /// Whether the subscription is complete.
    subscribed: AtomicBool,
    /// A number was lower than one seen, and the numbers were not raised since.
    low: AtomicBool,
    raise: Notify,
}

/// The highest numbers of a game that were published or received here.
#[derive(Debug, Default)]
struct Seen {
    seq: AtomicU64,
    event: AtomicU64,
}

impl From<LinkError> for BusError {
    fn from(error: LinkError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

impl RedisBus {
    /// Connects and subscribes. Blocks until both are done, a few times `wait` at most.
    ///
    /// # Errors
    /// When Redis cannot be reached or refuses, and on a bad name of the market.
    pub(crate) fn open(options: &RedisBusOptions) -> Result<Self, BusError> {
        let name = &options.market;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if !(1..=NAME_MAX).contains(&name.len()) || !name.bytes().all(plain) {
            let problem = format!("{name:?} is no name of a market");
            return Err(BusError::Unavailable(problem));
        }
        let dialer = Dialer::new(options.address.clone(), options.wait)?;
        let shared = Arc::new(Shared {
            names: Names::new(name),
            link: Link::new(dialer.clone()),
            channels: Channels::new(options.games),
            seen: (0..options.games).map(|_| Seen::default()).collect(),
            metrics: Arc::new(BusMetrics::new(Arc::clone(&dialer.figures))),
            returned: watch::Sender::new(0),
            subscribed: AtomicBool::new(false),
            low: AtomicBool::new(false),
            raise: Notify::new(),
            dialer,
        });
        let (ready, started) = mpsc::channel();
        let work = {
            let shared = Arc::clone(&shared);
            move || work(shared, ready)
        };
        let thread = Thread::spawn("bus", work)
            .map_err(|error| BusError::Unavailable(format!("no thread for the bus: {error}")))?;
        for _ in 0..2 {
            let limit = options.wait * START_WAITS;
            let started = started.recv_timeout(limit);
            started.unwrap_or_else(|_| Err(shared.dialer.last_problem()))?;
        }
        Ok(Self {
            shared,
            claims: options.claims,
            held: (0..options.games).map(|_| Mutex::default()).collect(),
            process: RandomState::new().hash_one(0),
            claims_count: AtomicU64::new(0),
            _thread: thread,
        })
    }

    /// Counts how often the bus was lost and came back. Messages may be lost meanwhile, and numbers and the last
    /// distribution with them: after each change, all games are to be touched, so that the newest distributions
    /// are published within one batch time.
    pub(crate) fn returned(&self) -> watch::Receiver<u64> {
        self.shared.returned.subscribe()
    }

    /// What it counts.
    pub(crate) fn metrics(&self) -> &Arc<BusMetrics> {
        &self.shared.metrics
    }

    /// Messages that wait for the slowest thread.
    pub(crate) fn queued_max(&self) -> usize {
        self.shared.channels.queued_max()
    }

    fn new_token(&self, batch: Duration) -> Token {
        let number = self.claims_count.fetch_add(1, Ordering::Relaxed);
        Token {
            text: format!("{:x}-{number}", self.process),
            batch,
        }
    }

    fn held(&self, game: GameId) -> Option<std::sync::MutexGuard<'_, Option<Token>>> {
        let held = self.held.get(game.index()?)?;
        Some(held.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn claim_atomically(&self, game: GameId, token: &Token) -> Result<Claim, BusError> {
        let Shared { names, link, .. } = &*self.shared;
        let left_ms: u64 = link.command(&scripts::claim(names, game, token)).await?;
        Ok(match left_ms {
            0 => Claim::Won,
            left_ms => Claim::Held(Duration::from_millis(left_ms)),
        })
    }

    /// Reads the claim, and sets it if that is to be early: two processes may both find it free.
    async fn claim_racing(
        &self,
        game: GameId,
        token: &Token,
        set: ClaimSet,
    ) -> Result<Claim, BusError> {
        let Shared { names, link, .. } = &*self.shared;
        let mut look = redis::pipe();
        look.cmd("GET").arg(names.claim(game));
        look.cmd("PTTL").arg(names.claim(game));
        let (holder, left_ms): (Option<String>, i64) = link.commands(&look).await?;
        if holder.is_some() {
            let left_ms = u64::try_from(left_ms).unwrap_or_default().max(1);
            return Ok(Claim::Held(Duration::from_millis(left_ms)));
        }
        if set == ClaimSet::Early {
            self.set_claim(game, token).await?;
        }
        Ok(Claim::Won)
    }

    async fn set_claim(&self, game: GameId, token: &Token) -> Result<(), BusError> {
        let Shared { names, link, .. } = &*self.shared;
        let mut set = cmd("SET");
        set.arg(names.claim(game)).arg(&token.text);
        set.arg("PX").arg(token.batch_ms());
        Ok(link.command(&set).await?)
    }

    async fn publish_state(
        &self,
        game: GameId,
        update: Update,
        bytes_min: usize,
    ) -> Result<bool, BusError> {
        let shared = &*self.shared;
        let token = self.held(game).and_then(|mut held| held.take());
        let checked = match self.claims {
            Claims::Atomic => true,
            Claims::Racing(set) => {
                if !self.differs_racing(game, &update, token.as_ref()).await? {
                    return Ok(false);
                }
                if let (ClaimSet::Late, Some(token)) = (set, &token) {
                    self.set_claim(game, token).await?;
                }
                false
            }
        };
        let stamp = shared.stamp(game);
        let command = scripts::publish_state(
            &shared.names,
            game,
            (update, bytes_min),
            &stamp,
            (checked, token.as_ref()),
        );
        match shared.link.command(&command).await? {
            -1 => {
                shared.metrics.claims_lost.add(1);
                Err(BusError::Overtaken)
            }
            0 => {
                shared.metrics.duplicates.add(1);
                Ok(false)
            }
            seq => {
                shared.published(game, seq, 1);
                Ok(true)
            }
        }
    }

    /// Whether this is not what was published last, as far as can be said before it is published. If it is, the
    /// claim ends.
    async fn differs_racing(
        &self,
        game: GameId,
        update: &Update,
        token: Option<&Token>,
    ) -> Result<bool, BusError> {
        let Shared {
            names,
            link,
            metrics,
            ..
        } = &*self.shared;
        let mut get = cmd("HGET");
        get.arg(names.game(game)).arg("state");
        let last: Option<String> = link.command(&get).await?;
        if last.as_deref() != Some(&scripts::state_text(update)) {
            return Ok(true);
        }
        metrics.duplicates.add(1);
        if let Some(token) = token {
            let _: u64 = link.command(&scripts::release(names, game, token)).await?;
        }
        Ok(false)
    }

    async fn publish_event(
        &self,
        game: GameId,
        number: u64,
        updates: &[Update],
    ) -> Result<bool, BusError> {
        let shared = &*self.shared;
        let stamp = shared.stamp(game);
        let seen_event = shared.seen(game).map_or(0, Seen::event);
        let event = (number, updates);
        let command = scripts::publish_event(&shared.names, game, event, &stamp, seen_event);
        let seq: i64 = shared.link.command(&command).await?;
        if seq == 0 {
            shared.metrics.duplicates.add(1);
            return Ok(false);
        }
        shared.published(game, seq, updates.len());
        shared.saw_event(game, number);
        Ok(true)
    }
}

impl Bus for RedisBus {
    fn claim(&self, game: GameId, batch: Duration) -> Answer<'_, Claim> {
        Box::pin(async move {
            if batch.is_zero() {
                return Ok(Claim::Won);
            }
            let token = self.new_token(batch);
            let claim = match self.claims {
                Claims::Atomic => self.claim_atomically(game, &token).await?,
                Claims::Racing(set) => self.claim_racing(game, &token, set).await?,
            };
            let metrics = self.metrics();
            match claim {
                Claim::Won => {
                    metrics.claims_won.add(1);
                    if let Some(mut held) = self.held(game) {
                        *held = Some(token);
                    }
                }
                Claim::Held(_) => metrics.claims_lost.add(1),
            }
            Ok(claim)
        })
    }

    fn publish(&self, game: GameId, publication: Publication) -> Answer<'_, bool> {
        Box::pin(async move {
            if self.shared.seen(game).is_none() {
                return Ok(false);
            }
            match publication {
                Publication::State { update, bytes_min } => {
                    self.publish_state(game, update, bytes_min).await
                }
                Publication::Event { number, updates } => {
                    self.publish_event(game, number, &updates).await
                }
            }
        })
    }

    fn subscribe(&self, game: GameId) -> Box<dyn Subscription> {
        self.shared.channels.subscribe(game)
    }
}

impl Seen {
    fn seq(&self) -> u64 {
        self.seq.load(Ordering::Relaxed)
    }

    fn event(&self) -> u64 {
        self.event.load(Ordering::Relaxed)
    }
}

impl Shared {
    fn games(&self) -> impl Iterator<Item = GameId> {
        GameId::all(self.seen.len())
    }

    fn seen(&self, game: GameId) -> Option<&Seen> {
        self.seen.get(game.index()?)
    }

    fn stamp(&self, game: GameId) -> Stamp {
        Stamp {
            seen: self.seen(game).map_or(0, Seen::seq),
            sent_at_ms: wall_ms(),
        }
    }

    /// A message of this number was published or received.
    fn saw(&self, game: GameId, seq: u64) {
        if let Some(seen) = self.seen(game) {
            seen.seq.fetch_max(seq, Ordering::Relaxed);
        }
    }

    fn saw_event(&self, game: GameId, number: u64) {
        if let Some(seen) = self.seen(game) {
            seen.event.fetch_max(number, Ordering::Relaxed);
        }
    }

    /// Messages were published, the last of them under the number `seq`.
    fn published(&self, game: GameId, seq: i64, count: usize) {
        self.saw(game, u64::try_from(seq).unwrap_or_default());
        self.metrics.published.add(count as u64);
    }

    /// A number came that is lower than one before it.
    fn numbers_are_low(&self) {
        if !self.low.swap(true, Ordering::Relaxed) {
            self.raise.notify_one();
        }
    }

    /// Says that the bus has returned, if both connections are there.
    fn announce_return(&self) {
        if self.link.is_up() && self.subscribed.load(Ordering::Relaxed) {
            self.returned.send_modify(|count| *count += 1);
        }
    }

    /// Sees that no number in Redis is lower than one that was seen here.
    async fn raise(&self, connection: &mut MultiplexedConnection) -> Result<(), LinkError> {
        self.low.store(false, Ordering::Relaxed);
        let games: Vec<(GameId, u64, u64)> = self
            .games()
            .zip(&self.seen)
            .map(|(game, seen)| (game, seen.seq(), seen.event()))
            .filter(|(_, seq, event)| *seq > 0 || *event > 0)
            .collect();
        for games in games.chunks(RAISED_EACH) {
            let command = scripts::raise(&self.names, games);
            let call = command.query_async(connection);
            let raised: u64 = self.dialer.bounded(call).await?;
            self.metrics.raised.add(raised);
        }
        Ok(())
    }

    /// Raises numbers whenever they are found to be low, for ever.
    async fn keep_raising(&self) {
        loop {
            self.raise.notified().await;
            let raise = async || {
                let mut connection = self.link.connection()?;
                self.raise(&mut connection).await
            };
            self.dialer.until(raise).await;
            self.announce_return();
        }
    }
}

/// What the bus's thread does, until the bus is dropped.
async fn work(shared: Arc<Shared>, ready: mpsc::Sender<Result<(), LinkError>>) {
    if let Err(error) = shared.dialer.try_once().await {
        return send(&ready, Err(error));
    }
    let subscriber = Subscriber::new(Arc::clone(&shared));
    let subscribed = ready.clone();
    let subscribing = subscriber.run(move || send(&subscribed, Ok(())));
    let connecting = shared.link.maintain(
        async |connection| shared.raise(connection).await,
        |number| match number {
            1 => send(&ready, Ok(())),
            _ => shared.announce_return(),
        },
    );
    tokio::select! {
        () = subscribing => {}
        () = connecting => {}
        () = shared.keep_raising() => {}
    }
}

fn send(ready: &mpsc::Sender<Result<(), LinkError>>, result: Result<(), LinkError>) {
    // Who opened the bus may have given up.
    let _ = ready.send(result);
}

#[cfg(test)]
pub(crate) mod tests;
