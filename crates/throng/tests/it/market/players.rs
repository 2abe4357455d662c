//! Players who put money on everything, and remember the replies.

use std::collections::HashMap;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

use super::processes::Addresses;
use crate::support::pass;

/// How many there are; they are numbered from 0.
pub(super) const PLAYERS: u64 = 64;
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

pub(super) struct Players(Vec<JoinHandle<Played>>);

impl Players {
    /// All players together send this number of requests, which follow from the seed.
    pub(super) fn start(addresses: &Addresses, requests: u64, seed: u64) -> Players {
        let left = Arc::new(AtomicU64::new(requests));
        let start = |number| {
            let player = Player {
                number,
                addresses: Arc::clone(addresses),
                left: Arc::clone(&left),
                random: 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed * PLAYERS + number + 1),
                pools: HashMap::new(),
                played: Played::default(),
            };
            std::thread::spawn(|| player.play())
        };
        Players((0..PLAYERS).map(start).collect())
    }

    pub(super) fn have_finished(&self) -> bool {
        self.0.iter().all(JoinHandle::is_finished)
    }

    pub(super) fn end(self) -> Played {
        let mut all = Played::default();
        for player in self.0 {
            all.add(player.join().unwrap());
        }
        all
    }
}

struct Player {
    number: u64,
    addresses: Addresses,
    /// Requests that are left for all players.
    left: Arc<AtomicU64>,
    random: u64,
    /// By game: the pool that was open when last heard of.
    pools: HashMap<u64, i64>,
    played: Played,
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
        let draw = self.draw(3) as usize;
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
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .ok()?;
        self.played.requests += 1;
        let game = 1 + self.draw(4);
        match (self.draw(20), self.pools.get(&game)) {
            (0, _) => {
                let join = json!({"op": "join", "game": format!("g{game}")});
                ask(socket, &join).map(drop)
            }
            (1 | 2, _) | (_, None) => {
                let pools = json!({"op": "pools", "game": format!("g{game}")});
                let reply = ask(socket, &pools)?;
                if let Some(pool) = pool_of(&reply["pools"][0]["id"]) {
                    self.pools.insert(game, pool);
                }
                Some(())
            }
            (_, Some(&pool)) => self.predict(socket, game, pool),
        }
    }

    fn predict(&mut self, socket: &mut WebSocket<TcpStream>, game: u64, pool: i64) -> Option<()> {
        let (outcome, amount) = (self.draw(3) as i64, 1 + self.draw(50) as i64);
        let stake = Stake {
            player: self.number,
            pool,
            outcome,
        };
        let predict = json!({
            "op": "predict", "pool": format!("p{pool}"), "option": OPTIONS[outcome as usize], "amount": amount,
        });
        let reply = ask(socket, &predict);
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
fn ask(socket: &mut WebSocket<TcpStream>, request: &Value) -> Option<Value> {
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
