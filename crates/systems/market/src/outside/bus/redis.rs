//! The bus of several processes: Redis numbers messages and passes them on.
//!
//! A publication is one script, which Redis runs in one go: it compares the publication with the last one, numbers,
//! stamps and publishes it. Each process has two connections, on a thread of their own: one for commands, one that
//! subscribes to all games (`subscriber`) and passes messages to the process's threads. Each message starts with
//! its number, so that a process knows what it lost, and delivers nothing twice. A Redis that lost its data gets the
//! highest number that any process saw back from it.

pub mod link;
mod scripts;
mod subscriber;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::cmd;
use tokio::sync::Notify;

use super::hub::Hub;
use super::tokens::{Token, Tokens};
use super::{BusOptions, Remote};
use crate::bus::messages::Update;
use crate::bus::model::GameId;
use crate::bus::{Answer, Bus, BusError, Claim, ClaimSet, Claims, Publication, Subscription};
use link::{Dialer, Link, LinkError, Thread};
use scripts::{Names, Stamp};
use server::database::ServerAddress;
use server::wall_ms;
use subscriber::Subscriber;

/// How many times the wait a start may take: both connections, each in several steps.
const START_WAITS: u32 = 8;
/// Games whose numbers are raised by one command.
const RAISED_EACH: usize = 500;

/// The bus on Redis. Calls may come from any runtime with time enabled.
pub(crate) struct RedisBus {
    shared: Arc<BusState>,
    claims: Claims,
    tokens: Tokens,
    _thread: Thread,
}

/// State that the bus and its thread share.
struct BusState {
    names: Names,
    dialer: Dialer,
    link: Link,
    hub: Arc<Hub>,
    /// Whether the subscription is complete.
    subscribed: AtomicBool,
    /// A number was lower than one seen, and the numbers were not raised since.
    low: AtomicBool,
    raise: Notify,
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
    /// When Redis cannot be reached or refuses.
    pub(crate) fn open(address: &ServerAddress, options: &BusOptions) -> Result<Self, BusError> {
        let dialer = Dialer::new(address.clone(), options.wait)?;
        let shared = Arc::new(BusState {
            names: Names::new(&options.market),
            link: Link::new(dialer.clone()),
            hub: Arc::new(Hub::new(options.games, Arc::clone(&dialer.figures))),
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
            tokens: Tokens::new(options.games),
            _thread: thread,
        })
    }

    async fn claim_atomically(&self, game: GameId, token: &Token) -> Result<Claim, BusError> {
        let BusState { names, link, .. } = &*self.shared;
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
        let BusState { names, link, .. } = &*self.shared;
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
        let BusState { names, link, .. } = &*self.shared;
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
        let token = self.tokens.take(game);
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
            update,
            bytes_min,
            &stamp,
            checked,
            token.as_ref(),
        );
        match shared.link.command(&command).await? {
            -1 => {
                shared.hub.metrics.claims_lost.add(1);
                Err(BusError::Overtaken)
            }
            0 => {
                shared.hub.metrics.duplicates.add(1);
                Ok(false)
            }
            seq => {
                shared.hub.published(game, unsigned(seq), 1);
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
        let BusState { names, link, hub, .. } = &*self.shared;
        let mut get = cmd("HGET");
        get.arg(names.game(game)).arg("state");
        let last: Option<String> = link.command(&get).await?;
        if last.as_deref() != Some(&scripts::state_text(update)) {
            return Ok(true);
        }
        hub.metrics.duplicates.add(1);
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
        let (_, seen_event) = shared.hub.seen(game);
        let command =
            scripts::publish_event(&shared.names, game, number, updates, &stamp, seen_event);
        let seq: i64 = shared.link.command(&command).await?;
        if seq == 0 {
            shared.hub.metrics.duplicates.add(1);
            return Ok(false);
        }
        shared.hub.published(game, unsigned(seq), updates.len());
        shared.hub.saw_event(game, number);
        Ok(true)
    }
}

impl Bus for RedisBus {
    fn claim(&self, game: GameId, batch: Duration) -> Answer<'_, Claim> {
        Box::pin(async move {
            if batch.is_zero() {
                return Ok(Claim::Won);
            }
            let token = self.tokens.make(batch);
            let claim = match self.claims {
                Claims::Atomic => self.claim_atomically(game, &token).await?,
                Claims::Racing(set) => self.claim_racing(game, &token, set).await?,
            };
            let metrics = &self.shared.hub.metrics;
            match claim {
                Claim::Won => {
                    metrics.claims_won.add(1);
                    self.tokens.hold(game, token);
                }
                Claim::Held(_) => metrics.claims_lost.add(1),
            }
            Ok(claim)
        })
    }

    fn publish(&self, game: GameId, publication: Publication) -> Answer<'_, bool> {
        Box::pin(async move {
            if !self.shared.hub.plays(game) {
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
        self.shared.hub.subscribe(game)
    }
}

impl Remote for RedisBus {
    fn hub(&self) -> &Hub {
        &self.shared.hub
    }
}

impl BusState {
    fn stamp(&self, game: GameId) -> Stamp {
        Stamp { seen: self.hub.seen(game).0, sent_at_ms: wall_ms() }
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
            self.hub.announce_return();
        }
    }

    /// Sees that no number in Redis is lower than one that was seen here.
    async fn raise(&self, connection: &mut MultiplexedConnection) -> Result<(), LinkError> {
        self.low.store(false, Ordering::Relaxed);
        let games = self.hub.games().map(|game| {
            let (seq, event) = self.hub.seen(game);
            (game, seq, event)
        });
        let games: Vec<(GameId, u64, u64)> =
            games.filter(|(_, seq, event)| *seq > 0 || *event > 0).collect();
        for games in games.chunks(RAISED_EACH) {
            let command = scripts::raise(&self.names, games);
            let call = command.query_async(connection);
            let raised: u64 = self.dialer.bounded(call).await?;
            self.hub.metrics.raised.add(raised);
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

/// Work of the bus's thread, until the bus is dropped.
async fn work(shared: Arc<BusState>, ready: mpsc::Sender<Result<(), LinkError>>) {
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

/// A message's number, as Redis answers it.
fn unsigned(seq: i64) -> u64 {
    u64::try_from(seq).unwrap_or_default()
}

fn send(ready: &mpsc::Sender<Result<(), LinkError>>, result: Result<(), LinkError>) {
    // Who opened the bus may have given up.
    let _ = ready.send(result);
}

#[cfg(test)]
pub(crate) mod tests;
