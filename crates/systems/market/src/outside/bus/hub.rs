//! State that a process keeps about an outside bus, whichever bus that is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{broadcast, watch};

use super::link::LinkMetrics;
use super::metrics::BusMetrics;
use super::order::{Arrival, Order};
use crate::bus::channels::Channels;
use crate::bus::model::GameId;
use crate::bus::{Delivery, Subscription};
use server::reactor::Notice;

/// The channels of this process, and what it saw of the games.
#[derive(Debug)]
pub struct Hub {
    channels: Channels,
    /// By game.
    seen: Vec<HighestNumbers>,
    pub(super) metrics: BusMetrics,
    /// Counts the returns of the bus.
    returned: watch::Sender<u64>,
}

/// The highest numbers of a game that were published or received here.
#[derive(Debug, Default)]
struct HighestNumbers {
    seq: AtomicU64,
    event: AtomicU64,
}

impl Hub {
    /// A hub for games 1 to `games`, whose bus is reached by this link.
    pub(super) fn new(games: u32, link: Arc<LinkMetrics>) -> Self {
        Self {
            channels: Channels::new(games),
            seen: (0..games).map(|_| HighestNumbers::default()).collect(),
            metrics: BusMetrics::new(link),
            returned: watch::Sender::new(0),
        }
    }

    /// Counts how often the bus was lost and came back. Messages may be lost meanwhile, and numbers and the last
    /// distribution with them: after each change, all games are to be touched, so that the newest distributions
    /// are published within one batch time.
    pub fn returned(&self) -> watch::Receiver<u64> {
        self.returned.subscribe()
    }

    /// Metrics of the bus.
    pub fn metrics(&self) -> &BusMetrics {
        &self.metrics
    }

    /// Messages that wait for the slowest thread.
    pub fn queued_max(&self) -> usize {
        let lengths = self.channels.senders.iter().map(broadcast::Sender::len);
        lengths.max().unwrap_or_default()
    }

    pub(super) fn subscribe(&self, game: GameId) -> Box<dyn Subscription> {
        self.channels.subscribe(game)
    }

    pub(super) fn announce_return(&self) {
        self.returned.send_modify(|count| *count += 1);
    }

    pub(super) fn games(&self) -> impl Iterator<Item = GameId> + use<> {
        GameId::all(self.seen.len())
    }

    pub(super) fn plays(&self, game: GameId) -> bool {
        self.seen_of(game).is_some()
    }

    /// The highest numbers of a message and of an event of `game`; 0 if there was none.
    pub(super) fn seen(&self, game: GameId) -> (u64, u64) {
        let seen = self.seen_of(game);
        let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
        seen.map_or((0, 0), |seen| (load(&seen.seq), load(&seen.event)))
    }

    /// A message of this number was published or received.
    pub(super) fn saw(&self, game: GameId, seq: u64) {
        if let Some(seen) = self.seen_of(game) {
            seen.seq.fetch_max(seq, Ordering::Relaxed);
        }
    }

    /// An event of this number was published or received.
    pub(super) fn saw_event(&self, game: GameId, number: u64) {
        if let Some(seen) = self.seen_of(game) {
            seen.event.fetch_max(number, Ordering::Relaxed);
        }
    }

    /// Messages were published, the last of them under the number `seq`.
    pub(super) fn published(&self, game: GameId, seq: u64, count: usize) {
        self.saw(game, seq);
        self.metrics.published.add(count as u64);
    }

    fn seen_of(&self, game: GameId) -> Option<&HighestNumbers> {
        self.seen.get(game.index()?)
    }
}

/// Brings messages of the bus to the channels: each once, in order, with the gaps between them.
pub(super) struct Inbox {
    hub: Arc<Hub>,
    order: Order,
}

impl Inbox {
    pub(super) fn new(hub: Arc<Hub>) -> Self {
        let order = Order::new(hub.seen.len());
        Self { hub, order }
    }

    /// The number of the last message of `game` that was delivered, or is known to be lost.
    pub(super) fn last(&self, game: GameId) -> u64 {
        self.order.last(game)
    }

    /// Delivers a message, and before it reports those that are missing. `false` if its number was passed: it is
    /// dropped.
    pub(super) fn deliver(&mut self, game: GameId, seq: u64, notice: Notice) -> bool {
        let Arrival::Next { missing } = self.order.advance(game, seq) else {
            self.hub.metrics.dropped.add(1);
            return false;
        };
        self.hub.saw(game, seq);
        self.lose(game, missing);
        self.hub.channels.send(game, Delivery::Notice(notice));
        true
    }

    /// Nobody waits for messages up to the number `seq`.
    pub(super) fn skip_to(&mut self, game: GameId, seq: u64) {
        self.order.advance(game, seq);
    }

    /// Messages up to the number `seq` that were not delivered are lost.
    pub(super) fn lose_to(&mut self, game: GameId, seq: u64) {
        let before = self.order.last(game);
        if let Arrival::Next { .. } = self.order.advance(game, seq) {
            self.lose(game, seq - before);
        }
    }

    fn lose(&self, game: GameId, count: u64) {
        if count > 0 {
            self.hub.metrics.lost.add(count);
            self.hub.channels.send(game, Delivery::Lost(count));
        }
    }
}
