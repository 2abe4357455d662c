//! How many accounts may still be opened.
//!
//! Ids are never used twice, so there are no more accounts than the highest id: as long as that is below the maximum,
//! nothing is counted. Later, one call after the other counts a block of ids, so that none takes long and nothing is
//! lost if one is late.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use super::link::{Failure, Session};
use super::now;
use super::reads::count;
use server::database::Value;

/// Accounts that a process may open before it looks again: others open some, too.
const ROOM_MAX: i64 = 65_536;
/// Ids that are counted by one call.
const BLOCK: i64 = 250_000;
/// The time between two counts where there is no room.
const AGAIN: Duration = Duration::from_secs(10);

/// An account is closed once its owner has left and nothing of it is staked.
const OPEN: &str = "SELECT count(*) FROM market_accounts WHERE id > ? AND id <= ? \
     AND NOT (closing = 1 AND staked = 0)";

/// Room for accounts, as far as this process knows.
#[derive(Debug)]
pub(super) struct Room {
    /// Most accounts that are open at a time.
    max: i64,
    /// Accounts that may be opened before it is looked again.
    left: AtomicI64,
    /// There was no room when it was looked last.
    full: AtomicBool,
    /// State of the count. The call that holds the lock is the one that looks.
    counted: Mutex<CountProgress>,
}

/// How far a count is.
#[derive(Debug, Default)]
struct CountProgress {
    /// The last id that was counted.
    last: i64,
    /// Open accounts up to there.
    open: i64,
    /// The next count does not begin before this time.
    again: Option<Instant>,
}

impl Room {
    pub(super) fn new(max: i64) -> Self {
        Self {
            max,
            left: AtomicI64::new(0),
            full: AtomicBool::new(false),
            counted: Mutex::default(),
        }
    }

    /// Whether an account may be opened, for all that is known.
    pub(super) fn is_left(&self) -> bool {
        !self.full.load(Ordering::Relaxed)
    }

    /// This number was opened. Whether it is time to look.
    pub(super) fn take(&self, opened: i64) -> bool {
        opened > 0 && self.left.fetch_sub(opened, Ordering::Relaxed) <= opened
    }

    /// Looks how much room there is, unless another call does, or one did a moment ago.
    pub(super) fn look(&self, session: &mut Session<'_>) -> Result<(), Failure> {
        let Ok(mut counted) = self.counted.try_lock() else {
            return Ok(());
        };
        if self.left.load(Ordering::Relaxed) > 0 || counted.again.is_some_and(|time| now() < time) {
            return Ok(());
        }
        let highest = "SELECT coalesce(max(id), 0) FROM market_accounts";
        let highest: i64 = count(&session.row(highest, &[])?, 0)?;
        let mut accounts = highest;
        if highest >= self.max {
            let to = counted.last + BLOCK;
            let block = [Value::Int(counted.last), Value::Int(to)];
            counted.open += count::<i64>(&session.row(OPEN, &block)?, 0)?;
            counted.last = to;
            if to < highest {
                return Ok(());
            }
            accounts = counted.open;
        }
        let left = (self.max - accounts).min(ROOM_MAX);
        *counted =
            CountProgress { again: (left <= 0).then(|| now() + AGAIN), ..CountProgress::default() };
        self.left.store(left, Ordering::Relaxed);
        self.full.store(left <= 0, Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
impl Room {
    /// Has the next call look at once.
    pub(super) fn look_again(&self) {
        *self.counted.lock().expect("no call panics") = CountProgress::default();
    }
}
