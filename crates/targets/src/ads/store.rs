//! Records on disk: one thread that writes to SQLite.
//!
//! A record never changes: what happened, to which offer, when. Beside them stands how often each ad
//! was shown and did what. Serving threads hand records over; written synchronously, a request is
//! answered when its record is safely stored, together with those that came meanwhile.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use rusqlite::{Connection, params};
use tokio::sync::{mpsc, oneshot};

use super::database::Unusable;
use super::fault::Fault;
use super::offers::{Offer, Step};
use crate::wire::database::{self as files, Database};

/// Marks a database as one of ours (`PRAGMA application_id`): "adnw" in ASCII.
const APPLICATION: i64 = 0x6164_6e77;
/// Version of the tables (`PRAGMA user_version`).
const VERSION: i64 = 1;
/// Records that may wait for the writer.
const WAITING_MAX: usize = 16 * 1024;
/// Most records written in one transaction.
const BATCH_MAX: usize = 1024;

const TABLES: &str = "CREATE TABLE inventory (seed INTEGER NOT NULL, ads INTEGER NOT NULL) STRICT;
    CREATE TABLE offers (
        id INTEGER PRIMARY KEY,
        publisher TEXT NOT NULL,
        user TEXT NOT NULL,
        ad INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE events (
        offer INTEGER NOT NULL,
        step INTEGER NOT NULL,
        at_ms REAL NOT NULL,
        PRIMARY KEY (offer, step)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE performance (
        ad INTEGER NOT NULL,
        step INTEGER NOT NULL,
        count INTEGER NOT NULL,
        PRIMARY KEY (ad, step)
    ) STRICT, WITHOUT ROWID";

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// SQLite cannot open, read or write it.
    #[error("SQLite cannot use it; is it a database, and used by no other server?")]
    Sqlite(#[from] rusqlite::Error),
    /// The database server cannot be used.
    #[error(transparent)]
    Server(#[from] Unusable),
    /// A database of something else.
    #[error("it is a database of something else; name a file of this server, or a new one")]
    Foreign,
    /// Tables of a version that is not known here.
    #[error("its tables have version {found}, and this server knows version {VERSION}")]
    Version {
        /// What the file says.
        found: i64,
    },
    /// The numbers of ads mean something else in it.
    #[error("it was begun with seed {seed} and {ads} ads; serve it with these, or name a new file")]
    Inventory {
        /// What the file says.
        seed: i64,
        /// What the file says.
        ads: i64,
    },
    /// The thread that writes cannot be started.
    #[error("its thread cannot be started")]
    Thread(#[source] std::io::Error),
}

impl From<files::Unusable> for StoreError {
    fn from(why: files::Unusable) -> Self {
        match why {
            files::Unusable::Sqlite(error) => Self::Sqlite(error),
            files::Unusable::Foreign => Self::Foreign,
            files::Unusable::Version(found) => Self::Version { found },
        }
    }
}

/// What happened.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) offer: Offer,
    pub(super) step: Step,
    pub(super) at_ms: f64,
}

/// What the writer is asked to do.
#[derive(Debug)]
enum Task {
    /// Whoever waits for it, where somebody does, is told when it is done.
    Write(Record, Option<oneshot::Sender<Result<(), Fault>>>),
    /// Everything before is written; then it ends.
    End,
}

/// The serving threads' end.
#[derive(Debug)]
pub(super) struct Writer {
    tasks: mpsc::Sender<Task>,
}

/// The open database.
pub(super) struct Store {
    connection: Connection,
}

/// What a store knows of what was before.
#[derive(Debug, Default)]
pub(super) struct Past {
    /// The last offers, in their order.
    pub(super) offers: Vec<Offer>,
    /// By ad: how often it was shown, and converted.
    pub(super) ads: Vec<(u32, u32, u32)>,
}

impl Store {
    /// Opens or makes the database at `path`, for this process alone; its ads follow from these
    /// numbers.
    pub(super) fn open(path: &Path, seed: u64, ads: usize) -> Result<Self, StoreError> {
        // The same 64 bits, and far fewer ads than 2⁶³.
        let (seed, ads) = (seed.cast_signed(), ads as i64);
        let tables = format!("{TABLES}; INSERT INTO inventory VALUES ({seed}, {ads})");
        let connection = Database {
            application: APPLICATION,
            version: VERSION,
            tables: &tables,
        }
        .open(path)?;
        let found: (i64, i64) =
            connection.query_row("SELECT seed, ads FROM inventory", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        if found != (seed, ads) {
            let (seed, ads) = found;
            return Err(StoreError::Inventory { seed, ads });
        }
        Ok(Self { connection })
    }

    /// What was before, as far as `offers_max` offers go.
    pub(super) fn past(&self, offers_max: usize) -> Result<Past, StoreError> {
        let mut past = Past::default();
        let mut query = self.connection.prepare(
            "SELECT id, publisher, user, ad, (SELECT max(step) FROM events WHERE offer = id)
             FROM offers ORDER BY id DESC LIMIT ?1",
        )?;
        let offers = query.query_map([offers_max as i64], |row| {
            let step: i64 = row.get(4)?;
            let step = usize::try_from(step).unwrap_or(0);
            let publisher: String = row.get(1)?;
            let user: String = row.get(2)?;
            Ok(Offer {
                id: row.get::<_, i64>(0)?.cast_unsigned(),
                ad: row.get(3)?,
                publisher: publisher.into(),
                user: user.into(),
                step: Step::ALL[step.min(Step::ALL.len() - 1)],
            })
        })?;
        past.offers = offers.collect::<Result<_, _>>()?;
        past.offers.reverse();
        let mut query = self.connection.prepare(
            "SELECT ad, sum(iif(step = ?1, count, 0)), sum(iif(step = ?2, count, 0))
             FROM performance GROUP BY ad ORDER BY ad",
        )?;
        let ads = query.query_map([Step::Served as i64, Step::Convert as i64], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
        past.ads = ads.collect::<Result<_, _>>()?;
        Ok(past)
    }

    fn write<'a>(&mut self, records: impl Iterator<Item = &'a Record>) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        {
            let mut offers = transaction
                .prepare("INSERT INTO offers (id, publisher, user, ad) VALUES (?1, ?2, ?3, ?4)")?;
            let mut events = transaction
                .prepare("INSERT INTO events (offer, step, at_ms) VALUES (?1, ?2, ?3)")?;
            let mut performance = transaction.prepare(
                "INSERT INTO performance (ad, step, count) VALUES (?1, ?2, 1)
                 ON CONFLICT (ad, step) DO UPDATE SET count = count + 1",
            )?;
            for Record { offer, step, at_ms } in records {
                let (id, step_number) = (offer.id.cast_signed(), *step as i64);
                if *step == Step::Served {
                    offers.execute(params![id, &*offer.publisher, &*offer.user, offer.ad])?;
                }
                events.execute(params![id, step_number, at_ms])?;
                performance.execute(params![offer.ad, step_number])?;
            }
        }
        transaction.commit()
    }

    /// Starts the thread that writes, until [`Writer::end`]. `failing` is set as long as writing
    /// fails; `lost` is told how many records that nobody waited for could not be written.
    pub(super) fn start(
        mut self,
        failing: Arc<AtomicBool>,
        lost: impl Fn(u64) + Send + 'static,
    ) -> Result<(Writer, JoinHandle<()>), StoreError> {
        let (tasks, mut waiting) = mpsc::channel(WAITING_MAX);
        let thread = std::thread::Builder::new().name("store".to_owned());
        let write = move || {
            let mut batch = Vec::with_capacity(BATCH_MAX);
            let mut ended = false;
            while !ended && waiting.blocking_recv_many(&mut batch, BATCH_MAX) > 0 {
                ended = batch.iter().any(|task| matches!(task, Task::End));
                let records = batch.iter().filter_map(|task| match task {
                    Task::Write(record, _) => Some(record),
                    Task::End => None,
                });
                let written = self.write(records).is_ok();
                failing.store(!written, Ordering::Relaxed);
                for task in batch.drain(..) {
                    match task {
                        Task::Write(_, Some(done)) => {
                            // Whoever asked may be gone.
                            let _ = done.send(if written { Ok(()) } else { Err(Fault::Store) });
                        }
                        Task::Write(_, None) if !written => lost(1),
                        Task::Write(_, None) | Task::End => {}
                    }
                }
            }
        };
        let thread = thread.spawn(write).map_err(StoreError::Thread)?;
        Ok((Writer { tasks }, thread))
    }
}

impl Writer {
    /// Hands a record over, and waits until it is stored.
    pub(super) async fn write(&self, record: Record) -> Result<(), Fault> {
        let (done, is_done) = oneshot::channel();
        let task = Task::Write(record, Some(done));
        self.tasks.try_send(task).map_err(|_| Fault::Busy)?;
        is_done.await.unwrap_or(Err(Fault::Store))
    }

    /// Hands a record over; it is stored later.
    pub(super) fn write_later(&self, record: Record) -> Result<(), Fault> {
        let task = Task::Write(record, None);
        self.tasks.try_send(task).map_err(|_| Fault::Busy)
    }

    /// How many records wait.
    pub(super) fn waiting(&self) -> usize {
        self.tasks.max_capacity() - self.tasks.capacity()
    }

    /// Ends the thread when it has written what it was given.
    pub(super) async fn end(&self) {
        // If it is gone, it has ended.
        let _ = self.tasks.send(Task::End).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(id: u64, step: Step) -> Record {
        let offer = Offer {
            id,
            ad: 7,
            publisher: "p".into(),
            user: "u".into(),
            step,
        };
        Record {
            offer,
            step,
            at_ms: 0.5,
        }
    }

    #[test]
    fn what_was_written_is_known_again_up_to_a_number_of_offers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ads.sqlite");
        let mut store = Store::open(&path, 1, 100).unwrap();
        let all: Vec<Record> = (1..=3)
            .map(|id| record(id, Step::Served))
            .chain([record(2, Step::Impression), record(3, Step::Impression)])
            .collect();
        store.write(all.iter()).unwrap();
        // An event is recorded once, and nothing of a batch that fails is.
        let twice = [record(2, Step::Redeem), record(3, Step::Impression)];
        assert!(store.write(twice.iter()).is_err());
        drop(store);
        let past = Store::open(&path, 1, 100).unwrap().past(2).unwrap();
        let offers: Vec<_> = past.offers.iter().map(|o| (o.id, o.step)).collect();
        assert_eq!(offers, [(2, Step::Impression), (3, Step::Impression)]);
        assert_eq!(past.ads, [(7, 3, 0)]);
    }

    #[test]
    fn other_databases_and_other_inventories_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other.sqlite");
        Connection::open(&other)
            .unwrap()
            .execute_batch("CREATE TABLE a (b)")
            .unwrap();
        assert!(matches!(
            Store::open(&other, 1, 1),
            Err(StoreError::Foreign)
        ));
        let ours = folder.path().join("ads.sqlite");
        drop(Store::open(&ours, 1, 100).unwrap());
        let found = Store::open(&ours, 2, 100).err();
        assert!(matches!(
            found,
            Some(StoreError::Inventory { seed: 1, ads: 100 })
        ));
        let _held = Store::open(&ours, 1, 100).unwrap();
        assert!(matches!(
            Store::open(&ours, 1, 100),
            Err(StoreError::Sqlite(_))
        ));
    }

    #[tokio::test]
    async fn a_record_that_cannot_be_stored_is_told_to_who_waits_and_else_counted() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("ads.sqlite"), 1, 100).unwrap();
        store.write([record(1, Step::Served)].iter()).unwrap();
        let failing = Arc::new(AtomicBool::new(false));
        let (told, lost) = std::sync::mpsc::channel();
        let (writer, thread) = store
            .start(Arc::clone(&failing), move |count| told.send(count).unwrap())
            .unwrap();
        assert_eq!(
            writer.write(record(1, Step::Served)).await,
            Err(Fault::Store)
        );
        assert!(failing.load(Ordering::Relaxed));
        writer.write_later(record(1, Step::Served)).unwrap();
        // Before anything else is in its batch.
        assert_eq!(lost.recv(), Ok(1));
        assert_eq!(writer.write(record(2, Step::Served)).await, Ok(()));
        assert!(!failing.load(Ordering::Relaxed));
        writer.end().await;
        thread.join().unwrap();
        assert_eq!(lost.iter().count(), 0);
        assert_eq!(
            writer.write_later(record(3, Step::Served)),
            Err(Fault::Busy)
        );
    }
}
