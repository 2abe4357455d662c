//! The thread that queries Redis, and its connection.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use redis::{Connection, RedisError, Value, cmd, pipe};

use super::scripts::{CAMPAIGNS, CHANGED, CHANGES, CONVERTED, MARK, SHOWN};
use super::{CacheState, Command, Keys, Query};
use crate::database;
use crate::request_error::RequestError;

/// Most queries of one message.
const BATCH_MAX: usize = 512;
/// How often what others did is taken over.
const REFRESH: Duration = Duration::from_secs(1);
/// How often the thread looks whether it shall end.
const LOOK: Duration = Duration::from_millis(20);
/// Pauses between attempts to connect, in looks: the first, and the longest.
const PAUSE_FIRST: u32 = 5;
const PAUSE_MAX: u32 = 100;
/// Changed ads that are taken over in one message, and counts that are put back in one.
const ADS_MAX: usize = 4096;
/// How long one process may take to put back what Redis lost, before another does, in seconds.
const LOCK_S: u32 = 30;
/// How long a process waits for that, in looks.
const LOCK_LOOKS: u32 = 100;
/// How long figures of a process are kept that reports no more, in seconds.
const FIGURES_S: u32 = 3600;

/// The thread's own.
pub(super) struct RedisThread {
    shared: Arc<CacheState>,
    queries: Receiver<Query>,
    connection: Option<Connection>,
    /// The last change that was taken over.
    seen: i64,
}

/// Why Redis is of no use now: for people, without secrets.
type Reason = String;

impl RedisThread {
    /// With a connection, and all counts in their place.
    pub(super) fn connect(
        shared: Arc<CacheState>,
        queries: Receiver<Query>,
    ) -> Result<RedisThread, Reason> {
        let mut thread = RedisThread { shared, queries, connection: None, seen: 0 };
        thread.open()?;
        Ok(thread)
    }

    pub(super) fn work(mut self) {
        while self.connection.is_some() || self.connect_again() {
            if !self.turn() {
                return;
            }
        }
    }

    /// Answers queries until it is time to take over what others did; false at the end.
    fn turn(&mut self) -> bool {
        let begun = now();
        while begun.elapsed() < REFRESH {
            let first = match self.queries.recv_timeout(LOOK) {
                Ok(query) => query,
                Err(RecvTimeoutError::Timeout) if !self.shared.ending.load(Ordering::Relaxed) => {
                    continue;
                }
                Err(_) => {
                    // Other processes shall know how this one ended.
                    let _ = self.settle().and_then(|()| self.refresh());
                    return false;
                }
            };
            let mut batch = vec![first];
            while batch.len() < BATCH_MAX
                && let Ok(query) = self.queries.try_recv()
            {
                batch.push(query);
            }
            self.shared.waiting.fetch_sub(batch.len(), Ordering::Relaxed);
            if !self.answer(batch) {
                return true;
            }
        }
        if self.settle().and_then(|()| self.refresh()).is_err() {
            self.lose();
        }
        true
    }

    /// Sends the queries, and hands the answers on; false when the connection was lost.
    fn answer(&mut self, mut batch: Vec<Query>) -> bool {
        // A caller that gave up wants no answer any more, but what was begun is ended.
        batch.retain(|query| !query.done.is_closed() || query.command.script.must_be());
        let message = message(batch.iter().map(|query| &query.command));
        let answers: Result<Vec<Value>, RedisError> = match &mut self.connection {
            Some(connection) if !batch.is_empty() => message.query(connection),
            _ => return true,
        };
        let Ok(answers) = answers else {
            // What of it was done nobody knows.
            for Query { command, done } in batch {
                self.shared.owe(command.amends());
                // The requester may be gone.
                let _ = done.send(Err(RequestError::Cache));
            }
            self.lose();
            return false;
        };
        let mut is_whole = true;
        let mark = self.shared.keys().mark.clone();
        for (query, answer) in batch.into_iter().zip(answers) {
            let answer = match answer {
                Value::Array(all) if all.first() == Some(&Value::Int(-1)) => {
                    // What was requested before the last connection was made means another run.
                    is_whole &= query.command.values.first() != Some(&mark);
                    Err(RequestError::Cache)
                }
                answer => Ok(answer),
            };
            if query.done.send(answer).is_err() {
                // The request was refused meanwhile.
                self.shared.owe(query.command.amends());
            }
        }
        if !is_whole || self.settle().is_err() {
            // It is there and has forgotten, what is needed is put back as after a loss; or it is lost.
            self.lose();
            return false;
        }
        true
    }

    /// Does what is owed. What cannot be sent now stays, for twice is as good as once.
    fn settle(&mut self) -> Result<(), RedisError> {
        let Some(connection) = &mut self.connection else {
            return Ok(());
        };
        loop {
            let some: Vec<Command> = self.shared.owed().iter().take(BATCH_MAX).cloned().collect();
            if some.is_empty() {
                return Ok(());
            }
            // Where the counts are others by now, they never had it.
            message(&some).exec(connection)?;
            // Nobody else takes any away, and more are put behind these.
            self.shared.owed().drain(..some.len());
        }
    }

