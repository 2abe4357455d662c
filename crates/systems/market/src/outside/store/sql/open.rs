//! Opening the store: its tables are made in an empty database, and checked in any other.

use std::time::Duration;

use super::dialect::Dialect;
use super::now;
use super::social;
use crate::books::Books;
use server::database::{Sql, SqlError, Value};
use server::{Draws, wall_ms};

/// Marks the tables as the market's.
const MARK: &str = "market";
/// Marks the tables as those of a regional ledger: no other process may use it as a store.
const LEDGER_MARK: &str = "ledger";
/// Version of the tables.
const VERSION: i64 = 1;
/// Version of tables that are being made, or whose maker did not finish.
const UNFINISHED: i64 = 0;
/// The routine of ledgers that was added last.
const NEWEST_ROUTINE: &str = "market_conclude";
/// How long a process waits at least for others that make or check the tables. Each does so alone, and waits for some
/// round trips: two processes in each of eight regions that begin together take 20 s by their distances.
const HOLD_MIN: Duration = Duration::from_secs(60);
const HOLD_PAUSE: Duration = Duration::from_millis(20);
/// Most rows of one statement.
const ROWS_MAX: usize = 256;

/// `{serial}`, `{name}` and `{engine}` stand for what the servers write differently. The mark comes first: until its
/// version is set, whoever comes next makes what is missing.
const MARK_TABLE: &str =
    "CREATE TABLE IF NOT EXISTS market_mark (mark VARCHAR(8) NOT NULL PRIMARY KEY,
    version BIGINT NOT NULL, id BIGINT NOT NULL, games BIGINT NOT NULL, starting_balance BIGINT NOT NULL,
    processes BIGINT NOT NULL) {engine}";
const TABLES: [&str; 6] = [
    "CREATE TABLE IF NOT EXISTS market_games (id BIGINT NOT NULL PRIMARY KEY, home VARCHAR(32) NOT NULL,
        away VARCHAR(32) NOT NULL, home_score BIGINT NOT NULL, away_score BIGINT NOT NULL,
        open_pool BIGINT NOT NULL) {engine}",
    "CREATE TABLE IF NOT EXISTS market_pools (id BIGINT NOT NULL PRIMARY KEY, game BIGINT NOT NULL,
        outcome SMALLINT, home BIGINT, away BIGINT, nobody BIGINT, UNIQUE (game, id)) {engine}",
    "CREATE TABLE IF NOT EXISTS market_accounts (id {serial}, name {name} NOT NULL UNIQUE,
        balance BIGINT NOT NULL CHECK (balance >= 0), staked BIGINT NOT NULL CHECK (staked >= 0),
        deposited BIGINT NOT NULL, withdrawn BIGINT NOT NULL, closing SMALLINT NOT NULL) {engine}",
    // Unique with its id: both servers make an index of that within the statement.
    "CREATE TABLE IF NOT EXISTS market_predictions (id {serial}, pool BIGINT NOT NULL, account BIGINT NOT NULL,
        outcome SMALLINT NOT NULL, amount BIGINT NOT NULL CHECK (amount > 0),
        UNIQUE (pool, outcome, account, amount, id)) {engine}",
    "CREATE TABLE IF NOT EXISTS market_payouts (pool BIGINT NOT NULL, account BIGINT NOT NULL,
        staked BIGINT NOT NULL, amount BIGINT NOT NULL, PRIMARY KEY (pool, account)) {engine}",
    "CREATE TABLE IF NOT EXISTS market_events (id {serial}, game BIGINT NOT NULL, number BIGINT NOT NULL,
        outcome SMALLINT NOT NULL, pool BIGINT, winners BIGINT, home_score BIGINT, away_score BIGINT,
        announced SMALLINT NOT NULL, UNIQUE (game, number), UNIQUE (announced, id),
        UNIQUE (announced, pool, id)) {engine}",
];

