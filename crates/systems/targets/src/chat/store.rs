//! History on disk: one thread that writes to SQLite, in whose hands all speaking then is.
//!
//! Messages are numbered by the writer, written in batches, and published when they are safely
//! stored: what anybody has seen is still there after a restart, and no number is given twice.
//! Serving threads hand a message over and wait for its number without blocking. All reading is
//! done from memory.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use rusqlite::{Connection, params};
use tokio::sync::{mpsc, oneshot};

use super::ChatError;
use super::message::{Message, Utterance};
use super::request_error::RequestError;
use super::room::Room;
use server::database::{OpenError, SqliteFile};
use server::{ServerError, wall_ms};

/// Marks a database as one of ours (`PRAGMA application_id`): "chat" in ASCII.
const APPLICATION: i64 = 0x6368_6174;
/// Version of the tables (`PRAGMA user_version`).
const VERSION: i64 = 1;
/// Messages that may wait for the writer.
const WAITING_MAX: usize = 16 * 1024;
/// Most messages written in one transaction.
const BATCH_MAX: usize = 1024;

const TABLES: &str = "CREATE TABLE messages (
    room TEXT NOT NULL,
    id INTEGER NOT NULL,
    sender TEXT NOT NULL,
    message TEXT NOT NULL,
    sent_at_ms REAL NOT NULL,
    PRIMARY KEY (room, id)
) STRICT, WITHOUT ROWID";

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// SQLite cannot open, read or write it.
    #[error("SQLite cannot use it; is it a database, and used by no other server?")]
    Sqlite(#[from] rusqlite::Error),
    /// A database of something else.
    #[error("it is a database of another program; name a file of this server, or a new one")]
    NotOurs,
    /// Tables of a version that is not known here.
    #[error("its tables have version {found}, and this server knows version {VERSION}")]
    Version {
        /// Version in the file.
        found: i64,
    },
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

/// A message on the disk.
#[derive(Debug, PartialEq)]
pub(super) struct StoredMessage {
    pub(super) room: String,
    pub(super) id: u64,
    pub(super) said: Utterance,
    pub(super) sent_at_ms: f64,
}

/// Fills rooms with what the store at `path` holds, each of which `room` finds by its name, and starts the thread that
/// writes there, as [`Store::start`].
pub(super) fn open(
    path: &Path,
    history_max: usize,
    room: impl FnMut(&str) -> Result<Arc<Room>, RequestError>,
    failing: Arc<AtomicBool>,
    published: impl Fn() + Send + 'static,
) -> Result<(Writer, JoinHandle<()>), ChatError> {
    let error = |source| ChatError::Store { path: path.to_owned(), source };
    let store = Store::open(path).map_err(error)?;
    restore(&store, room).map_err(|why| match why {
        RestoreError::Store(source) => error(source),
        RestoreError::TooMany => {
            ServerError::Options("the store contains more rooms than are allowed").into()
        }
    })?;
    store.start(history_max, failing, published).map_err(error)
}

fn restore(
    store: &Store,
    mut room: impl FnMut(&str) -> Result<Arc<Room>, RequestError>,
) -> Result<(), RestoreError> {
    store.read(|stored: StoredMessage| {
        let room = room(&stored.room).map_err(|_| RestoreError::TooMany)?;
        let StoredMessage { id, said, sent_at_ms, .. } = stored;
        room.publish(|_| Message::new(&room.name, id, &said, sent_at_ms));
        Ok(())
    })
}

enum RestoreError {
    Store(StoreError),
    TooMany,
}

impl From<StoreError> for RestoreError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Requests to the writer.
#[derive(Debug)]
enum Task {
    Write(Job),
    /// Everything before is written; then it ends.
    End,
}

/// A message on its way to the disk.
#[derive(Debug)]
struct Job {
    room: Arc<Room>,
    said: Utterance,
    done: oneshot::Sender<Result<u64, RequestError>>,
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

impl Store {
    /// Opens or makes the database at `path`, for this process alone.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let connection =
            SqliteFile { application: APPLICATION, version: VERSION, tables: TABLES }.open(path)?;
        Ok(Self { connection })
    }

    /// Gives every message to `each`, room by room and in order.
    pub(super) fn read<E: From<StoreError>>(
        &self,
        mut each: impl FnMut(StoredMessage) -> Result<(), E>,
    ) -> Result<(), E> {
        let sqlite = |error| E::from(StoreError::Sqlite(error));
        let query = "SELECT room, id, sender, message, sent_at_ms FROM messages ORDER BY room, id";
        let mut query = self.connection.prepare(query).map_err(sqlite)?;
        let rows = query.query_map([], |row| {
            Ok(StoredMessage {
                room: row.get(0)?,
                id: row.get::<_, i64>(1)?.unsigned_abs(),
                said: Utterance { from: row.get(2)?, message: row.get(3)? },
                sent_at_ms: row.get(4)?,
            })
        });
        for row in rows.map_err(sqlite)? {
            each(row.map_err(sqlite)?)?;
        }
        Ok(())
    }

    /// Writes messages, and forgets those that a room with `history_max` has forgotten.
    fn write(&mut self, batch: &[StoredMessage], history_max: usize) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        {
            let mut insert = transaction.prepare(
                "INSERT INTO messages (room, id, sender, message, sent_at_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?;
            let mut forget =
                transaction.prepare("DELETE FROM messages WHERE room = ?1 AND id <= ?2")?;
            for stored in batch {
                let Utterance { from, message } = &stored.said;
                // Numbers count from 1: 2⁶³ of them are never reached.
                let id = stored.id as i64;
                insert.execute(params![stored.room, id, from, message, stored.sent_at_ms])?;
                forget.execute(params![stored.room, id.saturating_sub(history_max as i64)])?;
            }
        }
        transaction.commit()
    }

    /// Starts the thread that writes, until [`Writer::end`]. `failing` is set as long as writing
    /// fails; `published` is called when rooms have news.
    pub(super) fn start(
        mut self,
        history_max: usize,
        failing: Arc<AtomicBool>,
        published: impl Fn() + Send + 'static,
    ) -> Result<(Writer, JoinHandle<()>), StoreError> {
        let (tasks, mut waiting) = mpsc::channel(WAITING_MAX);
        let thread = std::thread::Builder::new().name("store".to_owned());
        let write = move || {
            let mut batch = Vec::with_capacity(BATCH_MAX);
            let mut ended = false;
            while !ended && waiting.blocking_recv_many(&mut batch, BATCH_MAX) > 0 {
                let jobs = batch.drain(..).filter_map(|task| match task {
                    Task::Write(job) => Some(job),
                    Task::End => {
                        ended = true;
                        None
                    }
                });
                self.write_batch(jobs, history_max, &failing);
                published();
            }
        };
        let thread = thread.spawn(write).map_err(StoreError::Thread)?;
        Ok((Writer { tasks }, thread))
    }

    fn write_batch(
        &mut self,
        jobs: impl Iterator<Item = Job>,
        history_max: usize,
        failing: &AtomicBool,
    ) {
        // Nobody else publishes in any room, so numbers follow from its head.
        let mut heads: HashMap<u32, u64> = HashMap::new();
        let mut batch = Vec::new();
        let mut waiting = Vec::new();
        for Job { room, said, done } in jobs {
            let head = heads.entry(room.id).or_insert_with(|| room.head());
            *head += 1;
            batch.push(StoredMessage {
                room: room.name.to_string(),
                id: *head,
                said,
                sent_at_ms: wall_ms(),
            });
            waiting.push((room, done));
        }
        let written = self.write(&batch, history_max).is_ok();
        failing.store(!written, Ordering::Relaxed);
        for (stored, (room, done)) in batch.iter().zip(waiting) {
            if written {
                let StoredMessage { id, said, sent_at_ms, .. } = stored;
                room.publish(|_| Message::new(&room.name, *id, said, *sent_at_ms));
            }
            // The speaker may be gone.
            let _ = done.send(if written { Ok(stored.id) } else { Err(RequestError::Store) });
        }
    }
}

impl Writer {
    /// Hands a message over; its number comes when it is stored.
    pub(super) fn speak(
        &self,
        room: Arc<Room>,
        said: Utterance,
    ) -> Result<oneshot::Receiver<Result<u64, RequestError>>, RequestError> {
        let (done, number) = oneshot::channel();
        let job = Job { room, said, done };
        let task = Task::Write(job);
        self.tasks.try_send(task).map_err(|_| RequestError::Busy)?;
        Ok(number)
    }

    /// Ends the thread when it has written what it was given.
    pub(super) async fn end(&self) {
        // If it is gone, it has ended.
        let _ = self.tasks.send(Task::End).await;
    }
}

#[cfg(test)]
mod tests;
