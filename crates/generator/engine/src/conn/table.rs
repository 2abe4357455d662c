//! The connections of a shard: opening, sending, closing, and idle ones that users share.

use std::ops::{Index, IndexMut};
use std::sync::Arc;

use plan::{EndpointId, HttpConnections, Plan, Session};
use proto::ws::{self, Deflater, MessageKind};
use proto::{Limits, http1};
use stats::rng::Rng;

use crate::addresses::Choice;
use crate::command::{Command, Commands, ConnId};
use crate::conn::connection::{Conn, Reuse};
use crate::conn::decoding::Decoder;
use crate::conn::http2::Http2;
use crate::conn::link::Link;
use crate::conn::stage::Stage;
use crate::conn::tunnel::Tunnels;
use crate::protocols::Protocol;
use crate::protocols::websocket::deflate::encode_deflated;
use crate::tables::budget::{Budget, Charges};
use crate::tables::slots::{ConnSlot, Key, Slots, UserKey};
use crate::tls::{TlsClients, TlsFailure};
use crate::users::Users;

/// The table of connections, and what they want sent.
#[derive(Debug)]
pub(crate) struct Connections {
    /// Apart from `commands`, so that a request can be encoded while its connection is looked at.
    pub(crate) table: Slots<ConnSlot, Conn>,
    pub(crate) commands: Commands,
    pub(crate) limits: Limits,
    /// The same for bodies that never end.
    pub(crate) stream_limits: Limits,
    /// The parser of the heads of responses, under `limits`.
    pub(crate) heads: http1::Heads,
    pub(crate) http2: Http2,
    tls: TlsClients,
    pub(crate) tunnels: Tunnels,
    /// Mask keys and nonces.
    pub(crate) wire_rng: Rng,
    /// Compressor of messages that are compressed each on its own.
    deflater: Option<Deflater>,
    generation: u32,
    /// With the user's number it decides on the address of a connection.
    seed: u64,
    /// The share of users that keep the first answer of a name.
    ignore_ttl: f64,
    /// Idle connections that any user may take, by endpoint; `None`: each user keeps its own.
    pub(crate) shared: Option<Vec<Vec<ConnSlot>>>,
    /// Idle connections do not stay where they are: users share them, or have branches.
    passes_on: bool,
    /// Users have branches.
    pub(crate) has_branches: bool,
    /// The most connections of one user to one endpoint, for its branches.
    pub(crate) connections_max: u32,
    /// Connections being set up, upgrades included.
    setting_up: u64,
    /// Background operations in flight.
    background_in_flight: u64,
    /// Memory of the bytes that connections have buffered, by slot.
    charges: Charges,
    /// The payload of the message that was encoded last, before it is masked, if a user is traced.
    pub(crate) payload: Option<Vec<u8>>,
}

impl Connections {
    pub(crate) fn new(
        plan: &Plan,
        tls: TlsClients,
        wire_rng: Rng,
        capacity: usize,
        buffers: &Arc<Budget>,
    ) -> Connections {
        let limits = Limits {
            body_bytes_max: plan.options.response_bytes_max as u64,
            message_bytes_max: plan.options.message_bytes_max,
            ..Limits::DEFAULT
        };
        let shares = plan.options.http_connections == HttpConnections::Shared;
        let has_branches = plan.sessions.iter().any(Session::has_branches);
        Connections {
            table: Slots::with_capacity(capacity),
            commands: Commands::default(),
            heads: http1::Heads::new(limits),
            limits,
            stream_limits: Limits { body_bytes_max: u64::MAX, ..limits },
            http2: Http2::new(plan, shares),
            tls,
            tunnels: Tunnels::new(plan),
            wire_rng,
            deflater: None,
            generation: 0,
            seed: plan.seed,
            ignore_ttl: plan.options.dns.ignore_ttl,
            shared: shares.then(|| vec![Vec::new(); plan.endpoints.len()]),
            passes_on: shares || has_branches,
            has_branches,
            connections_max: plan.options.connections_max,
            setting_up: 0,
            background_in_flight: 0,
            charges: Charges::new(buffers),
            payload: None,
        }
    }

