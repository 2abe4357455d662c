//! Connections that failed and are tried again, where the scenario says so.
//!
//! Each attempt is an operation of the measure `connect`; the request or handshake that needs the
//! connection stays in flight meanwhile and counts from when it was due.

use plan::Op;
use record::Outcome;

use super::Shard;
use crate::conn::Kind;
use crate::user::Wait;

impl Shard<'_> {
    /// Whether the user's failed connection is tried again; then the user waits for that.
    pub(super) fn will_retry(&mut self, now_ns: u64, key: u32, outcome: Outcome) -> bool {
        let retries = self.plan.options.connect_retries;
        let at_ns = now_ns.saturating_add(retries.pause_ns);
        let user = &self.users[key];
        if user.retries >= retries.times
            || !is_worth_another(outcome)
            || at_ns >= self.operation_end_ns(key)
        {
            return false;
        }
        self.users[key].retries += 1;
        self.recorder.counts.connects_retried += 1;
        self.wait_for(key, Wait::Retry, at_ns);
        true
    }

    /// The pause before another attempt is over.
    pub(super) fn connect_again(&mut self, now_ns: u64, key: u32) {
        let plan = self.plan;
        let user = &self.users[key];
        match &plan.sessions[user.session as usize].ops[user.pc as usize] {
            // Others may have left a connection behind meanwhile.
            Op::Http(http) => self.reach(now_ns, key, http),
            Op::WsOpen(open) => {
                let endpoint = self.endpoint_of(key, open.endpoint);
                self.open_conn(now_ns, key, endpoint, Kind::WebSocket);
            }
            Op::SseOpen(open) => self.connect_events(now_ns, key, open),
            Op::TcpOpen(open) => self.connect_tcp(now_ns, key, open),
            other => unreachable!("a connection is tried again for {other:?}"),
        }
    }

    /// When the time of the user's operation in flight is up.
    pub(super) fn operation_end_ns(&self, key: u32) -> u64 {
        let user = &self.users[key];
        let op = &self.plan.sessions[user.session as usize].ops[user.pc as usize];
        user.sent_ns.saturating_add(timeout_ns(op))
    }
}

/// The time that an operation has which needs a connection, the making of that included.
pub(super) fn timeout_ns(op: &Op) -> u64 {
    match op {
        Op::Http(http) => http.timeout_ns,
        Op::WsOpen(open) => open.timeout_ns,
        Op::SseOpen(open) => open.timeout_ns,
        Op::TcpOpen(open) => open.timeout_ns,
        Op::Poll(poll) => poll.timeout_ns,
        _ => 0,
    }
}

/// True where the target or the way there turned the connection away. What the generator itself
/// had not enough of, and certificates that are not trusted, will be no better in a moment.
pub(super) fn is_worth_another(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Refused
            | Outcome::Unreachable
            | Outcome::ConnectTimeout
            | Outcome::Reset
            | Outcome::SelfConnect
    )
}
