//! A connection's state; opening and resetting streams (RFC 9113 §5).

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::error::Code;
use super::frame::{self, BITS_31, FrameHead};
use super::settings::{PeerSettings, Settings, WINDOW_BYTES_DEFAULT};
use super::stream::{NOBODY, Stream, Streams};
use crate::hpack;
use crate::limits::Limits;

/// Streams that we have closed and the peer has not: beyond that, further ones are reset.
const CLOSING_MAX: usize = 100;

/// The client's side of one connection. It owns no buffer but what the peer made it keep: the dynamic
/// table, a header block in pieces, and bodies that wait for the peer's windows.
#[derive(Debug)]
pub struct Connection {
    pub(super) fields: hpack::Decoder,
    pub(super) streams: Streams,
    /// Frames of waiting bodies that were sent since the last [`Connection::take_late`]: tokens, and bytes.
    pub(super) late: Vec<(u32, u32)>,
    /// A header block that comes in several frames.
    pub(super) block: Option<Box<Block>>,
    pub(super) peer: PeerSettings,
    /// Bytes that we may still send on the connection.
    pub(super) send_window: i64,
    /// Bytes that the peer may still send on the connection.
    pub(super) receive_window: u32,
    /// Most bytes that the peer may send.
    pub(super) window_max: u32,
    pub(super) stream_window_max: u32,
    /// The DATA frame under way.
    pub(super) data: Data,
    /// The number of the next stream.
    pub(super) next_id: u32,
    /// The last stream that we have reset: frames for it, and those before, may still come.
    pub(super) reset_id: u32,
    /// Frames since the last one that brought a response further, or since [`Connection::allow_more`].
    pub(super) idle_frames: u32,
    /// The peer will end the connection: the last stream that it may process.
    pub(super) last_id: Option<u32>,
    /// The SETTINGS of the peer have come.
    pub(super) is_greeted: bool,
    /// It was announced that our dynamic table is empty.
    table_is_announced: bool,
}

/// A header block that comes in several frames.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) head: FrameHead,
    pub(super) bytes: Vec<u8>,
    pub(super) frames_count: u32,
}

/// A DATA frame of which something is still to come.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Data {
    pub(super) stream: u32,
    /// Bytes of the body that are still to come.
    pub(super) left: u32,
    /// Bytes of padding that are still to come.
    pub(super) padding: u8,
    pub(super) ends_stream: bool,
    pub(super) is_under_way: bool,
}

/// A request.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The caller's name for the stream, which all of its events have.
    pub token: u32,
    /// The header block, as [`encode_head`](super::encode_head) writes it.
    pub block: &'a [u8],
    /// The body of the request.
    pub body: &'a [u8],
    /// It is a HEAD request: the response has no body, whatever its head says.
    pub is_head: bool,
    /// The response's body may be of any length.
    pub is_endless: bool,
}

impl Connection {
    /// A fresh connection; appends what a client sends first.
    pub fn new(own: &Settings, limits: &Limits, out: &mut Vec<u8>) -> Self {
        let head_bytes_max = u32::try_from(limits.head_bytes_max).unwrap_or(u32::MAX);
        own.put_preface(head_bytes_max, out);
        let window_max = own.connection_window_bytes.max(WINDOW_BYTES_DEFAULT);
        Self {
            fields: hpack::Decoder::new(own.header_table_bytes),
            streams: Streams::default(),
            late: Vec::new(),
            block: None,
            peer: PeerSettings::UNKNOWN,
            send_window: i64::from(WINDOW_BYTES_DEFAULT),
            receive_window: window_max,
            window_max,
            stream_window_max: own.stream_window_bytes,
            data: Data::default(),
            next_id: 1,
            reset_id: 0,
            idle_frames: 0,
            last_id: None,
            is_greeted: false,
            table_is_announced: false,
        }
    }

    /// Whether another request may be sent now: the peer takes one, and numbers are left.
    pub fn can_open(&self) -> bool {
        self.last_id.is_none()
            && self.streams.len() < self.peer.streams_max as usize
            && self.next_id <= BITS_31
    }

    /// How many requests the peer takes at once, as far as is known.
    pub fn streams_max(&self) -> u32 {
        self.peer.streams_max
    }

    /// Whether the peer has sent its settings.
    pub fn is_greeted(&self) -> bool {
        self.is_greeted
    }

    /// Whether the peer takes [tunnels](Connection::tunnel), as far as its settings say.
    pub fn takes_connect(&self) -> bool {
        self.peer.takes_connect
    }

    /// Whether no request will ever be sent over it again.
    pub fn is_ending(&self) -> bool {
        self.last_id.is_some() || self.next_id > BITS_31
    }

    /// Requests whose responses have not ended.
    pub fn open_count(&self) -> usize {
        self.tokens().count()
    }

    /// The tokens of requests whose responses have not ended.
    pub fn tokens(&self) -> impl Iterator<Item = u32> {
        let awaited = self.streams.iter().filter(|stream| stream.is_awaited());
        awaited.map(|stream| stream.token)
    }