    /// Connections; rows that others carry are none.
    pub(crate) fn len(&self) -> usize {
        self.table.count() - self.http2.carried_count
    }

    #[inline]
    pub(crate) fn setting_up(&self) -> u64 {
        self.setting_up
    }

    pub(crate) fn background_in_flight(&self) -> u64 {
        self.background_in_flight
    }

    /// The slot of a connection that is still there.
    pub(crate) fn live(&self, id: ConnId) -> Option<ConnSlot> {
        let slot = ConnSlot::new(id.slot);
        let conn = self.table.get(slot)?;
        (conn.generation == id.generation).then_some(slot)
    }

    pub(crate) fn id(&self, slot: ConnSlot) -> ConnId {
        ConnId { slot: slot.place(), generation: self.table[slot].generation }
    }

    /// The user's first connection of which `wanted` is true.
    pub(crate) fn find(
        &self,
        users: &Users<'_>,
        key: UserKey,
        wanted: impl Fn(&Conn) -> bool,
    ) -> Option<ConnSlot> {
        let mut slot = users[key].conn;
        while slot != ConnSlot::NONE {
            let conn = &self.table[slot];
            if wanted(conn) {
                return Some(slot);
            }
            slot = conn.next;
        }
        None
    }

    // Opening.

    /// Gives the user a connection, which is not set up yet.
    pub(crate) fn insert(
        &mut self,
        users: &mut Users<'_>,
        key: UserKey,
        endpoint: EndpointId,
        link: Link,
        protocol: Protocol,
    ) -> ConnSlot {
        self.generation = self.generation.wrapping_add(1);
        let mut conn = Conn::new(key, &users[key], endpoint, link, protocol);
        conn.generation = self.generation;
        let slot = self.table.insert(conn);
        users[key].conn = slot;
        slot
    }

    /// Has the driver make the TCP connection.
    pub(crate) fn connect(&mut self, now_ns: u64, users: &Users<'_>, slot: ConnSlot) {
        let conn = &mut self.table[slot];
        conn.stage = Stage::Connecting;
        conn.started_ns = now_ns;
        let endpoint = self.tunnels.first_hop(conn.endpoint);
        let choice = self.choice(users, slot);
        self.setting_up += 1;
        let conn = self.id(slot);
        self.commands.list.push(Command::Connect { conn, endpoint, choice });
    }

    /// Which addresses the connection's user gets.
    pub(crate) fn choice(&self, users: &Users<'_>, slot: ConnSlot) -> Choice {
        let user = self.table[slot].user;
        Choice::of(self.seed, users[user].number, self.ignore_ttl)
    }

    /// TCP, and the tunnel if there is one, are set up: begins TLS if the endpoint wants it. True: there is nothing to wait for.
    pub(crate) fn secure(&mut self, users: &Users<'_>, slot: ConnSlot) -> Result<bool, TlsFailure> {
        self.tls.enter(|| self.tls_owner(users, slot));
        let conn = &mut self.table[slot];
        let may_be_carried = conn.may_be_carried();
        let Some(tls) = self.tls.session(conn.endpoint, may_be_carried) else {
            return Ok(true);
        };
        let tls = conn.tls.insert(Box::new(tls?));
        conn.stage = Stage::Securing;
        let start = self.commands.bytes.len();
        // A failure shows at the next read.
        let _ = tls.flush(&mut self.commands.bytes);
        self.push_send(slot, start);
        Ok(false)
    }

    /// The user whose TLS sessions the connection resumes and keeps; `NONE`: users share it.
    fn tls_owner(&self, users: &Users<'_>, slot: ConnSlot) -> UserKey {
        let conn = &self.table[slot];
        let is_shared = self.shared.is_some() && conn.may_be_carried();
        match is_shared || conn.user == UserKey::NONE {
            true => UserKey::NONE,
            false => users.owner(conn.user),
        }
    }

