//! Metrics of a bus.

use std::sync::Arc;

use super::link::LinkMetrics;
use server::metrics::{Counter, Page};

/// Metrics of a bus.
#[derive(Debug, Default)]
pub struct BusMetrics {
    /// Messages published here.
    pub published: Counter,
    /// Publications that were not newer than the last one.
    pub duplicates: Counter,
    /// Batches that this process may publish in.
    pub claims_won: Counter,
    /// Batches that another process had.
    pub claims_lost: Counter,
    /// Messages received, whoever published them.
    pub received: Counter,
    /// Messages that were published and not received, by the gaps in their numbers.
    pub lost: Counter,
    /// Messages that were dropped because their numbers went back or are no numbers.
    pub dropped: Counter,
    /// Subscriptions that were lost and restored.
    pub resubscribed: Counter,
    /// Games whose numbers were raised, because the bus had lost them.
    pub raised: Counter,
    /// Figures of its connections.
    pub link: Arc<LinkMetrics>,
}

impl BusMetrics {
    /// Those of a bus on this link.
    pub(super) fn new(link: Arc<LinkMetrics>) -> Self {
        Self { link, ..Self::default() }
    }

    /// Adds the figures to a metrics page.
    pub fn write(&self, page: &mut Page) {
        page.counters([
            ("bus_published_total", "Messages published by this process", self.published.get()),
            (
                "bus_duplicates_total",
                "Publications not newer than the last one",
                self.duplicates.get(),
            ),
            ("bus_claims_won_total", "Batches claimed by this process", self.claims_won.get()),
            (
                "bus_claims_lost_total",
                "Batches that another process had claimed",
                self.claims_lost.get(),
            ),
            ("bus_received_total", "Messages received from the bus", self.received.get()),
            (
                "bus_gaps_total",
                "Messages published and not received, by the gaps in their numbers",
                self.lost.get(),
            ),
            (
                "bus_dropped_total",
                "Messages dropped because their numbers went back or could not be read",
                self.dropped.get(),
            ),
            ("bus_resubscribed_total", "Subscriptions lost and restored", self.resubscribed.get()),
            ("bus_raised_total", "Games whose numbers the bus had lost", self.raised.get()),
        ]);
        self.link.write(page, "bus");
    }
}
