//! How news reaches every serving thread: publish and subscribe, one channel a game.
//!
//! The seam behind which a message broker can stand. As with one, a subscriber that falls too
//! far behind loses messages, and learns how many.

mod memory;

use std::pin::Pin;

use bytes::Bytes;

use super::model::GameId;

pub(super) use memory::Memory;

/// A message for all subscribers of a game, encoded once.
#[derive(Debug, Clone)]
pub(super) struct Notice {
    pub(super) kind: Kind,
    /// The WebSocket frame with the message, shared by all who get it.
    pub(super) frame: Bytes,
}

/// What a slow reader may miss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A distribution: a newer one makes it worthless.
    Distribution,
    /// Anything else: it must arrive.
    News,
}

/// What a subscription yields.
#[derive(Debug)]
pub(super) enum Delivery {
    Notice(Notice),
    /// So many notices were lost, because the subscriber was too slow.
    Lost(u64),
}

/// Publish and subscribe.
pub(super) trait Bus: Send + Sync {
    /// Sends `notice` to every subscription of `game`.
    fn publish(
        &self,
        game: GameId,
        notice: Notice,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;

    /// Everything published for `game` from now on.
    fn subscribe(&self, game: GameId) -> Box<dyn Subscription>;
}

/// One subscriber's end of a channel.
pub(super) trait Subscription: Send {
    /// The next delivery; `None` once the bus is gone.
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<Delivery>> + Send + '_>>;
}
