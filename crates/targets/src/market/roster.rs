//! The connections of one serving thread, and how news is fanned out to them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::bus::{Delivery, Notice, Subscription};
use super::hub::Hub;
use super::line::{Fate, Left, Line, Patience};
use super::model::GameId;

/// Connections woken at a time. Between two lots the thread looks at its sockets, so that a
/// request never waits for a whole broadcast.
const LOT: usize = 32;

/// The connections of one thread.
#[derive(Debug)]
pub(super) struct Roster {
    inner: Mutex<Inner>,
    /// Sweeps so far: the clock by which silence is measured.
    tick: AtomicU32,
}

#[derive(Debug)]
struct Inner {
    all: HashMap<u64, Arc<Line>>,
    /// Subscribers, for each game.
    games: Vec<HashMap<u64, Arc<Line>>>,
}

impl Roster {
    pub(super) fn new(games: usize) -> Self {
        let games = (0..games).map(|_| HashMap::new()).collect();
        let inner = Mutex::new(Inner {
            all: HashMap::new(),
            games,
        });
        Self {
            inner,
            tick: AtomicU32::new(0),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Maps are changed one insert or remove at a time; a panic leaves none of them half made.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a connection.
    pub(super) fn enter(&self, connection: u64, line: &Arc<Line>) {
        line.hear(self.tick());
        self.inner().all.insert(connection, Arc::clone(line));
    }

    /// Moves a connection from the channel of one game to that of another.
    pub(super) fn subscribe(
        &self,
        connection: u64,
        line: &Arc<Line>,
        from: Option<GameId>,
        to: Option<GameId>,
    ) {
        let mut inner = self.inner();
        if let Some(from) = from {
            inner.games[from.0 as usize - 1].remove(&connection);
        }
        if let Some(to) = to {
            inner.games[to.0 as usize - 1].insert(connection, Arc::clone(line));
        }
    }

    /// How many connections there are.
    pub(super) fn len(&self) -> usize {
        self.inner().all.len()
    }

    /// Strikes out a connection.
    pub(super) fn strike(&self, connection: u64, joined: Option<GameId>) {
        let mut inner = self.inner();
        inner.all.remove(&connection);
        if let Some(game) = joined {
            inner.games[game.0 as usize - 1].remove(&connection);
        }
    }

    /// Ends every connection.
    pub(super) fn end_all(&self, fate: Fate) {
        for line in self.inner().all.values() {
            line.end(fate);
        }
    }

    /// The present time in sweeps.
    pub(super) fn tick(&self) -> u32 {
        self.tick.load(Ordering::Relaxed)
    }

    fn subscribers(&self, game: GameId) -> Vec<Arc<Line>> {
        self.inner().games[game.0 as usize - 1]
            .values()
            .cloned()
            .collect()
    }

    fn everyone(&self) -> Vec<Arc<Line>> {
        self.inner().all.values().cloned().collect()
    }
}

/// Brings everything published for `game` to the thread's subscribers, for ever.
pub(super) async fn fan_out(
    hub: Arc<Hub>,
    roster: Arc<Roster>,
    game: GameId,
    mut channel: Box<dyn Subscription>,
    patience: Patience,
) {
    while let Some(delivery) = channel.next().await {
        match delivery {
            Delivery::Notice(notice) => deliver(&hub, &roster, game, &notice, patience).await,
            Delivery::Lost(count) => hub.metrics.bus_lost.add(count),
        }
    }
}

async fn deliver(hub: &Hub, roster: &Roster, game: GameId, notice: &Notice, patience: Patience) {
    for lot in roster.subscribers(game).chunks(LOT) {
        for line in lot {
            match line.leave(notice, patience) {
                Left::Waiting | Left::Ending => {}
                Left::Superseded => hub.metrics.distributions_superseded.add(1),
                Left::GivenUp => hub.metrics.slow_disconnects.add(1),
            }
        }
        tokio::task::yield_now().await;
    }
}

/// How silence is treated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Silence {
    /// Time between two sweeps.
    every: Duration,
    /// Sweeps of silence after which a connection is pinged.
    ping: Option<u32>,
    /// Sweeps of silence after which it is closed.
    close: Option<u32>,
}

impl Silence {
    /// `None` when silence never matters.
    pub(super) fn new(ping: Option<Duration>, close: Option<Duration>) -> Option<Self> {
        let shortest = ping.into_iter().chain(close).min()?;
        // Eight sweeps in the shorter time: silence is noticed at most an eighth late.
        let every = (shortest / 8).max(Duration::from_millis(1));
        let sweeps = |time: Duration| {
            let sweeps = time.as_secs_f64() / every.as_secs_f64();
            (sweeps.ceil() as u32).max(1)
        };
        Some(Self {
            every,
            ping: ping.map(sweeps),
            close: close.map(sweeps),
        })
    }
}

/// Pings and closes silent connections, for ever.
pub(super) async fn sweep(hub: Arc<Hub>, roster: Arc<Roster>, silence: Silence) {
    loop {
        tokio::time::sleep(silence.every).await;
        let tick = roster.tick.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        for lot in roster.everyone().chunks(LOT) {
            for line in lot {
                sweep_one(&hub, line, tick, silence);
            }
            tokio::task::yield_now().await;
        }
    }
}

fn sweep_one(hub: &Hub, line: &Line, tick: u32, silence: Silence) {
    let silent = tick.wrapping_sub(line.heard());
    if silence.close.is_some_and(|limit| silent >= limit) {
        if line.end(Fate::Idle) {
            hub.metrics.idle_disconnects.add(1);
        }
    } else if silence
        .ping
        .is_some_and(|limit| silent > 0 && silent.is_multiple_of(limit))
    {
        line.ping();
    }
}
