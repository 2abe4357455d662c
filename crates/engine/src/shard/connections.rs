//! A shard's connections: opening, bytes in and out, closing, and what users are told of it.

use plan::{EndpointId, HttpConnections, builtin};
use proto::{http1, ws};
use record::{Measurement, Outcome};

use super::Shard;
use super::session::blank;
use crate::command::{Command, ConnId};
use crate::conn::{Codec, Conn, Kind, NO_USER, Stage};
use crate::tls::{Tls, TlsFailure};
use crate::user::{NO_CONN, Wait};

impl Shard<'_> {
    /// The driver made the TCP connection.
    pub fn handle_connected(&mut self, now_ns: u64, id: ConnId) {
        let Some(slot) = self.live(id) else { return };
        let endpoint = self.conns[slot].endpoint as usize;
        let Some(name) = &self.server_names[endpoint] else {
            return self.established(now_ns, slot);
        };
        // `Shard::new` made sure of the configuration where there is a name.
        let Some(config) = &self.tls else { return };
        match Tls::new(config, name) {
            Ok(tls) => {
                let conn = &mut self.conns[slot];
                conn.stage = Stage::Securing;
                conn.tls = Some(Box::new(tls));
                self.flush_tls(slot);
            }
            Err(failure) => self.secure_failed(now_ns, slot, failure),
        }
    }

    /// The driver could not make the TCP connection.
    pub fn handle_connect_failed(
        &mut self,
        now_ns: u64,
        id: ConnId,
        outcome: Outcome,
        detail: &str,
    ) {
        let Some(slot) = self.live(id) else { return };
        self.lost(now_ns, slot, outcome, || detail.to_owned());
    }

    /// The peer sent bytes.
    pub fn handle_received(&mut self, now_ns: u64, id: ConnId, bytes: &[u8]) {
        let Some(slot) = self.live(id) else { return };
        if self.conns[slot].tls.is_none() {
            return self.take_in(now_ns, slot, bytes);
        }
        let mut plain = Vec::new();
        let start = self.commands.bytes.len();
        let Some(tls) = self.conns[slot].tls.as_mut() else {
            return;
        };
        let result = tls.receive(bytes, &mut plain, &mut self.commands.bytes);
        let secured = !tls.is_handshaking();
        self.push_send(slot, start);
        let closed = match result {
            Ok(closed) => closed,
            Err(failure) => return self.secure_failed(now_ns, slot, failure),
        };
        if secured && self.conns[slot].stage == Stage::Securing {
            self.established(now_ns, slot);
        }
        if !plain.is_empty() && self.live(id).is_some() {
            self.take_in(now_ns, slot, &plain);
        }
        if closed && self.live(id).is_some() {
            self.peer_closed(now_ns, slot);
        }
    }

    /// The peer closed its side, or the connection broke: then `failure` says how.
    pub fn handle_closed(&mut self, now_ns: u64, id: ConnId, failure: Option<(Outcome, &str)>) {
        let Some(slot) = self.live(id) else { return };
        match failure {
            Some((outcome, detail)) => self.lost(now_ns, slot, outcome, || detail.to_owned()),
            // TLS closes before TCP does; without that anybody may have cut it short (RFC 9112 §9.8).
            None if self.conns[slot].tls.is_some() => {
                let detail = || "the peer closed the connection without closing TLS".to_owned();
                self.lost(now_ns, slot, Outcome::Closed, detail);
            }
            None => self.peer_closed(now_ns, slot),
        }
    }

    /// The peer closed its side in good order.
    fn peer_closed(&mut self, now_ns: u64, slot: u32) {
        match self.ended_by_close(now_ns, slot) {
            Ok(true) => {}
            Ok(false) => self.lost(now_ns, slot, Outcome::Closed, || {
                "the peer closed".to_owned()
            }),
            Err(cut) => self.lost(now_ns, slot, Outcome::Closed, || cut.to_string()),
        }
    }

    /// The slot of a connection that is still there.
    pub(super) fn live(&self, id: ConnId) -> Option<u32> {
        self.conns
            .get(id.slot)
            .filter(|conn| conn.generation == id.generation)
            .map(|_| id.slot)
    }

    pub(super) fn id(&self, slot: u32) -> ConnId {
        ConnId {
            slot,
            generation: self.conns[slot].generation,
        }
    }

    /// Starts a connection for the user's current step.
    pub(super) fn open_conn(&mut self, now_ns: u64, key: u32, endpoint: EndpointId, kind: Kind) {
        let codec = Codec::Http(http1::Decoder::new());
        let slot = self.insert_conn(now_ns, key, endpoint, kind, codec);
        self.conns[slot].stage = Stage::Connecting;
        self.setting_up += 1;
        let conn = self.id(slot);
        self.commands.list.push(Command::Connect { conn, endpoint });
        let connected_by_ns = now_ns + self.plan.options.connect_timeout_ns;
        let deadline_ns = connected_by_ns.min(self.operation_end_ns(key));
        self.wait_for(key, Wait::Connect, deadline_ns);
    }

    /// Makes room for a connection of the user's.
    pub(super) fn insert_conn(
        &mut self,
        now_ns: u64,
        key: u32,
        endpoint: EndpointId,
        kind: Kind,
        codec: Codec,
    ) -> u32 {
        self.generation = self.generation.wrapping_add(1);
        let slot = self.conns.insert(Conn {
            codec,
            started_ns: now_ns,
            inbox: None,
            pending: None,
            tls: None,
            user: key,
            next: self.users[key].conn,
            generation: self.generation,
            endpoint,
            stage: Stage::Waiting,
            kind,
        });
        self.users[key].conn = slot;
        slot
    }

    /// TCP, and TLS where wanted, are set up.
    fn established(&mut self, now_ns: u64, slot: u32) {
        let (key, kind) = (self.conns[slot].user, self.conns[slot].kind);
        self.record_connect(now_ns, slot, Outcome::Ok);
        self.count_connected(key);
        match kind {
            Kind::WebSocket => self.send_upgrade(now_ns, key, slot),
            Kind::Events => self.request_events(now_ns, key, slot),
            Kind::Poll => {
                self.setting_up -= 1;
                self.send_poll(now_ns, slot);
            }
            Kind::Tcp => self.opened_tcp(now_ns, key, slot),
            Kind::Http => {
                self.conns[slot].stage = Stage::Idle;
                self.setting_up -= 1;
                self.send_request(now_ns, key, slot);
            }
        }
    }

    /// The user has a connection.
    fn count_connected(&mut self, key: u32) {
        let user = &mut self.users[key];
        if !user.connected {
            user.connected = true;
            self.recorder.counts.users_connected += 1;
        }
    }

    pub(super) fn record_connect(&mut self, now_ns: u64, slot: u32, outcome: Outcome) {
        let conn = &self.conns[slot];
        let user = &self.users[conn.user];
        let row = Measurement {
            due_ns: conn.started_ns,
            sent_ns: conn.started_ns,
            done_ns: now_ns,
            outcome,
            bytes_out: 0,
            bytes_in: 0,
            ..blank(user, builtin::CONNECT)
        };
        self.recorder.operation(row, 0);
    }

    fn secure_failed(&mut self, now_ns: u64, slot: u32, failure: TlsFailure) {
        self.lost(now_ns, slot, failure.outcome, || failure.detail);
    }

    /// The connection is of no more use: it goes, and whoever needed it is told.
    pub(super) fn lost(
        &mut self,
        now_ns: u64,
        slot: u32,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        if self.conns[slot].is_background() {
            return match self.conns[slot].kind {
                Kind::Poll => self.poll_lost(now_ns, slot, outcome, detail),
                _ => self.events_lost(now_ns, slot, outcome, detail),
            };
        }
        let (key, stage) = (self.conns[slot].user, self.conns[slot].stage);
        match stage {
            Stage::Idle | Stage::Waiting => self.close_conn(slot),
            Stage::Connecting | Stage::Securing => {
                self.record_connect(now_ns, slot, outcome);
                self.explain(now_ns, key, outcome, detail);
                self.close_conn(slot);
                if !self.will_retry(now_ns, key, outcome) {
                    self.fail(now_ns, key, outcome, 0);
                }
            }
            Stage::Upgrading => {
                self.explain(now_ns, key, outcome, detail);
                self.close_conn(slot);
                self.fail(now_ns, key, outcome, 0);
            }
            Stage::Busy => {
                self.explain(now_ns, key, outcome, detail);
                self.close_conn(slot);
                self.complete(now_ns, key, outcome, 0);
            }
            Stage::Open => self.stream_lost(now_ns, slot, outcome, detail),
            Stage::Closing => self.websocket_closed(now_ns, slot),
        }
    }

    /// The step's time is up.
    pub(super) fn time_out(&mut self, now_ns: u64, key: u32, outcome: Outcome) {
        let waited_ms = now_ns.saturating_sub(self.users[key].sent_ns) / 1_000_000;
        let detail = move || format!("nothing within {waited_ms} ms");
        match self.users[key].wait {
            // The message may still come; the connection is sound.
            Wait::Reply if !self.is_joining(key) => {
                self.explain(now_ns, key, outcome, detail);
                self.complete(now_ns, key, outcome, 0);
            }
            _ => match self.conn_in_use(key) {
                Some(slot) => self.lost(now_ns, slot, outcome, detail),
                None => {
                    self.explain(now_ns, key, outcome, detail);
                    self.fail(now_ns, key, outcome, 0);
                }
            },
        }
    }

    /// The connection that the user's operation in flight runs on.
    fn conn_in_use(&self, key: u32) -> Option<u32> {
        let mut slot = self.users[key].conn;
        while slot != NO_CONN {
            let conn = &self.conns[slot];
            if !matches!(conn.stage, Stage::Idle | Stage::Open) && !conn.is_background() {
                return Some(slot);
            }
            slot = conn.next;
        }
        None
    }

    /// The user's first connection of which `wanted` is true.
    pub(super) fn find_conn(&self, key: u32, wanted: impl Fn(&Conn) -> bool) -> Option<u32> {
        let mut slot = self.users[key].conn;
        while slot != NO_CONN {
            let conn = &self.conns[slot];
            if wanted(conn) {
                return Some(slot);
            }
            slot = conn.next;
        }
        None
    }

    /// An idle HTTP connection for the user's next request.
    pub(super) fn idle_conn(&mut self, key: u32, endpoint: EndpointId) -> Option<u32> {
        if self.plan.options.http_connections == HttpConnections::User {
            return self.find_conn(key, |conn| {
                conn.endpoint == endpoint && conn.stage == Stage::Idle && conn.kind == Kind::Http
            });
        }
        let slot = self.pool[endpoint as usize].pop()?;
        self.conns[slot].user = key;
        self.conns[slot].next = self.users[key].conn;
        self.users[key].conn = slot;
        self.count_connected(key);
        Some(slot)
    }

    /// An HTTP connection's response has ended and it may serve again.
    pub(super) fn release_conn(&mut self, slot: u32) {
        self.conns[slot].stage = Stage::Idle;
        if self.plan.options.http_connections == HttpConnections::Shared {
            self.unlink(slot);
            let conn = &mut self.conns[slot];
            conn.user = NO_USER;
            self.pool[conn.endpoint as usize].push(slot);
        }
    }

    /// Takes the connection out of its user's list.
    fn unlink(&mut self, slot: u32) {
        let (key, next) = (self.conns[slot].user, self.conns[slot].next);
        let mut before = self.users[key].conn;
        if before == slot {
            self.users[key].conn = next;
            return;
        }
        while self.conns[before].next != slot {
            before = self.conns[before].next;
        }
        self.conns[before].next = next;
    }

    /// Closes the connection and forgets it. News of it that is still under way is ignored.
    pub(super) fn close_conn(&mut self, slot: u32) {
        self.hang_up(slot);
        if self.conns[slot].user == NO_USER {
            let pool = &mut self.pool[self.conns[slot].endpoint as usize];
            pool.retain(|&idle| idle != slot);
        } else {
            self.unlink(slot);
        }
        self.conns.remove(slot);
    }

    /// Ends the TCP connection, if there is one.
    pub(super) fn hang_up(&mut self, slot: u32) {
        let id = self.id(slot);
        let conn = &self.conns[slot];
        if conn.stage != Stage::Waiting {
            self.commands.list.push(Command::Close { conn: id });
        }
        self.setting_up -= u64::from(conn.stage.is_setting_up());
        self.in_flight -= u64::from(conn.is_asking());
    }

    /// Sends what was appended to the command bytes since `start`, through TLS where there is
    /// one, on behalf of the connection's user.
    pub(super) fn send(&mut self, slot: u32, start: usize) {
        let bytes_out = (self.commands.bytes.len() - start) as u32;
        let user = &mut self.users[self.conns[slot].user];
        user.bytes_out = user.bytes_out.saturating_add(bytes_out);
        self.transmit(slot, start);
    }

    /// As [`Shard::send`], but on behalf of no operation of the user's.
    pub(super) fn transmit(&mut self, slot: u32, start: usize) {
        let conn = &mut self.conns[slot];
        if let Some(tls) = &mut conn.tls {
            let plain = self.commands.bytes.split_off(start);
            // A session that cannot encrypt has broken before; the next read tells.
            let _ = tls.send(&plain, &mut self.commands.bytes);
        }
        self.push_send(slot, start);
    }

    fn flush_tls(&mut self, slot: u32) {
        let start = self.commands.bytes.len();
        if let Some(tls) = &mut self.conns[slot].tls {
            // As above: a failure shows at the next read.
            let _ = tls.flush(&mut self.commands.bytes);
        }
        self.push_send(slot, start);
    }

    fn push_send(&mut self, slot: u32, start: usize) {
        let end = self.commands.bytes.len();
        if end > start {
            let conn = self.id(slot);
            self.commands.list.push(Command::Send { conn, start, end });
        }
    }

    /// Plain bytes from the peer: what cannot be decoded yet is kept.
    fn take_in(&mut self, now_ns: u64, slot: u32, bytes: &[u8]) {
        let id = self.id(slot);
        let Some(mut inbox) = self.conns[slot].inbox.take() else {
            let taken = self.decode(now_ns, slot, bytes);
            if taken < bytes.len() && self.live(id).is_some() {
                self.conns[slot].inbox = Some(Box::new(bytes[taken..].to_vec()));
            }
            return;
        };
        inbox.extend_from_slice(bytes);
        let taken = self.decode(now_ns, slot, &inbox);
        if taken < inbox.len() && self.live(id).is_some() {
            inbox.drain(..taken);
            self.conns[slot].inbox = Some(inbox);
        }
    }

    /// Decodes what it can and returns how many bytes that took. The connection may be gone
    /// afterwards.
    fn decode(&mut self, now_ns: u64, slot: u32, bytes: &[u8]) -> usize {
        match self.conns[slot].stage {
            Stage::Busy if self.conns[slot].kind == Kind::Poll => {
                self.decode_poll(now_ns, slot, bytes)
            }
            Stage::Busy => self.decode_response(now_ns, slot, bytes),
            Stage::Upgrading | Stage::Open if self.conns[slot].kind == Kind::Events => {
                self.decode_events(now_ns, slot, bytes)
            }
            Stage::Upgrading => self.decode_upgrade(now_ns, slot, bytes),
            Stage::Open if self.conns[slot].kind == Kind::Tcp => {
                self.decode_messages(now_ns, slot, bytes)
            }
            Stage::Open | Stage::Closing => self.decode_frames(now_ns, slot, bytes),
            Stage::Connecting | Stage::Securing | Stage::Idle | Stage::Waiting => {
                // Nothing was asked for: the peer and we do not agree on where a response ends
                // (RFC 9112 §9.2).
                self.recorder.counts.unsolicited += 1;
                if self.conns[slot].is_background() {
                    self.park(slot);
                } else {
                    self.close_conn(slot);
                }
                bytes.len()
            }
        }
    }

    /// Mask key of one frame.
    pub(super) fn mask(&mut self) -> [u8; 4] {
        (self.wire_rng.next_u64() as u32).to_le_bytes()
    }

    pub(super) fn fresh_key(&mut self) -> ws::Key {
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&self.wire_rng.next_u64().to_le_bytes());
        nonce[8..].copy_from_slice(&self.wire_rng.next_u64().to_le_bytes());
        ws::Key::from_random(nonce)
    }
}

/// What a broken response is counted as.
pub(super) fn http_outcome(error: &http1::Error) -> Outcome {
    if error.is_too_large() {
        Outcome::TooLarge
    } else {
        Outcome::HttpProtocol
    }
}
