//! An HTTP server in virtual time, whose faults are known.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use engine::sim::{Peer, PeerAction, PeerConn, PeerEvent};
use stats::rng::{Purpose, Rng};

/// Nanoseconds in a second.
pub(super) const S: u64 = 1_000_000_000;

/// The faults of a target. By default there are none: it answers at once.
pub(super) struct Faults {
    /// Servers of a queue through which requests go; 0: there is none.
    pub(super) servers: u32,
    /// Time that a server needs for a request.
    pub(super) service_ns: u64,
    /// True if that time is exponential, with this mean.
    pub(super) is_random: bool,
    /// Only requests of this path go through the queue.
    pub(super) queue_path: Option<&'static str>,
    /// Every response takes that much longer.
    pub(super) delay_ns: u64,
    /// The time in which nothing is sent, from and until: its replies are sent at the end.
    pub(super) frozen: (u64, u64),
    /// Share of requests that are never answered.
    pub(super) leak: f64,
    /// Share of requests answered after three seconds more.
    pub(super) late: f64,
    /// Share of requests answered with status 500.
    pub(super) fail: f64,
    /// Share of requests answered with a reset.
    pub(super) reset: f64,
    /// From then on nothing is answered and open connections are reset.
    pub(super) killed_ns: u64,
    /// Bytes that it reads of a connection in a second; 0: at once.
    pub(super) reads_per_s: u64,
}

impl Default for Faults {
    fn default() -> Faults {
        Faults {
            servers: 0,
            service_ns: 0,
            is_random: false,
            queue_path: None,
            delay_ns: 0,
            frozen: (u64::MAX, u64::MAX),
            leak: 0.0,
            late: 0.0,
            fail: 0.0,
            reset: 0.0,
            killed_ns: u64::MAX,
            reads_per_s: 0,
        }
    }
}

pub(super) struct Target {
    faults: Faults,
    rng: Rng,
    /// When each server of the queue is free.
    free: BinaryHeap<Reverse<u64>>,
    inbox: HashMap<PeerConn, Vec<u8>>,
    answers: HashMap<u64, PeerAction>,
    count: u64,
}

impl Target {
    pub(super) fn new(faults: Faults, seed: u64) -> Target {
        Target {
            rng: Rng::new(seed, 1, Purpose::Resample),
            free: (0..faults.servers).map(|_| Reverse(0)).collect(),
            faults,
            inbox: HashMap::new(),
            answers: HashMap::new(),
            count: 0,
        }
    }

    /// When the response to a request that is complete now is sent, and what it is; `None`: never.
    fn answer(&mut self, now_ns: u64, path: &str, bytes: u64) -> Option<(u64, PeerAction)> {
        let faults = &self.faults;
        if now_ns >= faults.killed_ns {
            return Some((now_ns, PeerAction::Reset));
        }
        if self.rng.unit() < faults.leak {
            return None;
        }
        if self.rng.unit() < faults.reset {
            return Some((now_ns, PeerAction::Reset));
        }
        let mut done_ns = now_ns + faults.delay_ns;
        if faults.servers > 0 && faults.queue_path.is_none_or(|queued| queued == path) {
            let times = match faults.is_random {
                true => -(1.0 - self.rng.unit()).ln(),
                false => 1.0,
            };
            let Reverse(free_ns) = self.free.pop()?;
            done_ns += free_ns.saturating_sub(now_ns) + (faults.service_ns as f64 * times) as u64;
            self.free.push(Reverse(done_ns));
        }
        if self.rng.unit() < faults.late {
            done_ns += 3 * S;
        }
        if let Some(read_s) = bytes.checked_div(faults.reads_per_s) {
            done_ns += read_s * S;
        }
        if (faults.frozen.0..faults.frozen.1).contains(&done_ns) {
            done_ns = faults.frozen.1;
        }
        let status = match self.rng.unit() < faults.fail {
            true => "500 Internal Server Error",
            false => "200 OK",
        };
        let text = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\n\r\nok");
        (done_ns < u64::MAX).then(|| (done_ns, PeerAction::Send(text.into_bytes())))
    }
}

impl Peer for Target {
    fn handle(&mut self, now_ns: u64, conn: PeerConn, event: PeerEvent) -> Vec<PeerAction> {
        match event {
            PeerEvent::Received(bytes) => {
                let inbox = self.inbox.entry(conn).or_default();
                inbox.extend(bytes);
                let Some((path, length)) = request(inbox) else {
                    return Vec::new();
                };
                self.inbox.remove(&conn);
                let Some((at_ns, answer)) = self.answer(now_ns, &path, length as u64) else {
                    return Vec::new();
                };
                self.count += 1;
                self.answers.insert(self.count, answer);
                let number = self.count;
                vec![PeerAction::Timer { at_ns, number }]
            }
            PeerEvent::Timer(number) => {
                let answer = self.answers.remove(&number);
                match answer {
                    Some(_) if now_ns >= self.faults.killed_ns => vec![PeerAction::Reset],
                    answer => answer.into_iter().collect(),
                }
            }
            PeerEvent::Closed => {
                self.inbox.remove(&conn);
                Vec::new()
            }
            PeerEvent::Connected => Vec::new(),
        }
    }
}

/// Path and length of the request, if all of it has come.
fn request(inbox: &[u8]) -> Option<(String, usize)> {
    let end = inbox.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&inbox[..end]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length = end + length.map_or(0, |length| length.parse().unwrap_or(0));
    let path = head.split(' ').nth(1)?.to_owned();
    (inbox.len() >= length).then_some((path, length))
}
