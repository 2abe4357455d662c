//! Calls that change nothing. Each is one statement, which sees one state of the store.

use super::accounts::Accounts;
use super::link::{Failure, Session};
use super::open::{Row, number};
use crate::bus::model::{
    Event, Game, GameId, Outcome, PlacedPrediction, Pool, PoolId, Score, Shares,
};
use crate::ledger::Money;
use server::database::{SqlError, Value};

/// Settled pools that `pools` lists.
pub(super) const LISTED: i64 = 32;
/// Most events that `pending` returns.
const PENDING_MAX: i64 = 256;

/// A pool's money on one outcome: what was recorded when it was settled, and before that the sum of its predictions.
macro_rules! share {
    ($column:literal, $outcome:literal) => {
        concat!(
            "CASE WHEN p.outcome IS NULL THEN CAST(coalesce((SELECT sum(s.amount) FROM market_predictions s ",
            "WHERE s.pool = p.id AND s.outcome = ",
            $outcome,
            "), 0) AS CHAR(40)) ELSE CAST(p.",
            $column,
            " AS CHAR(40)) END"
        )
    };
}

/// Selects pools as [`pool`] reads them.
macro_rules! pools {
    ($behind:literal) => {
        concat!(
            "SELECT p.id, p.game, p.outcome, ",
            share!("home", 0),
            ", ",
            share!("away", 1),
            ", ",
            share!("nobody", 2),
            " FROM market_pools p ",
            $behind
        )
    };
}

const ONE_POOL: &str = pools!("WHERE p.id = ?");
const OPEN_POOL: &str = pools!("JOIN market_games g ON g.open_pool = p.id WHERE g.id = ?");
const OPEN_POOLS: &str = pools!("JOIN market_games g ON g.open_pool = p.id ORDER BY g.id");
const POOLS: &str = pools!("WHERE p.game = ? ORDER BY p.id DESC LIMIT ?");
const GAMES: &str = "SELECT id, home_score, away_score FROM market_games ORDER BY id";
const GAME: &str = "SELECT id, home_score, away_score FROM market_games WHERE id = ?";
const PREDICTIONS: &str = "SELECT s.id, a.name, s.outcome, s.amount FROM market_predictions s
    JOIN market_accounts a ON a.id = s.account WHERE s.pool = ? AND s.id > ? ORDER BY s.id";
/// In a pool that is open, of `{names}`.
const PREDICTIONS_OF: &str = "SELECT s.id, a.name, s.outcome, s.amount FROM market_predictions s
    JOIN market_games g ON g.open_pool = s.pool JOIN market_accounts a ON a.id = s.account
    WHERE s.pool = ? AND a.name IN ({names}) ORDER BY s.id DESC LIMIT ?";
/// One event of each game, so that no game's events keep those of others from being seen.
const UNSETTLED: &str = "SELECT e.game, e.number, e.outcome FROM market_events e
    JOIN (SELECT game, min(number) AS number FROM market_events WHERE announced = 0 AND pool IS NULL
        GROUP BY game) f ON f.game = e.game AND f.number = e.number ORDER BY e.id";
const PENDING: &str = "SELECT game, number, outcome FROM market_events
    WHERE announced = 0 AND pool IS NOT NULL ORDER BY id LIMIT ?";

/// An account is closed once its owner has left and nothing of it is staked.
const AUDIT: &str = "SELECT
    (SELECT CAST(coalesce(sum(balance), 0) AS CHAR(40)) FROM market_accounts
        WHERE NOT (closing = 1 AND staked = 0)),
    (SELECT CAST(coalesce(sum(s.amount), 0) AS CHAR(40)) FROM market_predictions s
        JOIN market_games g ON g.open_pool = s.pool),
    (SELECT CAST(coalesce(sum(deposited), 0) AS CHAR(40)) FROM market_accounts),
    (SELECT CAST(coalesce(sum(withdrawn), 0) AS CHAR(40)) FROM market_accounts),
    (SELECT CAST(coalesce(sum(balance), 0) AS CHAR(40)) FROM market_accounts
        WHERE closing = 1 AND staked = 0)";

/// A number that is never negative.
pub(super) fn count<N: TryFrom<i64>>(row: &Row, place: usize) -> Result<N, SqlError> {
    let found = number(row, place)?;
    N::try_from(found).map_err(|_| SqlError::Refused(format!("{found} is out of range")))
}

/// A sum, which may exceed 64 bits.
pub(super) fn sum(row: &Row, place: usize) -> Result<u128, SqlError> {
    match row.get(place) {
        Some(Value::Text(text)) => text.trim().parse().ok(),
        _ => None,
    }
    .ok_or_else(|| SqlError::Refused(format!("{:?} where a sum was expected", row.get(place))))
}

pub(super) fn outcome(number: i64) -> Result<Outcome, SqlError> {
    let place = usize::try_from(number).unwrap_or(usize::MAX);
    let found = Outcome::ALL.get(place).copied();
    found.ok_or_else(|| SqlError::Refused(format!("{number} is not an outcome")))
}

/// How an outcome is stored: its place among all.
pub(super) fn stored(outcome: Outcome) -> Value {
    Value::Int(match outcome {
        Outcome::Home => 0,
        Outcome::Away => 1,
        Outcome::None => 2,
    })
}

fn pool(row: &Row) -> Result<Pool, SqlError> {
    Ok(Pool {
        id: PoolId(count(row, 0)?),
        game: GameId(count(row, 1)?),
        outcome: match row.get(2) {
            Some(Value::Null) => None,
            _ => Some(outcome(number(row, 2)?)?),
        },
        shares: Shares { home: count(row, 3)?, away: count(row, 4)?, none: count(row, 5)? },
    })
}

