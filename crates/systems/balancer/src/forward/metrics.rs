//! Metrics of the forwarder.

use std::sync::Arc;
use std::time::Duration;

use server::metrics::{Counter, HttpConnections, Page};

use super::shared::SharedBackends;

#[derive(Debug, Default)]
pub(crate) struct Metrics {
    pub(super) connections: Arc<HttpConnections>,
    /// Requests whose head was read, refused ones too.
    pub(crate) requests: Counter,
    /// Requests that were refused because they are not valid.
    pub(super) refused: Counter,
    /// Requests for which no backend was usable.
    pub(super) unplaced: Counter,
    /// Requests given to another region than the balancer's.
    pub(super) spilled: Counter,
    /// Requests that went to the backend that their cookie names.
    pub(super) stayed: Counter,
    /// Those for which it was not usable, or is not known.
    pub(super) moved: Counter,
    /// Responses by the hundreds of their status.
    pub(super) responses: [Counter; 6],
    pub(super) connect_failures: Counter,
    /// Connections to backends for which the balancer itself had no file, port or memory.
    pub(super) local_failures: Counter,
    /// Connections of clients that could not be accepted.
    pub(super) accept_errors: Counter,
    /// Idle connections that a backend closed as a request came.
    pub(super) stale: Counter,
    /// Backends that broke off before a response.
    pub(super) broken: Counter,
    pub(super) timeouts: Counter,
    /// Responses that broke off in the middle; so did those to clients.
    pub(crate) truncated: Counter,
    pub(super) client_gone: Counter,
    pub(super) retries: Counter,
    pub(super) retries_denied: Counter,
    pub(super) tunnels: Counter,
    pub(super) probes: Counter,
    pub(super) reports: Counter,
    pub(super) reloads: Counter,
    /// Microseconds from a request's head to its sending.
    in_us: Counter,
    /// From there to the first byte of the response.
    upstream_us: Counter,
    /// From there to its end.
    out_us: Counter,
}

/// Parts of a request's time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Phases {
    pub(super) inward: Duration,
    pub(super) upstream: Duration,
    pub(super) outward: Duration,
}

impl Metrics {
    pub(super) fn took(&self, phases: Phases) {
        // No request takes longer than 500,000 years.
        let us = |time: Duration| time.as_micros() as u64;
        self.in_us.add(us(phases.inward));
        self.upstream_us.add(us(phases.upstream));
        self.out_us.add(us(phases.outward));
    }

    pub(super) fn responded(&self, status: u16) {
        let hundreds = usize::from(status / 100).min(self.responses.len() - 1);
        self.responses[hundreds].add(1);
    }

    pub(super) fn text(&self, shared: &SharedBackends, now_ns: u64) -> String {
        let mut page = Page::new("balancer");
        self.write_clients(&mut page);
        self.write_backends(&mut page, shared, now_ns);
        self.write_times(&mut page);
        page.finish()
    }

    fn write_clients(&self, page: &mut Page) {
        let connections = &self.connections;
        let opened = connections.opened.get();
        let open = opened.saturating_sub(connections.closed.get());
        page.gauge("connections", "Connections of clients open", open);
        let mut counter = |name: &str, help: &str, counter: &Counter| {
            page.counter(&format!("{name}_total"), help, counter.get());
        };
        let help = "Connections of clients opened";
        counter("connections", help, &connections.opened);
        let help = "Connections dropped because too many were open";
        counter("connections_refused", help, &connections.refused);
        let help = "Failures to accept a connection";
        counter("accept_errors", help, &self.accept_errors);
        let help = "Connections closed because a head, a body or a reader was too slow, or a WebSocket's end vanished";
        counter("connections_timed_out", help, &connections.timed_out);
        counter("requests", "Requests whose head was read", &self.requests);
        let help = "Requests refused as malformed or too large";
        counter("requests_refused", help, &self.refused);
        let help = "Requests for which no backend was usable";
        counter("requests_unplaced", help, &self.unplaced);
        let help = "Requests given to a backend of another region";
        counter("requests_spilled", help, &self.spilled);
        let help = "Requests given to the backend that their cookie names";
        counter("sticky_stayed", help, &self.stayed);
        let help = "Requests whose cookie names no usable backend";
        counter("sticky_moved", help, &self.moved);
        let help = "Requests whose client left before the end of the response";
        counter("client_gone", help, &self.client_gone);
        let help = "Connections that became WebSockets";
        counter("tunnels", help, &self.tunnels);
        for (hundreds, responses) in self.responses.iter().enumerate().skip(1) {
            let name = format!("responses_{hundreds}xx");
            counter(&name, "Responses with such a status", responses);
        }
    }

    fn write_backends(&self, page: &mut Page, shared: &SharedBackends, now_ns: u64) {
        let states = shared.states(now_ns);
        let up = states.iter().filter(|state| state.up).count();
        page.gauge("backends", "Backends listed", states.len());
        page.gauge("backends_up", "Backends that are given requests", up);
        let listed: u32 = states.iter().map(|state| state.in_flight).sum();
        let in_flight = listed + shared.away();
        page.gauge("in_flight", "Requests at backends", in_flight);
        let mut counter = |name: &str, help: &str, value: u64| {
            page.counter(&format!("{name}_total"), help, value);
        };
        let help = "Times that a backend was ejected";
        counter("ejections", help, shared.ejections());
        let help = "Connections to backends that failed";
        counter("connect_failures", help, self.connect_failures.get());
        let help = "Connections to backends for which the balancer had no file, port or memory";
        counter("local_failures", help, self.local_failures.get());
        let help = "Idle connections that a backend closed as a request came";
        counter("stale_connections", help, self.stale.get());
        let help = "Requests whose backend ended the connection before its response, or responded nonsense";
        counter("broken", help, self.broken.get());
        let help = "Requests whose backend did not respond in time";
        counter("timeouts", help, self.timeouts.get());
        let help = "Responses that ended in the middle";
        counter("truncated", help, self.truncated.get());
        counter("retries", "Requests sent to another backend", self.retries.get());
        let help = "Retries that the budget denied";
        counter("retries_denied", help, self.retries_denied.get());
        let help = "Queries of backends for their load that were answered";
        counter("probes", help, self.probes.get());
        let help = "Reports of backends on their work";
        counter("reports", help, self.reports.get());
        let help = "Times that the list of backends was read again";
        counter("reloads", help, self.reloads.get());
    }

    fn write_times(&self, page: &mut Page) {
        page.counters([
            ("in_us_total", "Microseconds from a request's head to its sending", self.in_us.get()),
            (
                "upstream_us_total",
                "Microseconds from there to the first byte of the response",
                self.upstream_us.get(),
            ),
            (
                "out_us_total",
                "Microseconds from there to the end of the response",
                self.out_us.get(),
            ),
        ]);
    }
}
