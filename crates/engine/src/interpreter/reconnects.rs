//! Reconnecting a WebSocket that speaks a protocol of channels.
//!
//! A loss that the session did not want is followed by attempts in the background, each an operation
//! of the measure `reconnect`. Once the connection can be used again, its channels are joined again.
//! Steps that need a channel wait for that.

use plan::{ChannelsReconnect, Op, Protocol as ChannelProtocol};
use proto::ws::Agreed;
use record::Outcome;

use super::state::Interpreter;
use super::websocket::SWITCHING;
use crate::conn::channels;
use crate::conn::{Deflated, Stage};
use crate::slots::ConnSlot;
use crate::users::Wait;

impl Interpreter<'_> {
    /// How the connection reconnects, if it does.
    pub(super) fn reconnects(&self, slot: ConnSlot) -> Option<ChannelsReconnect> {
        match self.background_op(slot) {
            Op::WsOpen(open) => open.reconnect,
            _ => None,
        }
    }

    /// Whether an open connection that was lost in this way reconnects.
    pub(super) fn will_reconnect_channels(&mut self, slot: ConnSlot, outcome: Outcome) -> bool {
        let Some(channels) = self.conns[slot].channels() else {
            return false;
        };
        // Socket.IO's own client gives up once the server has ended all its namespaces.
        let deserted = channels.protocol == ChannelProtocol::SocketIo && channels.is_deserted();
        channels.reconnect.is_some() && !deserted && is_passing(outcome)
    }

    /// An open connection was lost: the first attempt follows after a pause.
    pub(super) fn channels_broke(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        self.end_rejoins(now_ns, slot, outcome);
        let key = self.conns[slot].user;
        if let Some(channels) = self.conns[slot].channels() {
            channels.suspend();
        }
        self.wait_to_reconnect_channels(now_ns, slot);
        if self.users[key].wait != Wait::Reply {
            return;
        }
        let deferred = self.conns[slot].channels().is_some_and(|own| own.deferred);
        match self.users.op(key) {
            // Its channel may still bring what it waits for.
            Some(Op::Expect(_)) => {}
            Some(Op::Channel(_)) if deferred => {}
            Some(Op::Channel(_)) if self.is_joining(key) => {
                self.fail_because(now_ns, key, (outcome, 0), detail);
            }
            _ => {
                self.explain(now_ns, key, outcome, detail);
                self.complete(now_ns, key, outcome, 0);
            }
        }
    }

    /// Gives the connection up until the next attempt is due.
    fn wait_to_reconnect_channels(&mut self, now_ns: u64, slot: ConnSlot) {
        self.conns.park(slot);
        let rng = &mut self.users[self.conns[slot].user].think;
        let Some(channels) = self.conns.table[slot].channels() else {
            return;
        };
        let protocol = channels.protocol;
        if let Some(reconnect) = &mut channels.reconnect {
            let pause_ns = reconnect.pause_ns(protocol, rng);
            self.arm_background(slot, now_ns.saturating_add(pause_ns));
        }
    }

    /// An attempt failed.
    pub(super) fn reconnect_failed(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        (outcome, status): (Outcome, u16),
        detail: impl FnOnce() -> String,
    ) {
        if matches!(self.conns[slot].stage, Stage::Connecting | Stage::Securing) {
            self.record_connect(now_ns, slot, outcome);
        }
        if !is_passing(outcome) {
            return self.reconnect_refused(now_ns, slot, (outcome, status), detail());
        }
        self.record_background(now_ns, slot, outcome, status);
        self.explain_background(now_ns, slot, outcome, detail);
        self.wait_to_reconnect_channels(now_ns, slot);
    }

    /// An attempt failed in a way that makes another one pointless.
    pub(super) fn reconnect_refused(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        (outcome, status): (Outcome, u16),
        detail: String,
    ) {
        self.record_background(now_ns, slot, outcome, status);
        self.explain_background(now_ns, slot, outcome, || detail.clone());
        self.stream_lost(now_ns, slot, outcome, || detail);
    }

    /// The WebSocket is open again; what is greeted waits for that.
    pub(super) fn upgraded_again(&mut self, now_ns: u64, slot: ConnSlot, agreed: Option<Agreed>) {
        let Some(channels) = self.conns[slot].channels() else {
            return;
        };
        if let Some(agreed) = agreed {
            let deflated = Deflated::new(agreed);
            channels.reader = deflated.reader;
            channels.compression = Some(deflated.compression);
        }
        if let Some(reconnect) = &mut channels.reconnect {
            reconnect.upgrading = false;
        }
        if !channels::is_greeted(channels.protocol) {
            self.reconnected(now_ns, slot);
        }
    }

    /// The connection can be used again: its channels are joined again, then steps continue.
    pub(super) fn reconnected(&mut self, now_ns: u64, slot: ConnSlot) {
        self.record_background(now_ns, slot, Outcome::Ok, SWITCHING);
        self.conns.set_up(slot, Stage::Open);
        self.conns.end_background();
        let mut places = 0;
        if let Some(channels) = self.conns[slot].channels() {
            if let Some(reconnect) = &mut channels.reconnect {
                reconnect.rest();
            }
            if let ChannelProtocol::Phoenix { heartbeat_ns, .. } = channels.protocol {
                channels.beat_ns = now_ns.saturating_add(heartbeat_ns);
            }
            places = channels.topics.len();
        }
        for place in 0..places {
            self.rejoin_now(now_ns, slot, place);
        }
        self.arm_channels(slot);
        self.send_deferred(now_ns, slot);
    }
}

/// True for what another attempt may overcome: whatever ends a browser's WebSocket, but for a shortage
/// of the generator's own, an untrusted certificate, and messages that make no sense.
fn is_passing(outcome: Outcome) -> bool {
    !outcome.is_generator_limit()
        && !matches!(
            outcome,
            Outcome::Step
                | Outcome::TlsUntrusted
                | Outcome::WsProtocol
                | Outcome::InvalidUtf8
                | Outcome::TooLarge
                | Outcome::Protocol
        )
}
