//! How messages reach every serving thread: publish and subscribe, one channel a game.
//!
//! The seam behind which a message broker can stand. As with one, a subscriber that falls too
//! far behind loses messages, and learns how many.

mod memory;

use std::pin::Pin;

use super::model::GameId;
use server::reactor::Notice;

pub(super) use memory::Memory;

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
