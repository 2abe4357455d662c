//! Users who have left, and whose accounts are to be closed.
//!
//! An account is closed as its owner leaves. If very many leave, or the store is away, they wait here: one task closes
//! their accounts in blocks, and repeats what failed until it is done.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};

use super::state::MarketState;
use crate::bus::model::User;

/// Accounts that are closed at the same time while their owners leave: requests of others wait for the store, too.
const AT_ONCE_MAX: usize = 64;
/// Most accounts that are closed by one call.
pub(crate) const BLOCK_MAX: usize = 256;
/// How long nothing is tried after a failure.
const PAUSE: Duration = Duration::from_millis(250);
/// How often somebody who waits for the end looks for it.
const LOOK: Duration = Duration::from_millis(10);

/// Users whose accounts are not closed yet.
pub(crate) struct Leavers {
    waiting: Mutex<VecDeque<User>>,
    at_once: Semaphore,
    /// Holds a permit when somebody waits since the task last looked.
    news: Notify,
}

impl Default for Leavers {
    fn default() -> Self {
        Self {
            waiting: Mutex::default(),
            at_once: Semaphore::new(AT_ONCE_MAX),
            news: Notify::new(),
        }
    }
}

impl Leavers {
    fn waiting(&self) -> MutexGuard<'_, VecDeque<User>> {
        // Each change is one step.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn first(&self) -> Vec<User> {
        self.waiting().iter().take(BLOCK_MAX).cloned().collect()
    }

    /// How many wait.
    pub(crate) fn count(&self) -> usize {
        self.waiting().len()
    }

    /// Returns when nobody waits any more.
    pub(crate) async fn finish(&self) {
        while self.count() > 0 {
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// Closes the account of a user who has left, now or later.
pub(crate) async fn close(state: &MarketState, user: User) {
    let leaving = &state.leaving;
    if let Ok(_permit) = leaving.at_once.try_acquire() {
        if state.store.close_account(&user).await.is_ok() {
            return;
        }
        state.metrics.store_errors.add(1);
    }
    leaving.waiting().push_back(user);
    leaving.news.notify_one();
}

/// Closes the accounts of those who wait, for ever.
pub(crate) async fn close_waiting(state: Arc<MarketState>) {
    loop {
        let block = state.leaving.first();
        if block.is_empty() {
            state.leaving.news.notified().await;
            continue;
        }
        match state.store.close_accounts(&block).await {
            // No other task takes users away.
            Ok(()) => drop(state.leaving.waiting().drain(..block.len())),
            Err(_) => {
                state.metrics.store_errors.add(1);
                tokio::time::sleep(server::stretch(PAUSE)).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::options::MarketOptions;
    use crate::tests::Slow;

    #[tokio::test(start_paused = true)]
    async fn accounts_are_closed_when_the_store_is_back() {
        let mut state = MarketState::new(&MarketOptions::default());
        let inner = Arc::clone(&state.store);
        let slow = Slow::new(&inner);
        let away = Arc::clone(&slow.away);
        state.store = Arc::new(slow);
        let state = Arc::new(state);
        let users = || (0..1000).map(User::Connection);
        for user in users() {
            inner.open_account(&user).await.unwrap();
        }
        away.store(true, Ordering::Relaxed);
        tokio::spawn(close_waiting(Arc::clone(&state)));
        for user in users() {
            close(&state, user).await;
        }
        assert_eq!(state.leaving.count(), 1000);
        tokio::time::sleep(PAUSE * 8).await;
        away.store(false, Ordering::Relaxed);
        state.leaving.finish().await;
        let money = state.store.audit().await.unwrap();
        assert_eq!((money.balances, money.withdrawn), (0, money.deposited));
    }
}
