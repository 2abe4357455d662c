//! What the ad network counts.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::cache::Own;
use super::database::Figures;
use super::hub::Hub;
use super::offers::Step;
use server::metrics::{Counter, Page};

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
    /// Of the database server, where there is one.
    pub(super) store: Arc<Figures>,
    pub(super) cache: Arc<Figures>,
}

/// How many numbers a process tells the others of its group.
const TOLD: usize = Step::ALL.len() + 15;

impl Metrics {
    /// All numbers, in an order of their own.
    fn numbers(&self) -> [u64; TOLD] {
        let steps = self.steps.iter().map(Counter::get);
        let counters = [
            &self.repeated,
            &self.no_ad,
            &self.refused,
            &self.records_lost,
            &self.connections_opened,
            &self.connections_closed,
            &self.connections_refused,
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
            .chain(links.into_iter().flatten());
        std::array::from_fn(|_| all.next().unwrap_or_default())
    }
}

impl Own for Arc<Metrics> {
    fn text(&self) -> String {
        self.numbers().map(|number| number.to_string()).join(" ")
    }
}

/// What the processes of a group told, or where this one is alone its own numbers.
fn added_up(hub: &Hub, told: Option<Vec<String>>) -> [u64; TOLD] {
    let Some(told) = told else {
        return hub.metrics.numbers();
    };
    let mut all = [0; TOLD];
    for text in told {
        for (sum, number) in all.iter_mut().zip(text.split(' ')) {
            *sum += number.parse::<u64>().unwrap_or_default();
        }
    }
    all
}

/// The figures in Prometheus' text format. Those of a group are of all its processes, but for what waits.
pub(super) fn render(hub: &Hub, told: Option<Vec<String>>) -> String {
    let mut page = Page::new("ads");
    let names = [
        ("served_total", "Ads served"),
        ("impressions_total", "Ads seen"),
        ("redeems_total", "Ads redeemed"),
        ("clicks_total", "Ads clicked"),
        ("converts_total", "Conversions"),
        ("repeated_total", "Events that came once more"),
        ("no_ad_total", "Requests for which there was no ad"),
        ("refused_total", "Requests that were refused"),
        ("records_lost_total", "Records that could not be stored"),
        ("connections_total", "Connections opened"),
    ];
    let all = added_up(hub, told);
    for ((name, help), value) in names.iter().zip(all) {
        page.counter(name, help, value);
    }
    let [opened, closed, refused] = [9, 10, 11].map(|place| all[place]);
    let help = "Connections beyond as many as there may be";
    page.counter("connections_refused_total", help, refused);
    let open = opened.saturating_sub(closed);
    page.gauge("connections", "Connections open", open);
    page.gauge("publishers", "Publishers seen", hub.publishers_count());
    page.gauge(
        "records_waiting",
        "Records that wait to be stored",
        hub.records.waiting(),
    );
    let help = "1 while records cannot be stored";
    page.gauge("store_failing", help, u64::from(hub.store_failing()));
    if hub.records.is_server() {
        link(&mut page, &STORE, &all[12..16]);
    }
    if let Some(cache) = &hub.cache {
        let help = "Questions that wait for the cache";
        page.gauge("cache_waiting", help, cache.waiting());
        link(&mut page, &CACHE, &all[16..20]);
    }
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

/// Names of what happened to connections.
type Names = [(&'static str, &'static str); 4];

const STORE: Names = [
    ("store_connections", "Connections to the database"),
    (
        "store_lost_total",
        "Connections to the database that were lost",
    ),
    (
        "store_renewed_total",
        "Lost connections to the database that were made anew",
    ),
    (
        "store_timeouts_total",
        "Requests that waited for the database in vain",
    ),
];
const CACHE: Names = [
    ("cache_connections", "Connections to the cache"),
    (
        "cache_lost_total",
        "Connections to the cache that were lost",
    ),
    (
        "cache_renewed_total",
        "Lost connections to the cache that were made anew",
    ),
    (
        "cache_timeouts_total",
        "Requests that waited for the cache in vain",
    ),
];

fn link(page: &mut Page, names: &Names, numbers: &[u64]) {
    for (place, ((name, help), number)) in names.iter().zip(numbers).enumerate() {
        match place {
            0 => page.gauge(name, help, number),
            _ => page.counter(name, help, *number),
        }
    }
}
