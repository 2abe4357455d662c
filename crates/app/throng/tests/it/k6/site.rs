//! A site that counts for itself: it keeps every request with its answer, and when they came and left.

use std::collections::BTreeMap;
use std::io::{BufReader, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use machine::clock::monotonic_ns;

use crate::needs::{Answer, Request};
use crate::support::server;

pub(super) struct Site {
    /// `http://127.0.0.1:PORT`.
    pub(super) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// A request that was answered.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) request: Request,
    pub(super) status: u16,
    /// Connections are counted from 0.
    pub(super) connection: u64,
    came_ns: u64,
    left_ns: u64,
}

impl Seen {
    /// `GET /path?query`.
    pub(super) fn line(&self) -> String {
        format!("{} {}", self.request.method, self.request.path)
    }

    /// True if both were at the site at one time.
    pub(super) fn is_beside(&self, other: &Seen) -> bool {
        self.came_ns < other.left_ns && other.came_ns < self.left_ns
    }
}

impl Site {
    /// Answers each request by `answer`, those of different connections at the same time.
    pub(super) fn start(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Site {
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let own = Arc::clone(&seen);
        let connections = AtomicU64::new(0);
        let address = server(move |mut stream| {
            let connection = connections.fetch_add(1, Ordering::Relaxed);
            let mut requests = BufReader::new(stream.try_clone()?);
            loop {
                let request = Request::read(&mut requests)?;
                let came_ns = monotonic_ns();
                let (status, headers, body) = answer(&request);
                let left_ns = monotonic_ns();
                // Whoever has the answer finds it counted.
                own.lock().unwrap().push(Seen { request, status, connection, came_ns, left_ns });
                let length = match status {
                    204 => String::new(),
                    _ => format!("content-length: {}\r\n", body.len()),
                };
                let head = format!("HTTP/1.1 {status} X\r\n{headers}{length}\r\n");
                stream.write_all(&[head.as_bytes(), &body].concat())?;
            }
        });
        Site { url: format!("http://{address}"), seen }
    }

    /// All requests, in the order in which they came.
    pub(super) fn seen(&self) -> Vec<Seen> {
        let mut seen = self.seen.lock().unwrap().clone();
        seen.sort_by_key(|seen| seen.came_ns);
        seen
    }

    /// How many requests had each status.
    pub(super) fn statuses(&self) -> BTreeMap<u16, u64> {
        let mut counts = BTreeMap::new();
        for seen in self.seen() {
            *counts.entry(seen.status).or_default() += 1;
        }
        counts
    }

    /// How often each line came.
    pub(super) fn lines(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for seen in self.seen() {
            *counts.entry(seen.line()).or_default() += 1;
        }
        counts
    }
}