    /// Bytes that it owns beside its own size.
    pub fn memory_bytes(&self) -> usize {
        let block = self.block.as_ref().map_or(0, |block| block.bytes.capacity());
        let streams = self.streams.len() * size_of::<Stream>();
        self.fields.memory_bytes() + block + self.streams.unsent_bytes() + streams
    }

    /// Appends a request and returns the number of its stream; only if [`Connection::can_open`].
    pub fn request(&mut self, request: &Request<'_>, out: &mut Vec<u8>) -> u32 {
        let own = self.stream_of(request);
        self.begin(own, request, out)
    }

    /// The same of a request whose body goes on: [`Connection::send`] sends the rest of it.
    pub fn open(&mut self, request: &Request<'_>, out: &mut Vec<u8>) -> u32 {
        let mut own = self.stream_of(request);
        own.is_open = true;
        self.begin(own, request, out)
    }

    /// The same of a CONNECT with a protocol (RFC 8441), whose block is that of
    /// [`encode_connect`](super::encode_connect); only if [`Connection::takes_connect`]. From a response of 2xx on, its
    /// bodies are the bytes of that protocol.
    pub fn tunnel(&mut self, request: &Request<'_>, out: &mut Vec<u8>) -> u32 {
        let mut own = self.stream_of(request);
        own.is_open = true;
        own.is_tunnel = true;
        self.begin(own, request, out)
    }

    /// The stream of a request that is about to be sent.
    fn stream_of(&self, request: &Request<'_>) -> Stream {
        let send_window = i64::from(self.peer.window_bytes);
        let id = self.next_id;
        let token = request.token;
        let mut own = Stream::new(id, token, send_window, self.stream_window_max);
        own.is_head = request.is_head;
        own.is_endless = request.is_endless;
        own
    }

    fn begin(&mut self, own: Stream, request: &Request<'_>, out: &mut Vec<u8>) -> u32 {
        debug_assert!(self.can_open(), "a stream is opened where one may be");
        let id = own.id;
        self.next_id += 2;
        let ends_stream = request.body.is_empty() && !own.is_open;
        self.streams.push(own);
        self.put_block(id, request.block, ends_stream, out);
        self.send_body(id, request, out);
        id
    }

    /// Appends a block, in as many frames as the peer wants.
    fn put_block(&mut self, id: u32, block: &[u8], ends_stream: bool, out: &mut Vec<u8>) {
        let mut announcement = Vec::new();
        if self.peer.wants_small_table && !self.table_is_announced {
            hpack::encode_table_size(&mut announcement, 0);
            self.table_is_announced = true;
        }
        let len_max = self.peer.payload_bytes_max as usize;
        let first_len = block.len().min(len_max - announcement.len());
        let (first, mut rest) = block.split_at(first_len);
        let mut flags = if ends_stream { frame::END_STREAM } else { 0 };
        if rest.is_empty() {
            flags |= frame::END_HEADERS;
        }
        frame::put_head(out, announcement.len() + first.len(), frame::HEADERS, flags, id);
        out.extend_from_slice(&announcement);
        out.extend_from_slice(first);
        while !rest.is_empty() {
            let piece;
            (piece, rest) = rest.split_at(rest.len().min(len_max));
            let flags = if rest.is_empty() { frame::END_HEADERS } else { 0 };
            frame::put(out, frame::CONTINUATION, flags, id, piece);
        }
    }

    /// Gives a request up: nothing of it is reported from now on.
    pub fn reset(&mut self, id: u32, code: Code, out: &mut Vec<u8>) {
        if self.streams.remove(id).is_some() {
            self.reset_id = self.reset_id.max(id);
            frame::put_reset(out, id, code);
        }
    }

    /// Closes a tunnel: ends our side of it, and drops what the peer says until it ends its own (RFC 8441 §5). One whose
    /// bytes still wait to be sent is reset. Nothing of it is reported from now on.
    pub fn close(&mut self, id: u32, out: &mut Vec<u8>) {
        let closing = self.streams.iter().filter(|stream| !stream.is_awaited());
        let is_full = closing.count() >= CLOSING_MAX;
        match self.streams.get_mut(id) {
            Some(stream) if stream.is_open && !stream.has_unsent() && !is_full => {
                stream.token = NOBODY;
                self.send(id, &[], true, out);
            }
            _ => self.reset(id, Code::Cancel, out),
        }
    }

    /// Appends what ends the connection. No stream of the peer's was ever processed.
    pub fn go_away(code: Code, out: &mut Vec<u8>) {
        frame::put_head(out, 8, frame::GOAWAY, 0, 0);
        out.extend_from_slice(&0_u32.to_be_bytes());
        out.extend_from_slice(&(code as u32).to_be_bytes());
    }

    /// Time has passed: what may be a flood is counted from here.
    pub fn allow_more(&mut self) {
        self.idle_frames = 0;
    }
}