    /// The user is gone, and with it the TLS sessions that it could resume.
    pub(crate) fn forget_tls(&self, key: UserKey) {
        self.tls.forget(key);
    }

    /// A connection is being set up that needs no TCP connection of its own.
    pub(crate) fn begin_set_up(&mut self) {
        self.setting_up += 1;
    }

    /// The connection is set up and now at this stage.
    pub(crate) fn set_up(&mut self, slot: ConnSlot, stage: Stage) {
        self.table[slot].stage = stage;
        self.setting_up -= 1;
    }

    /// An idle HTTP connection for the user's next request.
    pub(crate) fn take_idle(
        &mut self,
        users: &mut Users<'_>,
        key: UserKey,
        endpoint: EndpointId,
    ) -> Option<ConnSlot> {
        let Some(shared) = &mut self.shared else {
            return self.find(users, key, |conn| {
                conn.endpoint == endpoint && conn.stage == Stage::Idle && conn.speaks.is_http()
            });
        };
        let slot = shared[endpoint.index()].pop()?;
        self.link(users, slot, key);
        Some(slot)
    }

    /// Puts a connection of nobody's into the user's list.
    pub(crate) fn link(&mut self, users: &mut Users<'_>, slot: ConnSlot, key: UserKey) {
        let conn = &mut self.table[slot];
        conn.user = key;
        conn.next = std::mem::replace(&mut users[key].conn, slot);
    }

    /// An HTTP connection's response has ended and it may serve again.
    pub(crate) fn release(&mut self, users: &mut Users<'_>, slot: ConnSlot) {
        if self.table[slot].stream().is_some() {
            return self.close(users, slot);
        }
        self.table[slot].stage = Stage::Idle;
        if self.passes_on {
            self.pass_on(users, slot);
        }
    }

    /// An idle connection goes to where others can take it.
    fn pass_on(&mut self, users: &mut Users<'_>, slot: ConnSlot) {
        if self.shared.is_none() {
            return self.give_back(users, slot);
        }
        self.wake(users, slot);
        self.unlink(users, slot);
        if let Some(shared) = &mut self.shared {
            let conn = &mut self.table[slot];
            conn.user = UserKey::NONE;
            shared[conn.endpoint.index()].push(slot);
        }
    }

    // Closing.

    /// Takes the connection out of its user's list.
    pub(crate) fn unlink(&mut self, users: &mut Users<'_>, slot: ConnSlot) {
        let key = self.table[slot].user;
        let next = self.table[slot].next;
        let mut before = users[key].conn;
        if before == slot {
            users[key].conn = next;
            return;
        }
        while self.table[before].next != slot {
            before = self.table[before].next;
        }
        self.table[before].next = next;
    }

    /// Closes the connection and forgets it. News of it that is still under way is ignored.
    pub(crate) fn close(&mut self, users: &mut Users<'_>, slot: ConnSlot) {
        self.hang_up(users, slot);
        self.wake(users, slot);
        let conn = &self.table[slot];
        if conn.carrier().is_some() {
            self.http2.unsettled.remove(&slot.place());
        }
        if conn.user != UserKey::NONE {
            self.unlink(users, slot);
        } else if conn.carrier().is_some() {
            self.forget_carrier(slot);
        } else if let Some(shared) = &mut self.shared {
            shared[conn.endpoint.index()].retain(|&idle| idle != slot);
        }
        self.table.remove(slot);
    }

    /// Closes all connections of a user.
    pub(crate) fn close_all(&mut self, users: &mut Users<'_>, key: UserKey) {
        while users[key].conn != ConnSlot::NONE {
            self.close(users, users[key].conn);
        }
    }

