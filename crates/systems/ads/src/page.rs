//! The metrics page.

use super::metrics::FIGURES;
use super::state::AdsState;
use server::metrics::Page;

/// The sums of what the processes of a group report, or if this one is alone its own numbers.
fn added_up(state: &AdsState, reports: Option<Vec<String>>) -> [u64; FIGURES] {
    let Some(reports) = reports else {
        return state.metrics.numbers();
    };
    let mut all = [0; FIGURES];
    for text in reports {
        for (sum, number) in all.iter_mut().zip(text.split(' ')) {
            *sum += number.parse::<u64>().unwrap_or_default();
        }
    }
    all
}

/// The figures in Prometheus' text format. Those of a group are of all its processes, but for what waits.
pub(super) fn render(state: &AdsState, reports: Option<Vec<String>>) -> String {
    let mut page = Page::new("ads");
    let names = [
        ("served_total", "Ads served"),
        ("impressions_total", "Ads seen"),
        ("redeems_total", "Ads redeemed"),
        ("clicks_total", "Ads clicked"),
        ("converts_total", "Conversions"),
        ("repeated_total", "Repeated events"),
        ("no_ad_total", "Requests without a matching ad"),
        ("refused_total", "Requests refused"),
        ("records_lost_total", "Records that could not be stored"),
        ("connections_total", "Connections opened"),
    ];
    let all = added_up(state, reports);
    for ((name, help), value) in names.iter().zip(all) {
        page.counter(name, help, value);
    }
    let [opened, closed, refused] = [9, 10, 11].map(|place| all[place]);
    let help = "Connections refused because too many were open";
    page.counter("connections_refused_total", help, refused);
    let help =
        "Connections closed because a head was incomplete or an answer unread at the timeout";
    page.counter("connections_timed_out_total", help, all[20]);
    let open = opened.saturating_sub(closed);
    page.gauge("connections", "Connections open", open);
    page.gauge("publishers", "Publishers seen", state.publishers_count());
    page.gauge("records_waiting", "Records waiting to be stored", state.records.waiting());
    let help = "1 while records cannot be stored, else 0";
    page.gauge("store_failing", help, u64::from(state.store_failing()));
    if state.records.is_server() {
        link(&mut page, &STORE, &all[12..16]);
    }
    if let Some(cache) = &state.cache {
        let help = "Queries waiting for the cache";
        page.gauge("cache_waiting", help, cache.waiting());
        link(&mut page, &CACHE, &all[16..20]);
    }
    if let Some(log) = &state.log {
        page.counter("log_lines_total", "Lines of the access log", log.counts().written.get());
        let help = "Lines that could not be written to the access log";
        page.counter("log_dropped_total", help, log.counts().dropped.get());
        let help = "Times the access log was reopened after a rotation";
        page.counter("log_reopened_total", help, log.counts().reopened.get());
    }
    page.finish()
}

/// Names of what happened to connections.
type Names = [(&'static str, &'static str); 4];

const STORE: Names = [
    ("store_connections", "Connections to the database"),
    ("store_lost_total", "Connections to the database lost"),
    ("store_renewed_total", "Connections to the database restored"),
    ("store_timeouts_total", "Requests that timed out waiting for the database"),
];
const CACHE: Names = [
    ("cache_connections", "Connections to the cache"),
    ("cache_lost_total", "Connections to the cache lost"),
    ("cache_renewed_total", "Connections to the cache restored"),
    ("cache_timeouts_total", "Requests that timed out waiting for the cache"),
];

fn link(page: &mut Page, names: &Names, numbers: &[u64]) {
    for (place, ((name, help), number)) in names.iter().zip(numbers).enumerate() {
        match place {
            0 => page.gauge(name, help, number),
            _ => page.counter(name, help, *number),
        }
    }
}
