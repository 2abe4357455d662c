//! Metrics of the ad network.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::cache::OwnFigures;
use super::link::LinkFigures;
use super::step::Step;
use server::metrics::{Counter, HttpConnections};

/// Everything that is counted on the way.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    /// By step: ads served, impressions, and so on, each once an offer.
    pub(super) steps: [Counter; Step::ALL.len()],
    /// Events that came once more.
    pub(super) repeated: Counter,
    /// Requests for which there was no ad.
    pub(super) no_ad: Counter,
    /// Requests that were refused.
    pub(super) refused: Counter,
    /// Records that could not be stored and that nobody waited for.
    pub(super) records_lost: Counter,
    pub(super) connections: Arc<HttpConnections>,
    /// Figures of the database server, where there is one.
    pub(super) store: Arc<LinkFigures>,
    pub(super) cache: Arc<LinkFigures>,
}

/// How many numbers a process reports to the others of its group.
pub(super) const FIGURES: usize = Step::ALL.len() + 16;

impl Metrics {
    /// All numbers, in an order of their own.
    pub(super) fn numbers(&self) -> [u64; FIGURES] {
        let steps = self.steps.iter().map(Counter::get);
        let counters = [
            &self.repeated,
            &self.no_ad,
            &self.refused,
            &self.records_lost,
            &self.connections.opened,
            &self.connections.closed,
            &self.connections.refused,
        ];
        let links = [&self.store, &self.cache].map(|link| {
            [
                link.open.load(Ordering::Relaxed) as u64,
                link.lost.get(),
                link.renewed.get(),
                link.timeouts.get(),
            ]
        });
        let mut all = steps
            .chain(counters.into_iter().map(Counter::get))
            .chain(links.into_iter().flatten())
            .chain([self.connections.timed_out.get()]);
        std::array::from_fn(|_| all.next().unwrap_or_default())
    }
}

impl OwnFigures for Arc<Metrics> {
    fn text(&self) -> String {
        self.numbers().map(|number| number.to_string()).join(" ")
    }
}
