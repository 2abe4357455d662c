//! Reconnecting a WebSocket.
//!
//! A loss that the session did not want is followed by attempts in the background, each an operation
//! of the measure `reconnect`. Once the connection can be used again, its channels are joined again, or what a
//! plain one is to send then is sent. Steps that need it wait for that.

use plan::expr::Template;
use plan::{Backoff, Op, Pauses, Protocol as ChannelProtocol, WsOpen, WsReconnect};
use proto::ws::{DeflateParameters, MessageKind};
use record::Outcome;

use crate::conn::{NEVER, Stage};
use crate::failures::Answer;
use crate::interpreter::Interpreter;
use crate::protocols::websocket::deflate::Framing;
use crate::received::end_record;
use crate::tables::slots::ConnSlot;
use crate::users::Wait;

impl<'p> Interpreter<'p> {
    /// How the connection reconnects, if it does.
    pub(crate) fn reconnects(&self, slot: ConnSlot) -> Option<&'p WsReconnect> {
        self.reconnecting_op(slot)?.reconnect.as_ref()
    }

    /// The step that opened a WebSocket which reconnects.
    pub(crate) fn reconnecting_op(&self, slot: ConnSlot) -> Option<&'p WsOpen> {
        match self.background_op(slot) {
            Op::WsOpen(open) => Some(open),
            _ => None,
        }
    }

    /// How a plain WebSocket reconnects, if it does.
    fn backoff(&self, slot: ConnSlot) -> Option<&'p Backoff> {
        match &self.reconnects(slot)?.pauses {
            Pauses::Backoff(backoff) => Some(backoff),
            Pauses::OfClient { .. } => None,
        }
    }

    /// Whether an open connection that was lost in this way reconnects.
    pub(crate) fn will_reconnect_websocket(&mut self, slot: ConnSlot, outcome: Outcome) -> bool {
        let conn = &mut self.conns[slot];
        // Socket.IO's own client gives up once the server has ended all its namespaces.
        let deserted = conn.channels().is_some_and(|channels| {
            channels.protocol == ChannelProtocol::SocketIo && channels.is_deserted()
        });
        conn.reconnecting().is_some() && !deserted && is_passing(outcome)
    }

    /// An open connection was lost: the first attempt follows after a pause.
    pub(crate) fn websocket_broke(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        self.end_rejoins(now_ns, slot, outcome);
        let key = self.conns[slot].user;
        let kept = self.kept_message(slot);
        let mut has_topics = true;
        if let Some(channels) = self.conns[slot].channels() {
            channels.suspend();
            channels.awaited = kept;
            has_topics = crate::channels::has_topics(channels.protocol);
        }
        if !has_topics {
            self.interrupt_subscription(now_ns, key);
        }
        if let Some(own) = self.conns[slot].reconnectable() {
            own.reconnecting.lost = true;
            self.interrupt_subscription(now_ns, key);
        }
        self.wait_to_reconnect_websocket(now_ns, slot);
        if self.users[key].wait != Wait::Reply {
            return;
        }
        if kept.is_some() {
            if let Some(mqtt) = self.conns[slot].mqtt() {
                mqtt.lost = Some(Box::new((outcome, detail())));
            }
            return;
        }
        let deferred = self.conns[slot].channels().is_some_and(|own| own.deferred);
        match self.users.op(key) {
            // Its channel may still bring what it waits for.
            Some(Op::Expect(_)) => {}
            Some(Op::Channel(_)) if deferred => {}
            Some(Op::Channel(_)) if self.is_joining(key) => {
                self.fail_because(now_ns, key, outcome, 0, detail);
            }
            _ => {
                self.explain(now_ns, key, outcome, detail);
                self.complete(now_ns, key, outcome, 0);
            }
        }
    }

    /// Gives the connection up until the next attempt is due.
    fn wait_to_reconnect_websocket(&mut self, now_ns: u64, slot: ConnSlot) {
        self.conns.park(&mut self.users, slot);
        let backoff = self.backoff(slot);
        let rng = &mut self.users[self.conns[slot].user].think;
        let conn = &mut self.conns.table[slot];
        let protocol = conn.channels().map(|channels| channels.protocol);
        let Some(reconnecting) = conn.reconnecting() else {
            return;
        };
        let pause_ns = match (protocol, backoff) {
            (Some(protocol), _) => reconnecting.pause_ns(protocol, rng),
            (None, Some(backoff)) => reconnecting.backoff_ns(backoff, rng),
            (None, None) => return,
        };
        self.arm_background(slot, now_ns.saturating_add(pause_ns));
    }

    /// An attempt failed.
    pub(crate) fn reconnect_failed(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        outcome: Outcome,
        status: u16,
        detail: impl FnOnce() -> String,
    ) {
        if !is_passing(outcome) {
            return self.reconnect_refused(now_ns, slot, outcome, status, detail());
        }
        if let Some(attempts) = self.attempts_used_up(slot) {
            let detail = format!("{}, the last of {attempts} attempts", detail());
            return self.reconnect_refused(now_ns, slot, outcome, status, detail);
        }
        self.record_failed_attempt(now_ns, slot, outcome, status, detail);
        self.wait_to_reconnect_websocket(now_ns, slot);
    }

    /// An attempt was declined.
    pub(crate) fn reconnect_declined(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        outcome: Outcome,
        answer: Answer<'_>,
        detail: impl Fn() -> String,
    ) {
        let status = answer.head.map_or(0, |head| head.status);
        let attempts = match is_passing(outcome) {
            true => self.attempts_used_up(slot),
            false => None,
        };
        let detail = || match attempts {
            Some(attempts) => format!("{}, the last of {attempts} attempts", detail()),
            None => detail(),
        };
        self.explain_background(now_ns, slot, outcome, status, Some(answer), detail);
        self.record_background(now_ns, slot, outcome, status);
        match is_passing(outcome) && attempts.is_none() {
            true => self.wait_to_reconnect_websocket(now_ns, slot),
            false => self.stream_lost(now_ns, slot, outcome, detail),
        }
    }

    /// Writes down that an attempt failed, and its connection if that was what failed.
    fn record_failed_attempt(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        outcome: Outcome,
        status: u16,
        detail: impl FnOnce() -> String,
    ) {
        self.explain_background(now_ns, slot, outcome, status, None, detail);
        if matches!(self.conns[slot].stage, Stage::Connecting | Stage::Securing) {
            self.record_connect(now_ns, slot, outcome);
        }
        self.record_background(now_ns, slot, outcome, status);
    }

    /// The number of attempts after one loss, if this was the last.
    fn attempts_used_up(&mut self, slot: ConnSlot) -> Option<u32> {
        let backoff = self.backoff(slot);
        let protocol = self.conns[slot].channels().map(|own| own.protocol);
        let reconnecting = self.conns[slot].reconnecting()?;
        if let Some(protocol) = protocol {
            return reconnecting.client_gave_up(protocol);
        }
        let backoff = backoff?;
        backoff.attempts_max.filter(|_| reconnecting.has_given_up(backoff))
    }

    /// An attempt failed in a way that makes another one pointless.
    pub(crate) fn reconnect_refused(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        outcome: Outcome,
        status: u16,
        detail: String,
    ) {
        self.record_failed_attempt(now_ns, slot, outcome, status, || detail.clone());
        self.stream_lost(now_ns, slot, outcome, || detail);
    }

    /// The WebSocket is open again; what is greeted waits for that.
    pub(crate) fn upgraded_again(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        agreed: Option<DeflateParameters>,
    ) {
        let conn = &mut self.conns[slot];
        let agreed = Framing::new(agreed);
        conn.link.read_frames(agreed.reader);
        if let Some(own) = conn.reconnectable() {
            own.compression = agreed.compression;
        } else if let Some(channels) = conn.channels() {
            channels.compression = agreed.compression;
        }
        if conn.mqtt().is_some() {
            return self.introduce(now_ns, slot);
        }
        self.send_first(now_ns, slot);
        let channels = self.conns[slot].channels();
        if !channels.is_some_and(|channels| crate::channels::is_greeted(channels.protocol)) {
            self.reconnected(now_ns, slot);
        }
    }

    /// The connection can be used again: its channels are joined again, or what is to be sent then is sent; then
    /// steps continue.
    pub(crate) fn reconnected(&mut self, now_ns: u64, slot: ConnSlot) {
        let status = self.conns[slot].opened_status();
        self.record_background(now_ns, slot, Outcome::Ok, status);
        self.conns.set_up(slot, Stage::Open);
        self.conns.end_background();
        if self.conns[slot].reconnectable().is_some() {
            return self.plain_reconnected(now_ns, slot);
        }
        let mut places = 0;
        let mut has_topics = true;
        if let Some(channels) = self.conns[slot].channels() {
            has_topics = crate::channels::has_topics(channels.protocol);
            if let Some(reconnect) = &mut channels.reconnect {
                reconnect.rest();
            }
            if let ChannelProtocol::Phoenix { heartbeat_ns, .. } = channels.protocol {
                channels.beat_ns = now_ns.saturating_add(heartbeat_ns);
            }
            places = match channels.continues() {
                true => 0,
                false => channels.topics.len(),
            };
        }
        if !has_topics {
            self.subscribe_again(now_ns, slot);
        }
        for place in 0..places {
            self.rejoin_now(now_ns, slot, place);
        }
        self.arm_channels(slot);
        let id = self.conns.id(slot);
        self.fail_without_session(now_ns, slot);
        if self.conns.live(id).is_some() {
            self.send_deferred(now_ns, slot);
        }
    }

    /// A plain WebSocket can be used again.
    fn plain_reconnected(&mut self, now_ns: u64, slot: ConnSlot) {
        self.subscribe_again(now_ns, slot);
        let mut deferred = false;
        if let Some(own) = self.conns[slot].reconnectable() {
            own.reconnecting.rest();
            own.background.due_ns = NEVER;
            deferred = std::mem::take(&mut own.deferred);
        }
        for message in self.backoff(slot).map_or(&[][..], |backoff| &backoff.send[..]) {
            self.send_again(now_ns, slot, message);
        }
        let key = self.conns[slot].user;
        match self.users.op(key) {
            Some(Op::Send(send)) if deferred && self.users[key].wait == Wait::Reply => {
                self.send_late(now_ns, slot, send);
            }
            _ => {}
        }
    }

    /// The WebSocket is open: sends what is to be sent first.
    pub(crate) fn send_first(&mut self, now_ns: u64, slot: ConnSlot) {
        if let Some(first) = &self.opening_of(slot).first {
            self.send_again(now_ns, slot, first);
        }
    }

    /// Sends a message that belongs to no step.
    fn send_again(&mut self, now_ns: u64, slot: ConnSlot, message: &Template) {
        let key = self.conns[slot].user;
        let start = self.conns.commands.bytes.len();
        let record_end = self.record_end(slot);
        let scope = &mut self.users.scope(now_ns, key);
        let mut rendered = Ok(());
        let write = |out: &mut Vec<u8>| {
            let start = out.len();
            rendered = message.render(scope, out);
            if let Some(end) = record_end {
                end_record(out, start, end);
            }
        };
        self.conns.encode_message(slot, MessageKind::Text, write);
        match rendered {
            Ok(()) => self.send_control(slot, start),
            Err(error) => {
                self.conns.commands.bytes.truncate(start);
                let detail = || format!("a message after reconnecting: {error}");
                self.fault(now_ns, key, self.plan.faults, detail);
            }
        }
    }
}

/// True for what another attempt may overcome: whatever ends a browser's WebSocket, but for a shortage
/// of the generator's own, an untrusted certificate, and messages that make no sense.
fn is_passing(outcome: Outcome) -> bool {
    !outcome.is_generator_limit()
        && !matches!(
            outcome,
            Outcome::Step
                | Outcome::Script
                | Outcome::TlsUntrusted
                | Outcome::WsProtocol
                | Outcome::InvalidUtf8
                | Outcome::TooLarge
                | Outcome::Protocol
        )
}
