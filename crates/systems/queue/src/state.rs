//! State that all threads of a queue share.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use server::{Drain, Operations};

use crate::jobs::JobsWaiting;
use crate::metrics::Metrics;
use crate::options::{QueueOptions, Wait};
use crate::waiters::Waiters;

/// State that all threads share.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) payload_max: usize,
    pub(crate) connections_max: usize,
    pub(crate) frame_timeout: Duration,
    pub(crate) write_timeout: Duration,
    pub(crate) stop_within: Duration,
    /// How often waiting pops look for a message by themselves.
    pub(crate) poll_every: Option<Duration>,
    pub(crate) timing: bool,
    pub(crate) metrics: Metrics,
    pub(crate) waiters: Arc<Waiters>,
    pub(crate) drain: Drain,
    jobs: JobsWaiting,
}

impl State {
    pub(crate) fn new(options: &QueueOptions, jobs: JobsWaiting) -> Self {
        // Memory wakes waiting pops by itself.
        let polls = options.store.is_some() && options.wait == Wait::Poll;
        Self {
            payload_max: options.payload_max,
            connections_max: options.connections_max,
            frame_timeout: options.frame_timeout,
            write_timeout: options.write_timeout,
            stop_within: options.server.stop_within,
            poll_every: polls.then_some(options.poll_every),
            timing: options.timing,
            metrics: Metrics::default(),
            waiters: Arc::default(),
            drain: Drain::default(),
            jobs,
        }
    }
}

impl Operations for State {
    fn drain(&self) -> &Drain {
        &self.drain
    }

    fn problem(&self) -> Option<&'static str> {
        (self.metrics.links.get() == 0).then_some("database unreachable")
    }

    async fn metrics(self: Arc<Self>) -> Result<String, Response> {
        Ok(self.metrics.page(self.jobs.count(), self.waiters.count()))
    }
}
