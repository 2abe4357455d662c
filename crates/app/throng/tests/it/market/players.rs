//! Players who put money on everything, and remember the replies.
#![expect(
    clippy::disallowed_methods,
    reason = "players look at the clock while they wait for a reply"
)]

use std::collections::HashMap;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

use super::processes::Addresses;
use crate::support::pass;

/// How many there are in a crowd; they are numbered from 0.
const CROWD: u64 = 64;
/// How many there are of few, and the pause of each before a request.
const FEW: u64 = 8;
const FEW_PAUSE: Duration = Duration::from_millis(10);
/// How long a player waits for a reply.
const REPLY_MAX: Duration = Duration::from_secs(20);
const OPTIONS: [&str; 3] = ["home", "away", "none"];

/// Money on an outcome of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Stake {
    pub(super) player: u64,
    pub(super) pool: i64,
    /// Its place among `home`, `away` and `none`.
    pub(super) outcome: i64,
}

/// What the players know.
#[derive(Debug, Default)]
pub(super) struct Played {
    pub(super) players: u64,
    pub(super) requests: u64,
    /// Predictions that were accepted: their amounts.
    pub(super) accepted: HashMap<Stake, Vec<i64>>,
    pub(super) refused: u64,
    /// Predictions whose reply did not come, or said that the store did not answer.
    pub(super) unknown: Vec<(Stake, i64)>,
}

impl Played {
    pub(super) fn accepted_count(&self) -> usize {
        self.accepted.values().map(Vec::len).sum()
    }

    fn add(&mut self, other: Played) {
        self.players += 1;
        self.requests += other.requests;
        self.refused += other.refused;
        self.unknown.extend(other.unknown);
        for (stake, amounts) in other.accepted {
            self.accepted.entry(stake).or_default().extend(amounts);
        }
    }
}

/// The name of a player.
pub(super) fn name(player: u64) -> String {
    format!("player-{player}")
}

/// What the players are seen to get, while they play.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) accepted: AtomicU64,
    /// Requests of any kind that were refused because something was not available.
    pub(super) unavailable: AtomicU64,
    /// Requests without a reply: it took too long, or the connection was lost.
    pub(super) lost: AtomicU64,
    /// Of all requests that ended.
    slowest_us: AtomicU64,
}

impl Seen {
    /// What was seen until now; it begins again with nothing.
    pub(super) fn take(&self) -> Seen {
        let take = |count: &AtomicU64| AtomicU64::new(count.swap(0, Ordering::Relaxed));
        Seen {
            accepted: take(&self.accepted),
            unavailable: take(&self.unavailable),
            lost: take(&self.lost),
            slowest_us: take(&self.slowest_us),
        }
    }

    pub(super) fn slowest(&self) -> Duration {
        Duration::from_micros(self.slowest_us.load(Ordering::Relaxed))
    }

    fn add(&self, reply: Option<&Value>, took: Duration) {
        let count = match reply {
            None => Some(&self.lost),
            Some(reply) if reply["accepted"] == true => Some(&self.accepted),
            Some(reply) if reply["error"]["code"] == "unavailable" => Some(&self.unavailable),
            Some(_) => None,
        };
        if let Some(count) = count {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let micros = u64::try_from(took.as_micros()).unwrap();
        self.slowest_us.fetch_max(micros, Ordering::Relaxed);
    }
}

pub(super) struct Players {
    threads: Vec<JoinHandle<Played>>,
    left: Left,
    pub(super) seen: Arc<Seen>,
}

/// Requests that are left for all players: none if this is dropped, so that no player outlives a test that failed.
struct Left(Arc<AtomicU64>);

impl Drop for Left {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

impl Players {
    /// A crowd that together sends this number of requests, which follow from the seed.
    pub(super) fn start(addresses: &Addresses, requests: u64, seed: u64) -> Players {
        Players::number(CROWD, addresses, (requests, seed), Duration::ZERO)
    }

    /// A few players, who play until they are ended.
    pub(super) fn few(addresses: &Addresses) -> Players {
        Players::number(FEW, addresses, (u64::MAX, 0), FEW_PAUSE)
    }

    fn number(
        count: u64,
        addresses: &Addresses,
        (requests, seed): (u64, u64),
        pause: Duration,
    ) -> Players {
        let left = Arc::new(AtomicU64::new(requests));
        let seen = Arc::<Seen>::default();
        let start = |number| {
            let player = Player {
                number,
                addresses: Arc::clone(addresses),
                left: Arc::clone(&left),
                pause,
                random: 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed * count + number + 1),
                pools: HashMap::new(),
                played: Played::default(),
                seen: Arc::clone(&seen),
            };
            std::thread::spawn(|| player.play())
        };
        Players { threads: (0..count).map(start).collect(), left: Left(left), seen }
    }

