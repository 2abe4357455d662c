//! The tables of an ad network in a database server, and every statement about them.
//!
//! A record never changes: what happened, to which offer, when. Beside them stands how often each ad
//! was shown and did what; how often a campaign was shown is the sum of its ads.

use std::collections::BTreeMap;
use std::time::Duration;

use super::dialect::Dialect;
use crate::offers::Offer;
use crate::record::Record;
use crate::step::Step;
use server::database::{Sql, SqlError, Value};
use server::{Draws, wall_ms};

/// Marks the tables as ours.
const MARK: &str = "adnw";
/// Version of the tables.
const VERSION: i64 = 1;
/// Most rows of one statement: far below the 65,535 values that either server takes.
const ROWS_MAX: usize = 256;
/// How often a connection tries to hold a database that another holds, and its pauses: longer than many
/// processes need to begin one after the other.
const HOLD_TRIES: u32 = 80;
const HOLD_PAUSE: Duration = Duration::from_millis(50);
/// Offers of one process are numbered from its own number times this.
const OFFERS_EACH: i64 = 1 << 40;

/// The mark comes last: a write that was interrupted before it is not taken for complete.
const MAKE: [&str; 4] = [
    "CREATE TABLE ads_offers (id BIGINT NOT NULL PRIMARY KEY, publisher VARCHAR(64) NOT NULL,
        visitor VARCHAR(64) NOT NULL, ad INTEGER NOT NULL)",
    "CREATE TABLE ads_events (offer BIGINT NOT NULL, step SMALLINT NOT NULL,
        at_ms DOUBLE PRECISION NOT NULL, PRIMARY KEY (offer, step))",
    "CREATE TABLE ads_performance (ad INTEGER NOT NULL, step SMALLINT NOT NULL,
        total BIGINT NOT NULL, PRIMARY KEY (ad, step))",
    "CREATE TABLE ads_mark (mark VARCHAR(8) NOT NULL PRIMARY KEY, version BIGINT NOT NULL,
        seed BIGINT NOT NULL, ads BIGINT NOT NULL, store BIGINT NOT NULL, epoch BIGINT NOT NULL,
        processes BIGINT NOT NULL)",
];

/// Why a database cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// It cannot be reached, or does not do what is requested.
    #[error("{0}")]
    Sql(String),
    /// There are tables of something else.
    #[error("it has tables of another program; name an empty database")]
    NotOurs,
    /// Tables of a version that is not known here.
    #[error("its tables have version {found}, and this server knows version {VERSION}")]
    Version {
        /// Version in the database.
        found: i64,
    },
    /// The numbers of ads mean something else in it.
    #[error("it was created with seed {seed} and {ads} ads; serve it with these, or name another")]
    Inventory {
        /// Seed in the database.
        seed: i64,
        /// Number of ads in the database.
        ads: i64,
    },
    /// A server without a cache has it for itself.
    #[error(
        "another server uses it exclusively; servers that share a database need a cache (--cache)"
    )]
    Taken,
}

impl From<SqlError> for DatabaseError {
    fn from(error: SqlError) -> Self {
        DatabaseError::Sql(error.to_string())
    }
}

/// Facts that a process needs about the database that it begins to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Registration {
    /// Names the database among all that a cache may serve.
    pub(crate) store: i64,
    /// Changes when what caches know may be behind.
    pub(crate) epoch: i64,
    /// The number of the process, and of its first offer.
    pub(crate) process: i64,
    pub(crate) first_offer: u64,
}

/// Numbers that determine the ads, and so the contents of the tables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tables {
    pub(crate) seed: i64,
    pub(crate) ads: i64,
}

fn int(row: &[Value], place: usize) -> Result<i64, SqlError> {
    match row.get(place) {
        Some(Value::Int(number)) => Ok(*number),
        other => Err(SqlError::Refused(format!("{other:?} where a number was expected"))),
    }
}

fn text(row: &[Value], place: usize) -> Result<&str, SqlError> {
    match row.get(place) {
        Some(Value::Text(text)) => Ok(text),
        other => Err(SqlError::Refused(format!("{other:?} where a text was expected"))),
    }
}

