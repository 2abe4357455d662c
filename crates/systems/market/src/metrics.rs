//! Metrics of the market besides those of its connections.

use super::ledger::Money;
use super::outside::Outside;
use server::metrics::{Connections, Counter, Page};

/// Everything the market counts.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) connections: Connections,
    pub(crate) broadcasts: Counter,
    pub(crate) predictions_accepted: Counter,
    pub(crate) predictions_refused: Counter,
    pub(crate) pools_settled: Counter,
    pub(crate) bus_lost: Counter,
    pub(crate) bus_errors: Counter,
    pub(crate) store_errors: Counter,
    pub(crate) unavailable: Counter,
    pub(crate) questions_posed: Counter,
    pub(crate) questions_unposed: Counter,
}

impl Metrics {
    /// The counters in Prometheus' text format, version 0.0.4.
    pub(crate) fn render(&self, money: Option<Money>, outside: &Outside) -> String {
        let mut page = Page::new("market");
        page.connections("WebSockets", &self.connections);
        let counters = [
            ("broadcasts_total", "Distributions published", self.broadcasts.get()),
            ("predictions_accepted_total", "Predictions accepted", self.predictions_accepted.get()),
            ("predictions_refused_total", "Predictions refused", self.predictions_refused.get()),
            ("pools_settled_total", "Pools settled", self.pools_settled.get()),
            (
                "distributions_superseded_total",
                "Distributions replaced by a newer one before they were sent",
                self.connections.superseded.get(),
            ),
            ("bus_lost_total", "Messages lost between threads", self.bus_lost.get()),
            ("bus_errors_total", "Failures of the bus", self.bus_errors.get()),
            ("store_errors_total", "Failures of the store", self.store_errors.get()),
            (
                "unavailable_total",
                "Requests over WebSocket that the store could not answer",
                self.unavailable.get(),
            ),
            ("questions_posed_total", "Questions of users and rules", self.questions_posed.get()),
            (
                "questions_unposed_total",
                "Questions of rules for which no slot was free, or whose next event was settled",
                self.questions_unposed.get(),
            ),
        ];
        for (name, help, value) in counters {
            page.counter(name, help, value);
        }
        if let Some(money) = money {
            write_money(&mut page, money);
        }
        outside.write(&mut page);
        page.finish()
    }
}

fn write_money(page: &mut Page, money: Money) {
    let gauges = [
        (
            "money_total",
            "Cents in balances and open pools, by account",
            money.balances + money.stakes,
        ),
        (
            "money_expected",
            "Cents paid in minus cents paid out",
            money.deposited.saturating_sub(money.withdrawn),
        ),
        ("money_staked", "Cents in open pools", money.stakes),
    ];
    for (name, help, value) in gauges {
        page.gauge(name, help, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_every_figure_once() {
        let metrics = Metrics::default();
        metrics.connections.opened.add(3);
        metrics.connections.closed.add(1);
        let money = Money { balances: 5, stakes: 2, deposited: 9, withdrawn: 2 };
        let text = metrics.render(Some(money), &Outside::default());
        for line in [
            "market_connections 2",
            "market_connections_total 3",
            "market_money_total 7",
            "market_money_expected 7",
        ] {
            assert_eq!(text.lines().filter(|&found| found == line).count(), 1, "{line}");
        }
        assert!(text.contains("process_resident_memory_bytes "));
        assert!(text.contains("process_cpu_seconds_total "));
    }
}