    /// Ends the TCP connection, if there is one.
    fn hang_up(&mut self, users: &mut Users<'_>, slot: ConnSlot) {
        self.charges.clear(slot.place());
        let id = self.id(slot);
        let conn = &self.table[slot];
        match conn.stream() {
            Some(stream) => {
                // Of a WebSocket, as TCP would end it (RFC 8441 §5).
                let is_open = matches!(conn.stage, Stage::Open | Stage::Closing)
                    && conn.speaks.is_websocket();
                self.http2.carried_count -= 1;
                self.end_stream(users, stream, is_open);
            }
            None if conn.stage != Stage::Waiting => {
                self.commands.list.push(Command::Close { conn: id });
            }
            None => {}
        }
        let conn = &self.table[slot];
        self.setting_up -= u64::from(conn.stage.is_setting_up());
        self.background_in_flight -= u64::from(conn.is_requesting());
    }

    /// Gives the TCP connection up, until a new one is due.
    pub(crate) fn park(&mut self, users: &mut Users<'_>, slot: ConnSlot) {
        self.hang_up(users, slot);
        self.generation = self.generation.wrapping_add(1);
        let conn = &mut self.table[slot];
        conn.stage = Stage::Waiting;
        conn.reuse = Reuse::Fresh;
        conn.tls = None;
        conn.inbox = None;
        conn.pending = None;
        // News of the connection that was given up arrives late and is ignored.
        conn.generation = self.generation;
        conn.link.reset();
        conn.speaks.reset();
    }

    /// A background operation begins.
    pub(crate) fn begin_background(&mut self) {
        self.background_in_flight += 1;
    }

    /// A background operation has ended, and its connection stays.
    pub(crate) fn end_background(&mut self) {
        self.background_in_flight -= 1;
    }

    // Sending.

    /// Sends what was appended to the command bytes since `start`, through TLS if there is one.
    pub(crate) fn transmit(&mut self, slot: ConnSlot, start: usize) {
        let conn = &mut self.table[slot];
        if let Some(tls) = &mut conn.tls {
            let plain = self.commands.bytes.split_off(start);
            // A session that cannot encrypt has broken before; the next read shows it.
            let _ = tls.send(&plain, &mut self.commands.bytes);
        }
        self.push_send(slot, start);
    }

    pub(crate) fn push_send(&mut self, slot: ConnSlot, start: usize) {
        let end = self.commands.bytes.len();
        if end > start {
            let conn = self.id(slot);
            self.commands.list.push(Command::Send { conn, start, end });
        }
    }

    /// Appends a WebSocket message whose payload `write` appends, compressed if that was agreed on.
    pub(crate) fn encode_message(
        &mut self,
        slot: ConnSlot,
        kind: MessageKind,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let mask = self.mask();
        let out = &mut self.commands.bytes;
        let copy = &mut self.payload;
        let write = |out: &mut Vec<u8>| {
            let start = out.len();
            write(out);
            if let Some(copy) = copy {
                copy.extend_from_slice(&out[start..]);
            }
        };
        match self.table[slot].compression() {
            None => ws::encode_with(out, kind, mask, write),
            Some(compression) => {
                encode_deflated(out, kind, mask, compression, &mut self.deflater, write);
            }
        }
    }

    /// Appends packets of MQTT: in a message of the WebSocket, if there is one.
    pub(crate) fn encode_packets(&mut self, slot: ConnSlot, packets: &[u8]) {
        if !self.table[slot].channels().is_some_and(|own| own.is_bare()) {
            let write = |out: &mut Vec<u8>| out.extend_from_slice(packets);
            return self.encode_message(slot, MessageKind::Binary, write);
        }
        self.commands.bytes.extend_from_slice(packets);
        if let Some(copy) = &mut self.payload {
            copy.extend_from_slice(packets);
        }
    }

    /// Appends a close frame; from now on only the peer's is waited for.
    pub(crate) fn encode_close(&mut self, slot: ConnSlot, code: u16, reason: &str) {
        let mask = self.mask();
        ws::encode_close(&mut self.commands.bytes, Some(code), reason, mask);
        self.table[slot].stage = Stage::Closing;
    }

