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

use super::message::{Message, Said};
use super::request_error::RequestError;
use super::room::Room;
use server::database::{OpenError, SqliteFile};
use server::wall_ms;

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
        /// What the file says.
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
pub(super) struct Stored {
    pub(super) room: String,
    pub(super) id: u64,
    pub(super) said: Said,
    pub(super) sent_at_ms: f64,
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
    said: Said,
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
        let connection = SqliteFile {
            application: APPLICATION,
            version: VERSION,
            tables: TABLES,
        }
        .open(path)?;
        Ok(Self { connection })
    }

    /// Gives every message to `each`, room by room and in order.
    pub(super) fn read<E: From<StoreError>>(
        &self,
        mut each: impl FnMut(Stored) -> Result<(), E>,
    ) -> Result<(), E> {
        let sqlite = |error| E::from(StoreError::Sqlite(error));
        let query = "SELECT room, id, sender, message, sent_at_ms FROM messages ORDER BY room, id";
        let mut query = self.connection.prepare(query).map_err(sqlite)?;
        let rows = query.query_map([], |row| {
            Ok(Stored {
                room: row.get(0)?,
                id: row.get::<_, i64>(1)?.unsigned_abs(),
                said: Said {
                    from: row.get(2)?,
                    message: row.get(3)?,
                },
                sent_at_ms: row.get(4)?,
            })
        });
        for row in rows.map_err(sqlite)? {
            each(row.map_err(sqlite)?)?;
        }
        Ok(())
    }

    /// Writes messages, and forgets those that a room with `history_max` has forgotten.
    fn write(&mut self, batch: &[Stored], history_max: usize) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        {
            let mut insert = transaction.prepare(
                "INSERT INTO messages (room, id, sender, message, sent_at_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?;
            let mut forget =
                transaction.prepare("DELETE FROM messages WHERE room = ?1 AND id <= ?2")?;
            for stored in batch {
                let Said { from, message } = &stored.said;
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
        let (mut batch, mut waiting) = (Vec::new(), Vec::new());
        for Job { room, said, done } in jobs {
            let head = heads.entry(room.id).or_insert_with(|| room.head());
            *head += 1;
            batch.push(Stored {
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
                let Stored {
                    id,
                    said,
                    sent_at_ms,
                    ..
                } = stored;
                room.publish(Message::new(&room.name, *id, said, *sent_at_ms));
            }
            // Whoever spoke may be gone.
            let _ = done.send(if written {
                Ok(stored.id)
            } else {
                Err(RequestError::Store)
            });
        }
    }
}

impl Writer {
    /// Hands a message over; its number comes when it is stored.
    pub(super) fn speak(
        &self,
        room: Arc<Room>,
        said: Said,
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
mod tests {
    use super::*;

    fn read(store: &Store) -> Vec<(String, u64, String)> {
        let mut all = Vec::new();
        let each = |stored: Stored| {
            all.push((stored.room, stored.id, stored.said.message));
            Ok::<_, StoreError>(())
        };
        store.read(each).unwrap();
        all
    }

    fn stored(room: &str, id: u64) -> Stored {
        Stored {
            room: room.into(),
            id,
            said: Said {
                message: format!("{room}{id}"),
                from: String::new(),
            },
            sent_at_ms: 0.5,
        }
    }

    #[test]
    fn what_was_written_is_read_again_and_old_messages_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chat.sqlite");
        let mut store = Store::open(&path).unwrap();
        let batch: Vec<_> = (1..=3).map(|id| stored("b", id)).collect();
        store.write(&batch, 2).unwrap();
        store.write(&[stored("a", 1)], 2).unwrap();
        // A number is given once.
        assert!(store.write(&[stored("b", 4), stored("a", 1)], 2).is_err());
        drop(store);
        let found = read(&Store::open(&path).unwrap());
        let expected = [("a", 1, "a1"), ("b", 2, "b2"), ("b", 3, "b3")];
        let expected = expected.map(|(room, id, text)| (room.to_owned(), id, text.to_owned()));
        assert_eq!(found, expected);
    }

    #[test]
    fn files_of_others_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("text");
        std::fs::write(&text, "not a database, and long enough to be looked at").unwrap();
        assert!(matches!(Store::open(&text), Err(StoreError::Sqlite(_))));

        let other = folder.path().join("other.sqlite");
        let connection = Connection::open(&other).unwrap();
        connection.execute_batch("CREATE TABLE a (b)").unwrap();
        drop(connection);
        assert!(matches!(Store::open(&other), Err(StoreError::NotOurs)));

        let newer = folder.path().join("newer.sqlite");
        drop(Store::open(&newer).unwrap());
        let connection = Connection::open(&newer).unwrap();
        connection.execute_batch("PRAGMA user_version = 9").unwrap();
        drop(connection);
        let found = Store::open(&newer).err();
        assert!(matches!(found, Some(StoreError::Version { found: 9 })));
    }

    #[test]
    fn a_store_is_for_one_server() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chat.sqlite");
        let _first = Store::open(&path).unwrap();
        assert!(matches!(Store::open(&path), Err(StoreError::Sqlite(_))));
    }

    #[test]
    fn what_cannot_be_stored_is_not_published() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("chat.sqlite")).unwrap();
        // The number that is next in a room that knows nothing of it.
        store.write(&[stored("lobby", 1)], 9).unwrap();
        let room = Arc::new(Room::new(0, "lobby", 9));
        let failing = Arc::new(AtomicBool::new(false));
        let (writer, thread) = store.start(9, Arc::clone(&failing), || ()).unwrap();
        let said = stored("lobby", 1).said;
        let number = writer.speak(Arc::clone(&room), said.clone()).unwrap();
        assert_eq!(number.blocking_recv().unwrap(), Err(RequestError::Store));
        assert_eq!((room.head(), failing.load(Ordering::Relaxed)), (0, true));
        // Others are not held up.
        let other = Arc::new(Room::new(1, "other", 9));
        let number = writer.speak(Arc::clone(&other), said.clone()).unwrap();
        assert_eq!(number.blocking_recv().unwrap(), Ok(1));
        assert_eq!((other.head(), failing.load(Ordering::Relaxed)), (1, false));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(writer.end());
        thread.join().unwrap();
        assert_eq!(writer.speak(other, said).err(), Some(RequestError::Busy));
    }
}
