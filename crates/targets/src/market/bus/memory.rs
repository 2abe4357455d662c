//! The bus inside one process.

use std::pin::Pin;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::{Bus, Delivery, Subscription};
use crate::market::model::GameId;
use server::reactor::Notice;

/// Notices that a subscription may lag behind before it loses some.
const CAPACITY: usize = 64;

/// One channel a game.
#[derive(Debug)]
pub(in crate::market) struct Memory {
    channels: Vec<broadcast::Sender<Notice>>,
}

impl Memory {
    /// Channels for games 1 to `games`.
    pub(in crate::market) fn new(games: u32) -> Self {
        Self {
            channels: (0..games)
                .map(|_| broadcast::Sender::new(CAPACITY))
                .collect(),
        }
    }

    fn channel(&self, game: GameId) -> Option<&broadcast::Sender<Notice>> {
        self.channels.get((game.0 as usize).checked_sub(1)?)
    }
}

impl Bus for Memory {
    fn publish(
        &self,
        game: GameId,
        notice: Notice,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            if let Some(channel) = self.channel(game) {
                // The only failure is that nobody subscribes.
                let _ = channel.send(notice);
            }
        })
    }

    fn subscribe(&self, game: GameId) -> Box<dyn Subscription> {
        // A game that is not played has a channel on which nothing ever comes.
        let receiver = match self.channel(game) {
            Some(channel) => channel.subscribe(),
            None => broadcast::channel(1).1,
        };
        Box::new(receiver)
    }
}

impl Subscription for broadcast::Receiver<Notice> {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<Delivery>> + Send + '_>> {
        Box::pin(async {
            match self.recv().await {
                Ok(notice) => Some(Delivery::Notice(notice)),
                Err(RecvError::Lagged(count)) => Some(Delivery::Lost(count)),
                Err(RecvError::Closed) => None,
            }
        })
    }
}
