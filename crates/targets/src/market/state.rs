//! What all parts of a running market share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{Mutex, Notify};

use super::bus::{self, Bus};
use super::delay::Delay;
use super::metrics::Metrics;
use super::model::GameId;
use super::options::MarketOptions;
use super::protocol::{Stamped, Update};
use super::store::{self, Store};
use server::reactor::{Kind, Notice};
use server::{Drain, wall_ms};

/// Store, bus, counters, and the state of the games' channels.
pub(super) struct MarketState {
    pub(super) store: Arc<dyn Store>,
    pub(super) bus: Arc<dyn Bus>,
    pub(super) metrics: Metrics,
    pub(super) delay: Delay,
    /// Least bytes of a distribution's text.
    broadcast_bytes_min: usize,
    pub(super) drain: Drain,
    connections: AtomicU64,
    channels: Vec<Channel>,
}

#[derive(Debug, Default)]
struct Channel {
    /// Holds a permit when the distribution may have changed since it was last looked at.
    touched: Notify,
    /// The number of the channel's last message. Held while one is published, so that numbers
    /// and stamps are in the order of sending.
    seq: Mutex<u64>,
}

impl MarketState {
    /// A market in memory.
    pub(super) fn new(options: &MarketOptions) -> Self {
        Self {
            store: Arc::new(store::Memory::new(
                options.games,
                options.starting_balance,
                options.server.connections,
            )),
            bus: Arc::new(bus::Memory::new(options.games)),
            metrics: Metrics::default(),
            delay: Delay::new(options),
            broadcast_bytes_min: options.broadcast_size,
            drain: Drain::default(),
            connections: AtomicU64::new(0),
            channels: (0..options.games).map(|_| Channel::default()).collect(),
        }
    }

    /// All games.
    pub(super) fn games(&self) -> impl Iterator<Item = GameId> {
        (1..=self.channels.len()).map(|number| GameId(number as u32))
    }

    /// Whether `game` is played here.
    pub(super) fn plays(&self, game: GameId) -> bool {
        game.0 > 0 && game.0 as usize <= self.channels.len()
    }

    /// Says that the distribution of `game` has changed.
    pub(super) fn touch(&self, game: GameId) {
        self.channel(game).touched.notify_one();
    }

    /// Resolves when the distribution of `game` was touched since the last time.
    pub(super) async fn touched(&self, game: GameId) {
        self.channel(game).touched.notified().await;
    }

    /// Numbers and stamps `update`, and publishes it on the game's channel.
    pub(super) async fn announce(&self, kind: Kind, game: GameId, update: Update) {
        let mut seq = self.channel(game).seq.lock().await;
        *seq += 1;
        let bytes_min = match kind {
            Kind::State => self.broadcast_bytes_min,
            Kind::Event => 0,
        };
        let frame = Stamped::new(game, update, *seq, wall_ms()).encode(bytes_min);
        self.bus.publish(game, Notice { kind, frame }).await;
    }

    fn channel(&self, game: GameId) -> &Channel {
        // Ids come from the store, which plays the same games.
        &self.channels[game.0 as usize - 1]
    }

    /// A number that no other connection has.
    pub(super) fn next_connection(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed)
    }
}
