//! A server for branches: a request's path says how long its answer takes.

use std::collections::{HashMap, HashSet};

use engine::sim::{Peer, PeerAction, PeerConn, PeerEvent};

use crate::peers::{ok, response};
use crate::support::MS;

/// A request, as far as tests look at it.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) cookie: String,
}

/// Answers `/word/30` after 30 ms with the word. `500` is a status, `once` fails the first time, `never` is not answered,
/// `close` closes, `large` has 100 KiB, `cookie` sets one.
#[derive(Debug, Default)]
pub(crate) struct Server {
    pub(crate) requests: Vec<Request>,
    pub(crate) connections: usize,
    /// The most requests that waited for their answers at once.
    pub(crate) at_once_max: usize,
    waiting: HashMap<u64, (PeerConn, Vec<PeerAction>)>,
    in_flight: HashSet<PeerConn>,
    count: u64,
    has_failed: bool,
}

impl Server {
    pub(crate) fn paths(&self) -> Vec<&str> {
        self.requests.iter().map(|own| &*own.path).collect()
    }

    fn answer(&mut self, word: &str) -> Vec<PeerAction> {
        match word {
            "500" => response("500 No", "", ""),
            "once" if !std::mem::replace(&mut self.has_failed, true) => response("503 No", "", ""),
            "never" => Vec::new(),
            "close" => vec![PeerAction::Close],
            "large" => ok(&"x".repeat(100 << 10)),
            "cookie" => response("200 OK", "set-cookie: own=1; path=/\r\n", ""),
            word => ok(word),
        }
    }
}

impl Peer for Server {
    fn handle(&mut self, now_ns: u64, conn: PeerConn, event: PeerEvent) -> Vec<PeerAction> {
        match event {
            PeerEvent::Connected => {
                self.connections += 1;
                Vec::new()
            }
            PeerEvent::Received(bytes) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let path = text.split(' ').nth(1).expect("a path").to_owned();
                let cookie = text.lines().find_map(|line| line.strip_prefix("cookie: "));
                let plain = path.split('?').next().expect("a path");
                let mut words = plain.split('/').skip(1);
                let word = words.next().expect("a word");
                let after_ms: u64 = words.next().expect("a time").parse().expect("a number");
                let actions = self.answer(word);
                self.requests.push(Request { cookie: cookie.unwrap_or_default().to_owned(), path });
                self.in_flight.insert(conn);
                self.at_once_max = self.at_once_max.max(self.in_flight.len());
                self.count += 1;
                self.waiting.insert(self.count, (conn, actions));
                vec![PeerAction::Timer { at_ns: now_ns + after_ms * MS, number: self.count }]
            }
            PeerEvent::Timer(number) => {
                let (conn, actions) = self.waiting.remove(&number).expect("an answer");
                if !actions.is_empty() {
                    self.in_flight.remove(&conn);
                }
                actions
            }
            PeerEvent::Closed => {
                self.in_flight.remove(&conn);
                Vec::new()
            }
        }
    }
}
