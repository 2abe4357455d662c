//! The metrics page.

use super::hub::Hub;
use super::metrics::FIGURES;
use server::metrics::Page;

/// What the processes of a group told, or where this one is alone its own numbers.
fn added_up(hub: &Hub, told: Option<Vec<String>>) -> [u64; FIGURES] {
    let Some(told) = told else {
        return hub.metrics.numbers();
    };
    let mut all = [0; FIGURES];
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
            log.counts().written.get(),
        );
        let help = "Lines that the access log could not take";
        page.counter("log_dropped_total", help, log.counts().dropped.get());
        let help = "Times that the access log was begun anew";
        page.counter("log_reopened_total", help, log.counts().reopened.get());
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
