//! Calls that may need more time than a request has: settlements of large pools.
//!
//! A transaction that is late is rolled back as a whole, and begins again. Each attempt therefore has twice
//! the time of the one before, as long as they are late. These calls have connections of their own: neither
//! do requests wait for them, nor they for requests.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use super::link::{Link, Target, unavailable};
use super::pool::Pool;
use crate::bus::model::GameId;
use crate::transactions::StoreError;

/// Connections for these calls, which are made when the first one comes.
const CONNECTIONS: usize = 8;
/// The longest time that an attempt has, unless a request has more.
const LIMIT_MAX: Duration = Duration::from_secs(600);

/// How long such calls may take, and where they run.
pub(super) struct LongCalls {
    /// The server of the connections; a first attempt may take as long as a request.
    target: Target,
    pool: OnceLock<Pool>,
    /// By game, where the last attempt was late: what the next one may take.
    limits: Mutex<HashMap<GameId, Duration>>,
}

impl LongCalls {
    pub(super) fn new(target: Target) -> Self {
        Self { target, pool: OnceLock::new(), limits: Mutex::default() }
    }

    /// The pool of connections.
    pub(super) fn pool(&self) -> Result<&Pool, StoreError> {
        if let Some(pool) = self.pool.get() {
            return Ok(pool);
        }
        let links = (0..CONNECTIONS).map(|_| Link::unopened(self.target.clone()));
        let pool = Pool::start(self.target.clone(), links.collect());
        let pool = pool.map_err(|error| unavailable(&error.to_string()))?;
        // Of two that were started at once, one ends again.
        Ok(self.pool.get_or_init(|| pool))
    }

    /// Calls that wait for one of the connections.
    pub(super) fn waiting(&self) -> usize {
        self.pool.get().map_or(0, Pool::waiting)
    }

    /// How long the next attempt in a game may take.
    pub(super) fn limit(&self, game: GameId) -> Duration {
        let limits = self.limits();
        limits.get(&game).copied().unwrap_or(self.target.wait)
    }

    /// Attempts in a game need more than this.
    pub(super) fn was_late(&self, game: GameId, limit: Duration) {
        let longest = LIMIT_MAX.max(self.target.wait);
        self.limits().insert(game, (limit * 2).min(longest));
    }

    /// The next attempt in a game is a first one.
    pub(super) fn was_done(&self, game: GameId) {
        self.limits().remove(&game);
    }

    fn limits(&self) -> MutexGuard<'_, HashMap<GameId, Duration>> {
        // Each change is one step.
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
