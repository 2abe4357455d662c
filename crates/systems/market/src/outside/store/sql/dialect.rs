//! Differences between the SQL of the two kinds of database servers.

mod mysql;
mod postgres;

use std::time::Duration;

use server::database::{DatabaseKind, Sql, SqlError};

/// Statements that differ.
#[derive(Debug)]
pub(super) struct Dialect {
    /// The type and constraint of an id that the server counts up.
    pub(super) serial: &'static str,
    /// The type of a name.
    pub(super) name: &'static str,
    /// After the columns of a table.
    pub(super) engine: &'static str,
    /// Makes the procedures that pipelined calls consist of.
    pub(super) routines: &'static [&'static str],
    /// The same for what a regional ledger and the store of its pools need of each other.
    pub(super) ledger_routines: &'static [&'static str],
    /// The names of all tables.
    pub(super) tables: &'static str,
    /// How many routines have a name.
    pub(super) routine: &'static str,
    /// 1 if this connection now holds the right to make tables, else 0.
    pub(super) hold: &'static str,
    /// Gives it back.
    pub(super) release: &'static str,
    /// After an insertion: an existing row of the same key stays as it is.
    pub(super) keep: &'static str,
    /// Takes the shared lock of a game, where reading it does not.
    pub(super) share_game: Option<&'static str>,
    /// Reads which pool of a game is open, which stays so until the end of the transaction.
    pub(super) shared_game: &'static str,
    /// Takes the exclusive lock of a game, where reading it does not suffice.
    pub(super) take_game: Option<&'static str>,
    /// Locks the accounts that a pool pays, in the order of their ids, where paying does not.
    pub(super) lock_paid: Option<&'static str>,
    /// Inserts what a pool pays, given as JSON: lists of account, stake and payment.
    pub(super) insert_payouts: &'static str,
    /// A settled pool: game, outcome, its three sums, winners, score and number of its event; and, in rows of their
    /// own, what it pays to accounts whose names are like this: name, stake, amount.
    pub(super) closed: &'static str,
    /// Has the accounts of some names closed, which are locked in the order of their ids where that can be said.
    pub(super) close_accounts: &'static str,
    /// Adds to the accounts what a pool pays.
    pub(super) pay: &'static str,
    /// Opens or finds an account in one round trip.
    pub(super) call_open: &'static str,
    /// Takes a prediction in one round trip.
    pub(super) call_predict: &'static str,
    /// Accepts a prediction in a ledger.
    pub(super) call_accept: &'static str,
    /// Decides predictions of a ledger's outbox: how many were taken and refused, and the cents that went back.
    pub(super) call_decide: &'static str,
    /// Takes predictions of a ledger.
    pub(super) call_take: &'static str,
    /// Takes a game's lock alone, and finds or records an event.
    pub(super) call_settle: &'static str,
    /// Pays what was inserted, opens the next pool and marks the event.
    pub(super) call_pay: &'static str,
}

impl Dialect {
    /// The dialect of a kind of server.
    pub(super) fn for_kind(kind: DatabaseKind) -> &'static Self {
        match kind {
            DatabaseKind::Postgres => &postgres::DIALECT,
            // Redis is no relational store: its address is refused before.
            DatabaseKind::MySql | DatabaseKind::Redis => &mysql::DIALECT,
        }
    }
}

/// Limits how long a new connection waits for others' locks, and how long it may be idle in a transaction: others wait
/// for its locks. Its transactions see what was committed before each statement, whatever the database's default is: what
/// follows a lock must see what was done before it was granted.
pub(super) fn prepare(sql: &mut dyn Sql, wait: Duration, idle: Duration) -> Result<(), SqlError> {
    let whole_seconds = |time: Duration| time.as_secs_f64().ceil().max(1.0);
    match sql.kind() {
        DatabaseKind::Postgres => sql.plain(&format!(
            "SET default_transaction_isolation = 'read committed'; \
             SET lock_timeout = {}; SET idle_in_transaction_session_timeout = {}",
            wait.as_millis().max(1),
            idle.as_millis().max(1),
        )),
        DatabaseKind::MySql | DatabaseKind::Redis => {
            let locks = whole_seconds(wait);
            sql.plain(&format!("SET SESSION innodb_lock_wait_timeout = {locks}"))?;
            let idle = whole_seconds(idle);
            match sql.plain(&format!("SET SESSION idle_transaction_timeout = {idle}")) {
                // MySQL does not have it.
                Err(SqlError::Refused(_)) => Ok(()),
                done => done,
            }
        }
    }
}