/// Additional tables of a regional ledger: the store that owns its pools, predictions that the owner has not
/// decided, those that came back, and how much of that users do not know.
const LEDGER_TABLES: [&str; 4] = [
    "CREATE TABLE IF NOT EXISTS market_owner (id BIGINT NOT NULL PRIMARY KEY) {engine}",
    "CREATE TABLE IF NOT EXISTS market_outbox (id BIGINT NOT NULL PRIMARY KEY) {engine}",
    "CREATE TABLE IF NOT EXISTS market_refunds (id BIGINT NOT NULL PRIMARY KEY, account BIGINT NOT NULL,
        amount BIGINT NOT NULL CHECK (amount > 0)) {engine}",
    "CREATE TABLE IF NOT EXISTS market_unreported (account BIGINT NOT NULL PRIMARY KEY,
        amount BIGINT NOT NULL) {engine}",
];
/// Additional tables of a store that owns the pools of ledgers: their predictions, and the ledgers. The last
/// one is made last: while it exists, so do all others.
const OWNER_TABLES: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS market_entries (ledger BIGINT NOT NULL, entry BIGINT NOT NULL,
        account BIGINT NOT NULL, pool BIGINT NOT NULL, outcome SMALLINT NOT NULL, amount BIGINT NOT NULL,
        fresh SMALLINT NOT NULL, PRIMARY KEY (ledger, entry), UNIQUE (ledger, fresh, entry)) {engine}",
    "CREATE TABLE IF NOT EXISTS market_ledgers (id BIGINT NOT NULL PRIMARY KEY) {engine}",
];

/// A row of a result.
pub(super) type Row = Vec<Value>;

/// Why a database cannot be used as the market's store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// It cannot be reached, or refuses what is needed.
    #[error("{0}")]
    Sql(String),
    /// The address is not one of MariaDB, MySQL or PostgreSQL, or master and replica are of different kinds.
    #[error("the store must be MariaDB, MySQL or PostgreSQL, and its replica of the same kind")]
    Kind,
    /// There are tables of another program.
    #[error("it has tables of another program; name an empty database")]
    OtherTables,
    /// The version of the tables is unknown.
    #[error("its tables have version {found}, and this market knows version {VERSION}")]
    Version {
        /// Version in the database.
        found: i64,
    },
    /// It is played with other rules.
    #[error(
        "it was created with {games} games and a starting balance of {starting_balance}; \
         use these, or name another database"
    )]
    Rules {
        /// Number of games in the database.
        games: i64,
        /// Starting balance in the database, in cents.
        starting_balance: i64,
    },
    /// Another process makes or checks the tables, and does not end.
    #[error("another process has held its tables for too long; try again")]
    Held,
    /// It is the ledger of another store.
    #[error("it is the ledger of another store; name an empty database")]
    OtherOwner,
    /// The replica is one of another store, or has no tables yet.
    #[error(
        "the replica does not have the tables of its master; check its address, or wait for it"
    )]
    Replica,
    /// There is no thread for a connection.
    #[error("a thread cannot be started: {0}")]
    Thread(String),
}

impl From<SqlError> for OpenError {
    fn from(error: SqlError) -> Self {
        Self::Sql(error.to_string())
    }
}

/// The rules that the mark records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rules {
    pub(super) games: i64,
    pub(super) starting_balance: i64,
}

/// The purpose of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// All of a market.
    Store,
    /// All of a market, some of whose accounts are in regional ledgers.
    Owner,
    /// A regional ledger of the store of this number.
    LedgerOf(i64),
}

impl Purpose {
    fn mark(self) -> &'static str {
        match self {
            Self::Store | Self::Owner => MARK,
            Self::LedgerOf(_) => LEDGER_MARK,
        }
    }
}

/// Identity of the store and of the process that opens it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoreIdentity {
    /// Names the store among all others.
    pub(super) store: i64,
    /// Counts the processes that ever opened it.
    pub(super) process: i64,
}

/// A number of a row; sums arrive as texts.
pub(super) fn number(row: &Row, place: usize) -> Result<i64, SqlError> {
    let found = match row.get(place) {
        Some(Value::Int(number)) => Some(*number),
        Some(Value::Text(text)) => text.trim().parse().ok(),
        _ => None,
    };
    found.ok_or_else(|| {
        let value = row.get(place);
        SqlError::Refused(format!("{value:?} where a number was expected"))
    })
}

