//! WebSockets over HTTP/2 (RFC 8441): whether one goes over a carrier, and the answer to its handshake.

use plan::builtin;
use proto::http1::Head;
use record::Outcome;

use crate::conn::Takes;
use crate::interpreter::Interpreter;
use crate::protocols::websocket::handshake::verify_connect;
use crate::tables::slots::{ConnSlot, UserKey};
use crate::users::Wait;

const NOT_ANNOUNCED: &str = "the server does not announce WebSockets over HTTP/2 (SETTINGS_ENABLE_CONNECT_PROTOCOL, RFC \
                             8441), which `http: 2` with `websockets: streams` requires: write `http: auto`, or \
                             `websockets: upgrade`";
const NO_PLACE: &str = "the server takes no request over a connection that is new";

impl Interpreter<'_> {
    /// A WebSocket is attached to its carrier: its handshake goes out once it is known that it may (§3).
    pub(crate) fn open_carried(&mut self, now_ns: u64, slot: ConnSlot) {
        let key = self.conns[slot].user;
        match self.conns.takes_websocket(slot) {
            Takes::Yes => self.send_upgrade(now_ns, key, slot),
            Takes::Unknown => self.await_settings(slot, key),
            Takes::Nothing => {
                let outcome = Outcome::Http2RefusedStream;
                self.not_upgraded(now_ns, slot, outcome, 0, NO_PLACE.to_owned());
            }
            Takes::No if self.conns.http2.is_required() => {
                let outcome = Outcome::WsProtocol;
                self.not_upgraded(now_ns, slot, outcome, 0, NOT_ANNOUNCED.to_owned());
            }
            Takes::No => self.fall_back(now_ns, slot),
        }
    }

    fn await_settings(&mut self, slot: ConnSlot, key: UserKey) {
        self.conns.wait_for_settings(slot);
        if self.conns[slot].is_background() {
            let sent_ns = self.conns[slot].background().map_or(0, |own| own.sent_ns);
            let end_ns = sent_ns.saturating_add(self.background_op(slot).timeout_ns());
            return self.arm_background(slot, end_ns);
        }
        self.wait_for(key, Wait::Upgrade, self.operation_end_ns(key));
    }

    /// A WebSocket that its carrier does not take gets a connection of its own.
    fn fall_back(&mut self, now_ns: u64, slot: ConnSlot) {
        self.conns.detach(slot);
        let conn = &self.conns[slot];
        if conn.is_background() {
            let sent_ns = conn.background().map_or(now_ns, |own| own.sent_ns);
            return self.open_background(now_ns, slot, sent_ns);
        }
        let key = conn.user;
        self.recorder.begin(builtin::CONNECT);
        self.conns.connect(now_ns, &self.users, slot);
        self.wait_for(key, Wait::Connect, self.connected_by_ns(now_ns, key));
    }

    /// The settings of a carrier have come, on which WebSockets have waited.
    pub(crate) fn settle_websockets(&mut self, now_ns: u64, carrier: ConnSlot) {
        for id in self.conns.take_unsettled(carrier) {
            if let Some(slot) = self.conns.live(id) {
                self.open_carried(now_ns, slot);
            }
        }
    }

    /// The answer to a handshake over a carrier.
    pub(crate) fn take_connect_head(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        len: usize,
        head: &Head<'_>,
    ) {
        let open = self.opening_of(slot);
        let offered = self.offered_protocols(slot, open);
        let agreed = verify_connect(open, &offered, head);
        self.take_handshake(now_ns, slot, len, head, agreed);
    }
}
