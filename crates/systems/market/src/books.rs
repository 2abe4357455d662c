//! The market's state and its rules, without any I/O: predictions in, settlements out.

use std::collections::{BTreeMap, HashSet, VecDeque};

use super::ledger::{Ledger, Money};
use super::payout::pay_out;
use super::transactions::{Prediction, Refusal, Settlement, StoreError, Verdict};
use crate::bus::model::{Event, Game, GameId, PlacedPrediction, Pool, PoolId, Score, Shares, User};

/// Settled pools remembered for each game.
const REMEMBERED: usize = 32;
/// Most accounts at a time. With the largest starting balance, all money still fits 64 bits.
pub(crate) const ACCOUNTS_MAX: usize = 10_000_000;

/// Names of the sides; each game takes the next two.
const SIDES: [&str; 16] = [
    "Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Ginkgo", "Hazel", "Ironwood", "Juniper",
    "Larch", "Maple", "Oak", "Pine", "Rowan", "Willow",
];

/// Everything the market knows.
#[derive(Debug)]
pub(crate) struct Books {
    tables: Vec<Table>,
    ledger: Ledger,
    /// Events that were recorded and not announced, with what they came to if they were settled.
    pending: VecDeque<(Event, Option<Settlement>)>,
    /// Whether each prediction is kept while its pool is open.
    keeps_predictions: bool,
    /// Predictions that were accepted.
    accepted: u64,
}

/// One game with its pools.
#[derive(Debug)]
struct Table {
    game: Game,
    open: Pool,
    /// Stakes in the open pool by user. Sorted, so that payouts do not depend on a hash.
    stakes: BTreeMap<User, Shares>,
    /// The predictions in the open pool, if they are kept.
    placed: Vec<PlacedPrediction>,
    /// Settled pools, newest first.
    past: VecDeque<Pool>,
    /// The number of the last event that was recorded.
    recorded: u64,
    /// The last event that was settled, and what it came to.
    settled: Option<(u64, Settlement)>,
}

impl Books {
    /// A market of `games` games, each with its first pool open.
    pub(crate) fn new(games: u32, starting_balance: u64) -> Self {
        let tables = (1..=games).map(|number| Table::new(GameId(number))).collect();
        Self {
            tables,
            ledger: Ledger::new(starting_balance),
            pending: VecDeque::new(),
            keeps_predictions: false,
            accepted: 0,
        }
    }

    /// Makes room for accounts that are expected.
    pub(crate) fn make_room(&mut self, accounts: usize) {
        self.ledger.make_room(accounts.min(ACCOUNTS_MAX));
    }

    /// Keeps each prediction while its pool is open, if `keep`.
    pub(crate) fn keep_predictions(&mut self, keep: bool) {
        self.keeps_predictions = keep;
    }

    /// The predictions in an open pool, if they are kept.
    pub(crate) fn predictions(&self, pool: PoolId) -> Vec<PlacedPrediction> {
        let place = self.place_of_pool(pool);
        let table = place.map(|place| &self.tables[place]);
        let open = table.filter(|table| table.open.id == pool);
        open.map(|table| table.placed.clone()).unwrap_or_default()
    }

    /// The newest of them that users of these names made, at most `max`, in the order of their numbers.
    pub(crate) fn predictions_of(
        &self,
        pool: PoolId,
        names: &[String],
        max: usize,
    ) -> Vec<PlacedPrediction> {
        let table = self.place_of_pool(pool).map(|place| &self.tables[place]);
        let open = table.filter(|table| table.open.id == pool);
        let placed = open.map(|table| table.placed.as_slice()).unwrap_or_default();
        let theirs = placed.iter().rev().filter(|placed| names.contains(&placed.user));
        let mut newest: Vec<PlacedPrediction> = theirs.take(max).cloned().collect();
        newest.reverse();
        newest
    }

    pub(crate) fn games(&self) -> Vec<Game> {
        self.tables.iter().map(|table| table.game.clone()).collect()
    }

    pub(crate) fn game(&self, id: GameId) -> Option<Game> {
        Some(self.tables.get(self.place(id)?)?.game.clone())
    }

    /// The game's open pool, then its settled ones from the newest to the oldest remembered.
    pub(crate) fn pools(&self, id: GameId) -> Option<Vec<Pool>> {
        let table = self.tables.get(self.place(id)?)?;
        Some(std::iter::once(&table.open).chain(&table.past).copied().collect())
    }

    pub(crate) fn open_pool(&self, id: GameId) -> Option<Pool> {
        Some(self.tables.get(self.place(id)?)?.open)
    }

    /// `None` for a pool that never was, or is no longer remembered.
    pub(crate) fn pool(&self, id: PoolId) -> Option<Pool> {
        let table = &self.tables[self.place_of_pool(id)?];
        std::iter::once(&table.open).chain(&table.past).find(|pool| pool.id == id).copied()
    }

    pub(crate) fn open_account(&mut self, user: &User) -> Result<u64, StoreError> {
        if self.ledger.len() >= ACCOUNTS_MAX && !self.ledger.knows(user) {
            return Err(StoreError::Full { accounts_max: ACCOUNTS_MAX });
        }
        Ok(self.ledger.open(user))
    }

    pub(crate) fn close_account(&mut self, user: &User) {
        self.ledger.close(user);
    }

