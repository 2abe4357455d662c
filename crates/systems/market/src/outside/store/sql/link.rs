//! One connection to a database server, and how a call runs on it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::metrics::{Call, CallMetrics, ServerMetrics, SqlMetrics};
use super::now;
use super::open::Row;
use crate::transactions::StoreError;
use server::database::{ServerAddress, Sql, SqlError, Value};

/// How connections introduce themselves.
const APPLICATION: &str = "throng-market";
/// Pauses between attempts to connect: the first, and the longest.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// How much longer than a request a transaction may be idle before its server ends it: its process then hangs. Those
/// of more patient calls may be idle for this time at least, in which they share out what a pool pays.
const IDLE_FACTOR: u32 = 4;
const PATIENT_IDLE_MIN: Duration = Duration::from_secs(20);
/// How often a transaction is repeated because of others.
const RETRIES_MAX: u32 = 10;

/// Which of the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Master,
    Replica,
}

impl Role {
    /// Metrics of this server.
    pub(super) fn metrics(self, all: &SqlMetrics) -> &ServerMetrics {
        match self {
            Self::Master => &all.master,
            Self::Replica => &all.replica,
        }
    }
}

/// Why a transaction did not succeed.
#[derive(Debug)]
pub(super) enum Failure {
    Sql(SqlError),
    /// The time of the transaction is over.
    Late,
    Store(StoreError),
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The answer to a call that came too late.
pub(super) fn late() -> StoreError {
    StoreError::Unavailable("the store did not answer in time".to_owned())
}

/// The destination of a connection.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) address: ServerAddress,
    pub(super) role: Role,
    /// How long a request waits.
    pub(super) wait: Duration,
    pub(super) metrics: Arc<SqlMetrics>,
}

/// How long a call may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    /// When it began.
    pub(super) start: Instant,
    /// It is answered by then.
    pub(super) deadline: Instant,
    /// Each of its statements may take this.
    pub(super) wait: Duration,
}

impl Limit {
    /// From now on.
    pub(super) fn from_now(wait: Duration) -> Self {
        let start = now();
        Self { start, deadline: start + wait, wait }
    }
}

impl Target {
    /// Opens a connection for requests.
    pub(super) fn connect(&self) -> Result<Box<dyn Sql + Send>, SqlError> {
        self.connect_for(self.wait)
    }

    /// Opens a connection on which each statement may take `wait`.
    fn connect_for(&self, wait: Duration) -> Result<Box<dyn Sql + Send>, SqlError> {
        let idle = self.wait * IDLE_FACTOR;
        let idle = match wait > self.wait {
            true => idle.max(server::stretch(PATIENT_IDLE_MIN)),
            false => idle,
        };
        let mut sql = server::database::connect(&self.address, APPLICATION, wait)?;
        super::dialect::prepare(&mut *sql, wait, idle)?;
        self.counts().connected.add(1);
        Ok(sql)
    }

    fn counts(&self) -> &ServerMetrics {
        self.role.metrics(&self.metrics)
    }
}

/// A connection that is renewed when it was lost, at once and then ever more rarely.
pub(super) struct Link {
    target: Target,
    /// How long its statements may take.
    wait: Duration,
    sql: Option<Box<dyn Sql + Send>>,
    /// Whether there ever was a connection.
    opened: bool,
    pause: Duration,
    /// Connecting is not tried again before this time.
    again: Instant,
}

impl Link {
    pub(super) fn new(target: Target, sql: Box<dyn Sql + Send>) -> Self {
        Self { sql: Some(sql), opened: true, ..Self::unopened(target) }
    }

    /// A link whose connection is made when it is needed.
    pub(super) fn unopened(target: Target) -> Self {
        Self {
            wait: target.wait,
            target,
            sql: None,
            opened: false,
            pause: PAUSE_FIRST,
            again: now(),
        }
    }

    /// Whether there is a connection, which is made where it is time to try.
    pub(super) fn restore(&mut self) -> bool {
        if self.sql.is_some() {
            return true;
        }
        if now() < self.again {
            return false;
        }
        match self.target.connect_for(self.wait) {
            Ok(sql) => {
                self.sql = Some(sql);
                self.pause = PAUSE_FIRST;
                if std::mem::replace(&mut self.opened, true) {
                    self.target.counts().renewed.add(1);
                }
                true
            }
            Err(_) => {
                self.again = now() + server::stretch(self.pause);
                self.pause = (self.pause * 2).min(PAUSE_MAX);
                false
            }
        }
    }

    /// Whether a call has a connection, or would try to make one.
    pub(super) fn is_able(&self) -> bool {
        self.sql.is_some() || self.until_again().is_zero()
    }

    /// How long until it is time to try.
    pub(super) fn until_again(&self) -> Duration {
        self.again.saturating_duration_since(now())
    }

    fn lose(&mut self) {
        if self.sql.take().is_some() {
            self.target.counts().lost.add(1);
            self.again = now();
        }
    }

