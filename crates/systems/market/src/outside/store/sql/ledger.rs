//! A regional ledger and the store that owns its pools.
//!
//! A ledger is a database with the tables of a store, which keeps the accounts of one region's users. It accepts
//! predictions by itself, and notes each in its outbox in the same transaction. The owner takes what is in the
//! outbox into its pools, each prediction once, as stakes of accounts that stand for the ledger's. Whether one was
//! taken is whether the owner has it, looked up under the lock of its game: taking it again changes nothing. When the
//! owner has settled a pool, its payouts of those accounts are copied into the ledger, together with the pool.

use std::sync::Arc;

use super::Sql;
use super::dialect::Dialect;
use super::link::{Failure, Session};
use super::metrics::Call;
use super::open::{Row, number};
use super::predict::{Stake, accept};
use super::reads::{self, count};
use super::settle::{self, Payment, SettledEvent};
use crate::bus::model::{GameId, Outcome, Pool, PoolId, Score, Shares};
use crate::ledger::Money;
use crate::transactions::{Prediction, StoreError, Verdict};
use server::database::{SqlError, Value};

/// Most predictions that are delivered at once: about 100 KB.
pub(crate) const DELIVERED_MAX: u64 = 4_096;

const UNDECIDED: &str = "SELECT s.id, s.account, s.pool, s.outcome, s.amount FROM market_outbox o \
     JOIN market_predictions s ON s.id = o.id ORDER BY o.id LIMIT ?";

/// A ledger's stakes are what its accounts say: a prediction leaves the outbox after its pool was settled, perhaps.
/// Pools of the owner pay other ledgers' losses: what a ledger won is paid in, what it lost is paid out.
const AUDIT: &str = "SELECT
    (SELECT CAST(coalesce(sum(balance), 0) AS CHAR(40)) FROM market_accounts
        WHERE NOT (closing = 1 AND staked = 0)),
    (SELECT CAST(coalesce(sum(staked), 0) AS CHAR(40)) FROM market_accounts),
    (SELECT CAST(coalesce(sum(deposited), 0) AS CHAR(40)) FROM market_accounts),
    (SELECT CAST(coalesce(sum(withdrawn), 0) AS CHAR(40)) FROM market_accounts),
    (SELECT CAST(coalesce(sum(balance), 0) AS CHAR(40)) FROM market_accounts
        WHERE closing = 1 AND staked = 0),
    (SELECT CAST(coalesce(sum(amount), 0) AS CHAR(40)) FROM market_payouts),
    (SELECT CAST(coalesce(sum(staked), 0) AS CHAR(40)) FROM market_payouts)";

/// A prediction that a ledger accepted and the owner has not decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Number in the ledger.
    pub(crate) id: i64,
    /// The ledger's account.
    account: i64,
    pub(crate) pool: PoolId,
    outcome: i64,
    amount: i64,
}

/// The decisions of one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DecisionCounts {
    pub(crate) taken: u64,
    pub(crate) refused: u64,
    /// Money that went back, in cents.
    pub(crate) cents: u64,
}

/// A pool that the owner settled, and what it pays to one ledger.
#[derive(Debug)]
pub(crate) struct ClosedPool {
    pool: Pool,
    settled: SettledEvent,
    number: u64,
    payments: Vec<Payment>,
}

/// Calls of a ledger for itself.
impl Sql {
    /// The number of this store among all.
    pub(crate) fn number(&self) -> i64 {
        self.id
    }

    /// Accepts a prediction: it is in the outbox then.
    pub(crate) async fn accept(&self, prediction: &Prediction) -> Result<Verdict, StoreError> {
        let accounts = Arc::clone(&self.accounts);
        let Some(stake) = Stake::new(prediction, &accounts) else {
            return Ok(Verdict::Unknown);
        };
        let accept = move |session: &mut Session<'_>| accept(session, &accounts, &stake);
        self.write(Call::Predict, accept).await
    }

    /// Predictions in the outbox, oldest first; at most [`DELIVERED_MAX`].
    pub(crate) async fn undecided(&self) -> Result<Vec<Entry>, StoreError> {
        self.write(Call::Undecided, |session| {
            let rows = session.rows(UNDECIDED, &[Value::Int(DELIVERED_MAX.cast_signed())])?;
            let entries: Result<_, SqlError> = rows.iter().map(entry).collect();
            Ok(entries?)
        })
        .await
    }

