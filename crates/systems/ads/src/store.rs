//! Records on disk: one thread that writes to SQLite.
//!
//! A record never changes: what happened, to which offer, when. Beside them stands how often each ad
//! was shown and did what. Serving threads hand records over; written synchronously, a request is
//! answered when its record is safely stored, together with those that came meanwhile.
//!
//! A record that is lost stays lost, and so does what happens to an offer whose own record is. The numbers
//! of offers are reserved when the store is opened, so that none is ever given twice.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, params};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::database::DatabaseError;
use super::offers::Offer;
use super::record::Record;
use super::request_error::RequestError;
use super::step::Step;
use server::database::{OpenError, SqliteFile};

/// Marks a database as one of ours (`PRAGMA application_id`): "adnw" in ASCII.
const APPLICATION: i64 = 0x6164_6e77;
/// Version of the tables (`PRAGMA user_version`).
const VERSION: i64 = 1;
/// Records that may wait for the writer.
const WAITING_MAX: usize = 16 * 1024;
/// Most records written in one transaction.
const BATCH_MAX: usize = 1024;
/// How often it is tried whether a disk that refused is well again.
const TRY: Duration = Duration::from_secs(1);
/// More offers than one process serves in its life.
const NUMBERS_EACH: i64 = 1 << 40;

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

/// Older databases lack it.
const NUMBERS: &str = "CREATE TABLE IF NOT EXISTS numbers (next INTEGER NOT NULL) STRICT";

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// SQLite cannot open, read or write it.
    #[error("SQLite cannot use it; is it a database, and used by no other server?")]
    Sqlite(#[from] rusqlite::Error),
    /// The database server cannot be used.
    #[error(transparent)]
    Server(#[from] DatabaseError),
    /// A database of something else.
    #[error("it is a database of another program; name a file of this server, or a new one")]
    NotOurs,
    /// Tables of a version that is not known here.
    #[error("its tables have version {found}, and this server knows version {VERSION}")]
    Version {
        /// Version in the file.
        found: i64,
    },
    /// The numbers of ads mean something else in it.
    #[error(
        "it was created with seed {seed} and {ads} ads; serve it with these, or name a new file"
    )]
    Inventory {
        /// Seed in the file.
        seed: i64,
        /// Number of ads in the file.
        ads: i64,
    },
    /// The numbers of offers in the file have reached the last one.
    #[error("no offer numbers are left in it; name a new file")]
    Numbers,
    /// The thread that writes cannot be started.
    #[error("its thread cannot be started")]
    Thread(#[source] std::io::Error),
}

impl From<OpenError> for StoreError {
    fn from(why: OpenError) -> Self {
        match why {
            OpenError::Sqlite(error) => Self::Sqlite(error),
            OpenError::Foreign => Self::NotOurs,
            OpenError::Version(found) => Self::Version { found },
        }
    }
}