    /// Has statements take this time: the client and the server learn it with the connection.
    fn allow(&mut self, wait: Duration) {
        if self.wait == wait {
            return;
        }
        self.wait = wait;
        if self.sql.take().is_some() {
            self.target.counts().closed.add(1);
            self.opened = false;
            self.again = now();
        }
    }

    /// Looks whether the connection is still there.
    pub(super) fn check(&mut self) {
        if let Some(sql) = &mut self.sql
            && sql.rows("SELECT 1", &[]).is_err()
        {
            self.lose();
        }
    }

    /// Runs a transaction until it succeeds, fails for good, or its time is over. It is repeated only if nothing of
    /// it can have been done.
    pub(super) fn run<T>(
        &mut self,
        call: Call,
        limit: Limit,
        work: &mut dyn FnMut(&mut Session<'_>) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        let mut retries = 0;
        let mut renewed = false;
        let Limit { deadline, wait, .. } = limit;
        self.allow(wait);
        loop {
            let time_left = deadline.saturating_duration_since(now());
            if time_left.is_zero() {
                return Err(late());
            }
            if !self.restore() {
                return Err(unavailable("there is no connection to the store"));
            }
            let Some(sql) = &mut self.sql else {
                return Err(unavailable("there is no connection to the store"));
            };
            let mut session = Session {
                sql: &mut **sql,
                deadline,
                counts: self.target.role.metrics(&self.target.metrics).call(call),
                open: false,
                sent: false,
            };
            let done = work(&mut session);
            let open = session.open;
            let sent = session.sent;
            let failure = match done {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            match &failure {
                Failure::Sql(SqlError::Lost(_)) => self.lose(),
                _ if open => self.roll_back(),
                _ => {}
            }
            match failure {
                Failure::Store(error) => return Err(error),
                Failure::Late => return Err(late()),
                Failure::Sql(SqlError::Contended) if retries < RETRIES_MAX => {
                    retries += 1;
                    self.target.metrics.retried.add(1);
                }
                // A connection that was idle may have been lost long before.
                Failure::Sql(SqlError::Lost(_)) if !sent && !renewed && time_left > wait / 2 => {
                    renewed = true;
                }
                Failure::Sql(error) => return Err(unavailable(&error.to_string())),
            }
        }
    }

    fn roll_back(&mut self) {
        if let Some(sql) = &mut self.sql
            && sql.plain("ROLLBACK").is_err()
        {
            self.lose();
        }
    }
}

/// An error of the store's.
pub(super) fn unavailable(why: &str) -> StoreError {
    StoreError::Unavailable(why.to_owned())
}

/// A call's use of a connection. No statement begins after the call's deadline.
pub(super) struct Session<'a> {
    sql: &'a mut dyn Sql,
    deadline: Instant,
    counts: &'a CallMetrics,
    /// Whether a transaction was begun and not ended.
    open: bool,
    /// Whether something was sent that must not be done twice, and may have been done.
    sent: bool,
}

impl Session<'_> {
    pub(super) fn rows(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Failure> {
        self.begin_statement()?;
        Ok(self.sql.rows(sql, values)?)
    }

    /// The only row of a result.
    pub(super) fn row(&mut self, sql: &str, values: &[Value]) -> Result<Row, Failure> {
        let first = self.rows(sql, values)?.into_iter().next();
        first.ok_or_else(|| SqlError::Refused("a row is missing in the store".to_owned()).into())
    }

    pub(super) fn change(&mut self, sql: &str, values: &[Value]) -> Result<(), Failure> {
        self.begin_statement()?;
        Ok(self.sql.change(sql, values)?)
    }

    /// Changes rows, and says how many.
    pub(super) fn changed(&mut self, sql: &str, values: &[Value]) -> Result<u64, Failure> {
        self.begin_statement()?;
        Ok(self.sql.changed(sql, values)?)
    }

    /// The row of a statement that is a transaction by itself and must not be repeated.
    pub(super) fn once(&mut self, sql: &str, values: &[Value]) -> Result<Row, Failure> {
        // What was not sent was not done.
        if now() < self.deadline {
            self.sent = true;
        }
        self.row(sql, values)
    }

    pub(super) fn begin(&mut self) -> Result<(), Failure> {
        self.begin_statement()?;
        self.sql.plain("BEGIN")?;
        self.open = true;
        Ok(())
    }

    pub(super) fn commit(&mut self) -> Result<(), Failure> {
        self.begin_statement()?;
        self.sent = true;
        self.sql.plain("COMMIT")?;
        self.open = false;
        Ok(())
    }

    /// Ends a transaction that changed nothing.
    pub(super) fn roll_back(&mut self) -> Result<(), Failure> {
        self.begin_statement()?;
        self.sql.plain("ROLLBACK")?;
        self.open = false;
        Ok(())
    }

    fn begin_statement(&mut self) -> Result<(), Failure> {
        if now() >= self.deadline {
            return Err(Failure::Late);
        }
        self.counts.statements.add(1);
        Ok(())
    }
}
