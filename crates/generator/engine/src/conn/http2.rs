//! HTTP/2: connections that carry streams.
//!
//! A connection that speaks HTTP/2 is a [`Carrier`]. Each request on it has a row of its own in the table
//! of connections, so that the steps of HTTP treat it as they treat a connection: its [`Stream`] names the
//! carrier, which sends for it. Requests are written as text, like those of HTTP/1.1, and become frames
//! here; one that never changes is prepared once.

use std::collections::BTreeMap;

use plan::{EndpointId, HttpVersion, Plan, WebSockets};
use proto::h2::{self, Code, Settings};

use crate::command::ConnId;
use crate::conn::connection::{Conn, PendingOperation, Reuse};
use crate::conn::link::Link;
use crate::conn::stage::Stage;
use crate::conn::table::Connections;
use crate::protocols::Protocol;
use crate::tables::slots::{ConnSlot, Key, Slots, UserKey};
use crate::users::Users;

/// Requests that wait for one connection: as many as a server should take at once (RFC 9113 §6.5.2).
const WAITING_MAX: usize = 99;

/// The protocol that a tunnel is for (RFC 8441 §5).
const WEBSOCKET: &str = "websocket";

/// A connection that carries the streams of one user, or of all.
#[derive(Debug)]
pub(crate) struct Carrier {
    pub(crate) h2: h2::Connection,
    /// Why the peer will end it.
    pub(crate) ending: Option<Code>,
    /// Since when frames are counted that may be a flood.
    pub(crate) counted_ns: u64,
    /// When bytes came last.
    pub(crate) heard_ns: u64,
    /// It has had a response. A server may end it at any time from then on.
    pub(crate) served: bool,
    /// An answer did not come in time, and nothing else came since its request was sent: the peer may be gone.
    pub(crate) is_suspect: bool,
}

impl Carrier {
    /// Whether it takes another request now.
    pub(crate) fn can_open(&self) -> bool {
        self.h2.can_open() && !self.is_suspect
    }

    /// Whether it takes no more requests and carries none.
    pub(crate) fn is_over(&self) -> bool {
        (self.h2.is_ending() || self.is_suspect) && self.h2.open_count() == 0
    }
}

/// How a row of the table reaches its server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stream {
    pub(crate) carrier: ConnId,
    /// The number of the stream in flight; 0: none is.
    pub(crate) id: u32,
}

/// State that all HTTP/2 connections of a shard have in common.
#[derive(Debug)]
pub(crate) struct Http2 {
    version: HttpVersion,
    /// Whether connections may speak it, by endpoint.
    may_speak: Vec<bool>,
    /// Connections that users share, by endpoint; empty: each user has its own connections.
    shared: Vec<SharedConnections>,
    /// WebSockets go over it where a server takes them.
    pub(crate) carries_websockets: bool,
    /// Rows that wait for the settings of a carrier, by its place.
    pub(crate) unsettled: BTreeMap<u32, Vec<ConnId>>,
    /// Rows that reach their server over a carrier.
    pub(crate) carried_count: usize,
    /// A request as text, and its header block.
    text: Vec<u8>,
    block: Vec<u8>,
    pub(crate) scratch: h2::Scratch,
}

/// The connections to an endpoint that any user may take.
#[derive(Debug, Default)]
struct SharedConnections {
    carriers: Vec<ConnSlot>,
    /// One of its connections spoke HTTP/2: others will.
    speaks: bool,
    /// Connections that are being set up, to the server's settings, and the requests that wait for each.
    opening: Vec<(ConnId, Vec<WaitingRequest>)>,
    /// How many may wait for one: as many as the server takes beside the request that it was opened for, as far as
    /// that is known.
    waiting_max: usize,
}

/// A request that waits for a connection which another user opens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitingRequest {
    pub(crate) user: UserKey,
    /// The user's number and when it began the operation: together they are never those of another.
    pub(crate) number: u64,
    pub(crate) sent_ns: u64,
}

impl Http2 {
    pub(crate) fn new(plan: &Plan, shares: bool) -> Http2 {
        let version = plan.options.http;
        let may_speak = plan.endpoints.iter().map(|endpoint| match version {
            HttpVersion::Http1 => false,
            HttpVersion::Http2 => true,
            HttpVersion::Auto => endpoint.tls,
        });
        let shared = plan.endpoints.iter().filter(|_| shares);
        let shared = shared.map(|_| SharedConnections {
            waiting_max: WAITING_MAX,
            ..SharedConnections::default()
        });
        Http2 {
            version,
            may_speak: may_speak.collect(),
            shared: shared.collect(),
            carries_websockets: plan.options.websockets == WebSockets::Streams,
            unsettled: BTreeMap::new(),
            carried_count: 0,
            text: Vec::new(),
            block: Vec::new(),
            scratch: h2::Scratch::default(),
        }
    }
}

