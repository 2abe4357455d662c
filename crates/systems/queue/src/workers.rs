//! The workers: tasks of one thread, each with a connection of its own to the store.
//!
//! A worker takes the next request when its connection is idle, and hands the answer back before it takes another, so
//! that no client can hold a connection. While no worker has a connection, requests are refused at once.

use std::cell::{Cell, RefCell};
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::{Mutex, Notify, oneshot};
use tokio::task::LocalSet;
use tokio::time::sleep;

use server::database::SqlError;

use crate::clock::now;
use crate::jobs::{Job, JobReceiver, JobResult, Outcome};
use crate::listener::listen;
use crate::options::QueueOptions;
use crate::state::State;
use crate::store::{Link, Store, StoreError};
use crate::wire::{Code, Problem, Writer};

/// How long a worker waits before it tries to connect once more; doubled each time up to the second.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The thread of the workers.
#[derive(Debug)]
pub(crate) struct Workers {
    thread: JoinHandle<()>,
    /// Resolves when the thread has ended; `None` once it has.
    ended: Option<oneshot::Receiver<()>>,
}

/// How workers are run.
pub(crate) struct Work {
    pub(crate) store: Store,
    pub(crate) jobs: JobReceiver,
    pub(crate) state: Arc<State>,
    pub(crate) connections: usize,
    /// How long a request may wait for a worker.
    pub(crate) limit: Duration,
    /// Whether the database notifies.
    pub(crate) listens: bool,
}

/// State that the workers share.
struct WorkersState {
    work: Work,
    /// Why the store cannot be reached, while no worker has a connection and the last attempt failed.
    away: RefCell<Option<String>>,
    /// Held by the worker that connects.
    turn: Mutex<()>,
    /// Whether there will be no more requests.
    is_over: Cell<bool>,
    /// `away` or `is_over` has changed.
    changed: Notify,
}

impl Work {
    /// Settings of the workers.
    pub(crate) fn new(
        options: &QueueOptions,
        store: Store,
        jobs: JobReceiver,
        state: Arc<State>,
    ) -> Self {
        Self {
            store,
            jobs,
            state,
            connections: options.connections,
            limit: options.store_wait,
            listens: options.listens(),
        }
    }
}

impl Workers {
    /// Starts them and waits for the first connection.
    ///
    /// # Errors
    /// When there is no thread; the inner one when the first connection fails.
    pub(crate) async fn start(work: Work) -> io::Result<Result<Self, SqlError>> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (first, is_first) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let thread = std::thread::Builder::new().name("workers".to_owned());
        let thread = thread.spawn(move || {
            let tasks = LocalSet::new();
            runtime.block_on(tasks.run_until(run(work, first)));
            // Nobody waits for it after a failed start.
            let _ = end.send(());
        })?;
        Ok(match is_first.await {
            Ok(Ok(())) => Ok(Self { thread, ended: Some(ended) }),
            Ok(Err(error)) => Err(error),
            Err(_) => return Err(io::Error::other("the workers' thread crashed")),
        })
    }

    /// Resolves when they have ended, which before the end of all requests means that they crashed.
    pub(crate) async fn ended(&mut self) {
        if let Some(ended) = &mut self.ended {
            // The sender is dropped by a crash.
            let _ = ended.await;
            self.ended = None;
        }
    }

    /// Waits for them, when there are no more requests.
    pub(crate) async fn join(mut self) -> std::thread::Result<()> {
        self.ended().await;
        self.thread.join()
    }
}

async fn run(work: Work, first: oneshot::Sender<Result<(), SqlError>>) {
    let link = match work.store.open().await {
        Ok(link) => link,
        // Nobody waits any more if the server was stopped meanwhile.
        Err(error) => return drop(first.send(Err(error))),
    };
    let _ = first.send(Ok(()));
    let listening = match &work.store {
        Store::Postgres(settings) if work.listens => {
            Some(tokio::task::spawn_local(listen(Arc::clone(settings), Arc::clone(&work.state))))
        }
        _ => None,
    };
    let count = work.connections;
    let shared = Rc::new(WorkersState {
        work,
        away: RefCell::default(),
        turn: Mutex::default(),
        is_over: Cell::default(),
        changed: Notify::new(),
    });
    let first = tokio::task::spawn_local(keep_working(Rc::clone(&shared), Some(link)));
    let others =
        (1..count).map(|_| tokio::task::spawn_local(keep_working(Rc::clone(&shared), None)));
    let workers: Vec<_> = [first].into_iter().chain(others).collect();
    for worker in workers {
        if let Err(error) = worker.await
            && let Ok(panic) = error.try_into_panic()
        {
            std::panic::resume_unwind(panic);
        }
    }
    if let Some(listening) = listening {
        listening.abort();
    }
}

/// Works until there are no more requests, and connects as often as it takes.
async fn keep_working(shared: Rc<WorkersState>, mut link: Option<Link>) {
    let metrics = &shared.work.state.metrics;
    loop {
        let next = match link.take() {
            Some(link) => Some(link),
            None => connect(&shared).await,
        };
        let Some(mut open) = next else { return };
        metrics.links.up();
        shared.set_away(None);
        let is_over = work(&mut open, &shared).await;
        metrics.links.down();
        if is_over {
            shared.is_over.set(true);
            shared.changed.notify_waiters();
            return;
        }
        metrics.links_lost.add(1);
    }
}

