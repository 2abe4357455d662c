//! Events: recorded, settled once, announced.
//!
//! Settling holds its game's lock alone from before it reads the stakes until it has paid them and marked the event,
//! all in one transaction. Whoever comes second finds the mark. Payments are unique by pool and account.

use super::dialect::Dialect;
use super::link::{Failure, Session};
use super::open::{Row, number};
use super::reads::{count, one_pool, outcome, stored};
use crate::bus::model::{Event, Outcome, Pool, PoolId, Score, Shares};
use crate::payout::pay_out;
use crate::transactions::Settlement;
use server::database::{SqlError, Value};

/// Most payments of one statement: about half a megabyte.
const PAYMENTS_MAX: usize = 16 * 1024;

/// An event is recorded if it is later than all others of its game.
const RECORD: &str = "INSERT INTO market_events (game, number, outcome, announced) \
     SELECT g.id, ?, ?, 0 FROM market_games g WHERE g.id = ? \
     AND NOT EXISTS (SELECT 1 FROM market_events e WHERE e.game = ? AND e.number >= ?)";

fn key(event: Event) -> Result<[Value; 2], Failure> {
    let number = i64::try_from(event.number)
        .map_err(|_| SqlError::Refused("the number of an event is too large".to_owned()))?;
    Ok([Value::Int(event.game.0.into()), Value::Int(number)])
}

/// Records an event, once; true: this call did.
pub(super) fn record(session: &mut Session<'_>, event: Event) -> Result<bool, Failure> {
    // Before the first event there is none.
    if event.number == 0 {
        return Ok(false);
    }
    let [game, number] = key(event)?;
    let values = [number.clone(), stored(event.outcome), game.clone(), game, number];
    match session.changed(RECORD, &values) {
        // Another process has recorded it at the same time.
        Err(Failure::Sql(SqlError::Duplicate)) => Ok(false),
        done => Ok(done? > 0),
    }
}

/// Marks an event as announced.
pub(super) fn announced(session: &mut Session<'_>, event: Event) -> Result<(), Failure> {
    session.change(
        "UPDATE market_events SET announced = 1 WHERE game = ? AND number = ?",
        &key(event)?,
    )
}

/// One account's stake in a pool and its payout.
#[derive(Debug)]
pub(super) struct Payment {
    pub(super) account: i64,
    pub(super) staked: u64,
    pub(super) amount: u64,
}

/// The payouts of a pool.
struct Payments {
    /// In the order of the accounts.
    each: Vec<Payment>,
    /// The pool's money.
    shares: Shares,
    winners: u64,
}

/// How events are settled in a store.
#[derive(Debug, Clone, Copy)]
pub(super) struct SettleOptions {
    pub(super) dialect: &'static Dialect,
    /// How many games there are.
    pub(super) games: i64,
    pub(super) pipelined: bool,
}

/// Settles the pool that an event decides; if it did so before, says what it came to.
pub(super) fn settle(
    session: &mut Session<'_>,
    settling: SettleOptions,
    event: Event,
) -> Result<Settlement, Failure> {
    let SettleOptions { dialect, games, .. } = settling;
    session.begin()?;
    let taken = if settling.pipelined {
        let [game, number] = key(event)?;
        let values = [game, number, stored(event.outcome)];
        taken(event, &session.row(dialect.call_settle, &values)?)?
    } else {
        take(session, dialect, event)?
    };
    let event = match taken.found {
        EventProgress::Settled(settled) => {
            let pool = one_pool(session, settled.pool)?;
            session.roll_back()?;
            let pool =
                pool.ok_or_else(|| SqlError::Refused("a settled pool is missing".to_owned()))?;
            return Ok(settled.settlement(pool, games));
        }
        EventProgress::Recorded(event) => event,
    };
    let payments = payments(session, taken.open, event.outcome)?;
    insert_payments(session, dialect, taken.open, &payments.each)?;
    let mut score = taken.score;
    score.count(event.outcome);
    let settled = SettledEvent { pool: taken.open, winners: payments.winners, score };
    let pool = Pool {
        id: PoolId(taken.open.unsigned_abs()),
        game: event.game,
        shares: payments.shares,
        outcome: Some(event.outcome),
    };
    if settling.pipelined {
        session.rows(dialect.call_pay, &pay_values(event, &pool, settled, games)?)?;
    } else {
        pay(session, dialect, !payments.each.is_empty(), taken.open)?;
        close(session, pay_values(event, &pool, settled, games)?)?;
    }
    session.commit()?;
    Ok(settled.settlement(pool, games))
}

/// Result of settling an event.
#[derive(Debug, Clone, Copy)]
pub(super) struct SettledEvent {
    pub(super) pool: i64,
    pub(super) winners: u64,
    pub(super) score: Score,
}

impl SettledEvent {
    fn settlement(self, pool: Pool, games: i64) -> Settlement {
        Settlement {
            pool,
            next: PoolId(pool.id.0 + games.unsigned_abs()),
            score: self.score,
            winners: self.winners,
        }
    }
}

/// How far an event is.
enum EventProgress {
    Settled(SettledEvent),
    /// With the outcome that was recorded.
    Recorded(Event),
}

/// A game whose lock this transaction has alone, and one of its events.
struct GameLock {
    open: i64,
    score: Score,
    found: EventProgress,
}

