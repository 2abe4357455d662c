//! Connections to one server: each on a thread of its own that calls are handed to, or one that whoever calls uses.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::link::{Failure, Limit, Link, Session, Target, late, unavailable};
use super::metrics::Call;
use super::now;
use super::open::OpenError;
use crate::transactions::StoreError;

/// Calls that may wait for a connection.
const WAITING_MAX: usize = 16 * 1024;
/// A connection that was idle for this time is checked.
const IDLE: Duration = Duration::from_secs(1);

/// A call that waits: it is run on a connection, or is dropped, which refuses it.
type Job = Box<dyn FnOnce(&mut Link) + Send>;

/// Threads with a connection each.
pub(super) struct Pool {
    target: Target,
    shared: Arc<PoolState>,
}

/// State that the threads share.
struct PoolState {
    queue: Mutex<Queue>,
    /// There is something in the queue, or an end.
    ready: Condvar,
    /// Threads that have a connection.
    able: AtomicUsize,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    ended: bool,
}

impl Pool {
    /// Starts a thread for each connection.
    pub(super) fn start(target: Target, links: Vec<Link>) -> Result<Self, OpenError> {
        let shared = Arc::new(PoolState {
            queue: Mutex::default(),
            ready: Condvar::new(),
            able: AtomicUsize::new(links.len()),
        });
        // Dropped on failure, which ends the threads that were started.
        let pool = Self { target, shared };
        for link in links {
            let shared = Arc::clone(&pool.shared);
            std::thread::Builder::new()
                .name("store".to_owned())
                .spawn(move || shared.work(link))
                .map_err(|error| OpenError::Thread(error.to_string()))?;
        }
        Ok(pool)
    }

    /// Whether any thread has a connection.
    pub(super) fn is_able(&self) -> bool {
        self.shared.able.load(Ordering::Relaxed) > 0
    }

    /// Calls that wait for a connection.
    pub(super) fn waiting(&self) -> usize {
        self.shared.queue().jobs.len()
    }

    /// Runs a transaction on the next free connection.
    pub(super) async fn call<T, W>(
        &self,
        call: Call,
        limit: Limit,
        mut work: W,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnMut(&mut Session<'_>) -> Result<T, Failure> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let job = move |link: &mut Link| {
            // Who gave up is gone: then nothing is begun.
            if !answer.is_closed() {
                drop(answer.send(link.run(call, limit, &mut work)));
            }
        };
        self.hand_over(Box::new(job))?;
        match tokio::time::timeout_at(limit.deadline.into(), answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(unavailable("there is no connection to the store")),
            Err(_) => Err(late()),
        }
    }

    fn hand_over(&self, job: Job) -> Result<(), StoreError> {
        if !self.is_able() {
            return Err(unavailable("there is no connection to the store"));
        }
        let mut queue = self.shared.queue();
        if queue.jobs.len() >= WAITING_MAX {
            self.target.metrics.full.add(1);
            return Err(unavailable("too many requests wait for the store"));
        }
        queue.jobs.push_back(job);
        drop(queue);
        self.shared.ready.notify_one();
        Ok(())
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.queue().ended = true;
        self.shared.ready.notify_all();
    }
}

/// The next work of a thread.
enum Next {
    Job(Job),
    Idle,
    End,
}

impl PoolState {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // A queue is whole between any two statements here.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, mut link: Link) {
        loop {
            if !link.restore() {
                if !self.wait_for_connection(&mut link) {
                    return;
                }
                continue;
            }
            match self.next() {
                Next::Job(job) => job(&mut link),
                Next::Idle => link.check(),
                Next::End => return,
            }
        }
    }

    fn next(&self) -> Next {
        let queue = self.queue();
        let nothing = |queue: &mut Queue| queue.jobs.is_empty() && !queue.ended;
        let waited = self.ready.wait_timeout_while(queue, IDLE, nothing);
        let (mut queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match queue.jobs.pop_front() {
            Some(job) => Next::Job(job),
            None if queue.ended => Next::End,
            None => Next::Idle,
        }
    }

    /// Tries again and again; `false` at the end. Whoever waits for the last connection is refused.
    fn wait_for_connection(&self, link: &mut Link) -> bool {
        self.able.fetch_sub(1, Ordering::Relaxed);
        loop {
            let mut queue = self.queue();
            if self.able.load(Ordering::Relaxed) == 0 {
                queue.jobs.clear();
            }
            let pause = link.until_again();
            let waited = self.ready.wait_timeout_while(queue, pause, |queue| !queue.ended);
            let (queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
            if queue.ended {
                return false;
            }
            drop(queue);
            if link.restore() {
                self.able.fetch_add(1, Ordering::Relaxed);
                return true;
            }
        }
    }
}

/// One connection, which the thread that calls uses itself.
pub(super) struct Single {
    link: Mutex<Option<Link>>,
    free: Condvar,
}

impl Single {
    pub(super) fn new(link: Link) -> Self {
        Self { link: Mutex::new(Some(link)), free: Condvar::new() }
    }

    /// Whether a call has a connection, or would try to make one.
    pub(super) fn is_able(&self) -> bool {
        let link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        link.as_ref().is_none_or(Link::is_able)
    }

    /// Runs a transaction, and blocks this thread until it is answered.
    pub(super) fn call<T>(
        &self,
        call: Call,
        limit: Limit,
        mut work: impl FnMut(&mut Session<'_>) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        let link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        let time_left = limit.deadline.saturating_duration_since(now());
        let waited = self.free.wait_timeout_while(link, time_left, |link| link.is_none());
        let (mut link, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let Some(mut taken) = link.take() else {
            return Err(late());
        };
        drop(link);
        let answer = taken.run(call, limit, &mut work);
        *self.link.lock().unwrap_or_else(PoisonError::into_inner) = Some(taken);
        self.free.notify_one();
        answer
    }
}
