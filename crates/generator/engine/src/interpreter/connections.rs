//! News of connections, and what each means to its user.

use plan::{EndpointId, Op, builtin};
use proto::ws;
use record::{Measurement, Outcome};

use crate::command::ConnId;
use crate::conn::{Conn, Link, Stage};
use crate::failures::{Code, FailureReport};
use crate::interpreter::Interpreter;
use crate::protocols::Protocol;
use crate::tables::slots::{ConnSlot, UserKey};
use crate::tls::TlsFailure;
use crate::users::Wait;

/// The code of a WebSocket that ended without a close frame (RFC 6455 §7.1.5).
const ABNORMAL: u16 = 1006;

impl Interpreter<'_> {
    /// The driver made the TCP connection.
    pub(crate) fn connected(&mut self, now_ns: u64, id: ConnId) {
        let Some(slot) = self.conns.live(id) else {
            return;
        };
        self.connection_came(slot);
        match self.conns.begin_tunnel(&self.users, slot) {
            Ok(true) => {}
            Ok(false) => self.connected_to_target(now_ns, slot),
            Err((outcome, detail)) => self.lost(now_ns, slot, outcome, || detail),
        }
    }

    /// TCP, and the tunnel if there is one, are set up.
    pub(crate) fn connected_to_target(&mut self, now_ns: u64, slot: ConnSlot) {
        self.note_connected(now_ns, slot);
        match self.conns.secure(&self.users, slot) {
            Ok(true) => self.established(now_ns, slot),
            Ok(false) => {}
            Err(failure) => self.secure_failed(now_ns, slot, failure),
        }
    }

    /// A step towards a connection for which an operation waits.
    pub(crate) fn connection_came(&mut self, slot: ConnSlot) {
        let conn = &self.conns[slot];
        if !conn.is_background() {
            self.took_step(conn.user);
        }
    }

    /// The driver could not make the TCP connection.
    pub(crate) fn connect_failed(
        &mut self,
        now_ns: u64,
        id: ConnId,
        outcome: Outcome,
        detail: &str,
    ) {
        if let Some(slot) = self.conns.live(id) {
            self.lost(now_ns, slot, outcome, || detail.to_owned());
        }
    }

    /// The peer sent bytes.
    pub(crate) fn received(&mut self, now_ns: u64, id: ConnId, bytes: &[u8]) {
        let Some(slot) = self.conns.live(id) else {
            return;
        };
        if self.conns[slot].tls.is_none() {
            return self.take_in(now_ns, slot, bytes);
        }
        let mut plain = Vec::new();
        let closed = match self.conns.decrypt(&self.users, slot, bytes, &mut plain) {
            Ok(closed) => closed,
            Err(failure) => return self.secure_failed(now_ns, slot, failure),
        };
        if self.conns.is_secured(slot) {
            self.count_tls(slot);
            self.connection_came(slot);
            self.established(now_ns, slot);
        }
        if !plain.is_empty() && self.conns.live(id).is_some() {
            self.take_in(now_ns, slot, &plain);
        }
        if closed && self.conns.live(id).is_some() {
            self.peer_closed(now_ns, slot);
        }
    }

    /// TLS is set up: by a full handshake, or from a session of before.
    fn count_tls(&mut self, slot: ConnSlot) {
        let is_resumed = self.conns[slot].tls.as_ref().is_some_and(|tls| tls.is_resumed());
        let counts = &mut self.recorder.counts;
        match is_resumed {
            true => counts.tls_handshakes_resumed += 1,
            false => counts.tls_handshakes_full += 1,
        }
    }

    /// The peer closed its side, or the connection broke: then `failure` says how.
    pub(crate) fn closed(&mut self, now_ns: u64, id: ConnId, failure: Option<(Outcome, &str)>) {
        let Some(slot) = self.conns.live(id) else {
            return;
        };
        match failure {
            Some((outcome, detail)) => self.lost(now_ns, slot, outcome, || detail.to_owned()),
            // TLS closes before TCP does; without that anybody may have cut it short (RFC 9112 §9.8).
            None if self.conns[slot].tls.is_some() => {
                let detail = "the peer closed the connection without closing TLS";
                self.closed_abnormally(now_ns, slot, || detail.to_owned());
            }
            None => self.peer_closed(now_ns, slot),
        }
    }

    /// The peer closed its side in good order.
    fn peer_closed(&mut self, now_ns: u64, slot: ConnSlot) {
        match self.ended_by_close(now_ns, slot) {
            Ok(true) => {}
            Ok(false) => self.closed_abnormally(now_ns, slot, || "the peer closed".to_owned()),
            Err(cut) => self.lost(now_ns, slot, Outcome::Closed, || cut.to_string()),
        }
    }

    /// The peer closed, without a close frame if it was a WebSocket.
    fn closed_abnormally(&mut self, now_ns: u64, slot: ConnSlot, detail: impl FnOnce() -> String) {
        let is_bare = matches!(self.conns[slot].link, Link::Bare(_));
        match self.is_open_websocket(slot) && !is_bare {
            true => self.under(Code::Close(ABNORMAL), |own| {
                own.lost(now_ns, slot, Outcome::Closed, detail);
            }),
            false => self.lost(now_ns, slot, Outcome::Closed, detail),
        }
    }

    /// Opens a connection for the user's current step, and has the user wait for it.
    pub(crate) fn open_conn(
        &mut self,
        now_ns: u64,
        key: UserKey,
        endpoint: EndpointId,
        link: Link,
        protocol: Protocol,
    ) {
        let slot = self.conns.insert(&mut self.users, key, endpoint, link, protocol);
        self.recorder.begin(builtin::CONNECT);
        self.conns.connect(now_ns, &self.users, slot);
        self.wait_for(key, Wait::Connect, self.connected_by_ns(now_ns, key));
    }

    /// Until when the user waits for a connection.
    pub(crate) fn connected_by_ns(&self, now_ns: u64, key: UserKey) -> u64 {
        let connected_by_ns = now_ns + self.plan.options.connect_timeout_ns;
        connected_by_ns.min(self.operation_end_ns(key))
    }

    /// TCP, and TLS if wanted, are set up: the protocol's first bytes go out.
    fn established(&mut self, now_ns: u64, slot: ConnSlot) {
        let speaks_http2 = match self.conns.speaks_http2(slot) {
            Ok(speaks) => speaks,
            Err(detail) => {
                return self.lost(now_ns, slot, Outcome::HttpProtocol, || detail.to_owned());
            }
        };
        let key = self.conns[slot].user;
        self.note_secured(now_ns, slot);
        self.record_connect(now_ns, slot, Outcome::Ok);
        self.count_connected(key);
        if speaks_http2 {
            return self.begin_http2(now_ns, slot);
        }
        self.conns[slot].forgo_carrier();
        let id = self.conns.id(slot);
        let endpoint = self.conns[slot].endpoint;
        let waiting = self.conns.take_waiting(slot);
        self.begin_speaking(now_ns, slot);
        // Over HTTP/1.1, others open further ones.
        self.release_waiting(now_ns, endpoint, waiting, Some(id));
    }

    /// The user has a connection.
    pub(crate) fn count_connected(&mut self, key: UserKey) {
        let user = &mut self.users[key];
        if !user.connected {
            user.connected = true;
            let owner = self.users.owner(key);
            let is_new = owner == key || !self.users[owner].connected;
            self.users[owner].connected = true;
            self.recorder.counts.users_connected += u64::from(is_new);
        }
    }

    pub(crate) fn record_connect(&mut self, now_ns: u64, slot: ConnSlot, outcome: Outcome) {
        self.trace_branch(self.conns[slot].user);
        let conn = &self.conns[slot];
        let row = Measurement {
            due_ns: conn.started_ns,
            sent_ns: conn.started_ns,
            done_ns: now_ns,
            outcome,
            bytes_out: 0,
            bytes_in: 0,
            ..self.users[conn.user].row(builtin::CONNECT)
        };
        self.recorder.operation(row, 0, 0);
    }

    fn secure_failed(&mut self, now_ns: u64, slot: ConnSlot, failure: TlsFailure) {
        self.lost(now_ns, slot, failure.outcome, || failure.detail);
    }

    /// The connection is of no more use: it is closed, and the operation that needs it fails.
    pub(crate) fn lost(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        if self.conns[slot].carrier().is_some() {
            return self.carrier_lost(now_ns, slot, outcome, &detail());
        }
        // It was declined before that.
        if self.end_declined(now_ns, slot) {
            return;
        }
        if outcome == Outcome::Timeout {
            self.suspect(slot);
        }
        let proxy = self.conns.proxy_in_question(slot).map(str::to_owned);
        let detail = || match proxy {
            Some(proxy) => format!("{proxy}: {}", detail()),
            None => detail(),
        };
        if self.conns[slot].is_background() {
            return self.lost_in_background(now_ns, slot, outcome, detail);
        }
        let key = self.conns[slot].user;
        let stage = self.conns[slot].stage;
        match stage {
            Stage::Idle | Stage::Waiting => self.conns.close(&mut self.users, slot),
            Stage::Connecting | Stage::Securing => {
                self.explain(now_ns, key, outcome, detail);
                self.record_connect(now_ns, slot, outcome);
                let endpoint = self.conns[slot].endpoint;
                let waiting = self.conns.take_waiting(slot);
                self.conns.close(&mut self.users, slot);
                if !self.will_retry(now_ns, key, outcome) {
                    self.fail(now_ns, key, outcome, 0);
                }
                self.release_waiting(now_ns, endpoint, waiting, None);
            }
            Stage::Upgrading => {
                self.conns.close(&mut self.users, slot);
                self.fail_because(now_ns, key, outcome, 0, detail);
            }
            Stage::Busy if self.may_resend(slot, outcome) => self.resend(now_ns, slot, false),
            Stage::Busy => {
                let not_resent = self.not_resent(slot, outcome);
                self.explain(now_ns, key, outcome, || detail() + &not_resent);
                self.conns.close(&mut self.users, slot);
                self.complete(now_ns, key, outcome, 0);
            }
            Stage::Open => self.lost_while_open(now_ns, slot, outcome, detail),
            Stage::Closing => self.websocket_closed(now_ns, slot),
        }
    }

    /// An open WebSocket, TCP connection or event stream ended for good that the user did not close:
    /// its session cannot continue.
    pub(crate) fn stream_lost(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        if self.is_of_script(slot) {
            let detail = detail();
            // The script hears of it; that it was our own fault, the run's account says.
            if outcome.is_generator_limit() {
                self.count_loss(now_ns, self.conns[slot].user, outcome, || detail.clone());
            }
            return self.lost_for_script(now_ns, slot, &detail);
        }
        if self.will_reconnect_websocket(slot, outcome) && self.conns[slot].stage == Stage::Open {
            return self.websocket_broke(now_ns, slot, outcome, detail);
        }
        let key = self.conns[slot].user;
        self.end_rejoins(now_ns, slot, outcome);
        self.end_subscription(now_ns, key);
        self.conns.close(&mut self.users, slot);
        match self.users[key].wait {
            // An upgrade, until the protocol above it has greeted.
            Wait::Reply | Wait::Upgrade => {
                self.fail_because(now_ns, key, outcome, 0, detail);
            }
            Wait::Until => {
                self.count_loss(now_ns, key, outcome, detail);
                self.give_up_session(now_ns, key, outcome, 0);
            }
            // What the user waits for is none of the server's.
            Wait::Others => {
                self.record_operation(now_ns, key, Outcome::Unfinished, 0);
                self.count_loss(now_ns, key, outcome, detail);
                self.give_up_session(now_ns, key, outcome, 0);
            }
            // Busy with an HTTP request; the next step that needs it will find none open.
            Wait::Connect | Wait::Retry | Wait::Response | Wait::Turn | Wait::Branches => {
                self.count_loss(now_ns, key, outcome, detail);
            }
            Wait::Nothing | Wait::Restart | Wait::Close | Wait::Leaving => {}
        }
    }

    /// Counts the loss of a stream that no step in flight waits for: no operation failed, and the set-up of its
    /// connection succeeded.
    fn count_loss(
        &mut self,
        now_ns: u64,
        key: UserKey,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        let users = &self.users;
        let measure = self.plan.faults;
        let detail = || users.discreet(key, detail());
        let failed = FailureReport::new(now_ns, measure, outcome, users[key].number);
        self.recorder.explain(&failed, detail);
        self.recorder.check(measure, outcome);
    }

    /// The step's timeout passed.
    pub(crate) fn time_out(&mut self, now_ns: u64, key: UserKey, outcome: Outcome) {
        if self.sends_held_body(now_ns, key) {
            return;
        }
        let waited_ms = now_ns.saturating_sub(self.users[key].sent_ns) / 1_000_000;
        let detail = move || format!("no answer within {waited_ms} ms");
        match self.users[key].wait {
            // The message may still come; the connection is sound.
            Wait::Reply if !self.is_joining(key) => {
                self.explain(now_ns, key, outcome, detail);
                if matches!(self.users.op(key), Some(Op::Expect(_))) {
                    self.expect_ended(now_ns, key);
                }
                self.complete(now_ns, key, outcome, 0);
            }
            _ => {
                let in_use = |conn: &Conn| {
                    !matches!(conn.stage, Stage::Idle | Stage::Open) && !conn.is_background()
                };
                match self.conns.find(&self.users, key, in_use) {
                    Some(slot) if self.is_past_deadline(now_ns, slot) => {
                        self.end_at_deadline(now_ns, slot);
                    }
                    Some(slot) => self.lost(now_ns, slot, outcome, detail),
                    None => self.fail_because(now_ns, key, outcome, 0, detail),
                }
            }
        }
    }

    /// Whether the user's failed connection is tried again; then the user waits for that. Each
    /// attempt is an operation of the measure `connect`; the request or handshake that needs the
    /// connection stays in flight and counts from when it was due.
    fn will_retry(&mut self, now_ns: u64, key: UserKey, outcome: Outcome) -> bool {
        let retries = self.plan.options.connect_retries;
        let at_ns = now_ns.saturating_add(retries.pause_ns);
        if self.users[key].retries >= retries.times
            || !is_worth_a_retry(outcome)
            || at_ns >= self.operation_end_ns(key)
        {
            return false;
        }
        self.users[key].retries += 1;
        self.recorder.counts.connects_retried += 1;
        self.wait_for(key, Wait::Retry, at_ns);
        true
    }

    /// When the user's operation in flight times out.
    pub(crate) fn operation_end_ns(&self, key: UserKey) -> u64 {
        let timeout_ns = match self.users.op(key) {
            Some(Op::Http(http)) => self.request_timeout_ns(key, http),
            op => op.map_or(0, Op::timeout_ns),
        };
        self.users[key].sent_ns.saturating_add(timeout_ns)
    }

    // Streams: what is open between steps, of which a user has at most one.

    /// Finds or opens the connection for a step that opens a WebSocket, an event stream or a call.
    pub(crate) fn reach_for_stream(&mut self, now_ns: u64, key: UserKey, endpoint: EndpointId) {
        let endpoint = self.users.endpoint(key, endpoint);
        self.ride_or_open(now_ns, key, endpoint);
    }

    /// The user's WebSocket, TCP connection, event stream or poll.
    pub(crate) fn stream(&self, key: UserKey) -> Option<ConnSlot> {
        self.conns.find(&self.users, key, |conn| !conn.speaks.is_http())
    }

    /// True if the user has a stream already; then the step just begun, which opens one, has failed.
    pub(crate) fn has_stream(&mut self, now_ns: u64, key: UserKey) -> bool {
        let Some(slot) = self.stream(key) else {
            return false;
        };
        let what = self.conns[slot].speaks.in_use();
        self.cannot(now_ns, key, format!("the user's {what} already"));
        true
    }

    /// The user's open WebSocket or TCP connection; if it has none, the operation just begun has
    /// failed.
    pub(crate) fn open_stream(&mut self, now_ns: u64, key: UserKey) -> Option<ConnSlot> {
        let carries = |conn: &Conn| conn.speaks.carries_messages();
        let slot = self.conns.find(&self.users, key, carries).filter(|&slot| {
            let conn = &self.conns[slot];
            conn.stage == Stage::Open || conn.is_background()
        });
        if slot.is_none() {
            let error = "no WebSocket, TCP connection or call is open".to_owned();
            self.cannot(now_ns, key, error);
        }
        slot
    }

    /// A session restarts: what it has open ends without ceremony.
    pub(crate) fn drop_stream(&mut self, now_ns: u64, key: UserKey) {
        self.end_subscription(now_ns, key);
        if let Some(slot) = self.stream(key) {
            if self.is_open_websocket(slot) {
                self.send_close(slot, ws::NORMAL, "");
            }
            self.abandon(now_ns, slot);
        }
    }

    /// Closes a connection that may still be on its way.
    pub(crate) fn abandon(&mut self, now_ns: u64, slot: ConnSlot) {
        if matches!(self.conns[slot].stage, Stage::Connecting | Stage::Securing) {
            self.record_connect(now_ns, slot, Outcome::Unfinished);
        }
        self.conns.close(&mut self.users, slot);
    }
}

/// True if the target or the way there turned the connection away. A shortage of the generator's
/// own, and an untrusted certificate, will be no better in a moment.
pub(crate) fn is_worth_a_retry(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Refused
            | Outcome::Unreachable
            | Outcome::ConnectTimeout
            | Outcome::Reset
            | Outcome::SelfConnect
            | Outcome::ProxyRefused
    )
}
