//! How the market's messages reach every serving thread: publish and subscribe, one channel a game.
//!
//! The seam behind which a message broker can stand. As with one, a subscriber that falls too
//! far behind loses messages, and learns how many. Whoever publishes, a channel's messages are numbered without
//! gaps, and a distribution goes out at most once in each batch time.

pub(crate) mod channels;
mod claims;
mod memory;
pub mod messages;
pub mod model;

use std::pin::Pin;
use std::time::Duration;

use messages::Update;
use model::GameId;
use server::reactor::Notice;

pub use claims::{ClaimSet, Claims};
pub use memory::Memory;

/// Future that a bus's calls return.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, BusError>> + Send + 'a>>;

/// Why a bus could not do something.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum BusError {
    /// It cannot be reached, or did not answer in time.
    #[error("{0}")]
    Unavailable(String),
    /// Another process took the batch over, because this one took longer than a batch time.
    #[error("another process took the batch over")]
    Overtaken,
}

/// An item of a subscription.
#[derive(Debug, Clone)]
pub enum Delivery {
    /// A message.
    Notice(Notice),
    /// The number of notices that were lost: the subscriber was too slow, or the bus away.
    Lost(u64),
}

/// Messages that are published at once.
#[derive(Debug)]
pub enum Publication {
    /// How things stand. Its text has at least this number of bytes.
    State {
        /// The message.
        update: Update,
        /// In bytes.
        bytes_min: usize,
    },
    /// The messages of one event.
    Event {
        /// Counts the game's events from 1.
        number: u64,
        /// The messages, in this order.
        updates: Vec<Update>,
    },
}

/// Whether this process may publish the distribution of a game now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// It may.
    Won,
    /// Another did so within the batch time, which is over after this.
    Held(Duration),
}

/// Publish and subscribe.
pub trait Bus: Send + Sync {
    /// Claims the right to publish the distribution of `game` once in the time of a batch.
    fn claim(&self, game: GameId, batch: Duration) -> Answer<'_, Claim>;

    /// Numbers and stamps messages, and sends them to every subscription of `game`. `false` if they were published
    /// before: the event, or the same state last.
    fn publish(&self, game: GameId, publication: Publication) -> Answer<'_, bool>;

    /// Everything published for `game` from now on.
    fn subscribe(&self, game: GameId) -> Box<dyn Subscription>;
}

/// One subscriber's end of a channel.
pub trait Subscription: Send {
    /// The next delivery; `None` once the bus is gone.
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<Delivery>> + Send + '_>>;
}
