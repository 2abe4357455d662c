//! Due times beside those of the steps: a user's one timer serves both.
//!
//! The steps' own is `User::deadline_ns`; that of a poll, or of an event stream that is opened anew,
//! stands in its boxed state, as does that of the
//! next heartbeat of a protocol of channels. The timer is armed for the earlier of them, and whoever has none of the
//! second kind pays a look at one flag.

use plan::{MeasureId, Op};
use record::{Measurement, Outcome};

use super::Shard;
use super::retry::timeout_ns;
use super::session::blank;
use crate::command::Command;
use crate::conn::{Codec, Conn, Kind, Stage};
use crate::receiver::NEVER;

impl<'p> Shard<'p> {
    /// Arms the user's timer for its step, or earlier where something else is due before.
    pub(super) fn arm(&mut self, key: u32, step_due_ns: u64) {
        let due_ns = if self.users[key].background {
            step_due_ns.min(self.background_due_ns(key))
        } else {
            step_due_ns
        };
        self.wheel.arm(key, due_ns);
    }

    /// Sets when the poll or event stream is to be looked at, whatever the steps do.
    pub(super) fn due_in_background(&mut self, slot: u32, due_ns: u64) {
        let key = self.conns[slot].user;
        if let Some(background) = self.conns[slot].background_mut() {
            background.due_ns = due_ns;
        }
        self.users[key].background = true;
        let armed = self.wheel.deadline_ns(key);
        if armed.is_none_or(|armed| armed > due_ns) {
            self.wheel.arm(key, due_ns);
        }
    }

    fn background_due_ns(&self, key: u32) -> u64 {
        let slot = self.find_conn(key, |conn| conn.background().is_some());
        let background = slot.and_then(|slot| self.conns[slot].background());
        background.map_or(NEVER, |background| background.due_ns)
    }

    /// Does what is due beside the steps. The user may be gone afterwards.
    pub(super) fn fire_background(&mut self, now_ns: u64, key: u32) {
        let Some(slot) = self.find_conn(key, |conn| conn.background().is_some()) else {
            return;
        };
        let Some(background) = self.conns[slot].background_mut() else {
            return;
        };
        if background.due_ns > now_ns {
            return;
        }
        let due_ns = std::mem::replace(&mut background.due_ns, NEVER);
        if self.conns[slot].kind == Kind::WebSocket {
            return self.beat(now_ns, slot);
        }
        let outcome = match self.conns[slot].stage {
            // No step begins after the end, and no attempt either.
            Stage::Waiting | Stage::Idle if now_ns >= self.end_ns => return,
            Stage::Waiting | Stage::Idle => return self.begin_background(now_ns, slot, due_ns),
            Stage::Connecting | Stage::Securing => Outcome::ConnectTimeout,
            Stage::Upgrading | Stage::Busy => Outcome::Timeout,
            Stage::Open | Stage::Closing => return,
        };
        self.lost(now_ns, slot, outcome, || "nothing in time".to_owned());
    }

    /// The session or run is over: what is in flight beside the steps stays unfinished.
    pub(super) fn give_up_background(&mut self, now_ns: u64, key: u32) {
        if let Some(slot) = self.find_conn(key, Conn::is_asking) {
            self.record_background(now_ns, slot, Outcome::Unfinished, 0);
        }
    }

    /// An operation beside the steps begins: over the connection that is there, or a new one.
    pub(super) fn begin_background(&mut self, now_ns: u64, slot: u32, due_ns: u64) {
        self.in_flight += 1;
        self.recorder.counts.sends += 1;
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
        conn.stage = Stage::Connecting;
        conn.started_ns = now_ns;
        let endpoint = conn.endpoint;
        self.setting_up += 1;
        let conn = self.id(slot);
        self.commands.list.push(Command::Connect { conn, endpoint });
        let end_ns = sent_ns.saturating_add(timeout_ns(self.background_op(slot)));
        let connected_by_ns = now_ns + self.plan.options.connect_timeout_ns;
        self.due_in_background(slot, connected_by_ns.min(end_ns));
    }

    /// Sends the request that was appended to the command bytes since `start`; its operation has
    /// time until `end_ns`.
    pub(super) fn transmit_background(&mut self, slot: u32, start: usize, end_ns: u64) {
        let bytes_out = self.commands.bytes.len() - start;
        self.recorder.counts.bytes_out += bytes_out as u64;
        if let Some(background) = self.conns[slot].background_mut() {
            background.bytes_out = bytes_out as u32;
        }
        self.transmit(slot, start);
        self.due_in_background(slot, end_ns);
    }

    /// Gives the connection up, until a new one is due.
    pub(super) fn park(&mut self, slot: u32) {
        self.hang_up(slot);
        self.generation = self.generation.wrapping_add(1);
        let generation = self.generation;
        let conn = &mut self.conns[slot];
        conn.stage = Stage::Waiting;
        conn.tls = None;
        conn.inbox = None;
        // Late news of the connection that was given up concern nobody.
        conn.generation = generation;
        match &mut conn.codec {
            Codec::Events(receiver) => receiver.reset(),
            Codec::Poll(poller) => poller.reset(),
            _ => {}
        }
    }

    /// The step that what runs on this connection comes from.
    pub(super) fn background_op(&self, slot: u32) -> &'p Op {
        let conn = &self.conns[slot];
        let pc = conn.background().map_or(0, |background| background.pc);
        let session = self.users[conn.user].session;
        &self.plan.sessions[session as usize].ops[pc as usize]
    }

    /// Where the times of what runs beside the steps go.
    fn background_measure(&self, slot: u32) -> Option<MeasureId> {
        match self.background_op(slot) {
            Op::SseOpen(open) => open.reconnect.map(|reconnect| reconnect.measure),
            Op::Poll(poll) => Some(poll.measure),
            _ => None,
        }
    }

    /// Writes down how the operation in flight beside the steps ended.
    pub(super) fn record_background(
        &mut self,
        now_ns: u64,
        slot: u32,
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
            ..blank(&self.users[conn.user], measure)
        };
        self.recorder.operation(row, row.lag_ns());
    }

    /// Keeps the text of an error of what runs beside the steps.
    pub(super) fn explain_background(
        &mut self,
        now_ns: u64,
        slot: u32,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        let user = self.users[self.conns[slot].user].number;
        if let Some(measure) = self.background_measure(slot) {
            self.recorder
                .example(now_ns, measure, outcome, user, detail);
        }
    }
}