/// Games with their scores; `sides` are all games, which never change otherwise.
pub(super) fn games(session: &mut Session<'_>, sides: &[Game]) -> Result<Vec<Game>, Failure> {
    let rows = session.rows(GAMES, &[])?;
    rows.iter().map(|row| Ok(game_of(row, sides)?)).collect()
}

pub(super) fn game(session: &mut Session<'_>, sides: &[Game], id: GameId) -> Result<Game, Failure> {
    let row = session.row(GAME, &[Value::Int(id.0.into())])?;
    Ok(game_of(&row, sides)?)
}

fn game_of(row: &Row, sides: &[Game]) -> Result<Game, SqlError> {
    let id: usize = count(row, 0)?;
    let sides = id.checked_sub(1).and_then(|place| sides.get(place));
    let sides = sides.ok_or_else(|| SqlError::Refused(format!("game {id} is not played")))?;
    Ok(Game { score: Score { home: count(row, 1)?, away: count(row, 2)? }, ..sides.clone() })
}

pub(super) fn pools(session: &mut Session<'_>, game: GameId) -> Result<Vec<Pool>, Failure> {
    let rows = session.rows(POOLS, &[Value::Int(game.0.into()), Value::Int(LISTED + 1)])?;
    rows.iter().map(|row| Ok(pool(row)?)).collect()
}

pub(super) fn one_pool(session: &mut Session<'_>, id: i64) -> Result<Option<Pool>, Failure> {
    let rows = session.rows(ONE_POOL, &[Value::Int(id)])?;
    Ok(rows.first().map(pool).transpose()?)
}

pub(super) fn open_pool(session: &mut Session<'_>, game: GameId) -> Result<Pool, Failure> {
    let row = session.row(OPEN_POOL, &[Value::Int(game.0.into())])?;
    Ok(pool(&row)?)
}

pub(super) fn open_pools(session: &mut Session<'_>) -> Result<Vec<Pool>, Failure> {
    let rows = session.rows(OPEN_POOLS, &[])?;
    rows.iter().map(|row| Ok(pool(row)?)).collect()
}

pub(super) fn predictions(
    session: &mut Session<'_>,
    pool: i64,
) -> Result<Vec<PlacedPrediction>, Failure> {
    predictions_after(session, pool, 0)
}

/// Predictions with higher numbers than `after`. Numbers are given before transactions end, so that one that was given
/// earlier may be seen later.
pub(super) fn predictions_after(
    session: &mut Session<'_>,
    pool: i64,
    after: i64,
) -> Result<Vec<PlacedPrediction>, Failure> {
    let rows = session.rows(PREDICTIONS, &[Value::Int(pool), Value::Int(after)])?;
    rows.iter().map(|row| Ok(placed(row, pool)?)).collect()
}

/// The newest predictions of accounts with these names in a pool, if it is open, in the order of their numbers.
pub(super) fn predictions_of(
    session: &mut Session<'_>,
    pool: i64,
    names: &[Value],
    max: i64,
) -> Result<Vec<PlacedPrediction>, Failure> {
    let Some(last) = names.last() else {
        return Ok(Vec::new());
    };
    // One statement for each power of two, which the server prepares once: the last name is named again.
    let places = names.len().next_power_of_two();
    let filled = names.iter().chain(std::iter::repeat(last)).take(places).cloned();
    let values: Vec<Value> =
        [Value::Int(pool)].into_iter().chain(filled).chain([Value::Int(max)]).collect();
    let query = PREDICTIONS_OF.replace("{names}", &vec!["?"; places].join(", "));
    let rows = session.rows(&query, &values)?;
    rows.iter().rev().map(|row| Ok(placed(row, pool)?)).collect()
}

fn placed(row: &Row, pool: i64) -> Result<PlacedPrediction, SqlError> {
    Ok(PlacedPrediction {
        id: count(row, 0)?,
        user: Accounts::shown(row.get(1)),
        pool: PoolId(pool.unsigned_abs()),
        option: outcome(number(row, 2)?)?,
        amount: count(row, 3)?,
    })
}

pub(super) fn last_event(session: &mut Session<'_>, game: GameId) -> Result<u64, Failure> {
    let last = "SELECT coalesce(max(number), 0) FROM market_events WHERE game = ?";
    let row = session.row(last, &[Value::Int(game.0.into())])?;
    Ok(count(&row, 0)?)
}

pub(super) fn unsettled(session: &mut Session<'_>) -> Result<Vec<Event>, Failure> {
    events(&session.rows(UNSETTLED, &[])?)
}

pub(super) fn pending(session: &mut Session<'_>) -> Result<Vec<Event>, Failure> {
    events(&session.rows(PENDING, &[Value::Int(PENDING_MAX)])?)
}

fn events(rows: &[Row]) -> Result<Vec<Event>, Failure> {
    let event = |row: &Row| {
        Ok(Event {
            game: GameId(count(row, 0)?),
            number: count(row, 1)?,
            outcome: outcome(number(row, 2)?)?,
        })
    };
    rows.iter().map(event).collect()
}

pub(super) fn audit(session: &mut Session<'_>) -> Result<Money, Failure> {
    let row = session.row(AUDIT, &[])?;
    Ok(Money {
        balances: sum(&row, 0)?,
        stakes: sum(&row, 1)?,
        deposited: sum(&row, 2)?,
        // The balances of closed accounts are paid out, too.
        withdrawn: sum(&row, 3)? + sum(&row, 4)?,
    })
}