/// A request to the writer.
#[derive(Debug)]
enum Task {
    /// Write a record. Whoever waits for it, where somebody does, is notified when it is done.
    Write(Record, Option<oneshot::Sender<Result<(), RequestError>>>),
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

/// State of earlier processes, as far as a store knows it.
#[derive(Debug, Default)]
pub(super) struct Past {
    /// The last offers, in their order.
    pub(super) offers: Vec<Offer>,
    /// By ad: how often it was shown, and converted.
    pub(super) ads: Vec<(u32, u32, u32)>,
    /// The number of the next offer; 0 where that is not the store's to say.
    pub(super) first_offer: u64,
}

impl Store {
    /// Opens or makes the database at `path`, for this process alone; its ads follow from these
    /// numbers.
    pub(super) fn open(path: &Path, seed: u64, ads: usize) -> Result<Self, StoreError> {
        // The same 64 bits, and far fewer ads than 2⁶³.
        let seed = seed.cast_signed();
        let ads = ads as i64;
        let tables = format!("{TABLES}; INSERT INTO inventory VALUES ({seed}, {ads})");
        let connection = SqliteFile { application: APPLICATION, version: VERSION, tables: &tables }
            .open(path)?;
        connection.execute_batch(NUMBERS)?;
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

    /// State of earlier processes, with at most the last `offers_max` offers.
    pub(super) fn past(&mut self, offers_max: usize) -> Result<Past, StoreError> {
        let mut past = Past { first_offer: self.reserve(offers_max)?, ..Past::default() };
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

    /// Reserves numbers for the offers of this process's life, and answers the first: a number that
    /// somebody was given is not given again, also where its record was lost or the process was killed.
    fn reserve(&mut self, offers_max: usize) -> Result<u64, StoreError> {
        let transaction = self.connection.transaction()?;
        let (next, last, last_happened): (i64, i64, i64) = transaction.query_row(
            "SELECT coalesce((SELECT max(next) FROM numbers), 1),
                coalesce((SELECT max(id) FROM offers), 0),
                coalesce((SELECT max(offer) FROM events), 0)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        let first = next.max(last.max(last_happened).saturating_add(1));
        // New ones go on behind the last one also by the places in which this number is kept, of which the
        // oldest are to be taken first.
        let behind = last.saturating_add(1).saturating_sub(first);
        let first = first.checked_add(behind.rem_euclid(offers_max as i64));
        let (first, end) = first
            .and_then(|first| Some((first, first.checked_add(NUMBERS_EACH)?)))
            .ok_or(StoreError::Numbers)?;
        transaction.execute("DELETE FROM numbers", [])?;
        transaction.execute("INSERT INTO numbers VALUES (?1)", [end])?;
        transaction.commit()?;
        Ok(first.cast_unsigned())
    }

    /// Writes records in one transaction, and reports of each whether it is stored: what happens to an
    /// offer that was lost is lost with it.
    fn write(&mut self, records: &[&Record]) -> rusqlite::Result<Vec<bool>> {
        let mut stored = Vec::with_capacity(records.len());
        let transaction = self.connection.transaction()?;
        {
            let mut offers = transaction
                .prepare("INSERT INTO offers (id, publisher, user, ad) VALUES (?1, ?2, ?3, ?4)")?;
            let mut events = transaction.prepare(
                "INSERT INTO events (offer, step, at_ms) SELECT ?1, ?2, ?3
                 WHERE EXISTS (SELECT 1 FROM offers WHERE id = ?1)",
            )?;
            let mut performance = transaction.prepare(
                "INSERT INTO performance (ad, step, count) VALUES (?1, ?2, 1)
                 ON CONFLICT (ad, step) DO UPDATE SET count = count + 1",
            )?;
            for Record { offer, step, at_ms } in records {
                let id = offer.id.cast_signed();
                let step_number = *step as i64;
                if *step == Step::Served {
                    offers.execute(params![id, &*offer.publisher, &*offer.user, offer.ad])?;
                }
                let is_stored = events.execute(params![id, step_number, at_ms])? > 0;
                if is_stored {
                    performance.execute(params![offer.ad, step_number])?;
                }
                stored.push(is_stored);
            }
        }
        transaction.commit()?;
        Ok(stored)
    }

    /// Stores what can be. Reports of each record whether it is, and whether the disk is well.
    fn keep(&mut self, records: &[&Record]) -> (Vec<bool>, bool) {
        match self.write(records) {
            Ok(stored) => (stored, true),
            // One of them is there already, and the others shall not suffer for it.
            Err(error) if is_constraint(&error) && records.len() > 1 => {
                let each = records.chunks(1).map(|one| self.keep(one));
                let (stored, well): (Vec<_>, Vec<_>) = each.unzip();
                (stored.concat(), well.iter().all(|is_well| *is_well))
            }
            Err(error) => (vec![false; records.len()], is_constraint(&error)),
        }
    }

    /// Whether the disk takes something. What changes nothing would not get there.
    fn is_well(&self) -> bool {
        let give_a_number_away = "UPDATE numbers SET next = next + 1";
        self.connection.execute(give_a_number_away, []).is_ok()
    }

    /// Starts the thread that writes, until [`Writer::end`]. `failing` is set as long as the disk
    /// refuses; `lost` is given how many records that nobody waited for could not be written.
    pub(super) fn start(
        mut self,
        failing: Arc<AtomicBool>,
        lost: impl Fn(u64) + Send + 'static,
    ) -> Result<(Writer, JoinHandle<()>), StoreError> {
        let (tasks, mut waiting) = mpsc::channel(WAITING_MAX);
        let thread = std::thread::Builder::new().name("store".to_owned());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(StoreError::Thread)?;
        let write = move || {
            let mut batch = Vec::with_capacity(BATCH_MAX);
            let mut is_well = true;
            let mut ended = false;
            while !ended {
                let received = runtime.block_on(async {
                    let received = waiting.recv_many(&mut batch, BATCH_MAX);
                    match is_well {
                        true => Some(received.await),
                        // Who watches whether the disk is well may keep all records away until it is.
                        false => timeout(TRY, received).await.ok(),
                    }
                });
                match received {
                    Some(0) => return,
                    Some(_) => (is_well, ended) = self.carry_out(&mut batch, &lost),
                    None => is_well = self.is_well(),
                }
                failing.store(!is_well, Ordering::Relaxed);
            }
        };
        let thread = thread.spawn(write).map_err(StoreError::Thread)?;
        Ok((Writer { tasks }, thread))
    }

    /// Does what the batch says, and empties it. Reports whether the disk is well, and whether the end has
    /// come.
    fn carry_out(&mut self, batch: &mut Vec<Task>, lost: impl Fn(u64)) -> (bool, bool) {
        let ended = batch.iter().any(|task| matches!(task, Task::End));
        let records = batch.iter().filter_map(|task| match task {
            Task::Write(record, _) => Some(record),
            Task::End => None,
        });
        let records: Vec<_> = records.collect();
        let (stored, is_well) = self.keep(&records);
        let written = batch.drain(..).filter_map(|task| match task {
            Task::Write(_, done) => Some(done),
            Task::End => None,
        });
        for (done, is_stored) in written.zip(stored) {
            match (done, is_stored) {
                (Some(done), _) => {
                    // The requester may be gone.
                    let _ = done.send(is_stored.then_some(()).ok_or(RequestError::Store));
                }
                (None, false) => lost(1),
                (None, true) => {}
            }
        }
        (is_well, ended)
    }
}

/// Whether a record is to blame, and not the disk.
fn is_constraint(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation)
}

impl Writer {
    /// Hands a record over, and waits until it is stored.
    pub(super) async fn write(&self, record: Record) -> Result<(), RequestError> {
        let (done, is_done) = oneshot::channel();
        let task = Task::Write(record, Some(done));
        self.tasks.try_send(task).map_err(|_| RequestError::Busy)?;
        is_done.await.unwrap_or(Err(RequestError::Store))
    }

    /// Hands a record over; it is stored later.
    pub(super) fn write_later(&self, record: Record) -> Result<(), RequestError> {
        let task = Task::Write(record, None);
        self.tasks.try_send(task).map_err(|_| RequestError::Busy)
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
        let offer = Offer { id, ad: 7, publisher: "p".into(), user: "u".into(), step };
        Record { offer, step, at_ms: 0.5 }
    }

    trait Each {
        fn each(&self) -> Vec<&Record>;
    }

    impl Each for [Record] {
        fn each(&self) -> Vec<&Record> {
            self.iter().collect()
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
        assert_eq!(store.keep(&all.each()), (vec![true; 5], true));
        // An event is recorded once, and others that were written with it are none the worse for that.
        let some = [record(1, Step::Impression), record(3, Step::Impression)];
        assert!(store.write(&some.each()).is_err());
        assert_eq!(store.keep(&some.each()), (vec![true, false], true));
        drop(store);
        let past = Store::open(&path, 1, 100).unwrap().past(2).unwrap();
        let offers: Vec<_> = past.offers.iter().map(|o| (o.id, o.step)).collect();
        assert_eq!(offers, [(2, Step::Impression), (3, Step::Impression)]);
        assert_eq!(past.ads, [(7, 3, 0)]);
    }

    #[test]
    fn no_number_is_given_twice_whatever_was_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ads.sqlite");
        let open = || Store::open(&path, 1, 100).unwrap();
        let mut store = open();
        assert_eq!(store.past(10).unwrap().first_offer, 1);
        store.keep(&[record(1, Step::Served)].each());
        drop(store);
        // Whoever was killed may have given out any of its numbers.
        let mut store = open();
        let next = store.past(10).unwrap().first_offer;
        assert!(next > NUMBERS_EACH.cast_unsigned(), "{next}");
        // In the place behind the last one.
        assert_eq!(next % 10, 2);
        store.keep(&[record(next, Step::Served)].each());
        assert!(store.is_well());
        // A database of before, and events without their offers in it.
        let older = format!("DROP TABLE numbers; INSERT INTO events VALUES ({}, 1, 0)", next + 9);
        store.connection.execute_batch(&older).unwrap();
        drop(store);
        let after = open().past(10).unwrap().first_offer;
        assert!(after > next + 9 && after % 10 == 3, "{after}");
    }

    #[test]
    fn what_a_full_disk_refused_stays_lost() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("ads.sqlite"), 1, 100).unwrap();
        store.past(10).unwrap();
        let limit = |store: &Store, pages: i64| {
            let limited =
                store.connection.pragma_update_and_check(None, "max_page_count", pages, |row| {
                    row.get::<_, i64>(0)
                });
            limited.unwrap()
        };
        // As many as there are.
        limit(&store, 1);
        let many: Vec<Record> = (1..500).map(|id| record(id, Step::Served)).collect();
        assert_eq!(store.keep(&many.each()), (vec![false; 499], false));
        limit(&store, 1_000_000);
        assert!(store.is_well());
        let later =
            [record(7, Step::Impression), record(500, Step::Served), record(500, Step::Impression)];
        assert_eq!(store.keep(&later.each()), (vec![false, true, true], true));
        let past = store.past(10).unwrap();
        assert_eq!((past.offers.len(), &past.ads[..]), (1, &[(7, 1, 0)][..]));
    }

