//! Who may publish a distribution: claims, and those that this process holds.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::model::GameId;

/// How processes agree on who publishes a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Claims {
    /// The claim is one command, and the comparison with the last distribution part of the one that publishes.
    #[default]
    Atomic,
    /// The claim is read and then set, and the last distribution is read and then replaced: another process may
    /// do the same in between, and both publish. Redis only.
    Racing(ClaimSet),
}

/// When a racing claim is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClaimSet {
    /// As soon as it was found free, before the message is made.
    #[default]
    Early,
    /// When the message is made, just before it is published.
    Late,
}

/// A right to publish in a batch time.
#[derive(Debug, Clone)]
pub(super) struct Token {
    /// Who has it.
    pub(super) text: String,
    /// How long it lasts.
    pub(super) batch: Duration,
}

impl Token {
    /// In milliseconds, at least one.
    pub(super) fn batch_ms(&self) -> u64 {
        u64::try_from(self.batch.as_millis())
            .unwrap_or(u64::MAX)
            .max(1)
    }
}

/// Makes tokens that no other process makes, and keeps those of the claims that were won.
#[derive(Debug)]
pub(super) struct Tokens {
    /// Names the claims of this process.
    process: u64,
    count: AtomicU64,
    /// By game.
    held: Vec<Mutex<Option<Token>>>,
}

impl Tokens {
    /// For games 1 to `games`.
    pub(super) fn new(games: u32) -> Self {
        Self {
            process: RandomState::new().hash_one(0),
            count: AtomicU64::new(0),
            held: (0..games).map(|_| Mutex::default()).collect(),
        }
    }

    pub(super) fn make(&self, batch: Duration) -> Token {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        Token {
            text: format!("{:x}-{number}", self.process),
            batch,
        }
    }

    /// The claim was won.
    pub(super) fn hold(&self, game: GameId, token: Token) {
        self.put(game, Some(token));
    }

    /// The claim that is held; whoever publishes takes it.
    pub(super) fn take(&self, game: GameId) -> Option<Token> {
        self.put(game, None)
    }

    fn put(&self, game: GameId, token: Option<Token>) -> Option<Token> {
        let held = self.held.get(game.index()?)?;
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut held, token)
    }
}
