//! Connections to a database, each on a thread of its own, which blocks as it likes.
//!
//! Requests hand over what is to be done, and wait for it as long as they may. A connection that is
//! lost is restored, at once and then ever more rarely; while there is none, who waits is refused.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

use super::connect;
use super::tables::{self, DatabaseError, Registration, Tables};
use crate::link::LinkFigures;
use crate::offers::Offer;
use crate::record::Record;
use crate::request_error::RequestError;
use server::database::{ServerAddress, Sql, SqlError, connect_all};

/// Most tasks that wait for a connection.
const WAITING_MAX: usize = 16 * 1024;
/// Most records of one transaction, where nobody waits for each.
const BATCH_MAX: usize = 1024;
/// How often a thread that waits looks whether it shall end.
const LOOK: Duration = Duration::from_millis(20);
/// How often it is tried whether a database that refused takes records again, in looks.
const TRY: u32 = 50;
/// Pauses between attempts to connect, in looks: the first, and the longest.
const PAUSE_FIRST: u32 = 5;
const PAUSE_MAX: u32 = 100;
/// How often a transaction is tried again that others got in the way of.
const CONTENDED_MAX: u32 = 10;

/// How a pool is run.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) address: ServerAddress,
    /// Connections, at least 1.
    pub(crate) connections: usize,
    /// How long a request waits for what it requested, and a connection for an answer.
    pub(crate) wait: Duration,
    /// Whether requests wait for their records. Each is a transaction of its own then.
    pub(crate) sync: bool,
    /// Whether this server has the database for itself.
    pub(crate) alone: bool,
}

/// The figures and flags with which a pool reports its state.
pub(crate) struct Reports {
    pub(crate) figures: Arc<LinkFigures>,
    /// Set as long as records cannot be stored.
    pub(crate) failing: Arc<AtomicBool>,
    /// How many records that nobody waited for could not be stored.
    pub(crate) lost: Box<dyn Fn(u64) + Send + Sync>,
}

/// Sends the result of a task to its caller, who may be gone.
type ResultSender<T> = oneshot::Sender<Result<T, RequestError>>;

#[derive(Debug)]
enum Task {
    /// Without somebody who waits it is stored as soon as that is possible.
    Write(Record, Option<ResultSender<()>>),
    Find(u64, ResultSender<Option<Offer>>),
}

/// The app servers' end.
pub(crate) struct Pool {
    tasks: SyncSender<Task>,
    shared: Arc<PoolState>,
}

/// State that the threads share.
struct PoolState {
    settings: Settings,
    reports: Reports,
    waiting: AtomicUsize,
    ending: AtomicBool,
    tasks: Mutex<Receiver<Task>>,
}

impl Pool {
    /// Opens the database, where its tables are made should it be empty, and all connections.
    ///
    /// # Errors
    /// When it cannot be reached or used.
    pub(crate) fn start(
        settings: Settings,
        tables: Tables,
        reports: Reports,
    ) -> Result<(Pool, Registration, Vec<JoinHandle<()>>), DatabaseError> {
        let connect = || connect(&settings.address, settings.wait);
        let mut first = connect()?;
        let registration = tables::begin(&mut *first, tables, settings.alone)?;
        // The first one may hold the database, so it stays.
        let others = connect_all(settings.connections.saturating_sub(1), connect)?;
        let sessions: Vec<_> = std::iter::once(first).chain(others).collect();
        let (tasks, waiting) = sync_channel(WAITING_MAX);
        reports.figures.open.store(sessions.len(), Ordering::Relaxed);
        let shared = Arc::new(PoolState {
            settings,
            reports,
            waiting: AtomicUsize::new(0),
            ending: AtomicBool::new(false),
            tasks: Mutex::new(waiting),
        });
        let threads = sessions.into_iter().enumerate().map(|(number, session)| {
            let thread = PoolThread {
                shared: Arc::clone(&shared),
                holds: number == 0 && shared.settings.alone,
                session: Some(session),
            };
            std::thread::Builder::new()
                .name("database".to_owned())
                .spawn(move || thread.work())
                .map_err(|error| DatabaseError::Sql(format!("a thread cannot be started: {error}")))
        });
        let threads = threads.collect::<Result<_, _>>();
        let pool = Pool { tasks, shared };
        match threads {
            Ok(threads) => Ok((pool, registration, threads)),
            Err(error) => {
                pool.end();
                Err(error)
            }
        }
    }

