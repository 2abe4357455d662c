//! Where the market's state lives.
//!
//! The seam behind which a database can stand: every call may take a round trip, and each is one
//! transaction.

mod memory;

use std::pin::Pin;

use super::ledger::Money;
use super::model::{Event, Game, GameId, Outcome, Pool, PoolId, Score, User};

pub(super) use memory::Memory;

/// What a store's calls return.
pub(super) type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// The market's state. Each call is atomic.
pub(super) trait Store: Send + Sync {
    /// All games, by id.
    fn games(&self) -> Answer<'_, Vec<Game>>;

    /// One game, if there is one of that id.
    fn game(&self, id: GameId) -> Answer<'_, Option<Game>>;

    /// A game's open pool, then its settled ones from the newest to the oldest remembered.
    fn pools(&self, game: GameId) -> Answer<'_, Option<Vec<Pool>>>;

    /// One pool; `None` if it never was or is forgotten.
    fn pool(&self, id: PoolId) -> Answer<'_, Option<Pool>>;

    /// The balance in cents of `user`, whose account is opened if there was none.
    fn open_account<'a>(&'a self, user: &'a User) -> Answer<'a, u64>;

    /// Closes an account, now or as soon as its last stake has ended.
    fn close_account<'a>(&'a self, user: &'a User) -> Answer<'a, ()>;

    /// Takes a prediction, or says why not.
    fn predict<'a>(&'a self, prediction: &'a Prediction) -> Answer<'a, Verdict>;

    /// Settles the pool that `event` decides, pays the winners, opens the game's next pool.
    fn settle(&self, event: Event) -> Answer<'_, Settlement>;

    /// Counts all money.
    fn audit(&self) -> Answer<'_, Money>;
}

/// Money put on an outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prediction {
    pub(super) user: User,
    pub(super) pool: PoolId,
    pub(super) outcome: Outcome,
    /// In cents, at least 1.
    pub(super) amount: u64,
}

/// What became of a prediction. `open` is the pool that the game has open afterwards, `balance`
/// what the user has left in cents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The money is in the pool.
    Accepted {
        game: GameId,
        open: PoolId,
        balance: u64,
    },
    /// Nothing was moved.
    Refused {
        reason: Refusal,
        open: PoolId,
        balance: u64,
    },
    /// There never was such a pool.
    Unknown,
}

/// Why a prediction was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The pool is settled.
    Closed,
    /// The balance does not suffice.
    Balance,
}

/// What settling a pool came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Settlement {
    /// The settled pool. All of its money was paid out.
    pub(super) pool: Pool,
    /// The pool that is open now.
    pub(super) next: PoolId,
    /// The score after the event.
    pub(super) score: Score,
    /// Users who had the outcome; with none, all stakes were refunded.
    pub(super) winners: u64,
}

/// Why a store could not answer.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum StoreError {
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
        /// What the pool holds, in cents.
        total: u64,
        /// What its stakes would get, in cents.
        out: u64,
    },
}
