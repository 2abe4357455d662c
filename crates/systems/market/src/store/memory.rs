//! The store that forgets: all books in this process.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{PlacedPrediction, Prediction, Settlement, Store, Verdict};
use crate::books::Books;
use crate::bus::model::{Event, Game, GameId, Pool, PoolId, User};
use crate::ledger::Money;
use crate::social::MemorySocial;
use crate::transactions::Answer;

/// State in memory behind one lock, which is held for microseconds.
#[derive(Debug)]
pub(crate) struct Memory {
    books: Mutex<Books>,
    /// Learns what was settled; `None`: there are no questions of users.
    social: Option<Arc<MemorySocial>>,
}

impl Memory {
    /// An empty market of `games` games; each account starts with `starting_balance` cents. There
    /// is room for `accounts`, so that nobody waits while it is made.
    pub(crate) fn new(games: u32, starting_balance: u64, accounts: usize) -> Self {
        let mut books = Books::new(games, starting_balance);
        books.make_room(accounts);
        Self { books: Mutex::new(books), social: None }
    }

    /// Keeps each prediction while its pool is open, if `keep`.
    pub(crate) fn keeping_predictions(self, keep: bool) -> Self {
        self.books().keep_predictions(keep);
        self
    }

    /// Tells `social` what was settled, before anybody else learns it.
    pub(crate) fn telling(self, social: Option<Arc<MemorySocial>>) -> Self {
        Self { social, ..self }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        // A panic inside a change would leave money uncounted: the audit would show it.
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Memory {
    fn games(&self) -> Answer<'_, Vec<Game>> {
        Box::pin(async { Ok(self.books().games()) })
    }

    fn game(&self, id: GameId) -> Answer<'_, Option<Game>> {
        Box::pin(async move { Ok(self.books().game(id)) })
    }

    fn pools(&self, game: GameId) -> Answer<'_, Option<Vec<Pool>>> {
        Box::pin(async move { Ok(self.books().pools(game)) })
    }

    fn pool(&self, id: PoolId) -> Answer<'_, Option<Pool>> {
        Box::pin(async move { Ok(self.books().pool(id)) })
    }

    fn open_pool(&self, game: GameId) -> Answer<'_, Option<Pool>> {
        Box::pin(async move { Ok(self.books().open_pool(game)) })
    }

    fn open_account<'a>(&'a self, user: &'a User) -> Answer<'a, u64> {
        Box::pin(async { self.books().open_account(user) })
    }

    fn close_accounts<'a>(&'a self, users: &'a [User]) -> Answer<'a, ()> {
        Box::pin(async {
            let mut books = self.books();
            users.iter().for_each(|user| books.close_account(user));
            Ok(())
        })
    }

    fn predict<'a>(&'a self, prediction: &'a Prediction) -> Answer<'a, Verdict> {
        Box::pin(async { self.books().predict(prediction) })
    }

    fn predictions(&self, pool: PoolId) -> Answer<'_, Vec<PlacedPrediction>> {
        Box::pin(async move { Ok(self.books().predictions(pool)) })
    }

    fn predictions_of<'a>(
        &'a self,
        pool: PoolId,
        names: &'a [String],
        max: usize,
    ) -> Answer<'a, Vec<PlacedPrediction>> {
        Box::pin(async move { Ok(self.books().predictions_of(pool, names, max)) })
    }

    fn last_event(&self, game: GameId) -> Answer<'_, u64> {
        Box::pin(async move { self.books().last_event(game) })
    }

    fn record(&self, event: Event) -> Answer<'_, bool> {
        Box::pin(async move { self.books().record(event) })
    }

    fn unsettled(&self) -> Answer<'_, Vec<Event>> {
        Box::pin(async { Ok(self.books().unsettled()) })
    }

    fn pending(&self) -> Answer<'_, Vec<Event>> {
        Box::pin(async { Ok(self.books().pending()) })
    }

    fn settle(&self, event: Event) -> Answer<'_, Settlement> {
        Box::pin(async move {
            let settlement = self.books().settle(event)?;
            if let Some(social) = &self.social {
                social.settled(event, settlement.next);
            }
            Ok(settlement)
        })
    }

    fn announced(&self, event: Event) -> Answer<'_, ()> {
        Box::pin(async move {
            self.books().announced(event);
            Ok(())
        })
    }

    fn audit(&self) -> Answer<'_, Money> {
        Box::pin(async { Ok(self.books().audit()) })
    }
}
