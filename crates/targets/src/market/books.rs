//! The market's state and its rules, without any I/O: predictions in, settlements out.

use std::collections::{BTreeMap, VecDeque};

use super::ledger::{Ledger, Money};
use super::model::{Event, Game, GameId, Outcome, Pool, PoolId, Score, Shares, User};
use super::payout::share_out;
use super::transactions::{Prediction, Refusal, Settlement, StoreError, Verdict};

/// Settled pools remembered for each game.
const REMEMBERED: usize = 32;
/// Most accounts at a time. With the largest starting balance, all money still fits 64 bits.
pub(super) const ACCOUNTS_MAX: usize = 10_000_000;

/// Names of the sides; each game takes the next two.
const SIDES: [&str; 16] = [
    "Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Ginkgo", "Hazel", "Ironwood", "Juniper",
    "Larch", "Maple", "Oak", "Pine", "Rowan", "Willow",
];

/// Everything the market knows.
#[derive(Debug)]
pub(super) struct Books {
    tables: Vec<Table>,
    ledger: Ledger,
}

/// One game with its pools.
#[derive(Debug)]
struct Table {
    game: Game,
    open: Pool,
    /// Who has what in the open pool. Sorted, so that payouts do not hang on a hash.
    stakes: BTreeMap<User, Shares>,
    /// Settled pools, newest first.
    past: VecDeque<Pool>,
}

impl Books {
    /// A market of `games` games, each with its first pool open.
    pub(super) fn new(games: u32, starting_balance: u64) -> Self {
        let tables = (1..=games)
            .map(|number| Table::new(GameId(number)))
            .collect();
        Self {
            tables,
            ledger: Ledger::new(starting_balance),
        }
    }

    /// Makes room for accounts that are expected.
    pub(super) fn make_room(&mut self, accounts: usize) {
        self.ledger.make_room(accounts.min(ACCOUNTS_MAX));
    }

    pub(super) fn games(&self) -> Vec<Game> {
        self.tables.iter().map(|table| table.game.clone()).collect()
    }

    pub(super) fn game(&self, id: GameId) -> Option<Game> {
        Some(self.tables.get(self.place(id)?)?.game.clone())
    }

    /// The game's open pool, then its settled ones from the newest to the oldest remembered.
    pub(super) fn pools(&self, id: GameId) -> Option<Vec<Pool>> {
        let table = self.tables.get(self.place(id)?)?;
        Some(
            std::iter::once(&table.open)
                .chain(&table.past)
                .copied()
                .collect(),
        )
    }

    /// `None` for a pool that never was, or is no longer remembered.
    pub(super) fn pool(&self, id: PoolId) -> Option<Pool> {
        let table = &self.tables[self.place_of_pool(id)?];
        std::iter::once(&table.open)
            .chain(&table.past)
            .find(|pool| pool.id == id)
            .copied()
    }

    pub(super) fn open_account(&mut self, user: &User) -> Result<u64, StoreError> {
        if self.ledger.len() >= ACCOUNTS_MAX && !self.ledger.knows(user) {
            return Err(StoreError::Full {
                accounts_max: ACCOUNTS_MAX,
            });
        }
        Ok(self.ledger.open(user))
    }

    pub(super) fn close_account(&mut self, user: &User) {
        self.ledger.close(user);
    }

    /// Takes a prediction, or says why not. `None` for a pool that never was.
    pub(super) fn predict(&mut self, prediction: &Prediction) -> Result<Verdict, StoreError> {
        let Some(place) = self.place_of_pool(prediction.pool) else {
            return Ok(Verdict::Unknown);
        };
        let (game, open) = (self.tables[place].game.id, self.tables[place].open.id);
        if open < prediction.pool {
            return Ok(Verdict::Unknown);
        }
        let balance = self.open_account(&prediction.user)?;
        if open != prediction.pool {
            return Ok(Verdict::Refused {
                reason: Refusal::Closed,
                open,
                balance,
            });
        }
        match self.ledger.stake(&prediction.user, prediction.amount) {
            Ok(balance) => {
                let table = &mut self.tables[place];
                let stakes = table.stakes.entry(prediction.user.clone()).or_default();
                stakes.add(prediction.outcome, prediction.amount);
                table.open.shares.add(prediction.outcome, prediction.amount);
                Ok(Verdict::Accepted {
                    game,
                    open,
                    balance,
                })
            }
            Err(balance) => Ok(Verdict::Refused {
                reason: Refusal::Balance,
                open,
                balance,
            }),
        }
    }

