//! What serving threads have in common.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use server::Drain;
use server::access_log::AccessLog;
use tokio::time::Instant;

use super::metrics::Metrics;
use super::shared::Shared;
use crate::backends::{Backend, BackendsError};
use crate::options::BalancerOptions;

/// A retry, in the budget's unit.
const RETRY: i64 = 1000;
/// Most retries that can be saved up.
const RETRIES_SAVED: i64 = 10 * RETRY;

/// The balancer as its threads share it.
#[derive(Debug)]
pub(crate) struct Router {
    pub(super) options: BalancerOptions,
    pub(crate) metrics: Metrics,
    pub(crate) drain: Drain,
    pub(crate) log: Option<Arc<AccessLog>>,
    current: RwLock<Arc<Shared>>,
    /// Lists of backends that there were.
    lists: AtomicU64,
    start: Instant,
    /// Retries that may be made, in thousandths.
    budget: AtomicI64,
}

impl Router {
    pub(crate) fn new(
        options: BalancerOptions,
        backends: Vec<Backend>,
        log: Option<Arc<AccessLog>>,
    ) -> Self {
        let shared = Shared::new(backends, &options, 0);
        Self {
            current: RwLock::new(Arc::new(shared)),
            lists: AtomicU64::new(1),
            metrics: Metrics::default(),
            drain: Drain::default(),
            log,
            start: Instant::now(),
            budget: AtomicI64::new(RETRIES_SAVED),
            options,
        }
    }

    /// The list of backends in use.
    pub(super) fn current(&self) -> Arc<Shared> {
        // Replacing it leaves no half-made state behind.
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current)
    }

    /// Reads the list of backends again; requests in progress end on the old one. May wait for the disk and for
    /// look-ups of hosts.
    ///
    /// # Errors
    /// If it cannot be used; the old one then stays.
    pub(crate) fn reload(&self) -> Result<usize, BackendsError> {
        let backends = self.options.load()?;
        let count = backends.len();
        let number = self.lists.fetch_add(1, Ordering::Relaxed);
        let mut shared = Shared::new(backends, &self.options, number);
        shared.take_over(&self.current(), self.now_ns());
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(shared);
        Ok(count)
    }

    /// Nanoseconds since the start.
    pub(super) fn now_ns(&self) -> u64 {
        // Below 500 years.
        self.start.elapsed().as_nanos() as u64
    }

    /// Every request lets the budget for retries grow.
    pub(super) fn earn_retries(&self) {
        if self.options.retries == 0 {
            return;
        }
        let earned = (self.options.retry_budget * RETRY as f64) as i64;
        let saved = self.budget.fetch_add(earned, Ordering::Relaxed) + earned;
        if saved > RETRIES_SAVED {
            self.budget
                .fetch_sub(saved - RETRIES_SAVED, Ordering::Relaxed);
        }
    }

    /// Whether the budget has a retry left, which is taken from it.
    pub(super) fn take_retry(&self) -> bool {
        if self.budget.fetch_sub(RETRY, Ordering::Relaxed) >= RETRY {
            return true;
        }
        self.budget.fetch_add(RETRY, Ordering::Relaxed);
        self.metrics.retries_denied.add(1);
        false
    }
}