impl Tables {
    /// Finds the tables, or makes them in an empty database.
    fn open(self, sql: &mut dyn Sql) -> Result<(), DatabaseError> {
        let found = match sql.rows("SELECT mark, version, seed, ads FROM ads_mark", &[]) {
            Ok(rows) => rows,
            Err(lost @ SqlError::Lost(_)) => return Err(lost.into()),
            Err(_) => return self.make(sql),
        };
        let Some(row) = found.first() else {
            return Err(DatabaseError::NotOurs);
        };
        if text(row, 0)? != MARK {
            return Err(DatabaseError::NotOurs);
        }
        let version = int(row, 1)?;
        let seed = int(row, 2)?;
        let ads = int(row, 3)?;
        if version != VERSION {
            return Err(DatabaseError::Version { found: version });
        }
        if (seed, ads) != (self.seed, self.ads) {
            return Err(DatabaseError::Inventory { seed, ads });
        }
        Ok(())
    }

    fn make(self, sql: &mut dyn Sql) -> Result<(), DatabaseError> {
        let tables = sql.rows(Dialect::for_kind(sql.kind()).count_tables, &[])?;
        if tables.first().map(|row| int(row, 0)).transpose()? != Some(0) {
            return Err(DatabaseError::NotOurs);
        }
        for table in MAKE {
            sql.plain(table)?;
        }
        let store = Draws::from_keys(&[wall_ms().to_bits(), u64::from(std::process::id())]).bits();
        let values = [
            Value::Text(MARK.to_owned()),
            Value::Int(VERSION),
            Value::Int(self.seed),
            Value::Int(self.ads),
            Value::Int((store >> 1).cast_signed()),
        ];
        sql.change("INSERT INTO ads_mark VALUES (?, ?, ?, ?, ?, 1, 0)", &values)?;
        Ok(())
    }
}

/// Opens the database and begins to use it: alone, or beside other processes with a cache. A connection
/// that begins alone holds the database until it ends; others hold it while they look, so that no two
/// make its tables.
pub(super) fn begin(
    sql: &mut dyn Sql,
    tables: Tables,
    alone: bool,
) -> Result<Registration, DatabaseError> {
    hold(sql)?;
    tables.open(sql)?;
    // What happens now no cache knows of.
    let epoch = i64::from(alone);
    sql.plain("BEGIN")?;
    sql.change(
        "UPDATE ads_mark SET processes = processes + 1, epoch = epoch + ?",
        &[Value::Int(epoch)],
    )?;
    let rows = sql.rows("SELECT store, epoch, processes FROM ads_mark", &[])?;
    sql.plain("COMMIT")?;
    if !alone {
        sql.rows(Dialect::for_kind(sql.kind()).unlock, &[])?;
    }
    let row = rows.first().ok_or(DatabaseError::NotOurs)?;
    let process = int(row, 2)?;
    let first_offer = process
        .checked_mul(OFFERS_EACH)
        .ok_or_else(|| SqlError::Refused("no offer numbers are left".to_owned()))?;
    Ok(Registration {
        store: int(row, 0)?,
        epoch: int(row, 1)?,
        process,
        first_offer: first_offer.cast_unsigned(),
    })
}

/// Takes the database for this connection alone, waiting for those that look.
pub(super) fn hold(sql: &mut dyn Sql) -> Result<(), DatabaseError> {
    for _ in 0..HOLD_TRIES {
        let held = sql.rows(Dialect::for_kind(sql.kind()).lock, &[])?;
        if held.first().map(|row| int(row, 0)).transpose()? == Some(1) {
            return Ok(());
        }
        std::thread::park_timeout(HOLD_PAUSE);
    }
    Err(DatabaseError::Taken)
}

/// By ad: how often it was shown, and converted.
pub(crate) fn performance(sql: &mut dyn Sql) -> Result<Vec<(u32, u64, u64)>, SqlError> {
    let served = Step::Served as i64;
    let convert = Step::Convert as i64;
    let rows = sql.rows(
        "SELECT ad, step, total FROM ads_performance WHERE step = ? OR step = ?",
        &[Value::Int(served), Value::Int(convert)],
    )?;
    let mut ads: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for row in rows {
        let ad = int(&row, 0)?;
        let step = int(&row, 1)?;
        let total = int(&row, 2)?;
        let Ok(ad) = u32::try_from(ad) else { continue };
        let (shown, converted) = ads.entry(ad).or_default();
        let count = if step == served { shown } else { converted };
        *count = total.max(0).cast_unsigned();
    }
    Ok(ads.into_iter().map(|(ad, (s, c))| (ad, s, c)).collect())
}