/// Makes or checks the tables, and counts this process.
pub(super) fn begin(
    sql: &mut dyn Sql,
    rules: Rules,
    purpose: Purpose,
    has_questions: bool,
    wait: Duration,
) -> Result<StoreIdentity, OpenError> {
    let dialect = Dialect::for_kind(sql.kind());
    hold(sql, dialect, wait.max(server::stretch(HOLD_MIN)))?;
    let opened = check_or_make(sql, dialect, rules, purpose, has_questions);
    // If this fails, so does the connection, which gives it back, too.
    let released = sql.rows(dialect.release, &[]);
    let opened = opened?;
    released?;
    Ok(opened)
}

fn hold(sql: &mut dyn Sql, dialect: &Dialect, limit: Duration) -> Result<(), OpenError> {
    let end = now() + limit;
    loop {
        let rows = sql.rows(dialect.hold, &[])?;
        if rows.first().map(|row| number(row, 0)).transpose()? == Some(1) {
            return Ok(());
        }
        if now() >= end {
            return Err(OpenError::Held);
        }
        std::thread::park_timeout(HOLD_PAUSE);
    }
}

fn check_or_make(
    sql: &mut dyn Sql,
    dialect: &Dialect,
    rules: Rules,
    purpose: Purpose,
    has_questions: bool,
) -> Result<StoreIdentity, OpenError> {
    match mark(sql, dialect, purpose)? {
        Some((VERSION, _, found)) if found == rules => {}
        Some((VERSION | UNFINISHED, _, found)) if found != rules => {
            return Err(OpenError::Rules {
                games: found.games,
                starting_balance: found.starting_balance,
            });
        }
        None | Some((UNFINISHED, ..)) => make(sql, dialect, rules, purpose)?,
        Some((found, ..)) => return Err(OpenError::Version { found }),
    }
    if purpose == Purpose::Owner {
        make_owner(sql, dialect)?;
    }
    if has_questions {
        social::make(sql, dialect)?;
    }
    if let Purpose::LedgerOf(owner) = purpose {
        let rows = sql.rows("SELECT id FROM market_owner", &[])?;
        let found = rows.first().map(|row| number(row, 0)).transpose()?;
        if found != Some(owner) {
            return Err(OpenError::OtherOwner);
        }
        renew_routines(sql, dialect)?;
    }
    sql.plain("BEGIN")?;
    sql.change("UPDATE market_mark SET processes = processes + 1", &[])?;
    let rows = sql.rows("SELECT id, processes FROM market_mark", &[])?;
    sql.plain("COMMIT")?;
    let row = rows.first().ok_or(OpenError::OtherTables)?;
    Ok(StoreIdentity { store: number(row, 0)?, process: number(row, 1)? })
}

/// The version, the id and the rules that the mark has; `None` in an empty database.
fn mark(
    sql: &mut dyn Sql,
    dialect: &Dialect,
    purpose: Purpose,
) -> Result<Option<(i64, i64, Rules)>, OpenError> {
    let mark = purpose.mark();
    let tables = sql.rows(dialect.tables, &[])?;
    let is_mark =
        |row: &Row| matches!(row.first(), Some(Value::Text(name)) if name == "market_mark");
    if !tables.iter().any(is_mark) {
        return if tables.is_empty() { Ok(None) } else { Err(OpenError::OtherTables) };
    }
    let rows =
        sql.rows("SELECT mark, version, id, games, starting_balance FROM market_mark", &[])?;
    match &rows[..] {
        // Its maker ended before its first row.
        [] if tables.len() == 1 => Ok(None),
        [row] if row.first() == Some(&Value::Text(mark.to_owned())) => {
            let rules = Rules { games: number(row, 3)?, starting_balance: number(row, 4)? };
            Ok(Some((number(row, 1)?, number(row, 2)?, rules)))
        }
        _ => Err(OpenError::OtherTables),
    }
}