    fn lose(&mut self) {
        if self.connection.take().is_some() {
            self.shared.figures.open.store(0, Ordering::Relaxed);
            self.shared.figures.lost.add(1);
        }
    }

    /// Connects again, however long that takes; false at the end.
    fn connect_again(&mut self) -> bool {
        let mut pause = 0;
        loop {
            // Queries that come meanwhile are refused.
            for _ in 0..pause {
                refuse_for(LOOK, &self.queries, |query| refuse(&self.shared, query));
                if self.shared.ending.load(Ordering::Relaxed) {
                    return false;
                }
            }
            if self.open().is_ok() {
                self.shared.figures.renewed.add(1);
                return true;
            }
            pause = (pause * 2).clamp(PAUSE_FIRST, PAUSE_MAX);
        }
    }

    fn open(&mut self) -> Result<(), Reason> {
        let settings = &self.shared.settings;
        let reported = |error: RedisError| match error.is_timeout() {
            true => "no answer in time".to_owned(),
            false => settings.address.redis_problem(&error),
        };
        let client = settings.address.redis_client();
        let client = client.map_err(|error| error.to_string())?;
        let mut connection = client.get_connection_with_timeout(settings.wait).map_err(reported)?;
        connection
            .set_read_timeout(Some(settings.wait))
            .and_then(|()| connection.set_write_timeout(Some(settings.wait)))
            .map_err(reported)?;
        let keys = Arc::new(Keys::for_run(settings, &run(&mut connection).map_err(reported)?));
        self.put_back(&mut connection, &keys)?;
        *self.shared.keys.lock().unwrap_or_else(PoisonError::into_inner) = keys;
        // Another process may have put back less than what was seen.
        self.seen = 0;
        self.shared.inventory.forget();
        self.connection = Some(connection);
        self.settle().and_then(|()| self.refresh()).map_err(|error| {
            self.connection = None;
            self.shared.settings.address.redact(&error.to_string())
        })?;
        self.shared.figures.open.store(1, Ordering::Relaxed);
        Ok(())
    }

    /// Sees that Redis has the counts; where it has not, one process puts them back and the others wait.
    /// One that was restarted may have old ones, so that its run stands in the mark.
    fn put_back(&self, connection: &mut Connection, keys: &Keys) -> Result<(), Reason> {
        let settings = &self.shared.settings;
        let redacted = |error: RedisError| settings.address.redact(&error.to_string());
        let mark = keys.name(MARK);
        let lock = keys.name("lock");
        for _ in 0..LOCK_LOOKS {
            let found: Option<String> =
                cmd("GET").arg(&mark).query(connection).map_err(redacted)?;
            if found.as_ref() == Some(&keys.mark) {
                return Ok(());
            }
            let ours: Option<String> = cmd("SET")
                .arg(&lock)
                .arg(settings.registration.process)
                .arg("NX")
                .arg("EX")
                .arg(LOCK_S)
                .query(connection)
                .map_err(redacted)?;
            if ours.is_some() {
                let put = self.put_counts(connection, keys);
                // What cannot be removed goes by itself.
                let _ = cmd("DEL").arg(&lock).exec(connection);
                return put;
            }
            std::thread::park_timeout(LOOK);
        }
        Err("another process takes too long to put back what it lost".to_owned())
    }

    fn put_counts(&self, connection: &mut Connection, keys: &Keys) -> Result<(), Reason> {
        let CacheState { settings, inventory, .. } = &*self.shared;
        let redacted = |error: RedisError| settings.address.redact(&error.to_string());
        let known = database::connect(&settings.store, settings.wait)
            .and_then(|mut sql| database::performance(&mut *sql))
            .map_err(|trouble| format!("the database cannot be read: {trouble}"))?;
        let name = |what| keys.name(what);
        let mut clean = cmd("DEL");
        for what in super::scripts::COUNTS {
            clean.arg(name(what));
        }
        clean.exec(connection).map_err(redacted)?;
        let mut change = 0_i64;
        for some in known.chunks(ADS_MAX) {
            let mut message = pipe();
            for (ad, shown, converted) in some {
                change += 1;
                let campaign = inventory.campaign(*ad);
                message.cmd("HINCRBY").arg(name(CAMPAIGNS)).arg(campaign).arg(*shown);
                message.cmd("HSET").arg(name(SHOWN)).arg(*ad).arg(*shown);
                message.cmd("HSET").arg(name(CONVERTED)).arg(*ad).arg(*converted);
                message.cmd("ZADD").arg(name(CHANGED)).arg(change).arg(*ad);
            }
            message.exec(connection).map_err(redacted)?;
        }
        // With the mark the counts are whole.
        pipe()
            .cmd("SET")
            .arg(name(CHANGES))
            .arg(change)
            .cmd("SET")
            .arg(name(MARK))
            .arg(&keys.mark)
            .exec(connection)
            .map_err(redacted)
    }