    /// How many predictions are in the outbox.
    pub(crate) async fn undecided_count(&self) -> Result<u64, StoreError> {
        self.write(Call::Undecided, |session| {
            let row = session.row("SELECT count(*) FROM market_outbox", &[])?;
            Ok(count(&row, 0)?)
        })
        .await
    }

    /// Notes that the owner has taken some predictions and refused others, unless another process did already.
    pub(crate) async fn decide(
        &self,
        taken: Vec<i64>,
        refused: Vec<i64>,
    ) -> Result<DecisionCounts, StoreError> {
        let dialect = self.accounts.dialect;
        self.write(Call::Decide, move |session| {
            let values = [list(&taken), list(&refused)].map(Value::Text);
            let row = session.row(dialect.call_decide, &values)?;
            Ok(DecisionCounts {
                taken: count(&row, 0)?,
                refused: count(&row, 1)?,
                cents: count(&row, 2)?,
            })
        })
        .await
    }

    /// Copies a settled pool into the ledger, if that is the game's open pool there. Whether it was.
    pub(crate) async fn copy(&self, closed: ClosedPool) -> Result<bool, StoreError> {
        let dialect = self.accounts.dialect;
        let games = self.accounts.rules.games;
        let game = closed.pool.game;
        self.write_patiently(Call::Copy, game, move |session| {
            copy(session, dialect, games, &closed)
        })
        .await
    }

    /// Whether anybody has money on a pool, in a ledger.
    pub(crate) async fn is_used(&self, pool: PoolId) -> Result<bool, StoreError> {
        self.write(Call::Copy, move |session| is_used(session, pool.0.cast_signed())).await
    }

    /// Makes `open` the game's open pool in a ledger where nobody has money on the present one. Whether it did.
    pub(crate) async fn skip_to(&self, open: Pool, score: Score) -> Result<bool, StoreError> {
        let dialect = self.accounts.dialect;
        self.write(Call::Copy, move |session| skip_to(session, dialect, open, score)).await
    }

    /// Counts all money of a ledger.
    pub(crate) async fn audit_ledger(&self) -> Result<Money, StoreError> {
        self.write(Call::Audit, |session| {
            let row = session.row(AUDIT, &[])?;
            let sum = |place| reads::sum(&row, place);
            Ok(Money {
                balances: sum(0)?,
                stakes: sum(1)?,
                deposited: sum(2)? + sum(5)?,
                withdrawn: sum(3)? + sum(4)? + sum(6)?,
            })
        })
        .await
    }
}

/// Calls of the owner for a ledger.
impl Sql {
    /// The open pools of all games.
    pub(crate) async fn open_pools(&self) -> Result<Vec<Pool>, StoreError> {
        self.write(Call::OpenPools, reads::open_pools).await
    }

    /// Takes predictions of one game from a ledger; returns the numbers of those that are in their pools. The others
    /// came too late, and are never taken.
    pub(crate) async fn take(
        &self,
        ledger: i64,
        game: GameId,
        entries: &[Entry],
    ) -> Result<Vec<i64>, StoreError> {
        let row = |entry: &Entry| {
            let Entry { id, account, pool, outcome, amount } = entry;
            format!("[{id},{account},{},{outcome},{amount}]", pool.0)
        };
        let rows: Vec<String> = entries.iter().map(row).collect();
        let rows = format!("[{}]", rows.join(","));
        let dialect = self.accounts.dialect;
        self.write(Call::Take, move |session| {
            let ledger = Value::Int(ledger);
            let game = Value::Int(game.0.into());
            let rows =
                session.rows(dialect.call_take, &[ledger, game, Value::Text(rows.clone())])?;
            let ids: Result<_, SqlError> = rows.iter().map(|row| number(row, 0)).collect();
            Ok(ids?)
        })
        .await
    }

    /// A settled pool with what it pays to a ledger; `None` while it is open.
    pub(crate) async fn closed(
        &self,
        ledger: i64,
        pool: PoolId,
    ) -> Result<Option<ClosedPool>, StoreError> {
        let dialect = self.accounts.dialect;
        self.read(Call::Closed, move |session| closed(session, dialect, ledger, pool)).await
    }
}

fn entry(row: &Row) -> Result<Entry, SqlError> {
    Ok(Entry {
        id: number(row, 0)?,
        account: number(row, 1)?,
        pool: PoolId(count(row, 2)?),
        outcome: number(row, 3)?,
        amount: number(row, 4)?,
    })
}

