//! Accounts: opened, closed, and looked up by their names.
//!
//! An account whose owner has left is closed as soon as nothing of it is staked; no statement is needed for that. Its
//! row stays, for the predictions that name it, and is used again if its owner returns.

use super::dialect::Dialect;
use super::link::{Failure, Session};
use super::open::{Row, Rules, number};
use super::reads::count;
use super::room::Room;
use crate::books::ACCOUNTS_MAX;
use crate::bus::model::User;
use crate::transactions::StoreError;
use server::database::{SqlError, Value};

/// Most accounts that are closed by one statement.
const CLOSED_MAX: usize = 256;
/// How often an account is looked up that others open or close at the same time.
const TRIES: usize = 4;
/// The verdict of a procedure if no account may be opened.
pub(super) const FULL: i64 = 4;

/// How accounts are named and opened.
#[derive(Debug)]
pub(super) struct Accounts {
    pub(super) dialect: &'static Dialect,
    pub(super) rules: Rules,
    /// The number of this process.
    process: i64,
    pub(super) room: Room,
}

/// An account as it was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Account {
    pub(super) id: i64,
    pub(super) balance: i64,
}

impl Accounts {
    pub(super) fn new(dialect: &'static Dialect, rules: Rules, process: i64) -> Self {
        Self {
            dialect,
            rules,
            process,
            room: Room::new(i64::try_from(ACCOUNTS_MAX).unwrap_or(i64::MAX)),
        }
    }

    /// The name of a user in the store as clients see it.
    pub(super) fn shown(name: Option<&Value>) -> String {
        let name = match name {
            Some(Value::Bytes(name)) => String::from_utf8_lossy(name),
            Some(Value::Text(name)) => name.into(),
            _ => Default::default(),
        };
        match name.strip_prefix('n') {
            Some(chosen) => chosen.to_owned(),
            None => format!("#{}", name.trim_start_matches('c')),
        }
    }

    /// The name of a user in the store. Names that users choose begin with another letter than those of
    /// connections, which name their process or their relay.
    pub(super) fn name(&self, user: &User) -> Value {
        Value::Bytes(match user {
            User::Named(name) => format!("n{name}").into_bytes(),
            User::Relayed(name) => format!("r{name}").into_bytes(),
            User::Connection(number) => format!("c{}.{number}", self.process).into_bytes(),
        })
    }

    /// Arguments of procedures that open accounts: the balance, and whether there is room. Nobody waits for a
    /// count: there may be a few accounts more than the maximum.
    pub(super) fn opening(&self) -> [Value; 2] {
        let start = Value::Int(self.rules.starting_balance);
        [start, Value::Int(self.room.is_left().into())]
    }

    /// Counts the result of a call that opens an account if there is none: it opened this number, or there
    /// was no room. From time to time this looks how much room there is.
    pub(super) fn count_opened(&self, session: &mut Session<'_>, opened: i64, full: bool) {
        if self.room.take(opened) || full {
            // The call itself is done; whoever comes next tries again.
            let _ = self.room.look(session);
        }
    }

    /// The balance of an account, which is opened if there was none.
    pub(super) fn open(
        &self,
        session: &mut Session<'_>,
        name: &Value,
        pipelined: bool,
    ) -> Result<u64, Failure> {
        if !pipelined {
            let account = self.find(session, name, "")?;
            return Ok(account.balance.max(0).cast_unsigned());
        }
        let [start, room] = self.opening();
        let row = session.row(self.dialect.call_open, &[name.clone(), start, room])?;
        let is_full = number(&row, 0)? == FULL;
        self.count_opened(session, number(&row, 2)?, is_full);
        match is_full {
            true => Err(full()),
            false => Ok(count(&row, 1)?),
        }
    }

    /// Finds, opens or reopens an account, statement by statement. `locking` ends the query of a transaction that
    /// needs it unchanged.
    pub(super) fn find(
        &self,
        session: &mut Session<'_>,
        name: &Value,
        locking: &str,
    ) -> Result<Account, Failure> {
        let start = Value::Int(self.rules.starting_balance);
        let query = format!(
            "SELECT id, balance, staked, closing FROM market_accounts WHERE name = ?{locking}"
        );
        for _ in 0..TRIES {
            let rows = session.rows(&query, std::slice::from_ref(name))?;
            let Some(row) = rows.first() else {
                self.insert(session, name, &start)?;
                continue;
            };
            if !is_closed(row)? {
                return Ok(Account { id: number(row, 0)?, balance: number(row, 1)? });
            }
            let reopen = "UPDATE market_accounts SET withdrawn = withdrawn + balance, \
                 deposited = deposited + ?, balance = ?, closing = 0 \
                 WHERE id = ? AND closing = 1 AND staked = 0";
            let values = [start.clone(), start.clone(), Value::Int(number(row, 0)?)];
            session.change(reopen, &values)?;
        }
        Err(SqlError::Contended.into())
    }

    fn insert(
        &self,
        session: &mut Session<'_>,
        name: &Value,
        start: &Value,
    ) -> Result<(), Failure> {
        if !self.room.is_left() {
            self.count_opened(session, 0, true);
            return Err(full());
        }
        let insert = format!(
            "INSERT INTO market_accounts (name, balance, staked, deposited, withdrawn, closing) \
             VALUES (?, ?, 0, ?, 0, 0) {}",
            self.dialect.keep
        );
        session.change(&insert, &[name.clone(), start.clone(), start.clone()])?;
        self.count_opened(session, 1, false);
        Ok(())
    }
}

fn is_closed(row: &Row) -> Result<bool, SqlError> {
    Ok(number(row, 2)? == 0 && number(row, 3)? == 1)
}

/// The error if no account may be opened.
pub(super) fn full() -> Failure {
    Failure::Store(StoreError::Full { accounts_max: ACCOUNTS_MAX })
}

/// Has accounts closed, each now or as soon as its last stake has ended.
pub(super) fn close(
    session: &mut Session<'_>,
    dialect: &Dialect,
    names: &[Value],
) -> Result<(), Failure> {
    if let [name] = names {
        return session.change(
            "UPDATE market_accounts SET closing = 1 WHERE name = ?",
            std::slice::from_ref(name),
        );
    }
    for names in names.chunks(CLOSED_MAX) {
        // One statement for any number of them, which the server prepares once: the last one is named again.
        let last = names.last().cloned().into_iter();
        let filled = names.iter().cloned().chain(last.cycle());
        let filled: Vec<Value> = filled.take(CLOSED_MAX).collect();
        let places = vec!["?"; CLOSED_MAX].join(", ");
        session.change(&dialect.close_accounts.replace("{names}", &places), &filled)?;
    }
    Ok(())
}