    /// Takes over what others did to ads, and exchanges figures.
    fn refresh(&mut self) -> Result<(), RedisError> {
        let Some(connection) = &mut self.connection else {
            return Ok(());
        };
        let inventory = &self.shared.inventory;
        let keys = self.shared.keys();
        loop {
            let changed: Vec<(u32, i64)> = cmd("ZRANGEBYSCORE")
                .arg(keys.name(CHANGED))
                .arg(format!("({}", self.seen))
                .arg("+inf")
                .arg("WITHSCORES")
                .arg("LIMIT")
                .arg(0)
                .arg(ADS_MAX)
                .query(connection)?;
            let Some(&(_, last)) = changed.last() else {
                break;
            };
            let mut message = pipe();
            for what in [SHOWN, CONVERTED] {
                message.cmd("HMGET").arg(keys.name(what));
                for (ad, _) in &changed {
                    message.arg(*ad);
                }
            }
            message.cmd("HMGET").arg(keys.name(CAMPAIGNS));
            for (ad, _) in &changed {
                message.arg(inventory.campaign(*ad));
            }
            type Counts = Vec<Option<i64>>;
            let (shown, converted, campaigns): (Counts, Counts, Counts) =
                message.query(connection)?;
            for (place, (ad, _)) in changed.iter().enumerate() {
                let count = |counts: &Counts| {
                    let count = counts.get(place).copied().flatten().unwrap_or_default();
                    u32::try_from(count.max(0)).unwrap_or(u32::MAX)
                };
                inventory.set_shown(*ad, count(&shown));
                inventory.set_converted(*ad, count(&converted));
                inventory.set_campaign_shown(inventory.campaign(*ad), count(&campaigns));
            }
            self.seen = last;
            if changed.len() < ADS_MAX {
                break;
            }
        }
        self.report_figures()
    }

    /// Processes of one server add up what they count: a request for metrics reaches any of them.
    fn report_figures(&mut self) -> Result<(), RedisError> {
        let (Some(connection), Some(group)) = (&mut self.connection, &self.shared.settings.group)
        else {
            return Ok(());
        };
        let name = self.shared.keys().figures(group);
        let (all,): (Vec<(i64, String)>,) = pipe()
            .cmd("HSET")
            .arg(&name)
            .arg(self.shared.settings.registration.process)
            .arg(self.shared.own.text())
            .ignore()
            .cmd("EXPIRE")
            .arg(&name)
            .arg(FIGURES_S)
            .ignore()
            .cmd("HGETALL")
            .arg(&name)
            .query(connection)?;
        self.shared.reports().extend(all);
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "a server that stands alone has its own clock")]
fn now() -> Instant {
    Instant::now()
}

/// The name of the run that Redis is in, which it draws at each start.
fn run(connection: &mut Connection) -> Result<String, RedisError> {
    let text: String = cmd("INFO").arg("server").query(connection)?;
    let run = text.lines().find_map(|thread| thread.strip_prefix("run_id:"));
    // Without it nobody knows whether the counts are as new as the database.
    let why = (redis::ErrorKind::UnexpectedReturnType, "INFO has no run_id");
    run.map(str::to_owned).ok_or_else(|| why.into())
}

/// Commands as one message.
fn message<'a>(commands: impl IntoIterator<Item = &'a Command>) -> redis::Pipeline {
    let mut message = pipe();
    for Command { script, keys, values } in commands {
        message.cmd("EVAL").arg(script.text()).arg(keys.len());
        message.arg(keys).arg(values);
    }
    message
}

/// Refuses all queries that arrive within a time.
fn refuse_for(time: Duration, queries: &Receiver<Query>, refuse: impl Fn(Query)) {
    let until = now() + time;
    loop {
        let left = until.saturating_duration_since(now());
        match queries.recv_timeout(left) {
            Ok(query) => refuse(query),
            Err(_) => return,
        }
        if left.is_zero() {
            return;
        }
    }
}

/// Refuses what was not sent; what must be done is kept.
fn refuse(shared: &CacheState, query: Query) {
    shared.waiting.fetch_sub(1, Ordering::Relaxed);
    if query.command.script.must_be() {
        shared.owe([query.command]);
    }
    // The requester may be gone.
    let _ = query.done.send(Err(RequestError::Cache));
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize};
    use std::sync::mpsc::sync_channel;

    use tokio::sync::oneshot;

    use super::*;
    use crate::cache::scripts::Script;

    #[test]
    fn refusing_ends_in_time_though_queries_never_do() {
        let (sending, queries) = sync_channel(16);
        let waiting = AtomicUsize::new(0);
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let (done, _) = oneshot::channel();
                    let command =
                        Command { script: Script::Get, keys: Vec::new(), values: Vec::new() };
                    let query = Query { command, done };
                    waiting.fetch_add(1, Ordering::Relaxed);
                    if sending.try_send(query).is_err() {
                        waiting.fetch_sub(1, Ordering::Relaxed);
                    }
                }
            });
            refuse_for(LOOK, &queries, |query| {
                waiting.fetch_sub(1, Ordering::Relaxed);
                // The requester has stopped waiting.
                drop(query);
            });
            over.store(true, Ordering::Relaxed);
        });
        while queries.try_recv().is_ok() {
            waiting.fetch_sub(1, Ordering::Relaxed);
        }
        assert_eq!(waiting.load(Ordering::Relaxed), 0);
    }
}
