//! Counters, and their text for Prometheus.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use super::ledger::Money;

/// A number that any thread may change.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Everything the market counts.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    pub(super) connections_opened: Counter,
    pub(super) connections_closed: Counter,
    pub(super) accept_errors: Counter,
    pub(super) connections_cut: Counter,
    pub(super) opening_timeouts: Counter,
    pub(super) messages_received: Counter,
    pub(super) messages_sent: Counter,
    pub(super) broadcasts: Counter,
    pub(super) predictions_accepted: Counter,
    pub(super) predictions_refused: Counter,
    pub(super) pools_settled: Counter,
    pub(super) bad_requests: Counter,
    pub(super) slow_disconnects: Counter,
    pub(super) idle_disconnects: Counter,
    pub(super) distributions_superseded: Counter,
    pub(super) bus_lost: Counter,
    pub(super) store_errors: Counter,
}

impl Metrics {
    /// The counters in Prometheus' text format, version 0.0.4.
    pub(super) fn render(&self, money: Money) -> String {
        let (opened, closed) = (self.connections_opened.get(), self.connections_closed.get());
        let counters = [
            ("market_connections_total", "WebSockets opened", opened),
            (
                "market_accept_errors_total",
                "Failures to accept",
                self.accept_errors.get(),
            ),
            (
                "market_opening_timeouts_total",
                "Connections given up because their first request was not whole in time",
                self.opening_timeouts.get(),
            ),
            (
                "market_messages_received_total",
                "WebSocket messages received",
                self.messages_received.get(),
            ),
            (
                "market_messages_sent_total",
                "WebSocket messages sent",
                self.messages_sent.get(),
            ),
            (
                "market_broadcasts_total",
                "Distributions published",
                self.broadcasts.get(),
            ),
            (
                "market_predictions_accepted_total",
                "Predictions taken",
                self.predictions_accepted.get(),
            ),
            (
                "market_predictions_refused_total",
                "Predictions refused",
                self.predictions_refused.get(),
            ),
            (
                "market_pools_settled_total",
                "Pools settled",
                self.pools_settled.get(),
            ),
            (
                "market_bad_requests_total",
                "Requests answered by an error",
                self.bad_requests.get(),
            ),
            (
                "market_slow_disconnects_total",
                "Connections cut for reading too slowly",
                self.slow_disconnects.get(),
            ),
            (
                "market_idle_disconnects_total",
                "Connections closed for silence",
                self.idle_disconnects.get(),
            ),
            (
                "market_distributions_superseded_total",
                "Distributions that a newer one overtook",
                self.distributions_superseded.get(),
            ),
            (
                "market_bus_lost_total",
                "Notices lost between threads",
                self.bus_lost.get(),
            ),
            (
                "market_store_errors_total",
                "Failures of the store",
                self.store_errors.get(),
            ),
        ];
        let mut text = String::with_capacity(4096);
        for (name, help, value) in counters {
            sample(&mut text, name, "counter", help, value);
        }
        let open = opened.saturating_sub(closed);
        sample(
            &mut text,
            "market_connections",
            "gauge",
            "WebSockets open",
            open,
        );
        money_samples(&mut text, money);
        process_samples(&mut text);
        text
    }
}

fn sample(text: &mut String, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
    writeln!(
        text,
        "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}"
    )
    .expect("a string takes any text");
}

fn money_samples(text: &mut String, money: Money) {
    let total = money.balances + money.stakes;
    let samples = [
        (
            "market_money_total",
            "Cents in balances and open pools, counted",
            total,
        ),
        (
            "market_money_expected",
            "Cents paid in less cents paid out",
            money.deposited.saturating_sub(money.withdrawn),
        ),
        ("market_money_staked", "Cents in open pools", money.stakes),
    ];
    for (name, help, value) in samples {
        sample(text, name, "gauge", help, value);
    }
}

/// Memory and CPU of this process; left out where `/proc` does not tell.
fn process_samples(text: &mut String) {
    if let Some(bytes) = resident_bytes() {
        let help = "Resident memory in bytes";
        sample(text, "process_resident_memory_bytes", "gauge", help, bytes);
    }
    if let Some(seconds) = cpu_seconds() {
        let help = "User and system CPU time in seconds";
        sample(text, "process_cpu_seconds_total", "counter", help, seconds);
    }
}

fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name, in brackets, may hold anything; user and system time are fields 14 and 15.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    let (user, system) = (ticks()?, ticks()?);
    // The kernel shows clock ticks to user space as hundredths of a second (USER_HZ).
    Some((user + system) as f64 / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_every_figure_once() {
        let metrics = Metrics::default();
        metrics.connections_opened.add(3);
        metrics.connections_closed.add(1);
        let text = metrics.render(Money {
            balances: 5,
            stakes: 2,
            deposited: 9,
            withdrawn: 2,
        });
        for line in [
            "market_connections 2",
            "market_connections_total 3",
            "market_money_total 7",
            "market_money_expected 7",
        ] {
            assert_eq!(
                text.lines().filter(|&found| found == line).count(),
                1,
                "{line}"
            );
        }
        assert!(text.contains("process_resident_memory_bytes "));
        assert!(text.contains("process_cpu_seconds_total "));
    }
}
