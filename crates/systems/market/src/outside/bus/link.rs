//! Common parts of connections to Redis and NATS: attempts with growing pauses, a slot in which all callers
//! find the connection, figures, and a thread that it belongs to.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};
use tokio::time::sleep;

use server::metrics::{Counter, Page};

/// How often an idle connection is tried.
pub(super) const LOOK: Duration = Duration::from_secs(1);
/// The first pause between two attempts to connect, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(250));

/// Figures of the connections to one server.
#[derive(Debug, Default)]
pub struct LinkMetrics {
    /// Messages with one or more commands that callers sent; those of the link itself are not among them.
    pub round_trips: Counter,
    /// Commands that failed, those that were late among them.
    pub errors: Counter,
    /// Commands without an answer in time.
    pub late: Counter,
    /// Connections that were lost and restored.
    pub reconnects: Counter,
}

impl LinkMetrics {
    /// Adds the figures to a metrics page; their names begin with `what`.
    pub fn write(&self, page: &mut Page, what: &str) {
        let figures = [
            ("round_trips", "Commands sent together", &self.round_trips),
            ("failures", "Commands that failed", &self.errors),
            ("late", "Commands not answered in time", &self.late),
            ("reconnects", "Connections restored", &self.reconnects),
        ];
        for (name, help, counter) in figures {
            page.counter(&format!("{what}_{name}_total"), help, counter.get());
        }
    }
}

/// Attempts that are repeated until one succeeds.
#[derive(Debug)]
pub(super) struct Attempts<E> {
    /// Why the last one failed.
    problem: Mutex<Option<E>>,
}

impl<E> Default for Attempts<E> {
    fn default() -> Self {
        Self { problem: Mutex::default() }
    }
}

impl<E: Clone> Attempts<E> {
    /// Why the last attempt failed, if one did.
    pub(super) fn last_problem(&self) -> Option<E> {
        self.problem().clone()
    }

    /// Repeats `attempt` until it succeeds, with growing pauses.
    pub(super) async fn until<T>(&self, mut attempt: impl AsyncFnMut() -> Result<T, E>) -> T {
        let mut pause = PAUSES.0;
        loop {
            match attempt().await {
                Ok(done) => return done,
                Err(error) => *self.problem() = Some(error),
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    fn problem(&self) -> MutexGuard<'_, Option<E>> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connection for callers, as long as it works as far as is known.
#[derive(Debug)]
pub(super) struct Slot<C> {
    /// With its number: connections are counted from 1.
    live: Mutex<Option<(u64, C)>>,
    /// The connection was given up.
    lost: Notify,
}

impl<C> Default for Slot<C> {
    fn default() -> Self {
        Self { live: Mutex::default(), lost: Notify::new() }
    }
}

impl<C: Clone> Slot<C> {
    pub(super) fn get(&self) -> Option<(u64, C)> {
        self.live().clone()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.live().is_none()
    }

    pub(super) fn fill(&self, number: u64, connection: C) {
        *self.live() = Some((number, connection));
    }

    pub(super) fn clear(&self) {
        *self.live() = None;
    }

    /// Gives the connection of this number up: whoever comes next must not wait for it.
    pub(super) fn give_up(&self, number: u64) {
        self.live().take_if(|(live, _)| *live == number);
        self.lost.notify_one();
    }

    /// Resolves when the connection of this number is given up.
    pub(super) async fn given_up(&self, number: u64) {
        while self.live().as_ref().is_some_and(|(live, _)| *live == number) {
            self.lost.notified().await;
        }
    }

    fn live(&self) -> MutexGuard<'_, Option<(u64, C)>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread with a runtime of its own. It ends when this is dropped.
#[derive(Debug)]
pub struct Thread {
    runtime: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Thread {
    /// Runs what `work` makes, until it is done or the thread is dropped.
    ///
    /// # Errors
    /// When the thread or its runtime cannot be made.
    pub fn spawn<F: Future<Output = ()>>(
        name: &str,
        work: impl FnOnce() -> F + Send + 'static,
    ) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = work() => {}
                    _ = stopped => {}
                }
            });
            // A name that is being resolved is not waited for.
            runtime.shutdown_background();
        })?;
        Ok(Self { runtime: handle, stop: Some(stop), thread: Some(thread) })
    }

    /// Has something done on the thread, and blocks the caller's until it is; `None` if the thread has ended.
    pub fn wait_for<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (done, answer) = mpsc::channel();
        // Whoever waits is still there.
        self.runtime.spawn(async move { drop(done.send(work.await)) });
        answer.recv().ok()
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A panic there was reported when it happened.
            let _ = thread.join();
        }
    }
}
