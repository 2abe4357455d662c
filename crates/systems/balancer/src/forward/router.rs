//! State that the serving threads have in common.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use server::Drain;
use server::access_log::AccessLog;
use tokio::time::Instant;

use super::metrics::Metrics;
use super::shared::SharedBackends;
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
    pub(super) shared: Arc<SharedBackends>,
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
        Self {
            shared: Arc::new(SharedBackends::new(backends, &options)),
            metrics: Metrics::default(),
            drain: Drain::default(),
            log,
            start: Instant::now(),
            budget: AtomicI64::new(RETRIES_SAVED),
            options,
        }
    }

    /// Reads the list of backends again; requests in progress end where they began. May wait for the disk and for
    /// look-ups of hosts.
    ///
    /// # Errors
    /// If it cannot be used; the old one then stays.
    pub(crate) fn reload(&self) -> Result<usize, BackendsError> {
        let backends = self.options.load()?;
        let count = backends.len();
        self.shared.replace(backends, &self.options, self.now_ns());
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
            self.budget.fetch_sub(saved - RETRIES_SAVED, Ordering::Relaxed);
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
