//! Requests that wait for a worker: a bounded queue, from any thread to the workers'.

use std::time::Instant;

use tokio::sync::{Mutex, mpsc, oneshot};

use crate::wire::{Code, Request};

/// A request on its way to a worker.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) request: Request,
    /// An empty buffer for the answer.
    pub(crate) out: Vec<u8>,
    /// When it came to the queue's end, full or not.
    pub(crate) submitted: Instant,
    pub(crate) reply: oneshot::Sender<JobResult>,
}

/// A request that a worker is done with.
#[derive(Debug)]
pub(crate) struct JobResult {
    /// The answer, as a frame.
    pub(crate) out: Vec<u8>,
    pub(crate) outcome: Outcome,
    /// When a worker took it.
    pub(crate) taken: Instant,
    /// When the store had answered.
    pub(crate) answered: Instant,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// A peek or a pop found no message.
    Nothing,
    Failed(Code),
}

/// The end of the queue that requests are put into.
#[derive(Debug, Clone)]
pub(crate) struct JobSender(mpsc::Sender<Job>);

/// The end that workers take them from, one at a time.
#[derive(Debug)]
pub(crate) struct JobReceiver(Mutex<mpsc::Receiver<Job>>);

/// A queue for this many requests.
pub(crate) fn queue(jobs_max: usize) -> (JobSender, JobReceiver) {
    let (sender, receiver) = mpsc::channel(jobs_max);
    (JobSender(sender), JobReceiver(Mutex::new(receiver)))
}

impl JobSender {
    /// Waits for room. Returns `None` when there are no workers any more.
    pub(crate) async fn put(&self, job: Job) -> Option<()> {
        self.0.send(job).await.ok()
    }

    /// For counting those that wait.
    pub(crate) fn waiting(&self) -> JobsWaiting {
        JobsWaiting(self.0.downgrade())
    }
}

/// A view of the queue that does not keep it open.
#[derive(Debug, Clone)]
pub(crate) struct JobsWaiting(mpsc::WeakSender<Job>);

impl JobsWaiting {
    /// Requests in the queue now.
    pub(crate) fn count(&self) -> usize {
        let sender = self.0.upgrade();
        sender.map_or(0, |sender| sender.max_capacity() - sender.capacity())
    }
}

impl JobReceiver {
    /// The oldest request; `None` when nobody can put any more. Nothing is lost if this is dropped.
    pub(crate) async fn take(&self) -> Option<Job> {
        self.0.lock().await.recv().await
    }
}