impl Http2 {
    /// Whether connections to the endpoint may speak it.
    pub(crate) fn may_speak(&self, endpoint: EndpointId) -> bool {
        self.may_speak[endpoint.index()]
    }

    /// Whether they all do.
    pub(crate) fn is_required(&self) -> bool {
        self.version == HttpVersion::Http2
    }
}

impl Connections {
    /// A carrier that takes another request of the user now.
    pub(crate) fn carrier(
        &self,
        users: &Users<'_>,
        key: UserKey,
        endpoint: EndpointId,
    ) -> Option<ConnSlot> {
        if self.http2.version == HttpVersion::Http1 {
            return None;
        }
        let may_take = |conn: &Conn| {
            let carrier = conn.carrier();
            conn.endpoint == endpoint && carrier.is_some_and(Carrier::can_open)
        };
        match self.http2.shared.get(endpoint.index()) {
            Some(shared) => {
                let mut carriers = shared.carriers.iter().copied();
                carriers.find(|&slot| may_take(&self.table[slot]))
            }
            None => self.find(users, key, may_take),
        }
    }

    /// Whether HTTP/2 is spoken on a connection that was just set up. The error says why it is not,
    /// though it has to be.
    pub(crate) fn speaks_http2(&self, slot: ConnSlot) -> Result<bool, &'static str> {
        let conn = &self.table[slot];
        if !conn.may_be_carried() {
            return Ok(false);
        }
        match (self.http2.version, &conn.tls) {
            (HttpVersion::Http1, _) | (HttpVersion::Auto, None) => Ok(false),
            (HttpVersion::Http2, None) => Ok(true),
            (_, Some(tls)) if tls.agreed_on_http2() => Ok(true),
            (HttpVersion::Auto, Some(_)) => Ok(false),
            (HttpVersion::Http2, Some(_)) => {
                Err("the server does not choose HTTP/2 (ALPN `h2`), which `http: 2` requires")
            }
        }
    }

    /// Makes a connection that was just set up a carrier, and sends what a client sends first. Returns
    /// the link and the protocol that it was opened for.
    pub(crate) fn become_carrier(
        &mut self,
        users: &mut Users<'_>,
        slot: ConnSlot,
    ) -> (Link, Protocol) {
        let start = self.commands.bytes.len();
        let out = &mut self.commands.bytes;
        let carrier = Box::new(Carrier {
            h2: h2::Connection::new(&Settings::DEFAULT, &self.limits, out),
            ending: None,
            counted_ns: 0,
            heard_ns: 0,
            served: false,
            is_suspect: false,
        });
        let conn = &mut self.table[slot];
        let link = std::mem::replace(&mut conn.link, Link::Carrier(carrier));
        let protocol = std::mem::replace(&mut conn.speaks, Protocol::Http);
        let endpoint = conn.endpoint;
        self.set_up(slot, Stage::Open);
        self.transmit(slot, start);
        if let Some(shared) = self.http2.shared.get_mut(endpoint.index()) {
            shared.speaks = true;
            self.wake(users, slot);
            self.unlink(users, slot);
            self.table[slot].user = UserKey::NONE;
        } else {
            self.give_back(users, slot);
        }
        (link, protocol)
    }

    /// From now on a carrier takes requests of other users.
    pub(crate) fn share_carrier(&mut self, slot: ConnSlot) {
        let conn = &self.table[slot];
        let streams_max = conn.carrier().map_or(1, |own| own.h2.streams_max());
        if let Some(shared) = self.http2.shared.get_mut(conn.endpoint.index()) {
            shared.carriers.push(slot);
            shared.waiting_max = WAITING_MAX.min((streams_max as usize).saturating_sub(1));
        }
    }

    /// A carrier is of no more use to other users.
    pub(crate) fn forget_carrier(&mut self, slot: ConnSlot) {
        let endpoint = self.table[slot].endpoint;
        if let Some(shared) = self.http2.shared.get_mut(endpoint.index()) {
            shared.carriers.retain(|&own| own != slot);
        }
    }

    /// Has a request wait for the shared connection that is being set up. False: there is none, or enough
    /// wait for it.
    pub(crate) fn wait_for_carrier(
        &mut self,
        endpoint: EndpointId,
        waiting: WaitingRequest,
    ) -> bool {
        let is_required = self.http2.is_required();
        let Some(shared) = self.http2.shared.get_mut(endpoint.index()) else {
            return false;
        };
        let table = &self.table;
        let waiting_max = shared.waiting_max;
        let mut openings = shared.opening.iter_mut().rev();
        let free =
            openings.find(|(id, waiting)| waiting.len() < waiting_max && is_live(table, *id));
        match free {
            Some((_, list)) if is_required || shared.speaks => {
                list.push(waiting);
                true
            }
            _ => false,
        }
    }

    /// A connection is being set up for a request: others may wait for it.
    pub(crate) fn opens_carrier(&mut self, endpoint: EndpointId, slot: ConnSlot) {
        let id = self.id(slot);
        let table = &self.table;
        if self.http2.may_speak(endpoint)
            && let Some(shared) = self.http2.shared.get_mut(endpoint.index())
        {
            // One whose user has left is gone; what waits for it has its own deadline.
            shared.opening.retain(|(id, _)| is_live(table, *id));
            shared.opening.push((id, Vec::new()));
        }
    }

    /// A connection is set up, to the server's settings, or cannot be: what waited for it.
    pub(crate) fn take_waiting(&mut self, slot: ConnSlot) -> Vec<WaitingRequest> {
        let id = self.id(slot);
        let endpoint = self.table[slot].endpoint;
        let Some(shared) = self.http2.shared.get_mut(endpoint.index()) else {
            return Vec::new();
        };
        let place = shared.opening.iter().position(|(own, _)| *own == id);
        place.map_or_else(Vec::new, |place| shared.opening.swap_remove(place).1)
    }

    /// Gives the user a row for a request over a carrier.
    pub(crate) fn add_stream(
        &mut self,
        users: &mut Users<'_>,
        key: UserKey,
        carrier: ConnSlot,
        link: Link,
        protocol: Protocol,
    ) -> ConnSlot {
        let endpoint = self.table[carrier].endpoint;
        let slot = self.insert(users, key, endpoint, link, protocol);
        self.attach(slot, carrier);
        slot
    }

    /// Has a row that is to send a request reach its server over a carrier.
    pub(crate) fn attach(&mut self, slot: ConnSlot, carrier: ConnSlot) {
        let stream = Stream { carrier: self.id(carrier), id: 0 };
        self.http2.carried_count += 1;
        let served = self.table[carrier].carrier().is_some_and(|own| own.served);
        let conn = &mut self.table[slot];
        conn.reuse = if served { Reuse::Served } else { Reuse::Fresh };
        conn.stage = conn.speaks.stage_on_stream();
        match &mut conn.link {
            Link::Carried(own) => own.stream = Some(stream),
            link => *link = Link::Stream(stream),
        }
        if conn.stage == Stage::Upgrading {
            self.begin_set_up();
        }
    }

    /// Turns what was appended to the command bytes since `start` into frames, if it goes over a carrier: a request, or
    /// more of one whose body goes on. Returns the connection that sends.
    #[inline]
    pub(crate) fn frame_request(&mut self, slot: ConnSlot, start: usize) -> ConnSlot {
        match self.table[slot].stream() {
            None => slot,
            Some(stream) => {
                let carrier = stream.carrier;
                match stream.id {
                    0 => self.frame_for(carrier, slot, start),
                    id => self.frame_more(carrier, id, start).unwrap_or(slot),
                }
            }
        }
    }

    /// `None`: the carrier is gone, and the bytes with it.
    fn frame_more(&mut self, carrier: ConnId, id: u32, start: usize) -> Option<ConnSlot> {
        let mut bytes = std::mem::take(&mut self.http2.text);
        bytes.extend_from_slice(&self.commands.bytes[start..]);
        self.commands.bytes.truncate(start);
        let at = self.live(carrier);
        if let Some(carrier) = at.and_then(|at| self.table[at].carrier_mut()) {
            let out = &mut self.commands.bytes;
            carrier.h2.send(id, &bytes, false, out);
        }
        bytes.clear();
        self.http2.text = bytes;
        at
    }

    fn frame_for(&mut self, carrier: ConnId, slot: ConnSlot, start: usize) -> ConnSlot {
        let mut text = std::mem::take(&mut self.http2.text);
        let mut block = std::mem::take(&mut self.http2.block);
        text.extend_from_slice(&self.commands.bytes[start..]);
        self.commands.bytes.truncate(start);
        let carrier = self.live(carrier);
        let scheme = match carrier.is_some_and(|at| self.table[at].tls.is_some()) {
            true => "https",
            false => "http",
        };
        let len = match self.table[slot].link {
            Link::Carried(_) => h2::encode_connect(&text, scheme, WEBSOCKET, &mut block),
            _ => h2::encode_head(&text, scheme, &mut block),
        };
        // What we wrote is a request.
        if let Some(len) = len {
            let is_head = text.starts_with(b"HEAD ");
            self.open_stream(slot, &block, &text[len..], is_head);
        }
        text.clear();
        block.clear();
        (self.http2.text, self.http2.block) = (text, block);
        carrier.unwrap_or(slot)
    }

    /// Appends the frames of a request to the command bytes. Returns the connection that sends.
    pub(crate) fn open_stream(
        &mut self,
        slot: ConnSlot,
        block: &[u8],
        body: &[u8],
        is_head: bool,
    ) -> Option<ConnSlot> {
        let at = self.live(self.table[slot].stream()?.carrier)?;
        let conn = &mut self.table[slot];
        let is_tunnel = matches!(conn.link, Link::Carried(_));
        let request = h2::Request {
            token: slot.place(),
            block,
            body,
            is_head,
            is_endless: is_tunnel || matches!(conn.speaks, Protocol::Sse(_) | Protocol::Call(_)),
        };
        let is_held = matches!(conn.pending.as_deref(), Some(PendingOperation::Unsent(_)));
        let is_open = is_held || conn.call_stream().is_some_and(|own| own.sends);
        let carrier = self.table[at].carrier_mut()?;
        let out = &mut self.commands.bytes;
        let id = match (is_tunnel, is_open) {
            (true, _) => carrier.h2.tunnel(&request, out),
            (false, true) => carrier.h2.open(&request, out),
            (false, false) => carrier.h2.request(&request, out),
        };
        self.table[slot].link.set_stream_id(id);
        Some(at)
    }

    /// Sends more of the body of a row's request. Returns the connection that sends, and how many bytes it sent;
    /// `None`: it is gone.
    pub(crate) fn send_more(
        &mut self,
        slot: ConnSlot,
        body: &[u8],
        ends: bool,
    ) -> Option<(ConnSlot, u32)> {
        let stream = self.table[slot].stream().filter(|own| own.id != 0)?;
        let at = self.live(stream.carrier)?;
        let start = self.commands.bytes.len();
        let carrier = self.table[at].carrier_mut()?;
        carrier.h2.send(stream.id, body, ends, &mut self.commands.bytes);
        let sent = (self.commands.bytes.len() - start) as u32;
        self.transmit(at, start);
        Some((at, sent))
    }

    /// A row gives its request up, or closes its tunnel if it is `open`. A carrier that was there for this request alone
    /// is closed.
    pub(crate) fn end_stream(&mut self, users: &mut Users<'_>, stream: Stream, open: bool) {
        let start = self.commands.bytes.len();
        if let Some(at) = self.live(stream.carrier)
            && let Some(carrier) = self.table[at].carrier_mut()
            // Of a stream that has ended, the carrier knows by itself; but one that has not greeted knows nothing.
            && (stream.id != 0 || !carrier.h2.is_greeted())
        {
            let out = &mut self.commands.bytes;
            match open {
                true => carrier.h2.close(stream.id, out),
                false => carrier.h2.reset(stream.id, Code::Cancel, out),
            }
            let is_over = carrier.is_over();
            self.transmit(at, start);
            if is_over {
                self.close(users, at);
            }
        }
    }

    /// A row's request, sent at this time, was not answered in time. If nothing came since, its carrier takes no
    /// further request until something does.
    pub(crate) fn suspect_carrier(&mut self, slot: ConnSlot, sent_ns: u64) {
        if let Some(stream) = self.table[slot].stream()
            && let Some(at) = self.live(stream.carrier)
            && let Some(carrier) = self.table[at].carrier_mut()
        {
            carrier.is_suspect |= sent_ns >= carrier.heard_ns;
        }
    }
}

/// Whether a connection is still there.
fn is_live(table: &Slots<ConnSlot, Conn>, id: ConnId) -> bool {
    let conn = table.get(ConnSlot::new(id.slot));
    conn.is_some_and(|conn| conn.generation == id.generation)
}