    #[test]
    fn other_databases_and_other_inventories_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other.sqlite");
        Connection::open(&other).unwrap().execute_batch("CREATE TABLE a (b)").unwrap();
        assert!(matches!(Store::open(&other, 1, 1), Err(StoreError::NotOurs)));
        let ours = folder.path().join("ads.sqlite");
        drop(Store::open(&ours, 1, 100).unwrap());
        let found = Store::open(&ours, 2, 100).err();
        assert!(matches!(found, Some(StoreError::Inventory { seed: 1, ads: 100 })));
        let _held = Store::open(&ours, 1, 100).unwrap();
        assert!(matches!(Store::open(&ours, 1, 100), Err(StoreError::Sqlite(_))));
    }

    #[test]
    fn a_store_is_never_what_keeps_nothing() {
        assert!(matches!(Store::open(Path::new(""), 1, 100), Err(StoreError::Sqlite(_))));
    }

    #[tokio::test]
    async fn a_record_that_cannot_be_stored_fails_its_waiter_or_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("ads.sqlite"), 1, 100).unwrap();
        store.keep(&[record(1, Step::Served)].each());
        let failing = Arc::new(AtomicBool::new(false));
        let (sender, lost) = std::sync::mpsc::channel();
        let (writer, thread) = store
            .start(Arc::clone(&failing), move |count| {
                sender.send(count).unwrap();
            })
            .unwrap();
        assert_eq!(writer.write(record(1, Step::Served)).await, Err(RequestError::Store));
        writer.write_later(record(1, Step::Served)).unwrap();
        // Before anything else is in its batch.
        assert_eq!(lost.recv(), Ok(1));
        assert_eq!(writer.write(record(2, Step::Served)).await, Ok(()));
        // None of that is the disk's fault.
        assert!(!failing.load(Ordering::Relaxed));
        writer.end().await;
        thread.join().unwrap();
        assert_eq!(lost.iter().count(), 0);
        assert_eq!(writer.write_later(record(3, Step::Served)), Err(RequestError::Busy));
    }
}
