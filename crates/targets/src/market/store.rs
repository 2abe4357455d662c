//! Where the market's state lives.
//!
//! The seam behind which a database can stand: every call may take a round trip, and each is one
//! transaction.

mod memory;

use std::pin::Pin;

use super::ledger::Money;
use super::model::{Event, Game, GameId, Pool, PoolId, User};
use super::transactions::{Prediction, Settlement, StoreError, Verdict};

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