fn list(ids: &[i64]) -> String {
    let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
    format!("[{}]", ids.join(","))
}

fn closed(
    session: &mut Session<'_>,
    dialect: &Dialect,
    ledger: i64,
    pool: PoolId,
) -> Result<Option<ClosedPool>, Failure> {
    let id = pool.0.cast_signed();
    let prefix = format!("l{ledger}.");
    let ours = Value::Bytes(format!("{prefix}%").into_bytes());
    // One row for each payment, or one without.
    let rows = session.rows(dialect.closed, &[ours, Value::Int(id)])?;
    let Some(first) = rows.first() else {
        return Ok(None);
    };
    let payments: Result<Vec<_>, SqlError> =
        rows.iter().filter_map(|row| payment(row, &prefix).transpose()).collect();
    Ok(Some(ClosedPool {
        pool: Pool {
            id: pool,
            game: GameId(count(first, 0)?),
            outcome: Some(reads::outcome(number(first, 1)?)?),
            shares: Shares {
                home: count(first, 2)?,
                away: count(first, 3)?,
                none: count(first, 4)?,
            },
        },
        settled: SettledEvent {
            pool: id,
            winners: count(first, 5)?,
            score: Score { home: count(first, 6)?, away: count(first, 7)? },
        },
        number: count(first, 8)?,
        payments: payments?,
    }))
}

/// The payment of a row of `closed` to an account of the ledger whose names begin with `prefix`, if any.
fn payment(row: &Row, prefix: &str) -> Result<Option<Payment>, SqlError> {
    let name = match row.get(9) {
        Some(Value::Text(name)) => name,
        _ => return Ok(None),
    };
    let account = name.strip_prefix(prefix).and_then(|it| it.parse().ok());
    Ok(Some(Payment {
        account: account.ok_or_else(|| SqlError::Refused(format!("{name:?} is no account")))?,
        staked: count(row, 10)?,
        amount: count(row, 11)?,
    }))
}

/// Takes the lock of a game alone, and says which pool is open.
fn take_game(session: &mut Session<'_>, dialect: &Dialect, game: GameId) -> Result<i64, Failure> {
    let game = [Value::Int(game.0.into())];
    session.begin()?;
    if let Some(lock) = dialect.take_game {
        session.change(lock, &game)?;
    }
    let open = "SELECT open_pool FROM market_games WHERE id = ? FOR UPDATE";
    Ok(number(&session.row(open, &game)?, 0)?)
}

fn copy(
    session: &mut Session<'_>,
    dialect: &Dialect,
    games: i64,
    closed: &ClosedPool,
) -> Result<bool, Failure> {
    let ClosedPool { pool, settled, .. } = closed;
    if take_game(session, dialect, pool.game)? != settled.pool {
        session.roll_back()?;
        return Ok(false);
    }
    settle::insert_payments(session, dialect, settled.pool, &closed.payments)?;
    settle::pay(session, dialect, !closed.payments.is_empty(), settled.pool)?;
    let event = crate::bus::model::Event {
        game: pool.game,
        number: closed.number,
        outcome: pool.outcome.unwrap_or(Outcome::None),
    };
    settle::close(session, settle::pay_values(event, pool, *settled, games)?)?;
    session.commit()?;
    Ok(true)
}

fn is_used(session: &mut Session<'_>, pool: i64) -> Result<bool, Failure> {
    let any = "SELECT id FROM market_predictions WHERE pool = ? LIMIT 1";
    Ok(!session.rows(any, &[Value::Int(pool)])?.is_empty())
}

fn skip_to(
    session: &mut Session<'_>,
    dialect: &Dialect,
    to: Pool,
    score: Score,
) -> Result<bool, Failure> {
    let open = take_game(session, dialect, to.game)?;
    let id = to.id.0.cast_signed();
    if open >= id || is_used(session, open)? {
        session.roll_back()?;
        return Ok(false);
    }
    let game = Value::Int(to.game.0.into());
    session.change("DELETE FROM market_pools WHERE id = ?", &[Value::Int(open)])?;
    session.change(
        "INSERT INTO market_pools (id, game) VALUES (?, ?)",
        &[Value::Int(id), game.clone()],
    )?;
    session.change(
        "UPDATE market_games SET open_pool = ?, home_score = ?, away_score = ? WHERE id = ?",
        &[Value::Int(id), Value::Int(score.home.into()), Value::Int(score.away.into()), game],
    )?;
    session.commit()?;
    Ok(true)
}