    pub(super) fn have_finished(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Waits until nothing is left.
    pub(super) fn end(self) -> Played {
        let mut all = Played::default();
        for player in self.threads {
            all.add(player.join().unwrap());
        }
        all
    }

    /// Ends players who would play for ever.
    pub(super) fn stop(self) -> Played {
        self.left.0.store(0, Ordering::Relaxed);
        self.end()
    }
}

struct Player {
    number: u64,
    addresses: Addresses,
    /// Requests that are left for all players.
    left: Arc<AtomicU64>,
    pause: Duration,
    random: u64,
    /// By game: the pool that was open in the last message.
    pools: HashMap<u64, i64>,
    played: Played,
    seen: Arc<Seen>,
}

impl Player {
    fn play(mut self) -> Played {
        while self.left.load(Ordering::Relaxed) > 0 {
            let Some(mut socket) = self.connect() else {
                pass(Duration::from_millis(50));
                continue;
            };
            while self.request(&mut socket).is_some() {}
        }
        self.played
    }

    fn connect(&mut self) -> Option<WebSocket<TcpStream>> {
        let count = self.addresses.lock().unwrap().len() as u64;
        let draw = self.draw(count) as usize;
        let url = self.addresses.lock().unwrap()[draw].clone();
        let address = url.strip_prefix("http://").unwrap();
        let stream = TcpStream::connect(address).ok()?;
        stream.set_read_timeout(Some(REPLY_MAX)).unwrap();
        let url = format!("ws://{address}/v1/stream?user={}", name(self.number));
        Some(tungstenite::client(url, stream).ok()?.0)
    }

    /// Sends one request; `None` if the connection is lost, or nothing is left to do.
    fn request(&mut self, socket: &mut WebSocket<TcpStream>) -> Option<()> {
        let take = |left: u64| left.checked_sub(1);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        if !self.pause.is_zero() {
            pass(self.pause);
        }
        self.played.requests += 1;
        let game = 1 + self.draw(4);
        match (self.draw(20), self.pools.get(&game)) {
            (0, _) => {
                let join = json!({"op": "join", "game": format!("g{game}")});
                self.query(socket, &join).map(drop)
            }
            (1 | 2, _) | (_, None) => {
                let pools = json!({"op": "pools", "game": format!("g{game}")});
                let reply = self.query(socket, &pools)?;
                if let Some(pool) = pool_of(&reply["pools"][0]["id"]) {
                    self.pools.insert(game, pool);
                }
                Some(())
            }
            (_, Some(&pool)) => self.predict(socket, game, pool),
        }
    }

    fn predict(&mut self, socket: &mut WebSocket<TcpStream>, game: u64, pool: i64) -> Option<()> {
        let outcome = self.draw(3) as i64;
        let amount = 1 + self.draw(50) as i64;
        let stake = Stake { player: self.number, pool, outcome };
        let predict = json!({
            "op": "predict", "pool": format!("p{pool}"), "option": OPTIONS[outcome as usize], "amount": amount,
        });
        let reply = self.query(socket, &predict);
        match reply.as_ref().map(|reply| &reply["accepted"]) {
            Some(Value::Bool(true)) => {
                self.played.accepted.entry(stake).or_default().push(amount);
            }
            Some(Value::Bool(false)) => self.played.refused += 1,
            _ => self.played.unknown.push((stake, amount)),
        }
        let reply = reply?;
        match reply["error"]["code"].as_str() {
            None => {
                let open = pool_of(&reply["pool"]).unwrap_or_else(|| panic!("no pool in {reply}"));
                self.pools.insert(game, open);
            }
            Some("unavailable") => {}
            Some(_) => panic!("{predict}: {reply}"),
        }
        Some(())
    }

    fn query(&self, socket: &mut WebSocket<TcpStream>, request: &Value) -> Option<Value> {
        let start = Instant::now();
        let reply = query(socket, request);
        self.seen.add(reply.as_ref(), start.elapsed());
        reply
    }

    /// A number below `below` (Marsaglia 2003, xorshift).
    fn draw(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }
}

fn pool_of(value: &Value) -> Option<i64> {
    value.as_str()?.strip_prefix('p')?.parse().ok()
}

/// Sends a request and returns the reply to it; `None` if the connection is lost.
fn query(socket: &mut WebSocket<TcpStream>, request: &Value) -> Option<Value> {
    socket.send(Message::text(request.to_string())).ok()?;
    loop {
        let Message::Text(text) = socket.read().ok()? else {
            continue;
        };
        let message: Value = serde_json::from_str(&text).unwrap();
        if message.get("re").is_some() {
            return Some(message);
        }
    }
}
