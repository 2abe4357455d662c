//! Taking predictions.
//!
//! A transaction shares its game's lock, then takes its account: in the order in which a settlement takes both. No
//! row is changed by all predictions of a pool, so that their commits run beside each other.

use super::accounts::{Accounts, FULL, full};
use super::link::{Failure, Session};
use super::open::{Row, number};
use super::reads::{count, stored};
use crate::bus::model::{GameId, PoolId};
use crate::transactions::{Prediction, Refusal, Verdict};
use server::database::{SqlError, Value};

/// Answers of procedures.
const UNKNOWN: i64 = 0;
const ACCEPTED: i64 = 1;
const CLOSED: i64 = 2;
const BALANCE: i64 = 3;

/// A prediction as it is stored.
#[derive(Debug)]
pub(super) struct Stake {
    pool: i64,
    game: GameId,
    name: Value,
    outcome: Value,
    amount: i64,
}

impl Stake {
    /// `None` if there can be no such pool.
    pub(super) fn new(prediction: &Prediction, accounts: &Accounts) -> Option<Self> {
        Some(Self {
            pool: i64::try_from(prediction.pool.0).ok()?,
            game: prediction.pool.game(accounts.rules.games.unsigned_abs())?,
            name: accounts.name(&prediction.user),
            outcome: stored(prediction.outcome),
            // No balance suffices for more.
            amount: i64::try_from(prediction.amount).unwrap_or(i64::MAX),
        })
    }
}

/// Takes a prediction in one round trip.
pub(super) fn pipelined(
    session: &mut Session<'_>,
    accounts: &Accounts,
    stake: &Stake,
) -> Result<Verdict, Failure> {
    let row = call(session, accounts, stake, accounts.dialect.call_predict)?;
    answer(stake, &row, 0)
}

/// Accepts a prediction in a regional ledger, in one round trip.
pub(super) fn accept(
    session: &mut Session<'_>,
    accounts: &Accounts,
    stake: &Stake,
) -> Result<Verdict, Failure> {
    let row = call(session, accounts, stake, accounts.dialect.call_accept)?;
    answer(stake, &row, count(&row, 4)?)
}

fn call(
    session: &mut Session<'_>,
    accounts: &Accounts,
    stake: &Stake,
    procedure: &str,
) -> Result<Row, Failure> {
    let [start, room] = accounts.opening();
    let values = [
        Value::Int(stake.pool),
        Value::Int(stake.game.0.into()),
        stake.name.clone(),
        stake.outcome.clone(),
        Value::Int(stake.amount),
        start,
        room,
    ];
    let row = session.once(procedure, &values)?;
    accounts.count_opened(session, number(&row, 2)?, number(&row, 0)? == FULL);
    Ok(row)
}

fn answer(stake: &Stake, row: &Row, returned: u64) -> Result<Verdict, Failure> {
    let open = PoolId(count(row, 3)?);
    verdict(stake, number(row, 0)?, number(row, 1)?, open, returned)
}

/// Takes a prediction by one statement after the other.
pub(super) fn sequential(
    session: &mut Session<'_>,
    accounts: &Accounts,
    stake: &Stake,
) -> Result<Verdict, Failure> {
    let game = [Value::Int(stake.game.0.into())];
    session.begin()?;
    if let Some(lock) = accounts.dialect.share_game {
        session.change(lock, &game)?;
    }
    let open = number(&session.row(accounts.dialect.shared_game, &game)?, 0)?;
    let is_open = PoolId(open.max(0).cast_unsigned());
    if open < stake.pool {
        session.roll_back()?;
        return Ok(Verdict::Unknown);
    }
    let account = accounts.find(session, &stake.name, " FOR UPDATE")?;
    let (found, balance) = if open != stake.pool {
        (CLOSED, account.balance)
    } else if account.balance < stake.amount {
        (BALANCE, account.balance)
    } else {
        let amount = Value::Int(stake.amount);
        let id = Value::Int(account.id);
        session.change(
            "UPDATE market_accounts SET balance = balance - ?, staked = staked + ? WHERE id = ?",
            &[amount.clone(), amount.clone(), id.clone()],
        )?;
        session.change(
            "INSERT INTO market_predictions (pool, account, outcome, amount) VALUES (?, ?, ?, ?)",
            &[Value::Int(stake.pool), id, stake.outcome.clone(), amount],
        )?;
        (ACCEPTED, account.balance - stake.amount)
    };
    // An account that was opened stays, even if nothing was staked.
    session.commit()?;
    verdict(stake, found, balance, is_open, 0)
}

fn verdict(
    stake: &Stake,
    found: i64,
    balance: i64,
    open: PoolId,
    returned: u64,
) -> Result<Verdict, Failure> {
    let balance = balance.max(0).cast_unsigned();
    let refused = |reason| Verdict::Refused { reason, open, balance, returned };
    match found {
        UNKNOWN => Ok(Verdict::Unknown),
        ACCEPTED => Ok(Verdict::Accepted { game: stake.game, open, balance, returned }),
        CLOSED => Ok(refused(Refusal::Closed)),
        BALANCE => Ok(refused(Refusal::Balance)),
        FULL => Err(full()),
        other => Err(SqlError::Refused(format!("{other} is not a verdict")).into()),
    }
}
