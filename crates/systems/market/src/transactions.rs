//! Requests to the market's store, and its answers.

use std::pin::Pin;

use crate::bus::model::{GameId, Outcome, Pool, PoolId, Score, User};

/// Future that a store's calls return.
pub(crate) type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Money put on an outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prediction {
    pub(crate) user: User,
    pub(crate) pool: PoolId,
    pub(crate) outcome: Outcome,
    /// In cents, at least 1.
    pub(crate) amount: u64,
}

/// The answer to a prediction. `open` is the pool that the game has open afterwards, `balance` what the user
/// has left in cents, `returned` the cents of earlier predictions that were accepted and came too late: they
/// are in the balance again, and the user did not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The money is in the pool.
    Accepted { game: GameId, open: PoolId, balance: u64, returned: u64 },
    /// Nothing was moved.
    Refused { reason: Refusal, open: PoolId, balance: u64, returned: u64 },
    /// There never was such a pool.
    Unknown,
}

/// Why a prediction was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The pool is settled.
    Closed,
    /// The balance does not suffice.
    Balance,
}

/// Result of settling a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settlement {
    /// The settled pool. All of its money was paid out.
    pub(crate) pool: Pool,
    /// The pool that is open now.
    pub(crate) next: PoolId,
    /// The score after the event.
    pub(crate) score: Score,
    /// Users who had the outcome; with none, all stakes were refunded.
    pub(crate) winners: u64,
}

/// Why a store could not answer.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub(crate) enum StoreError {
    /// It cannot be reached, or did not answer in time. What was requested may have been done.
    #[cfg(feature = "full")]
    #[error("{0}")]
    Unavailable(String),
    /// An event of a game that is not played here.
    #[error("no such game")]
    UnknownGame,
    /// No room for another account.
    #[error("all {accounts_max} accounts are taken")]
    Full {
        /// How many there may be.
        accounts_max: usize,
    },
    /// A pool's total and its users' stakes disagree; nothing was paid.
    #[error("a pool of {total} cents would pay out {out}")]
    Unbalanced {
        /// Money in the pool, in cents.
        total: u64,
        /// Sum of the payouts of its stakes, in cents.
        out: u64,
    },
}