    /// Settles the pool that `event` decides and opens the game's next one.
    pub(super) fn settle(&mut self, event: Event) -> Result<Settlement, StoreError> {
        let games = self.tables.len() as u64;
        let place = self.place(event.game).ok_or(StoreError::UnknownGame)?;
        let table = &mut self.tables[place];
        let payout = payout(&table.stakes, table.open.shares, event.outcome)?;
        let winners = table
            .stakes
            .values()
            .filter(|stakes| stakes.on(event.outcome) > 0)
            .count();
        for ((user, stakes), paid) in std::mem::take(&mut table.stakes).iter().zip(&payout) {
            self.ledger.release(user, stakes.total(), *paid);
        }
        let next = PoolId(table.open.id.0 + games);
        let pool = Pool {
            outcome: Some(event.outcome),
            ..table.open
        };
        table.open = Pool {
            id: next,
            shares: Shares::default(),
            ..table.open
        };
        table.past.push_front(pool);
        table.past.truncate(REMEMBERED);
        table.game.score.count(event.outcome);
        Ok(Settlement {
            pool,
            next,
            score: table.game.score,
            winners: winners as u64,
        })
    }

    /// Counts all money.
    pub(super) fn audit(&self) -> Money {
        let stakes = self.tables.iter().flat_map(|table| table.stakes.values());
        self.ledger
            .audit(stakes.map(|stakes| u128::from(stakes.total())).sum())
    }

    fn place(&self, id: GameId) -> Option<usize> {
        let place = usize::try_from(id.0.checked_sub(1)?).ok()?;
        (place < self.tables.len()).then_some(place)
    }

    fn place_of_pool(&self, id: PoolId) -> Option<usize> {
        usize::try_from(id.0.checked_sub(1)? % self.tables.len() as u64).ok()
    }
}

impl Table {
    fn new(id: GameId) -> Self {
        let side = |number: u32| SIDES[number as usize % SIDES.len()];
        let (home, away) = (side((id.0 - 1) * 2), side((id.0 - 1) * 2 + 1));
        Self {
            game: Game {
                id,
                home,
                away,
                score: Score::default(),
            },
            open: Pool {
                id: PoolId(id.0.into()),
                game: id,
                shares: Shares::default(),
                outcome: None,
            },
            stakes: BTreeMap::new(),
            past: VecDeque::new(),
        }
    }
}

impl Score {
    /// Counts a goal, or begins a new match.
    fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Home => self.home += 1,
            Outcome::Away => self.away += 1,
            Outcome::None => *self = Self::default(),
        }
    }
}

/// What each staker gets, in the order of `stakes`: the winners share the whole pool in
/// proportion to what they put on `outcome`; when nobody did, everyone gets the stake back.
fn payout(
    stakes: &BTreeMap<User, Shares>,
    pool: Shares,
    outcome: Outcome,
) -> Result<Vec<u64>, StoreError> {
    let paid: Vec<u64> = if pool.on(outcome) == 0 {
        stakes.values().map(Shares::total).collect()
    } else {
        let winning: Vec<u64> = stakes.values().map(|stakes| stakes.on(outcome)).collect();
        share_out(pool.total(), &winning)
    };
    // The pool's total and the users' stakes are two books of the same money.
    let (total, out) = (pool.total(), paid.iter().sum());
    if total == out {
        Ok(paid)
    } else {
        Err(StoreError::Unbalanced { total, out })
    }
}

#[cfg(test)]
mod tests;