/// Takes a game's lock and finds or records the event, statement by statement.
fn take(session: &mut Session<'_>, dialect: &Dialect, event: Event) -> Result<GameLock, Failure> {
    let key = key(event)?;
    if let Some(lock) = dialect.take_game {
        session.change(lock, &key[..1])?;
    }
    let mut game = session.row(
        "SELECT open_pool, home_score, away_score FROM market_games WHERE id = ? FOR UPDATE",
        &key[..1],
    )?;
    let rows = session.rows(
        "SELECT outcome, pool, winners, home_score, away_score FROM market_events \
         WHERE game = ? AND number = ?",
        &key,
    )?;
    if let Some(found) = rows.into_iter().next() {
        game.extend(found);
    } else {
        let [id, number] = key;
        session.change(
            "INSERT INTO market_events (game, number, outcome, announced) VALUES (?, ?, ?, 0)",
            &[id, number, stored(event.outcome)],
        )?;
        game.extend([stored(event.outcome), Value::Null]);
    }
    Ok(taken(event, &game)?)
}

/// Reads the open pool and the score of a game, then the outcome that was recorded, and what the event came to.
fn taken(event: Event, row: &Row) -> Result<GameLock, SqlError> {
    let found = if row.get(4) == Some(&Value::Null) {
        EventProgress::Recorded(Event { outcome: outcome(number(row, 3)?)?, ..event })
    } else {
        EventProgress::Settled(SettledEvent {
            pool: count(row, 4)?,
            winners: count(row, 5)?,
            score: Score { home: count(row, 6)?, away: count(row, 7)? },
        })
    };
    Ok(GameLock {
        open: count(row, 0)?,
        score: Score { home: count(row, 1)?, away: count(row, 2)? },
        found,
    })
}

/// The stakes of a pool by account, and their payouts.
fn payments(session: &mut Session<'_>, pool: i64, outcome: Outcome) -> Result<Payments, Failure> {
    let of = |outcome: i64| {
        format!("CAST(sum(CASE WHEN outcome = {outcome} THEN amount ELSE 0 END) AS CHAR(40))")
    };
    let query = format!(
        "SELECT account, {}, {}, {} FROM market_predictions WHERE pool = ? \
         GROUP BY account ORDER BY account",
        of(0),
        of(1),
        of(2)
    );
    let rows = session.rows(&query, &[Value::Int(pool)])?;
    let stakes_of =
        |row: &Row| Ok(Shares { home: count(row, 1)?, away: count(row, 2)?, none: count(row, 3)? });
    let stakes: Result<Vec<Shares>, SqlError> = rows.iter().map(stakes_of).collect();
    let stakes = stakes?;
    let shares = stakes.iter().copied().sum();
    let amounts = pay_out(&stakes, shares, outcome)?;
    let each = rows.iter().zip(&stakes).zip(amounts);
    let each = each.map(|((row, stakes), amount)| {
        Ok(Payment { account: number(row, 0)?, staked: stakes.total(), amount })
    });
    let each: Result<Vec<Payment>, SqlError> = each.collect();
    let winners = stakes.iter().filter(|stakes| stakes.on(outcome) > 0);
    Ok(Payments { each: each?, shares, winners: winners.count() as u64 })
}

pub(super) fn insert_payments(
    session: &mut Session<'_>,
    dialect: &Dialect,
    pool: i64,
    payments: &[Payment],
) -> Result<(), Failure> {
    for payments in payments.chunks(PAYMENTS_MAX) {
        let row = |payment: &Payment| {
            let Payment { account, staked, amount } = payment;
            format!("[{account},{staked},{amount}]")
        };
        let rows: Vec<String> = payments.iter().map(row).collect();
        let list = Value::Text(format!("[{}]", rows.join(",")));
        session.change(dialect.insert_payouts, &[Value::Int(pool), list])?;
    }
    Ok(())
}

/// Pays what was inserted, if there is anything.
pub(super) fn pay(
    session: &mut Session<'_>,
    dialect: &Dialect,
    any: bool,
    pool: i64,
) -> Result<(), Failure> {
    if !any {
        return Ok(());
    }
    if let Some(lock) = dialect.lock_paid {
        session.rows(lock, &[Value::Int(pool)])?;
    }
    session.change(dialect.pay, &[Value::Int(pool)])
}

/// The values that closing a pool writes, in the order of the procedure's parameters: game, number, outcome,
/// pool, next pool, its three sums, winners, score.
pub(super) fn pay_values(
    event: Event,
    pool: &Pool,
    settled: SettledEvent,
    games: i64,
) -> Result<[Value; 11], Failure> {
    let int = |number: u64| Value::Int(number.cast_signed());
    let [game, number] = key(event)?;
    Ok([
        game,
        number,
        stored(event.outcome),
        Value::Int(settled.pool),
        Value::Int(settled.pool + games),
        int(pool.shares.home),
        int(pool.shares.away),
        int(pool.shares.none),
        int(settled.winners),
        int(settled.score.home.into()),
        int(settled.score.away.into()),
    ])
}

/// Closes the pool, opens the next one, and marks the event, statement by statement.
pub(super) fn close(session: &mut Session<'_>, values: [Value; 11]) -> Result<(), Failure> {
    let [game, number, outcome, pool, next, home, away, nobody, winners, home_score, away_score] =
        values;
    session.change(
        "UPDATE market_pools SET outcome = ?, home = ?, away = ?, nobody = ? WHERE id = ?",
        &[outcome, home, away, nobody, pool.clone()],
    )?;
    session.change(
        "INSERT INTO market_pools (id, game) VALUES (?, ?)",
        &[next.clone(), game.clone()],
    )?;
    session.change(
        "UPDATE market_games SET open_pool = ?, home_score = ?, away_score = ? WHERE id = ?",
        &[next, home_score.clone(), away_score.clone(), game.clone()],
    )?;
    session.change(
        "UPDATE market_events SET pool = ?, winners = ?, home_score = ?, away_score = ? \
         WHERE game = ? AND number = ?",
        &[pool, winners, home_score, away_score, game, number],
    )
}