    /// Takes a prediction, or says why not. `None` for a pool that never was.
    pub(crate) fn predict(&mut self, prediction: &Prediction) -> Result<Verdict, StoreError> {
        let Some(place) = self.place_of_pool(prediction.pool) else {
            return Ok(Verdict::Unknown);
        };
        let game = self.tables[place].game.id;
        let open = self.tables[place].open.id;
        if open < prediction.pool {
            return Ok(Verdict::Unknown);
        }
        let balance = self.open_account(&prediction.user)?;
        if open != prediction.pool {
            return Ok(Verdict::Refused { reason: Refusal::Closed, open, balance, returned: 0 });
        }
        match self.ledger.stake(&prediction.user, prediction.amount) {
            Ok(balance) => {
                let table = &mut self.tables[place];
                let stakes = table.stakes.entry(prediction.user.clone()).or_default();
                stakes.add(prediction.outcome, prediction.amount);
                table.open.shares.add(prediction.outcome, prediction.amount);
                self.accepted += 1;
                if self.keeps_predictions {
                    table.placed.push(PlacedPrediction {
                        id: self.accepted,
                        user: prediction.user.to_string(),
                        pool: open,
                        option: prediction.outcome,
                        amount: prediction.amount,
                    });
                }
                Ok(Verdict::Accepted { game, open, balance, returned: 0 })
            }
            Err(balance) => {
                Ok(Verdict::Refused { reason: Refusal::Balance, open, balance, returned: 0 })
            }
        }
    }

    /// The number of the game's last event.
    pub(crate) fn last_event(&self, game: GameId) -> Result<u64, StoreError> {
        let place = self.place(game).ok_or(StoreError::UnknownGame)?;
        Ok(self.tables[place].recorded)
    }

    /// Keeps an event for the resolver, once; true: now.
    pub(crate) fn record(&mut self, event: Event) -> Result<bool, StoreError> {
        let place = self.place(event.game).ok_or(StoreError::UnknownGame)?;
        let recorded = &mut self.tables[place].recorded;
        let is_new = event.number > *recorded;
        if is_new {
            *recorded = event.number;
            self.pending.push_back((event, None));
        }
        Ok(is_new)
    }

    /// The oldest event of each game that was recorded and not settled.
    pub(crate) fn unsettled(&self) -> Vec<Event> {
        let mut games = HashSet::new();
        let events = self.pending.iter().filter(|(_, came_to)| came_to.is_none());
        let events = events.map(|(event, _)| *event);
        events.filter(|event| games.insert(event.game)).collect()
    }

    /// Events that were settled and not announced, oldest first.
    pub(crate) fn pending(&self) -> Vec<Event> {
        let events = self.pending.iter().filter(|(_, came_to)| came_to.is_some());
        events.map(|(event, _)| *event).collect()
    }

    /// `event` was announced.
    pub(crate) fn announced(&mut self, event: Event) {
        self.pending.retain(|(waiting, _)| *waiting != event);
    }

    /// Settles the pool that `event` decides and opens the game's next one, once.
    pub(crate) fn settle(&mut self, event: Event) -> Result<Settlement, StoreError> {
        let games = self.tables.len() as u64;
        let place = self.place(event.game).ok_or(StoreError::UnknownGame)?;
        let is_it = |(waiting, _): &&mut (Event, _)| {
            (waiting.game, waiting.number) == (event.game, event.number)
        };
        let recorded = self.pending.iter_mut().find(is_it);
        if let Some((_, Some(settlement))) = recorded {
            return Ok(*settlement);
        }
        let table = &mut self.tables[place];
        if let Some((number, settlement)) = &table.settled
            && *number == event.number
        {
            return Ok(*settlement);
        }
        let stakes: Vec<Shares> = table.stakes.values().copied().collect();
        let payout = pay_out(&stakes, table.open.shares, event.outcome)?;
        let winners = stakes.iter().filter(|stakes| stakes.on(event.outcome) > 0).count();
        for ((user, stakes), paid) in std::mem::take(&mut table.stakes).iter().zip(&payout) {
            self.ledger.release(user, stakes.total(), *paid);
        }
        let next = PoolId(table.open.id.0 + games);
        let pool = Pool { outcome: Some(event.outcome), ..table.open };
        table.open = Pool { id: next, shares: Shares::default(), ..table.open };
        table.placed.clear();
        table.past.push_front(pool);
        table.past.truncate(REMEMBERED);
        table.game.score.count(event.outcome);
        let settlement =
            Settlement { pool, next, score: table.game.score, winners: winners as u64 };
        table.settled = Some((event.number, settlement));
        if let Some((_, came_to)) = recorded {
            *came_to = Some(settlement);
        }
        Ok(settlement)
    }

    /// Counts all money.
    pub(crate) fn audit(&self) -> Money {
        let stakes = self.tables.iter().flat_map(|table| table.stakes.values());
        self.ledger.audit(stakes.map(|stakes| u128::from(stakes.total())).sum())
    }

    fn place(&self, id: GameId) -> Option<usize> {
        id.index().filter(|place| *place < self.tables.len())
    }

    fn place_of_pool(&self, id: PoolId) -> Option<usize> {
        id.game(self.tables.len() as u64)?.index()
    }
}

impl Table {
    fn new(id: GameId) -> Self {
        let side = |number: u32| SIDES[number as usize % SIDES.len()];
        let home = side((id.0 - 1) * 2);
        let away = side((id.0 - 1) * 2 + 1);
        Self {
            game: Game { id, home, away, score: Score::default() },
            open: Pool {
                id: PoolId(id.0.into()),
                game: id,
                shares: Shares::default(),
                outcome: None,
            },
            stakes: BTreeMap::new(),
            placed: Vec::new(),
            past: VecDeque::new(),
            recorded: 0,
            settled: None,
        }
    }
}

#[cfg(test)]
mod tests;
