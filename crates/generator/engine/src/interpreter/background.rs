//! Background operations: requests of polls, event streams and WebSockets that reconnect, heartbeats, deadlines of
//! calls.

use plan::{Op, builtin};
use record::{Measurement, Outcome};

use crate::conn::{Conn, NEVER, Stage};
use crate::failures::{Answer, Cause, FailureReport};
use crate::interpreter::Interpreter;
use crate::protocols::Protocol;
use crate::tables::slots::{ConnSlot, UserKey};

impl<'p> Interpreter<'p> {
    /// Does what is due in the background. The user may be gone afterwards.
    pub(crate) fn fire_background(&mut self, now_ns: u64, key: UserKey) {
        let Some(slot) = self.background_slot(key) else {
            return;
        };
        let Some(background) = self.conns[slot].background_mut() else {
            return;
        };
        if background.due_ns > now_ns {
            return;
        }
        let due_ns = std::mem::replace(&mut background.due_ns, NEVER);
        if self.fire_on(now_ns, slot) {
            return;
        }
        let outcome = match self.conns[slot].stage {
            Stage::Waiting | Stage::Idle => return self.begin_background(now_ns, slot, due_ns),
            Stage::Connecting | Stage::Securing => Outcome::ConnectTimeout,
            Stage::Upgrading | Stage::Busy => Outcome::Timeout,
            Stage::Open | Stage::Closing => return,
        };
        self.lost(now_ns, slot, outcome, || "no answer in time".to_owned());
    }

    /// The session or run is over: what is in flight in the background stays unfinished.
    pub(crate) fn give_up_background(&mut self, now_ns: u64, key: UserKey) {
        if let Some(slot) = self.conns.find(&self.users, key, Conn::is_requesting) {
            self.record_background(now_ns, slot, Outcome::Unfinished, 0);
        }
        let has_channels = |conn: &Conn| matches!(conn.speaks, Protocol::Channels(_));
        if self.users[key].background
            && let Some(slot) = self.conns.find(&self.users, key, has_channels)
        {
            self.end_rejoins(now_ns, slot, Outcome::Unfinished);
        }
    }

    /// A background operation begins: over the connection that is there, or a new one.
    pub(crate) fn begin_background(&mut self, now_ns: u64, slot: ConnSlot, due_ns: u64) {
        self.conns.begin_background();
        self.recorder.counts.sends += 1;
        if let Some(measure) = self.background_measure(slot) {
            self.recorder.begin(measure);
        }
        let sent_ns = now_ns.max(due_ns);
        let conn = &mut self.conns[slot];
        if let Some(background) = conn.background_mut() {
            background.planned_ns = due_ns;
            background.sent_ns = sent_ns;
            background.bytes_out = 0;
            background.bytes_in = 0;
        }
        if conn.stage == Stage::Idle {
            return self.send_poll(now_ns, slot);
        }
        self.connect_background(now_ns, slot, sent_ns);
    }

    /// Opens a connection for the background operation in flight, which began at `sent_ns`.
    pub(crate) fn connect_background(&mut self, now_ns: u64, slot: ConnSlot, sent_ns: u64) {
        let conn = &self.conns[slot];
        if conn.may_be_carried()
            && let Some(carrier) = self.conns.carrier(&self.users, conn.user, conn.endpoint)
        {
            self.conns.attach(slot, carrier);
            return self.send_riding(now_ns, slot);
        }
        self.open_background(now_ns, slot, sent_ns);
    }

    /// The same, and no other connection will do.
    pub(crate) fn open_background(&mut self, now_ns: u64, slot: ConnSlot, sent_ns: u64) {
        self.recorder.begin(builtin::CONNECT);
        self.conns.connect(now_ns, &self.users, slot);
        let end_ns = sent_ns.saturating_add(self.background_op(slot).timeout_ns());
        let connected_by_ns = now_ns + self.plan.options.connect_timeout_ns;
        self.arm_background(slot, connected_by_ns.min(end_ns));
    }

    /// Sends the request that was appended to the command bytes since `start`; its operation has
    /// time until `end_ns`.
    pub(crate) fn transmit_background(&mut self, slot: ConnSlot, start: usize, end_ns: u64) {
        self.trace_sent(slot, start);
        let sender = self.conns.frame_request(slot, start);
        let bytes_out = self.conns.commands.bytes.len() - start;
        self.recorder.counts.bytes_out += bytes_out as u64;
        if let Some(background) = self.conns[slot].background_mut() {
            background.bytes_out = bytes_out as u32;
        }
        self.conns.transmit(sender, start);
        self.arm_background(slot, end_ns);
    }

    /// The step that started what runs on this connection.
    pub(crate) fn background_op(&self, slot: ConnSlot) -> &'p Op {
        let conn = &self.conns[slot];
        let pc = conn.background().map_or(0, |background| background.pc);
        &self.users.session(conn.user).ops[pc as usize]
    }

    /// Writes down how the background operation in flight ended.
    pub(crate) fn record_background(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        outcome: Outcome,
        status: u16,
    ) {
        let conn = &self.conns[slot];
        let measure = self.background_measure(slot);
        let (Some(measure), Some(background)) = (measure, conn.background()) else {
            return;
        };
        let row = Measurement {
            due_ns: background.planned_ns,
            sent_ns: background.sent_ns,
            done_ns: now_ns.max(background.sent_ns),
            outcome,
            status,
            bytes_out: background.bytes_out,
            bytes_in: background.bytes_in,
            ..self.users[conn.user].row(measure)
        };
        let late_ns = self.messages.read_late_ns;
        self.recorder.operation(row, row.lag_ns(), late_ns);
    }

    /// Takes the text of a failure of what runs in the background, before it is written down.
    pub(crate) fn explain_background(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        outcome: Outcome,
        status: u16,
        answer: Option<Answer<'_>>,
        detail: impl FnOnce() -> String,
    ) {
        let key = self.conns[slot].user;
        let Some(measure) = self.background_measure(slot) else {
            return;
        };
        let users = &self.users;
        let detail = || users.discreet(key, detail());
        let cause = Cause::of_status(outcome, status);
        let failed = FailureReport {
            cause,
            ..FailureReport::new(now_ns, measure, outcome, users[key].number)
        };
        if self.recorder.explain(&failed, detail) {
            let op = self.background_op(slot);
            self.complete_sample(key, Some(op), answer);
        }
    }
}