/// An offer, and how far it came.
pub(super) fn find(sql: &mut dyn Sql, id: u64) -> Result<Option<Offer>, SqlError> {
    // No offer has a number beyond these.
    let Ok(number) = i64::try_from(id) else {
        return Ok(None);
    };
    let rows = sql.rows(
        "SELECT publisher, visitor, ad, (SELECT max(step) FROM ads_events WHERE offer = id)
         FROM ads_offers WHERE id = ?",
        &[Value::Int(number)],
    )?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let place = usize::try_from(int(row, 3)?).unwrap_or_default();
    let ad = u32::try_from(int(row, 2)?)
        .map_err(|_| SqlError::Refused(format!("offer {number} has an ad that cannot be")))?;
    Ok(Some(Offer {
        id,
        ad,
        publisher: text(row, 0)?.into(),
        user: text(row, 1)?.into(),
        step: Step::ALL[place.min(Step::ALL.len() - 1)],
    }))
}

/// Writes records in a transaction: all or none.
pub(super) fn write(sql: &mut dyn Sql, records: &[Record]) -> Result<(), SqlError> {
    in_one(sql, |sql| fill(sql, records))
}

/// Writes something and takes it back, so that it is known whether records can be stored.
pub(super) fn try_out(sql: &mut dyn Sql) -> Result<(), SqlError> {
    in_one(sql, |sql| {
        // No ad has this number.
        let nothing = [-1, 0, 0].map(Value::Int);
        sql.change("INSERT INTO ads_performance VALUES (?, ?, ?)", &nothing)?;
        sql.change("DELETE FROM ads_performance WHERE ad = ?", &nothing[..1])
    })
}

/// Does something in a transaction: all or nothing.
fn in_one(
    sql: &mut dyn Sql,
    what: impl FnOnce(&mut dyn Sql) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    sql.plain("BEGIN")?;
    let written = what(sql).and_then(|()| sql.plain("COMMIT"));
    if written.as_ref().is_err_and(|why| !matches!(why, SqlError::Lost(_))) {
        sql.plain("ROLLBACK")?;
    }
    written
}

fn fill(sql: &mut dyn Sql, records: &[Record]) -> Result<(), SqlError> {
    let mut offers = Vec::new();
    let mut events = Vec::new();
    // In rising order, so that no two transactions wait for each other.
    let mut totals: BTreeMap<(u32, i64), i64> = BTreeMap::new();
    for Record { offer, step, at_ms } in records {
        let id = Value::Int(offer.id.cast_signed());
        let number = *step as i64;
        if *step == Step::Served {
            offers.extend([
                id.clone(),
                Value::Text(offer.publisher.to_string()),
                Value::Text(offer.user.to_string()),
                Value::Int(i64::from(offer.ad)),
            ]);
        }
        events.extend([id, Value::Int(number), Value::Float(*at_ms)]);
        *totals.entry((offer.ad, number)).or_default() += 1;
    }
    let totals: Vec<Value> = totals
        .into_iter()
        .flat_map(|((ad, step), total)| [i64::from(ad), step, total])
        .map(Value::Int)
        .collect();
    insert(sql, "ads_offers (id, publisher, visitor, ad)", &offers, 4, "")?;
    insert(sql, "ads_events (offer, step, at_ms)", &events, 3, "")?;
    let add = Dialect::for_kind(sql.kind()).add;
    insert(sql, "ads_performance (ad, step, total)", &totals, 3, add)
}

/// Inserts rows of this number of columns each.
fn insert(
    sql: &mut dyn Sql,
    into: &str,
    values: &[Value],
    columns: usize,
    behind: &str,
) -> Result<(), SqlError> {
    for rows in values.chunks(columns * ROWS_MAX) {
        let row = format!("({})", vec!["?"; columns].join(", "));
        let places = vec![row; rows.len() / columns].join(", ");
        sql.change(&format!("INSERT INTO {into} VALUES {places} {behind}"), rows)?;
    }
    Ok(())
}
