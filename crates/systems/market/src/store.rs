//! The store of the market's state.
//!
//! The seam behind which a database can stand: every call may take a round trip, and each is one
//! transaction.

mod memory;

use super::ledger::Money;
use super::transactions::{Answer, Prediction, Settlement, Verdict};
use crate::bus::model::{Event, Game, GameId, PlacedPrediction, Pool, PoolId, User};

pub(crate) use memory::Memory;

/// How the statements of a request reach the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Queries {
    /// Sent together, in one round trip: by a procedure in the store.
    #[default]
    Pipelined,
    /// One after the other, a round trip each.
    Sequential,
}

/// The thread that waits for the answers of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Driver {
    /// Threads of the store's connections: the serving thread does other work meanwhile.
    #[default]
    Async,
    /// The serving thread, on the only connection.
    Blocking,
}

/// The market's state. Each call is atomic.
pub(crate) trait Store: Send + Sync {
    /// All games, by id.
    fn games(&self) -> Answer<'_, Vec<Game>>;

    /// One game, if there is one of that id.
    fn game(&self, id: GameId) -> Answer<'_, Option<Game>>;

    /// A game's open pool, then its settled ones from the newest to the oldest remembered.
    fn pools(&self, game: GameId) -> Answer<'_, Option<Vec<Pool>>>;

    /// A game's open pool, at least as new as what was published of it last.
    fn current_pool(&self, game: GameId) -> Answer<'_, Option<Pool>> {
        self.open_pool(game)
    }

    /// One pool; `None` if it never was or is forgotten.
    fn pool(&self, id: PoolId) -> Answer<'_, Option<Pool>>;

    /// A game's open pool with every prediction that was accepted so far: unlike the calls above, which may be a
    /// little behind.
    fn open_pool(&self, game: GameId) -> Answer<'_, Option<Pool>>;

    /// The balance in cents of `user`, whose account is opened if there was none.
    fn open_account<'a>(&'a self, user: &'a User) -> Answer<'a, u64>;

    /// Closes accounts, each now or as soon as its last stake has ended.
    fn close_accounts<'a>(&'a self, users: &'a [User]) -> Answer<'a, ()>;

    /// Closes an account.
    fn close_account<'a>(&'a self, user: &'a User) -> Answer<'a, ()> {
        self.close_accounts(std::slice::from_ref(user))
    }

    /// Takes a prediction, or says why not.
    fn predict<'a>(&'a self, prediction: &'a Prediction) -> Answer<'a, Verdict>;

    /// The predictions in a pool that is open, in the order of their numbers.
    fn predictions(&self, pool: PoolId) -> Answer<'_, Vec<PlacedPrediction>>;

    /// The predictions of the pool whose numbers are higher than `after`.
    fn predictions_after(&self, pool: PoolId, after: u64) -> Answer<'_, Vec<PlacedPrediction>> {
        Box::pin(async move {
            let mut all = self.predictions(pool).await?;
            all.retain(|placed| placed.id > after);
            Ok(all)
        })
    }

    /// The newest predictions of these users in a pool that is open, at most `max`, in the order of their numbers. The users
    /// chose their names.
    fn predictions_of<'a>(
        &'a self,
        pool: PoolId,
        names: &'a [String],
        max: usize,
    ) -> Answer<'a, Vec<PlacedPrediction>> {
        Box::pin(async move {
            let mut found = self.predictions(pool).await?;
            found.retain(|placed| names.contains(&placed.user));
            found.drain(..found.len().saturating_sub(max));
            Ok(found)
        })
    }

    /// The number of the last event of `game` that was recorded; 0 before the first.
    fn last_event(&self, game: GameId) -> Answer<'_, u64>;

    /// Records what happened, for the resolver; true: this call did. An event that is recorded already is left alone.
    fn record(&self, event: Event) -> Answer<'_, bool>;

    /// The oldest event of each game that was recorded and not settled yet.
    fn unsettled(&self) -> Answer<'_, Vec<Event>>;

    /// Settled events that were not announced yet, oldest first; a limited number of them.
    fn pending(&self) -> Answer<'_, Vec<Event>>;

    /// Settles the pool that `event` decides, pays the winners, opens the game's next pool. An event that was
    /// settled already changes nothing and has the same answer, as long as it is pending.
    fn settle(&self, event: Event) -> Answer<'_, Settlement>;

    /// Says that `event` was settled and announced: it is no longer pending.
    fn announced(&self, event: Event) -> Answer<'_, ()>;

    /// Counts all money.
    fn audit(&self) -> Answer<'_, Money>;
}
