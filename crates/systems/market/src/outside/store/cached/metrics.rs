//! Metrics of a cache.

use std::sync::Arc;

use crate::outside::bus::redis::link::{Dialer, LinkMetrics};
use server::metrics::{Counter, Page};

/// Metrics of a cache.
#[derive(Debug, Default)]
pub(crate) struct CacheMetrics {
    /// Reads of games that the cache answered.
    pub(crate) games_hits: Counter,
    /// Reads of games that the store answered.
    pub(crate) games_misses: Counter,
    /// Reads of open pools that the cache answered.
    pub(crate) pool_hits: Counter,
    /// Reads of open pools that the store answered.
    pub(crate) pool_misses: Counter,
    /// Records that were not used, because this process knew a newer one.
    pub(crate) older: Counter,
    /// Records that were written.
    pub(crate) written: Counter,
    /// Records that were not written, because a newer one was there.
    pub(crate) overtaken: Counter,
    /// Records that could not be written.
    pub(crate) unwritten: Counter,
    /// The connections: to the master, then to the replica.
    links: Vec<Arc<LinkMetrics>>,
}

impl CacheMetrics {
    pub(super) fn new(dialers: &[Dialer]) -> Self {
        let links = dialers.iter().map(|dialer| Arc::clone(&dialer.figures));
        Self { links: links.collect(), ..Self::default() }
    }

    /// Messages that were sent to the master and the replica.
    #[cfg(test)]
    pub(crate) fn round_trips(&self) -> u64 {
        self.links.iter().map(|link| link.round_trips.get()).sum()
    }

    /// Adds the figures to a metrics page.
    pub(crate) fn write(&self, page: &mut Page) {
        page.counters([
            (
                "cache_games_hits_total",
                "Reads of games that the cache answered",
                self.games_hits.get(),
            ),
            (
                "cache_games_misses_total",
                "Reads of games that the store answered",
                self.games_misses.get(),
            ),
            (
                "cache_pool_hits_total",
                "Reads of open pools that the cache answered",
                self.pool_hits.get(),
            ),
            (
                "cache_pool_misses_total",
                "Reads of open pools that the store answered",
                self.pool_misses.get(),
            ),
            ("cache_older_total", "Records older than this process knew", self.older.get()),
            ("cache_written_total", "Records written", self.written.get()),
            (
                "cache_overtaken_total",
                "Records not written because a newer one was there",
                self.overtaken.get(),
            ),
            ("cache_unwritten_total", "Records that could not be written", self.unwritten.get()),
        ]);
        for (link, what) in self.links.iter().zip(["cache", "cache_replica"]) {
            link.write(page, what);
        }
    }
}
