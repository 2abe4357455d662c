//! What the ad network counts.

use super::hub::Hub;
use super::offers::Step;
use crate::wire::metrics::{Counter, Page};

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
    pub(super) connections_opened: Counter,
    pub(super) connections_closed: Counter,
    /// Those beyond as many as there may be.
    pub(super) connections_refused: Counter,
}

/// The counters in Prometheus' text format.
pub(super) fn render(hub: &Hub) -> String {
    let metrics = &hub.metrics;
    let mut page = Page::new("ads");
    let names = [
        ("served_total", "Ads served"),
        ("impressions_total", "Ads seen"),
        ("redeems_total", "Ads redeemed"),
        ("clicks_total", "Ads clicked"),
        ("converts_total", "Conversions"),
    ];
    for ((name, help), counter) in names.iter().zip(&metrics.steps) {
        page.counter(name, help, counter.get());
    }
    let counters = [
        (
            "repeated_total",
            "Events that came once more",
            &metrics.repeated,
        ),
        (
            "no_ad_total",
            "Requests for which there was no ad",
            &metrics.no_ad,
        ),
        (
            "refused_total",
            "Requests that were refused",
            &metrics.refused,
        ),
        (
            "records_lost_total",
            "Records that could not be stored",
            &metrics.records_lost,
        ),
        (
            "connections_total",
            "Connections opened",
            &metrics.connections_opened,
        ),
        (
            "connections_refused_total",
            "Connections beyond as many as there may be",
            &metrics.connections_refused,
        ),
    ];
    for (name, help, counter) in counters {
        page.counter(name, help, counter.get());
    }
    page.gauge("connections", "Connections open", hub.connections());
    page.gauge("publishers", "Publishers seen", hub.publishers_count());
    page.gauge(
        "records_waiting",
        "Records that wait to be stored",
        hub.records_waiting(),
    );
    let help = "1 while records cannot be stored";
    page.gauge("store_failing", help, u64::from(hub.store_failing()));
    if let Some(log) = &hub.log {
        page.counter(
            "log_lines_total",
            "Lines of the access log",
            log.counts.written.get(),
        );
        let help = "Lines that the access log could not take";
        page.counter("log_dropped_total", help, log.counts.dropped.get());
        let help = "Times that the access log was begun anew";
        page.counter("log_reopened_total", help, log.counts.reopened.get());
    }
    page.finish()
}