    /// Has a record stored; where requests wait for theirs, not before it is.
    pub(crate) async fn write(&self, record: Record) -> Result<(), RequestError> {
        if !self.shared.settings.sync {
            return self.hand_over(Task::Write(record, None));
        }
        let (done, is_done) = oneshot::channel();
        self.hand_over(Task::Write(record, Some(done)))?;
        self.wait(is_done).await
    }

    /// An offer that was recorded.
    pub(crate) async fn find(&self, id: u64) -> Result<Option<Offer>, RequestError> {
        let (done, is_done) = oneshot::channel();
        self.hand_over(Task::Find(id, done))?;
        self.wait(is_done).await
    }

    fn hand_over(&self, task: Task) -> Result<(), RequestError> {
        self.shared.waiting.fetch_add(1, Ordering::Relaxed);
        self.tasks.try_send(task).map_err(|_| {
            self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
            RequestError::Busy
        })
    }

    /// A query whose requester has stopped waiting is not begun.
    async fn wait<T>(
        &self,
        done: oneshot::Receiver<Result<T, RequestError>>,
    ) -> Result<T, RequestError> {
        match tokio::time::timeout(self.shared.settings.wait, done).await {
            Ok(answer) => answer.unwrap_or(Err(RequestError::Store)),
            Err(_) => {
                self.shared.reports.figures.timeouts.add(1);
                Err(RequestError::Busy)
            }
        }
    }

    /// How much waits.
    pub(crate) fn waiting(&self) -> usize {
        self.shared.waiting.load(Ordering::Relaxed)
    }

    /// Ends the threads when they have done what they were given, as far as that is possible.
    pub(crate) fn end(&self) {
        self.shared.ending.store(true, Ordering::Relaxed);
    }
}

impl PoolState {
    fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Relaxed)
    }

    /// The next tasks; none where it is time to try whether records can be stored again. `None` at the end.
    fn next(&self) -> Option<Vec<Task>> {
        // A thread that waits here waits for all: the others wait for their turn to wait.
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let mut looks = 0;
        let first = loop {
            // At the end nothing comes any more: all threads look at once whether something is left.
            let pause = if self.is_ending() { Duration::ZERO } else { LOOK };
            match tasks.recv_timeout(pause) {
                Ok(task) => break task,
                Err(RecvTimeoutError::Timeout) if !self.is_ending() => {
                    looks += 1;
                    if looks >= TRY && self.reports.failing.load(Ordering::Relaxed) {
                        return Some(Vec::new());
                    }
                }
                Err(_) => return None,
            }
        };
        let mut batch = vec![first];
        while !self.settings.sync && batch.len() < BATCH_MAX {
            match tasks.try_recv() {
                Ok(task) => batch.push(task),
                Err(_) => break,
            }
        }
        drop(tasks);
        self.waiting.fetch_sub(batch.len(), Ordering::Relaxed);
        Some(batch)
    }

    /// Refuses who waits, while no connection is there. What nobody waits for stays, until the end.
    fn refuse(&self) {
        let gives_up = self.is_ending();
        if self.reports.figures.open.load(Ordering::Relaxed) > 0
            || !(self.settings.sync || gives_up)
        {
            return;
        }
        let Ok(tasks) = self.tasks.try_lock() else {
            return;
        };
        while let Ok(task) = tasks.try_recv() {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            self.fail(task);
        }
    }

    fn fail(&self, task: Task) {
        match task {
            // The requester may be gone.
            Task::Write(_, Some(done)) => drop(done.send(Err(RequestError::Store))),
            Task::Write(_, None) => (self.reports.lost)(1),
            Task::Find(_, done) => drop(done.send(Err(RequestError::Store))),
        }
    }
}

/// A thread with its connection.
struct PoolThread {
    shared: Arc<PoolState>,
    /// Whether its connection holds the database for this server alone.
    holds: bool,
    session: Option<Box<dyn Sql + Send>>,
}

