//! Metrics of a worker.

use std::sync::Arc;

use server::metrics::{Counter, HttpConnections, Page};

use super::station::{Load, Outcome};

#[derive(Debug, Default)]
pub(super) struct Metrics {
    pub(super) done: Counter,
    pub(super) failed: Counter,
    pub(super) refused: Counter,
    /// Microseconds that requests waited for their turn.
    queue_us: Counter,
    /// Microseconds that they were worked on.
    work_us: Counter,
    pub(super) connections: Arc<HttpConnections>,
}

impl Metrics {
    /// Seconds that requests were worked on.
    pub(super) fn work_s(&self) -> f64 {
        self.work_us.get() as f64 / 1e6
    }

    pub(super) fn count(&self, outcome: Outcome) {
        match outcome {
            Outcome::Done(times) => {
                self.done.add(1);
                // No request takes longer than 500,000 years.
                self.queue_us.add(times.queue.as_micros() as u64);
                self.work_us.add(times.work.as_micros() as u64);
            }
            Outcome::Failed => self.failed.add(1),
            Outcome::Refused => self.refused.add(1),
        }
    }

    pub(super) fn write(&self, page: &mut Page, load: &Load) {
        page.counters([
            ("requests_done_total", "Requests worked on", self.done.get()),
            ("requests_failed_total", "Requests that failed by the error rate", self.failed.get()),
            (
                "requests_refused_total",
                "Requests refused because the queue was full",
                self.refused.get(),
            ),
            (
                "queue_us_total",
                "Microseconds that requests waited for their turn",
                self.queue_us.get(),
            ),
            ("work_us_total", "Microseconds that requests were worked on", self.work_us.get()),
            ("connections_total", "Connections opened", self.connections.opened.get()),
            (
                "connections_refused_total",
                "Connections dropped because too many were open",
                self.connections.refused.get(),
            ),
        ]);
        let help = "Requests that wait or are worked on";
        page.gauge("in_flight", help, load.in_flight);
        page.gauge("waiting", "Requests that wait for their turn", load.waiting);
    }
}
