//! Channels within a process: what is delivered for a game, to every serving thread.

use std::pin::Pin;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::{Delivery, Subscription};
use crate::bus::model::GameId;

/// Deliveries that a subscription may lag behind before it loses some.
const CAPACITY: usize = 64;

/// One channel a game.
#[derive(Debug)]
pub(crate) struct Channels {
    pub(crate) senders: Vec<broadcast::Sender<Delivery>>,
}

impl Channels {
    /// Channels for games 1 to `games`.
    pub(crate) fn new(games: u32) -> Self {
        let senders = (0..games).map(|_| broadcast::Sender::new(CAPACITY));
        Self { senders: senders.collect() }
    }

    /// Sends to all subscriptions of `game`, in the order of the calls.
    pub(crate) fn send(&self, game: GameId, delivery: Delivery) {
        if let Some(sender) = self.sender(game) {
            // The only failure is that nobody subscribes.
            let _ = sender.send(delivery);
        }
    }

    /// Everything sent for `game` from now on.
    pub(crate) fn subscribe(&self, game: GameId) -> Box<dyn Subscription> {
        // A game that is not played has a channel on which nothing ever comes.
        let receiver = match self.sender(game) {
            Some(sender) => sender.subscribe(),
            None => broadcast::channel(1).1,
        };
        Box::new(receiver)
    }

    fn sender(&self, game: GameId) -> Option<&broadcast::Sender<Delivery>> {
        self.senders.get(game.index()?)
    }
}

impl Subscription for broadcast::Receiver<Delivery> {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<Delivery>> + Send + '_>> {
        Box::pin(async {
            match self.recv().await {
                Ok(delivery) => Some(delivery),
                Err(RecvError::Lagged(count)) => Some(Delivery::Lost(count)),
                Err(RecvError::Closed) => None,
            }
        })
    }
}
