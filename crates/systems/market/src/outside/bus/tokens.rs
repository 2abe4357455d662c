//! The claims that this process holds.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::bus::model::GameId;

/// A right to publish in a batch time.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    /// Name of the holder.
    pub(crate) text: String,
    /// How long it lasts.
    pub(crate) batch: Duration,
}

impl Token {
    /// In milliseconds, at least one.
    pub(crate) fn batch_ms(&self) -> u64 {
        u64::try_from(self.batch.as_millis()).unwrap_or(u64::MAX).max(1)
    }
}

/// Makes tokens that no other process makes, and keeps those of the claims that were won.
#[derive(Debug)]
pub(crate) struct Tokens {
    /// Names the claims of this process.
    process: u64,
    count: AtomicU64,
    /// By game.
    held: Vec<Mutex<Option<Token>>>,
}

impl Tokens {
    /// For games 1 to `games`.
    pub(crate) fn new(games: u32) -> Self {
        Self {
            process: RandomState::new().hash_one(0),
            count: AtomicU64::new(0),
            held: (0..games).map(|_| Mutex::default()).collect(),
        }
    }

    pub(crate) fn make(&self, batch: Duration) -> Token {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        Token { text: format!("{:x}-{number}", self.process), batch }
    }

    /// The claim was won.
    pub(crate) fn hold(&self, game: GameId, token: Token) {
        self.put(game, Some(token));
    }

    /// The claim that is held; whoever publishes takes it.
    pub(crate) fn take(&self, game: GameId) -> Option<Token> {
        self.put(game, None)
    }

    fn put(&self, game: GameId, token: Option<Token>) -> Option<Token> {
        let held = self.held.get(game.index()?)?;
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut held, token)
    }
}