fn make(
    sql: &mut dyn Sql,
    dialect: &Dialect,
    rules: Rules,
    purpose: Purpose,
) -> Result<(), OpenError> {
    let in_dialect = |table: &str| in_dialect(dialect, table);
    let keep = |key: &str| dialect.keep.replace("id = id", key);
    sql.plain(&in_dialect(MARK_TABLE))?;
    let id = Draws::from_keys(&[wall_ms().to_bits(), u64::from(std::process::id())]).bits();
    let values = [
        Value::Text(purpose.mark().to_owned()),
        Value::Int(UNFINISHED),
        Value::Int((id >> 1).cast_signed()),
        Value::Int(rules.games),
        Value::Int(rules.starting_balance),
    ];
    sql.change(
        &format!("INSERT INTO market_mark VALUES (?, ?, ?, ?, ?, 0) {}", keep("mark = mark")),
        &values,
    )?;
    for table in TABLES {
        sql.plain(&in_dialect(table))?;
    }
    for routine in dialect.routines {
        sql.plain(routine)?;
    }
    if let Purpose::LedgerOf(owner) = purpose {
        for table in LEDGER_TABLES {
            sql.plain(&in_dialect(table))?;
        }
        for routine in dialect.ledger_routines {
            sql.plain(routine)?;
        }
        let into = format!("INSERT INTO market_owner VALUES (?) {}", keep("id = id"));
        sql.change(&into, &[Value::Int(owner)])?;
    }
    sql.plain("BEGIN")?;
    let games = u32::try_from(rules.games).unwrap_or(u32::MAX);
    for games in Books::new(games, 0).games().chunks(ROWS_MAX) {
        let side = |name: &str| Value::Text(name.to_owned());
        let mut sides = Vec::new();
        let mut pools = Vec::new();
        for game in games {
            let id = Value::Int(game.id.0.into());
            sides.extend([id.clone(), side(game.home), side(game.away), id.clone()]);
            pools.extend([id.clone(), id]);
        }
        let rows = |row: &str| format!("{} {}", vec![row; games.len()].join(", "), keep("id = id"));
        let row = rows("(?, ?, ?, 0, 0, ?)");
        sql.change(&format!("INSERT INTO market_games VALUES {row}"), &sides)?;
        let row = rows("(?, ?)");
        let into = "INSERT INTO market_pools (id, game) VALUES";
        sql.change(&format!("{into} {row}"), &pools)?;
    }
    sql.change("UPDATE market_mark SET version = ?", &[Value::Int(VERSION)])?;
    sql.plain("COMMIT")?;
    Ok(())
}

/// A table as the dialect writes it.
pub(super) fn in_dialect(dialect: &Dialect, table: &str) -> String {
    table
        .replace("{serial}", dialect.serial)
        .replace("{name}", dialect.name)
        .replace("{engine}", dialect.engine)
}

/// Makes what a store needs that owns the pools of ledgers, where it is missing.
fn make_owner(sql: &mut dyn Sql, dialect: &Dialect) -> Result<(), OpenError> {
    let tables = sql.rows(dialect.tables, &[])?;
    let last =
        |row: &Row| matches!(row.first(), Some(Value::Text(name)) if name == "market_ledgers");
    if tables.iter().any(last) {
        return Ok(());
    }
    let [entries, ledgers] = OWNER_TABLES.map(|table| in_dialect(dialect, table));
    sql.plain(&entries)?;
    for routine in dialect.ledger_routines {
        sql.plain(routine)?;
    }
    Ok(sql.plain(&ledgers)?)
}

/// Makes the routines of a ledger again if an earlier version made them.
fn renew_routines(sql: &mut dyn Sql, dialect: &Dialect) -> Result<(), OpenError> {
    let newest = Value::Text(NEWEST_ROUTINE.to_owned());
    let rows = sql.rows(dialect.routine, &[newest])?;
    if rows.first().map(|row| number(row, 0)).transpose()? == Some(0) {
        for routine in dialect.ledger_routines {
            sql.plain(routine)?;
        }
    }
    Ok(())
}

/// Waits until a replica has the tables of its master.
pub(super) fn check_replica(
    sql: &mut dyn Sql,
    store: i64,
    wait: Duration,
) -> Result<(), OpenError> {
    let dialect = Dialect::for_kind(sql.kind());
    let end = now() + wait;
    loop {
        match mark(sql, dialect, Purpose::Store)? {
            Some((VERSION, id, _)) if id == store => return Ok(()),
            None | Some((UNFINISHED, ..)) if now() < end => {
                std::thread::park_timeout(HOLD_PAUSE);
            }
            _ => return Err(OpenError::Replica),
        }
    }
}
