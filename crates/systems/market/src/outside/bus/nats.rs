//! The bus of several processes on NATS: JetStream takes one change of a game after the other, and passes it on.
//!
//! How a game stands is one record, the last message of a subject. Whoever publishes makes the next record from the
//! last one that it knows, and JetStream takes it only if nobody else was faster (`Nats-Expected-Last-Subject-Sequence`);
//! otherwise it reads the record and tries again. So whatever Redis does in a script is done here by a pure function.
//! A record that was taken is republished to all processes, each of which has one connection, on a thread of
//! its own.

mod address;
mod held;
mod link;
mod record;
mod stream;
mod subscriber;
mod views;

use std::sync::{Arc, mpsc};
use std::time::Duration;

use super::hub::Hub;
use super::link::Thread;
use super::tokens::Tokens;
use super::{BusOptions, Remote};
use crate::bus::messages::Update;
use crate::bus::model::GameId;
use crate::bus::{Answer, Bus, BusError, Claim, Publication, Subscription};
use link::{Dialer, Link};
use record::{PublishRefusal, Record, Stamp};
use server::wall_ms;
use stream::{Names, StoredRecord, Stream};
use subscriber::Subscriber;
use views::{View, Views};

pub(super) use address::{NatsAddress, NatsAddressError};

/// How many times the wait a start may take: connection, stream, and the records of the games.
const START_WAITS: u32 = 8;

/// The bus on NATS. Calls may come from any runtime with time enabled.
pub(crate) struct NatsBus {
    shared: Arc<BusState>,
    tokens: Tokens,
    _thread: Thread,
}

/// State that the bus and its thread share.
struct BusState {
    names: Names,
    link: Link<Stream>,
    hub: Arc<Hub>,
    views: Views,
}

/// The next step after a look at a record, with the answer to the caller who wanted a change.
enum Next<T> {
    /// This one, if nobody else is faster.
    Put(Record, T),
    /// No record is put.
    Stop(T),
}

/// Result of publishing a distribution.
enum PublishResult {
    /// Published under this number.
    As(u64),
    Not(PublishRefusal),
}

impl NatsBus {
    /// Connects and subscribes. Blocks until both are done, a few times the wait at most.
    ///
    /// # Errors
    /// When NATS cannot be reached or refuses, or has no JetStream.
    pub(crate) fn open(address: &NatsAddress, options: &BusOptions) -> Result<Self, BusError> {
        let dialer = Dialer::new(address.clone(), options.wait);
        let shared = Arc::new(BusState {
            names: Names::new(&options.market),
            hub: Arc::new(Hub::new(options.games, Arc::clone(&dialer.figures))),
            link: Link::new(dialer),
            views: Views::new(options.games),
        });
        let (ready, started) = mpsc::channel();
        let subscriber = Subscriber::new(Arc::clone(&shared));
        // Who opened the bus may have given up.
        let work = move || subscriber.run(move |result| drop(ready.send(result)));
        let thread = Thread::spawn("bus", work)
            .map_err(|error| BusError::Unavailable(format!("no thread for the bus: {error}")))?;
        let started = started.recv_timeout(options.wait * START_WAITS);
        started.unwrap_or_else(|_| Err(shared.link.dialer.last_problem()))?;
        Ok(Self { shared, tokens: Tokens::new(options.games), _thread: thread })
    }

    /// Replaces the record of a game by what `change` makes of it, as often as another is faster. An answer without a
    /// change is given from a record that was just read.
    async fn replace<T>(
        &self,
        game: GameId,
        mut change: impl FnMut(&View) -> Next<T>,
    ) -> Result<T, BusError> {
        let BusState { link, views, .. } = &*self.shared;
        let round_trips = &link.dialer.figures.round_trips;
        let (number, stream) = link.get()?;
        let view = || views.get(game, &stream.name).ok_or_else(|| stream.session.lost());
        let replacing = async {
            let mut known = view()?;
            let mut is_read = false;
            loop {
                match change(&known) {
                    Next::Put(record, answer) => {
                        round_trips.add(1);
                        if let Some(at) = stream.put(game, &record, known.stored.at).await? {
                            views.note(game, &stream.name, &StoredRecord { at, record });
                            return Ok(answer);
                        }
                    }
                    Next::Stop(answer) if is_read => return Ok(answer),
                    Next::Stop(_) => {}
                }
                round_trips.add(1);
                let stored = stream.get(game).await?;
                if stored.at < known.stored.at {
                    // The stream was emptied.
                    return Err(stream.session.lost());
                }
                views.note(game, &stream.name, &stored);
                (known, is_read) = (view()?, true);
            }
        };
        Ok(link.call(number, replacing).await?)
    }

    async fn publish_state(
        &self,
        game: GameId,
        update: &Update,
        bytes_min: usize,
    ) -> Result<bool, BusError> {
        let hub = &self.shared.hub;
        let token = self.tokens.take(game);
        let token = token.as_ref();
        let stamp = self.stamp(game);
        let publish = |view: &View| {
            let record = &view.stored.record;
            let is_claimed = view.claim_left().is_some();
            match record.with_distribution(update, bytes_min, stamp, token, is_claimed) {
                Ok(next) => {
                    let seq = next.seq;
                    Next::Put(next, PublishResult::As(seq))
                }
                Err(why) => match token.and_then(|token| record.released(token)) {
                    Some(next) => Next::Put(next, PublishResult::Not(why)),
                    None => Next::Stop(PublishResult::Not(why)),
                },
            }
        };
        match self.replace(game, publish).await? {
            PublishResult::As(seq) => {
                hub.published(game, seq, 1);
                Ok(true)
            }
            PublishResult::Not(PublishRefusal::Overtaken) => {
                hub.metrics.claims_lost.add(1);
                Err(BusError::Overtaken)
            }
            PublishResult::Not(PublishRefusal::Old) => {
                hub.metrics.duplicates.add(1);
                Ok(false)
            }
        }
    }

    async fn publish_event(
        &self,
        game: GameId,
        number: u64,
        updates: &[Update],
    ) -> Result<bool, BusError> {
        let hub = &self.shared.hub;
        let stamp = self.stamp(game);
        let (_, seen) = hub.seen(game);
        let publish = |view: &View| {
            let record = &view.stored.record;
            match record.with_event(number, updates, stamp, seen) {
                Some(next) => {
                    let seq = next.seq;
                    Next::Put(next, Some(seq))
                }
                None => Next::Stop(None),
            }
        };
        let Some(seq) = self.replace(game, publish).await? else {
            hub.metrics.duplicates.add(1);
            return Ok(false);
        };
        hub.published(game, seq, updates.len());
        hub.saw_event(game, number);
        Ok(true)
    }

    fn stamp(&self, game: GameId) -> Stamp {
        Stamp { seen: self.shared.hub.seen(game).0, sent_at_ms: wall_ms() }
    }
}

impl Bus for NatsBus {
    fn claim(&self, game: GameId, batch: Duration) -> Answer<'_, Claim> {
        Box::pin(async move {
            if batch.is_zero() {
                return Ok(Claim::Won);
            }
            let token = self.tokens.make(batch);
            let claim = |view: &View| match view.claim_left() {
                None => Next::Put(view.stored.record.claimed(&token), Claim::Won),
                Some(left) => Next::Stop(Claim::Held(left)),
            };
            let claim = self.replace(game, claim).await?;
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
                    self.publish_state(game, &update, bytes_min).await
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

impl Remote for NatsBus {
    fn hub(&self) -> &Hub {
        &self.shared.hub
    }
}

#[cfg(test)]
mod tests;
