//! The bus inside one process.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::channels::Channels;
use super::{Answer, Bus, Claim, Delivery, Publication, Subscription};
use crate::bus::messages::{StampedUpdate, Update};
use crate::bus::model::GameId;
use server::reactor::{Kind, Notice};
use server::wall_ms;

/// One channel a game.
#[derive(Debug)]
pub struct Memory {
    channels: Channels,
    /// By game: held while messages are sent, so that numbers and stamps are in the order of sending.
    sent: Vec<Mutex<ChannelState>>,
}

/// State of a channel: the last messages that were sent on it.
#[derive(Debug, Default)]
struct ChannelState {
    /// The number of the last message.
    seq: u64,
    /// The last state.
    state: Option<Update>,
    /// The number of the last event.
    event: u64,
    /// Nothing is sent of an older pool than this one, nor with less money in it: whoever publishes may have read its
    /// pool before another who has published already.
    newest: (u64, u64),
}

impl Memory {
    /// Channels for games 1 to `games`.
    pub fn new(games: u32) -> Self {
        Self {
            channels: Channels::new(games),
            sent: (0..games).map(|_| Mutex::default()).collect(),
        }
    }

    /// Whether it was not published before.
    fn publish_in(&self, game: GameId, publication: Publication) -> Option<bool> {
        let sent = self.sent.get(game.index()?)?;
        let mut sent = sent.lock().unwrap_or_else(PoisonError::into_inner);
        match publication {
            Publication::State { update, bytes_min } => {
                if sent.state.as_ref() == Some(&update) {
                    return Some(false);
                }
                if let Update::Distribution { pool, total, .. } = &update {
                    if (pool.0, *total) < sent.newest {
                        return Some(false);
                    }
                    sent.newest = (pool.0, *total);
                }
                sent.state = Some(update.clone());
                self.send(&mut sent.seq, game, Kind::State, update, bytes_min);
            }
            Publication::Event { number, updates } => {
                if number <= sent.event {
                    return Some(false);
                }
                sent.event = number;
                for update in updates {
                    if let Update::Settled { next, .. } = &update {
                        sent.newest = sent.newest.max((next.0, 0));
                    }
                    self.send(&mut sent.seq, game, Kind::Event, update, 0);
                }
            }
        }
        Some(true)
    }

    fn send(&self, seq: &mut u64, game: GameId, kind: Kind, update: Update, bytes_min: usize) {
        *seq += 1;
        let frame = StampedUpdate::new(game, update, *seq, wall_ms()).encode(bytes_min);
        self.channels.send(game, Delivery::Notice(Notice { kind, frame }));
    }
}

impl Bus for Memory {
    fn claim(&self, _: GameId, _: Duration) -> Answer<'_, Claim> {
        // Nobody else publishes here.
        Box::pin(async { Ok(Claim::Won) })
    }

    fn publish(&self, game: GameId, publication: Publication) -> Answer<'_, bool> {
        let published = self.publish_in(game, publication).unwrap_or_default();
        Box::pin(async move { Ok(published) })
    }

    fn subscribe(&self, game: GameId) -> Box<dyn Subscription> {
        self.channels.subscribe(game)
    }
}