/// A new connection; `None` when there are no more requests.
async fn connect(shared: &WorkersState) -> Option<Link> {
    // To connect is work, for the database as well: whoever failed lets no other one try in its pause.
    let _turn = shared.meanwhile(shared.turn.lock()).await?;
    let mut pause = PAUSE_MIN;
    loop {
        match shared.meanwhile(shared.work.store.open()).await? {
            Ok(link) => return Some(link),
            Err(error) => {
                shared.work.state.metrics.link_errors.add(1);
                shared.set_away(Some(error.to_string()));
            }
        }
        shared.meanwhile(sleep(pause)).await?;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// Carries out requests until there are no more, which returns true, or the connection ends.
async fn work(link: &mut Link, shared: &WorkersState) -> bool {
    let metrics = &shared.work.state.metrics;
    loop {
        let job = tokio::select! {
            biased;
            () = link.ended() => return false,
            job = shared.work.jobs.take() => job,
        };
        let Some(job) = job else { return true };
        metrics.links_busy.up();
        let has_ended = carry_out(job, link, shared.work.limit).await;
        metrics.links_busy.down();
        if has_ended {
            return false;
        }
    }
}

/// Carries out a request; whether the connection is then of no more use.
async fn carry_out(mut job: Job, link: &mut Link, limit: Duration) -> bool {
    // Its client was cut off by a stop: a pop would lose its message for nobody.
    if job.reply.is_closed() {
        return false;
    }
    let taken = now();
    if taken.duration_since(job.submitted) > limit {
        let text = format!("no worker was free within {} ms", limit.as_millis());
        refuse(job, &text);
        return false;
    }
    let result = link.carry_out(&job.request, &mut job.out).await;
    let is_end = result.as_ref().is_err_and(StoreError::is_end);
    let outcome = result.unwrap_or_else(|error| {
        let problem = error.problem(&job.request);
        fail(&mut job, &problem)
    });
    hand_back(job, outcome, taken);
    is_end
}

/// Answers that it was not carried out.
fn refuse(mut job: Job, text: &str) {
    let outcome = fail(&mut job, &Problem::new(Code::Unavailable, text));
    let taken = now();
    hand_back(job, outcome, taken);
}

fn fail(job: &mut Job, problem: &Problem) -> Outcome {
    // An answer may have been begun.
    job.out.clear();
    let kind = job.request.operation() as u8;
    Writer::error(&mut job.out, kind, problem.code, &problem.text).finish();
    Outcome::Failed(problem.code)
}

fn hand_back(job: Job, outcome: Outcome, taken: std::time::Instant) {
    let done = JobResult { out: job.out, outcome, taken, answered: now() };
    // The client may have left.
    let _ = job.reply.send(done);
}

impl WorkersState {
    fn set_away(&self, problem: Option<String>) {
        let is_away = self.work.state.metrics.links.get() == 0;
        *self.away.borrow_mut() = problem.filter(|_| is_away);
        self.changed.notify_waiters();
    }

    /// Waits for something, and refuses requests meanwhile if the store cannot be reached; `None` when there are no
    /// more requests.
    async fn meanwhile<T>(&self, something: impl Future<Output = T>) -> Option<T> {
        let mut something = pin!(something);
        loop {
            if self.is_over.get() {
                return None;
            }
            let away = self.away.borrow().clone();
            tokio::select! {
                biased;
                () = self.changed.notified() => {}
                done = &mut something => return Some(done),
                job = self.work.jobs.take(), if away.is_some() => {
                    let text = away.unwrap_or_default();
                    refuse(job?, &format!("the database cannot be reached: {text}"));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::InMemory;
    use crate::store::memory::Memory;
    use crate::wire::Request;

    #[tokio::test]
    async fn a_client_that_is_gone_pops_nothing() {
        let mut link = Link::Memory(Arc::new(InMemory {
            memory: Memory::default(),
            waiters: Arc::default(),
            texts_max: 1_000,
        }));
        let limit = Duration::from_secs(60);
        let mut outcome_of = async |request, is_gone| {
            let (reply, mut answer) = oneshot::channel();
            if is_gone {
                answer.close();
            }
            let job = Job { request, out: Vec::new(), submitted: now(), reply };
            assert!(!carry_out(job, &mut link, limit).await);
            answer.try_recv().ok().map(|done: JobResult| done.outcome)
        };
        let create = Request::CreateQueue { creator: 1 };
        assert_eq!(outcome_of(create, false).await, Some(Outcome::Done));
        let send = Request::Send { queue: 1, sender: 1, receiver: None, text: "text".to_owned() };
        assert_eq!(outcome_of(send, false).await, Some(Outcome::Done));
        let pop = Request::Pop { queue: 1, receiver: None, wait_ms: 0 };
        assert_eq!(outcome_of(pop.clone(), true).await, None);
        assert_eq!(outcome_of(pop, false).await, Some(Outcome::Done));
    }
}