impl PoolThread {
    fn work(mut self) {
        while self.session.is_some() || self.connect_again() {
            let Some(batch) = self.shared.next() else {
                return;
            };
            match batch.is_empty() {
                true => self.try_out(),
                false => self.carry_out(batch),
            }
        }
    }

    /// Connects again, however long that takes; false when there is nothing left to make it
    /// for.
    fn connect_again(&mut self) -> bool {
        let mut pause = PAUSE_FIRST;
        loop {
            // At the end nothing is waited for a second time.
            if !self.shared.is_ending() && self.connect() {
                return true;
            }
            if self.shared.reports.figures.open.load(Ordering::Relaxed) == 0 {
                self.report(false);
            }
            for _ in 0..pause {
                self.shared.refuse();
                if self.shared.is_ending() {
                    return false;
                }
                std::thread::park_timeout(LOOK);
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    fn connect(&mut self) -> bool {
        let settings = &self.shared.settings;
        let Ok(mut session) = connect(&settings.address, settings.wait) else {
            return false;
        };
        if self.holds && tables::hold(&mut *session).is_err() {
            return false;
        }
        self.session = Some(session);
        self.shared.reports.figures.open.fetch_add(1, Ordering::Relaxed);
        self.shared.reports.figures.renewed.add(1);
        self.report(true);
        true
    }

    fn lose(&mut self) {
        if self.session.take().is_some() {
            self.shared.reports.figures.open.fetch_sub(1, Ordering::Relaxed);
            self.shared.reports.figures.lost.add(1);
        }
    }

    /// Does something with the connection; one that was lost, for it had long been idle or its server
    /// was restarted, is restored once.
    fn attempt<T>(
        &mut self,
        mut what: impl FnMut(&mut dyn Sql) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let mut renewed = false;
        let mut contended = 0;
        loop {
            let Some(session) = &mut self.session else {
                return Err(SqlError::Lost("there is no connection".to_owned()));
            };
            match what(&mut **session) {
                Err(SqlError::Contended) if contended < CONTENDED_MAX => contended += 1,
                Err(SqlError::Lost(why)) => {
                    self.lose();
                    if renewed || !self.connect() {
                        return Err(SqlError::Lost(why));
                    }
                    renewed = true;
                }
                done => return done,
            }
        }
    }

    fn carry_out(&mut self, batch: Vec<Task>) {
        let mut records = Vec::new();
        for task in batch {
            match task {
                Task::Find(_, done) if done.is_closed() => {}
                Task::Find(id, done) => {
                    let found = self.attempt(|sql| tables::find(sql, id));
                    let _ = done.send(found.map_err(|_| RequestError::Store));
                }
                Task::Write(_, Some(done)) if done.is_closed() => {}
                Task::Write(record, Some(done)) => {
                    let written = self.write(&[record]);
                    let _ = done.send(written.map_err(|_| RequestError::Store));
                }
                Task::Write(record, None) => records.push(record),
            }
        }
        if !records.is_empty() {
            self.write_later(&records);
        }
    }

    /// Records that nobody waits for are kept until there is a connection again.
    fn write_later(&mut self, records: &[Record]) {
        loop {
            match self.write(records) {
                Ok(()) => return,
                Err(SqlError::Lost(_)) if self.connect_again() => {}
                Err(SqlError::Contended) if !self.shared.is_ending() => {}
                // One of them is there already, or cannot be stored: the others can.
                Err(SqlError::Duplicate | SqlError::Refused(_)) if records.len() > 1 => {
                    return records.chunks(1).for_each(|record| self.write_later(record));
                }
                Err(_) => return (self.shared.reports.lost)(records.len() as u64),
            }
        }
    }

    /// Tries whether records can be stored: whoever watches that may send none until they can.
    fn try_out(&mut self) {
        let tried = self.attempt(tables::try_out);
        self.report(tried.is_ok());
    }

    fn report(&self, is_well: bool) {
        let failing = &self.shared.reports.failing;
        failing.store(!is_well, Ordering::Relaxed);
    }

    fn write(&mut self, records: &[Record]) -> Result<(), SqlError> {
        let mut written = self.attempt(|sql| tables::write(sql, records));
        // Stored before a connection was lost that could not report it any more.
        if records.len() == 1 && written == Err(SqlError::Duplicate) {
            written = Ok(());
        }
        self.report(written.is_ok());
        written
    }
}
