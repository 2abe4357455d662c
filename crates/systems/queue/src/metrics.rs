//! Metrics of a queue.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use server::metrics::{Counter, Page, TimeHistogram};

use crate::clock::whole_us;
use crate::jobs::Outcome;
use crate::wire::{Code, Operation};

/// Parts of a request's time, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// From its first byte until all of it is there and its turn has come.
    Read,
    /// Until a worker takes it.
    Queued,
    /// Until the database has answered.
    Database,
    /// Until the answer is written to the client's socket.
    Reply,
}

/// The label of success.
const OK: &str = "code=\"ok\"";
const PARTS: [(Phase, &str); 4] = [
    (Phase::Read, "part=\"read\""),
    (Phase::Queued, "part=\"queued\""),
    (Phase::Database, "part=\"database\""),
    (Phase::Reply, "part=\"reply\""),
];

/// A figure that rises and falls.
#[derive(Debug, Default)]
pub(crate) struct Gauge(AtomicUsize);

impl Gauge {
    /// Adds one; the value before.
    pub(crate) fn up(&self) -> usize {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn down(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Figures that all threads count.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// By operation, with those of an unknown type last, and by code, 0 for success.
    requests: [[Counter; Code::ALL.len() + 1]; Operation::ALL.len() + 1],
    parts: [TimeHistogram; PARTS.len()],
    /// Peeks and pops that found no message.
    pub(crate) nothing: Counter,
    /// Connections of clients that are open.
    pub(crate) connections: Gauge,
    pub(crate) connections_opened: Counter,
    pub(crate) connections_refused: Counter,
    pub(crate) accept_errors: Counter,
    pub(crate) frame_timeouts: Counter,
    pub(crate) slow_disconnects: Counter,
    /// Connections to the store that are open, and those that work on a request.
    pub(crate) links: Gauge,
    pub(crate) links_busy: Gauge,
    pub(crate) links_lost: Counter,
    /// Connections that receive notifications.
    pub(crate) listening: Gauge,
    pub(crate) link_errors: Counter,
}

impl Metrics {
    /// Counts an answer; no operation is one of an unknown type.
    pub(crate) fn count(&self, operation: Option<Operation>, outcome: Outcome) {
        let row = operation.map_or(Operation::ALL.len(), |operation| operation as usize - 1);
        let column = match outcome {
            Outcome::Done => 0,
            Outcome::Nothing => {
                self.nothing.add(1);
                0
            }
            Outcome::Failed(code) => usize::from(code as u16),
        };
        self.requests[row][column].add(1);
    }

    /// Adds a time that each of `count` requests took.
    pub(crate) fn time(&self, part: Phase, time: Duration, count: u64) {
        self.parts[part as usize].add(whole_us(time), count);
    }

    /// Requests that were answered without an error, and with one.
    pub(crate) fn totals(&self) -> (u64, u64) {
        let sum = |counts: &[Counter]| counts.iter().map(Counter::get).sum::<u64>();
        let rows = self.requests.iter();
        rows.fold((0, 0), |(done, failed), row| (done + sum(&row[..1]), failed + sum(&row[1..])))
    }

    /// The page; `waiting_jobs` wait for a worker, `waiting_pops` for a message.
    pub(crate) fn page(&self, waiting_jobs: usize, waiting_pops: usize) -> String {
        let mut page = Page::new("queue");
        // Most pairs of operation and code never happen.
        let requests = self.requests().filter(|(labels, count)| *count > 0 || labels.ends_with(OK));
        page.labelled("requests_total", true, "Requests answered", requests);
        let parts = PARTS.map(|(part, labels)| (labels, &self.parts[part as usize]));
        page.histograms("request_seconds", "Parts of the time of requests", parts);
        let gauges = [
            ("jobs_waiting", "Requests that wait for a worker", waiting_jobs),
            ("pops_waiting", "Pops that wait for a message", waiting_pops),
            ("connections", "Connections of clients", self.connections.get()),
            ("store_connections", "Connections to the store", self.links.get()),
            (
                "store_connections_busy",
                "Connections to the store that work on a request",
                self.links_busy.get(),
            ),
            (
                "listening",
                "Connections to the store that receive notifications of messages",
                self.listening.get(),
            ),
        ];
        for (name, help, value) in gauges {
            page.gauge(name, help, value);
        }
        self.counters(&mut page);
        page.finish()
    }

    /// Labels and count of each pair of operation and code.
    fn requests(&self) -> impl Iterator<Item = (String, u64)> {
        let operations = Operation::ALL.map(Some).into_iter().chain([None]);
        operations.zip(&self.requests).flat_map(|(operation, row)| {
            let operation = operation.map_or("unknown", Operation::name);
            let codes = ["ok"].into_iter().chain(Code::ALL.map(Code::name));
            codes.zip(row).map(move |(code, count)| {
                let labels = format!("operation=\"{operation}\",code=\"{code}\"");
                (labels, count.get())
            })
        })
    }

    fn counters(&self, page: &mut Page) {
        let counters = [
            ("nothing_total", "Peeks and pops that found no message", &self.nothing),
            ("connections_total", "Connections of clients opened", &self.connections_opened),
            (
                "connections_refused_total",
                "Connections refused because too many were open",
                &self.connections_refused,
            ),
            ("accept_errors_total", "Failures to accept a connection", &self.accept_errors),
            (
                "frame_timeouts_total",
                "Connections closed because a frame was incomplete at the timeout",
                &self.frame_timeouts,
            ),
            (
                "slow_disconnects_total",
                "Connections closed because they did not read their answers",
                &self.slow_disconnects,
            ),
            (
                "store_connections_lost_total",
                "Connections to the store that were lost",
                &self.links_lost,
            ),
            ("store_connect_errors_total", "Failures to connect to the store", &self.link_errors),
        ];
        for (name, help, counter) in counters {
            page.counter(name, help, counter.get());
        }
    }
}
