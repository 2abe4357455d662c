//! The resolver: turns events into settled pools, and announces them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::Notify;

use super::questions;
use super::state::MarketState;
use super::transactions::{Settlement, StoreError};
use crate::bus::messages::Update;
use crate::bus::model::{Event, GameId, Outcome};
use crate::bus::{BusError, Publication};

/// How often the resolver looks for events that others recorded.
const LOOK: Duration = Duration::from_millis(50);
/// How long a game rests after a failure.
const PAUSE: Duration = Duration::from_millis(250);
/// Most games in which events are settled at the same time, and most in which they are announced.
const GAMES_MAX: usize = 8;

/// Why events stay as they are for now.
#[derive(Debug, PartialEq, Eq)]
enum Failure {
    Store(StoreError),
    Bus(BusError),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<BusError> for Failure {
    fn from(error: BusError) -> Self {
        Self::Bus(error)
    }
}

/// Work on events, each kind in a task of its own: no settlement waits for the bus. Until it is settled, a
/// pool takes predictions of what has happened already.
#[derive(Debug, Clone, Copy)]
enum Duty {
    Settle,
    Announce,
}

/// State that the two tasks share.
struct Resolver {
    state: Arc<MarketState>,
    /// Events that were settled here and not announced yet, and what that came to.
    settled: Mutex<HashMap<Event, Settlement>>,
    /// Holds a permit when an event was settled since the announcer last looked.
    news: Notify,
}

/// Settles events and announces them, for ever. What fails is tried again.
pub(crate) async fn resolve(state: Arc<MarketState>) {
    let resolver = Resolver { state, settled: Mutex::default(), news: Notify::new() };
    tokio::join!(resolver.perform(Duty::Settle), resolver.perform(Duty::Announce));
}

impl Resolver {
    /// Does a duty in all games beside each other, in the order of each game's events. A game that fails, or takes
    /// its time, holds up no other.
    async fn perform(&self, duty: Duty) {
        let mut under_way = FuturesUnordered::new();
        let mut busy = HashSet::new();
        loop {
            let listed = self.listed(duty).await;
            // What was listed of a game that was under way may be done meanwhile.
            let games = listed.into_iter().filter(|(game, _)| !busy.contains(game));
            let games: Vec<_> = games.collect();
            for (game, events) in games {
                while busy.len() >= GAMES_MAX
                    && let Some(done) = under_way.next().await
                {
                    busy.remove(&done);
                }
                busy.insert(game);
                under_way.push(self.attend(duty, game, events));
            }
            tokio::select! {
                Some(done) = under_way.next() => drop(busy.remove(&done)),
                _ = tokio::time::timeout(server::stretch(LOOK), self.something_new(duty)) => {}
            }
        }
    }

    /// Events that wait for the duty, by game.
    async fn listed(&self, duty: Duty) -> BTreeMap<GameId, Vec<Event>> {
        let store = &self.state.store;
        let events = match duty {
            Duty::Settle => store.unsettled().await,
            Duty::Announce => store.pending().await,
        };
        let mut by_game: BTreeMap<GameId, Vec<Event>> = BTreeMap::new();
        let events = match events {
            Ok(events) => events,
            Err(error) => {
                self.rest_after(error.into()).await;
                return by_game;
            }
        };
        if matches!(duty, Duty::Announce) {
            // Another process may have announced the rest.
            let listed: HashSet<&Event> = events.iter().collect();
            self.settled().retain(|event, _| listed.contains(event));
        }
        for event in events {
            by_game.entry(event.game).or_default().push(event);
        }
        by_game
    }

    async fn something_new(&self, duty: Duty) {
        match duty {
            Duty::Settle => self.state.recorded.notified().await,
            Duty::Announce => self.news.notified().await,
        }
    }

    /// Does a duty in one game, up to the first failure.
    async fn attend(&self, duty: Duty, game: GameId, events: Vec<Event>) -> GameId {
        for event in events {
            let done = match duty {
                Duty::Settle => self.settle(event).await.map(drop),
                Duty::Announce => self.announce(event).await,
            };
            if let Err(failure) = done {
                self.rest_after(failure).await;
                break;
            }
        }
        game
    }

    async fn rest_after(&self, failure: Failure) {
        let metrics = &self.state.metrics;
        match failure {
            Failure::Store(_) => metrics.store_errors.add(1),
            Failure::Bus(_) => metrics.bus_errors.add(1),
        }
        tokio::time::sleep(server::stretch(PAUSE)).await;
    }

    async fn settle(&self, event: Event) -> Result<Settlement, Failure> {
        let settlement = self.state.store.settle(event).await?;
        self.settled().insert(event, settlement);
        self.news.notify_one();
        Ok(settlement)
    }

    async fn announce(&self, event: Event) -> Result<(), Failure> {
        let known = self.settled().get(&event).copied();
        let settlement = match known {
            Some(settlement) => settlement,
            // Another process settled it, or this one before it ended.
            None => self.settle(event).await?,
        };
        announce(&self.state, event, settlement).await?;
        if self.state.is_played(event.game) {
            questions::apply_rules(&self.state, event).await?;
        }
        self.state.store.announced(event).await?;
        self.settled().remove(&event);
        Ok(())
    }

    fn settled(&self) -> MutexGuard<'_, HashMap<Event, Settlement>> {
        // Each change is one step.
        self.settled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Publishes the event, then what it settled.
async fn announce(
    state: &MarketState,
    event: Event,
    settlement: Settlement,
) -> Result<(), BusError> {
    let happened = match event.outcome {
        Outcome::None => Update::FullTime,
        side => Update::Goal { side, score: settlement.score },
    };
    let settled = Update::Settled {
        pool: settlement.pool.id,
        outcome: event.outcome,
        paid: settlement.pool.shares.total(),
        winners: settlement.winners,
        next: settlement.next,
    };
    let updates = match state.is_played(event.game) {
        true => vec![happened, settled],
        // Nothing happened in a slot but the decision of its question.
        false => vec![settled],
    };
    let publication = Publication::Event { number: event.number, updates };
    if state.bus.publish(event.game, publication).await? {
        state.metrics.pools_settled.add(1);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