    pub(crate) fn encode_ping(&mut self, payload: &[u8]) {
        let mask = self.mask();
        ws::encode_ping(&mut self.commands.bytes, payload, mask);
    }

    pub(crate) fn encode_pong(&mut self, payload: &[u8]) {
        let mask = self.mask();
        ws::encode_pong(&mut self.commands.bytes, payload, mask);
    }

    /// Mask key of one frame.
    fn mask(&mut self) -> [u8; 4] {
        (self.wire_rng.next_u64() as u32).to_le_bytes()
    }

    /// The nonce of an upgrade.
    pub(crate) fn fresh_key(&mut self) -> ws::Key {
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&self.wire_rng.next_u64().to_le_bytes());
        nonce[8..].copy_from_slice(&self.wire_rng.next_u64().to_le_bytes());
        ws::Key::from_random(nonce)
    }

    // Receiving.

    /// Decrypts, appending plaintext to `plain` and sending what TLS itself answers. True once the
    /// peer has closed its side.
    pub(crate) fn decrypt(
        &mut self,
        users: &Users<'_>,
        slot: ConnSlot,
        cipher: &[u8],
        plain: &mut Vec<u8>,
    ) -> Result<bool, TlsFailure> {
        self.tls.enter(|| self.tls_owner(users, slot));
        let start = self.commands.bytes.len();
        let Some(tls) = &mut self.table[slot].tls else {
            return Ok(false);
        };
        let closed = tls.receive(cipher, plain, &mut self.commands.bytes);
        self.push_send(slot, start);
        closed
    }

    /// Counts what a connection has buffered. False: there is no memory for that.
    #[inline]
    pub(crate) fn has_room(&mut self, slot: ConnSlot) -> bool {
        let bytes = self.table[slot].buffered_bytes();
        self.charges.set(slot.place(), bytes)
    }

    /// True once TLS is set up on a connection that waits for it.
    pub(crate) fn is_secured(&self, slot: ConnSlot) -> bool {
        let conn = &self.table[slot];
        conn.stage == Stage::Securing && conn.tls.as_ref().is_some_and(|tls| !tls.is_handshaking())
    }

    /// Takes the decoder out of a connection, but for the framing of plain TCP, which the plan
    /// knows.
    pub(crate) fn take_decoder<'p>(&mut self, slot: ConnSlot) -> Option<Decoder<'p>> {
        let conn = &mut self.table[slot];
        match conn.http() {
            Some(decoder) => Some(Decoder::Http(std::mem::take(decoder))),
            None => {
                let reader = conn.link.reader()?;
                Some(Decoder::WebSocket(std::mem::take(reader)))
            }
        }
    }

    /// Puts a decoder back.
    pub(crate) fn put_decoder(&mut self, slot: ConnSlot, decoder: Decoder<'_>) {
        let conn = &mut self.table[slot];
        match decoder {
            Decoder::Http(decoder) => {
                if let Some(place) = conn.http() {
                    *place = decoder;
                }
            }
            Decoder::WebSocket(reader) => {
                if let Some(place) = conn.link.reader() {
                    *place = reader;
                }
            }
            Decoder::Sse(decoder) => {
                if let Some(stream) = conn.event_stream() {
                    stream.sse = decoder;
                }
            }
            Decoder::Tcp(_, own) => {
                if let Link::Bare(decoder) = &mut conn.link {
                    *decoder = own;
                }
            }
        }
    }
}

impl Index<ConnSlot> for Connections {
    type Output = Conn;
    fn index(&self, slot: ConnSlot) -> &Conn {
        &self.table[slot]
    }
}

impl IndexMut<ConnSlot> for Connections {
    fn index_mut(&mut self, slot: ConnSlot) -> &mut Conn {
        &mut self.table[slot]
    }
}
