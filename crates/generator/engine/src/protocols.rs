//! The protocols: a line for each wherever all of them are treated alike.
//!
//! | method | when |
//! |---|---|
//! | `open` | a step opens a connection that stays open between steps |
//! | `connection_for`, `open_again` | the step in flight needs a connection, or another attempt at one |
//! | `begin_speaking` | the connection is there: the first bytes go out |
//! | `encode_for_step` | a step sends a message |
//! | `take_bare` | bytes came that no HTTP and no WebSocket frames |
//! | `take_frame_of` | a frame of a WebSocket came |
//! | `record_end` | a message came, which may hold several records |
//! | `take_head`, `take_only_head`, `take_piece`, `take_end` | a response came, over HTTP/1.1 or HTTP/2 |
//! | `fire_on` | something is due that runs beside the steps |
//! | `lost_in_background`, `lost_while_open` | the connection is lost |
//! | `send_unprocessed_again` | the server says that it has not processed the request |
//!
//! Behaviour that only one protocol has is in its own file or folder.

pub(crate) mod calls;
pub(crate) mod channels;
pub(crate) mod declined;
pub(crate) mod http;
pub(crate) mod mqtt;
pub(crate) mod poll;
pub(crate) mod sse;
pub(crate) mod tcp;
pub(crate) mod websocket;

use plan::{EndpointId, MeasureId, Op, Pc, SendOp};
use proto::http1::Head;
use proto::ws;
use record::Outcome;

use crate::conn::background::Background;
use crate::conn::{Link, NEVER, Stage};
use crate::interpreter::{Flow, Interpreter};
use crate::protocols::calls::state::CallStream;
use crate::protocols::channels::state::Channels;
use crate::protocols::poll::Poller;
use crate::protocols::sse::EventStream;
use crate::protocols::websocket::deflate::Compression;
use crate::protocols::websocket::pauses::Reconnectable;
use crate::tables::slots::{ConnSlot, UserKey};

/// The protocol that is spoken over a connection, whatever carries it.
#[derive(Debug)]
pub(crate) enum Protocol {
    Http,
    Ws(WebSocket),
    /// A protocol of channels over a WebSocket, or MQTT.
    Channels(Box<Channels>),
    /// An event stream.
    Sse(Box<EventStream>),
    Poll(Box<Poller>),
    /// A call of gRPC that stays open.
    Call(Box<CallStream>),
    /// Messages in frames, straight on TCP or TLS. The framing is that of the instruction that
    /// opened it.
    Tcp {
        opened_by: Pc,
    },
}

/// A WebSocket that carries no protocol of channels.
#[derive(Debug)]
pub(crate) enum WebSocket {
    /// Not open yet, or without anything to remember.
    Plain,
    /// A WebSocket whose messages may be compressed.
    Deflated(Box<Compression>),
    /// A WebSocket whose messages may hold several records.
    Divided(Box<DividedSocket>),
    /// It reconnects.
    Reconnectable(Box<Reconnectable>),
}

/// A WebSocket whose messages may hold several records, and which does not reconnect.
#[derive(Debug)]
pub(crate) struct DividedSocket {
    /// The byte that ends each record.
    pub(crate) end: u8,
    /// Compression of our messages, if that was agreed on.
    pub(crate) compression: Option<Compression>,
}

impl Protocol {
    /// A WebSocket that is still to be opened.
    pub(crate) fn upgrade() -> Protocol {
        Protocol::Ws(WebSocket::Plain)
    }

    pub(crate) fn is_http(&self) -> bool {
        matches!(self, Protocol::Http)
    }

    pub(crate) fn is_websocket(&self) -> bool {
        matches!(self, Protocol::Ws(_) | Protocol::Channels(_))
    }

    /// True if steps send messages over it.
    pub(crate) fn carries_messages(&self) -> bool {
        match self {
            Protocol::Ws(_) | Protocol::Channels(_) | Protocol::Call(_) | Protocol::Tcp { .. } => {
                true
            }
            Protocol::Http | Protocol::Sse(_) | Protocol::Poll(_) => false,
        }
    }

    /// True if HTTP/2 can carry it as well, over this link.
    pub(crate) fn may_be_carried(&self, link: &Link) -> bool {
        match self {
            Protocol::Http | Protocol::Sse(_) | Protocol::Poll(_) | Protocol::Call(_) => true,
            Protocol::Ws(_) | Protocol::Channels(_) => matches!(link, Link::Carried(_)),
            Protocol::Tcp { .. } => false,
        }
    }

    /// Bytes of messages that have come in part, but for those that the link has gathered.
    pub(crate) fn gathered_bytes(&self) -> usize {
        match self {
            Protocol::Http | Protocol::Ws(_) | Protocol::Tcp { .. } => 0,
            Protocol::Channels(channels) => {
                let mqtt = channels.mqtt.as_ref();
                mqtt.map_or(0, |own| own.part.capacity() + own.client.kept_bytes())
            }
            Protocol::Sse(stream) => stream.kept_bytes(),
            Protocol::Poll(poller) => poller.body.capacity(),
            Protocol::Call(own) => own.message.capacity() + own.head.capacity(),
        }
    }

    /// The connection is given up; another one will take its place.
    pub(crate) fn reset(&mut self) {
        match self {
            Protocol::Sse(own) => own.reset(),
            Protocol::Poll(own) => own.reset(),
            Protocol::Ws(WebSocket::Reconnectable(own)) => own.reset(),
            Protocol::Channels(own) => own.reset(),
            Protocol::Http | Protocol::Ws(_) | Protocol::Call(_) | Protocol::Tcp { .. } => {}
        }
    }

    /// True if its messages come in what is shown of it anyway: those of a poll in a response, those of channels in frames.
    pub(crate) fn shows_messages(&self) -> bool {
        match self {
            Protocol::Poll(_) | Protocol::Channels(_) => true,
            Protocol::Http
            | Protocol::Ws(_)
            | Protocol::Sse(_)
            | Protocol::Call(_)
            | Protocol::Tcp { .. } => false,
        }
    }

    /// Words for a connection that is there already.
    pub(crate) fn in_use(&self) -> &'static str {
        match self {
            Protocol::Sse(_) => "event stream is open",
            Protocol::Poll(_) => "poll is running",
            Protocol::Tcp { .. } => "TCP connection is open",
            Protocol::Call(_) => "call is open",
            Protocol::Channels(own) if own.mqtt.is_some() => "connection of MQTT is open",
            Protocol::Http | Protocol::Ws(_) | Protocol::Channels(_) => "WebSocket is open",
        }
    }

    /// How far a row is whose request is about to go over a stream of HTTP/2.
    pub(crate) fn stage_on_stream(&self) -> Stage {
        match self {
            Protocol::Sse(_) | Protocol::Ws(_) | Protocol::Channels(_) => Stage::Upgrading,
            Protocol::Call(_) => Stage::Open,
            Protocol::Http | Protocol::Poll(_) | Protocol::Tcp { .. } => Stage::Busy,
        }
    }

    /// The operations that run beside the steps.
    pub(crate) fn background(&self) -> Option<&Background> {
        match self {
            Protocol::Sse(stream) => Some(&stream.background),
            Protocol::Poll(poller) => Some(&poller.background),
            Protocol::Ws(WebSocket::Reconnectable(own)) => Some(&own.background),
            Protocol::Channels(channels) => Some(&channels.background),
            Protocol::Call(own) => Some(&own.background),
            Protocol::Http | Protocol::Ws(_) | Protocol::Tcp { .. } => None,
        }
    }

    /// The same, to be changed.
    pub(crate) fn background_mut(&mut self) -> Option<&mut Background> {
        match self {
            Protocol::Sse(stream) => Some(&mut stream.background),
            Protocol::Poll(poller) => Some(&mut poller.background),
            Protocol::Ws(WebSocket::Reconnectable(own)) => Some(&mut own.background),
            Protocol::Channels(channels) => Some(&mut channels.background),
            Protocol::Call(own) => Some(&mut own.background),
            Protocol::Http | Protocol::Ws(_) | Protocol::Tcp { .. } => None,
        }
    }

    /// True if no step in flight depends on the connection: it polls, or its event stream was open
    /// before, or it reconnects.
    pub(crate) fn is_background(&self) -> bool {
        match self {
            Protocol::Sse(stream) => stream.opened,
            Protocol::Poll(_) => true,
            Protocol::Ws(WebSocket::Reconnectable(own)) => own.reconnecting.lost,
            Protocol::Channels(channels) => channels.is_lost(),
            Protocol::Http | Protocol::Ws(_) | Protocol::Call(_) | Protocol::Tcp { .. } => false,
        }
    }
}

impl<'p> Interpreter<'p> {
    // Opening.

    /// Carries out a step that opens a connection which stays open between steps.
    pub(crate) fn open(&mut self, now_ns: u64, key: UserKey, op: &Op) -> Flow {
        match op {
            Op::WsOpen(open) => self.open_websocket(now_ns, key, open),
            Op::SseOpen(open) => self.open_event_stream(now_ns, key, open),
            Op::Poll(poll) => self.start_poll(now_ns, key, poll),
            Op::CallOpen(open) => self.open_call(now_ns, key, open),
            Op::TcpOpen(open) => self.open_tcp(now_ns, key, open),
            // Each is named, so that a new instruction does not compile until it has its place.
            Op::Http(_)
            | Op::CallEnd(_)
            | Op::Send(_)
            | Op::Channel(_)
            | Op::Expect(_)
            | Op::Close { .. }
            | Op::Think(_)
            | Op::ThinkFor(_)
            | Op::Pace { .. }
            | Op::Set { .. }
            | Op::Script(_)
            | Op::K6(_)
            | Op::K6Next(_)
            | Op::Meet(_)
            | Op::Feed(_)
            | Op::Check { .. }
            | Op::Measure { .. }
            | Op::Record { .. }
            | Op::LoopStart { .. }
            | Op::LoopEnd { .. }
            | Op::Jump(_)
            | Op::JumpUnless { .. }
            | Op::Choose(_)
            | Op::RetryStart { .. }
            | Op::RetryEnd { .. }
            | Op::Parallel(_)
            | Op::BranchEnd
            | Op::Restart { .. }
            | Op::TransactionStart { .. }
            | Op::TransactionEnd { .. }
            | Op::Stop => unreachable!("{op:?} opens no connection"),
        }
    }

    /// Tries again to connect for the user's step in flight.
    pub(crate) fn open_again(&mut self, now_ns: u64, key: UserKey) {
        match self.users.op(key) {
            // Another user may have released a connection since.
            Some(Op::Http(http)) => self.reach(now_ns, key, http),
            Some(Op::WsOpen(open)) => self.reach_for_socket(now_ns, key, open),
            Some(Op::SseOpen(open)) => self.reach_for_stream(now_ns, key, open.endpoint),
            Some(Op::CallOpen(open)) => self.reach_for_stream(now_ns, key, open.endpoint),
            Some(Op::TcpOpen(open)) => self.connect_tcp(now_ns, key, open),
            other => unreachable!("a connection is tried again for {other:?}"),
        }
    }

    /// The link and the protocol of a new connection for the user's step in flight.
    pub(crate) fn connection_for(&self, key: UserKey, endpoint: EndpointId) -> (Link, Protocol) {
        let pc = self.users[key].pc;
        match self.users.op(key) {
            Some(Op::WsOpen(open)) => {
                let is_bare = open.mqtt.as_ref().is_some_and(|own| own.bare);
                let link = match is_bare {
                    true => Link::bare(),
                    false => self.conns.websocket_link(endpoint),
                };
                (link, Protocol::upgrade())
            }
            Some(Op::SseOpen(open)) => {
                let retry_ns = open.reconnect.map_or(NEVER, |reconnect| reconnect.pause_ns);
                let stream = EventStream::new(pc, retry_ns);
                (Link::http1(), Protocol::Sse(Box::new(stream)))
            }
            Some(Op::CallOpen(open)) => {
                let call = CallStream::new(pc, open.message.is_none());
                (Link::http1(), Protocol::Call(Box::new(call)))
            }
            Some(Op::TcpOpen(_)) => (Link::bare(), Protocol::Tcp { opened_by: pc }),
            _ => (Link::http1(), Protocol::Http),
        }
    }

    /// The connection is there, or the stream over one: the first bytes go out.
    pub(crate) fn begin_speaking(&mut self, now_ns: u64, slot: ConnSlot) {
        let key = self.conns[slot].user;
        let is_carried = self.conns[slot].stream().is_some();
        match self.conns[slot].speaks {
            Protocol::Http => {
                if !is_carried {
                    self.conns.set_up(slot, Stage::Idle);
                    self.conns.wake(&mut self.users, slot);
                }
                self.send_request(now_ns, key, slot);
            }
            Protocol::Ws(_) | Protocol::Channels(_) if is_carried => {
                self.open_carried(now_ns, slot);
            }
            Protocol::Ws(_) | Protocol::Channels(_) => self.send_upgrade(now_ns, key, slot),
            Protocol::Sse(_) => self.request_event_stream(now_ns, key, slot),
            Protocol::Poll(_) => {
                if !is_carried {
                    self.conns.set_up(slot, Stage::Busy);
                }
                self.send_poll(now_ns, slot);
            }
            // A call is made over HTTP/2 alone.
            Protocol::Call(_) if !is_carried => {}
            Protocol::Call(_) => self.begin_call(now_ns, slot),
            Protocol::Tcp { .. } => self.tcp_is_open(now_ns, slot),
        }
    }

    // Sending.

    /// Appends the message of a step to the command bytes.
    pub(crate) fn encode_for_step(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        send: &SendOp,
    ) -> Result<(), String> {
        match self.conns[slot].speaks {
            Protocol::Tcp { .. } => self.encode_frame(now_ns, slot, send),
            Protocol::Ws(_) | Protocol::Channels(_) => {
                self.encode_websocket_message(now_ns, slot, send)
            }
            // A call sends its messages by itself, and the others send none.
            Protocol::Http | Protocol::Sse(_) | Protocol::Poll(_) | Protocol::Call(_) => Ok(()),
        }
    }

    // Receiving.

    /// Takes bytes from a connection with nothing between TCP or TLS and what is spoken. Returns how many that were.
    pub(crate) fn take_bare(&mut self, now_ns: u64, slot: ConnSlot, bytes: &[u8]) -> usize {
        match self.conns[slot].speaks {
            Protocol::Ws(_) | Protocol::Channels(_) => self.decode_packets(now_ns, slot, bytes),
            Protocol::Tcp { .. } => self.decode_framed(now_ns, slot, bytes),
            Protocol::Http | Protocol::Sse(_) | Protocol::Poll(_) | Protocol::Call(_) => {
                bytes.len()
            }
        }
    }

    /// Takes a frame of a WebSocket, of `len` bytes.
    pub(crate) fn take_frame_of(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        len: usize,
        frame: &ws::Event<'_>,
    ) {
        match self.conns[slot].speaks {
            Protocol::Channels(_) => self.take_channel_frame(now_ns, slot, len, frame),
            Protocol::Ws(_)
            | Protocol::Http
            | Protocol::Sse(_)
            | Protocol::Poll(_)
            | Protocol::Call(_)
            | Protocol::Tcp { .. } => self.take_frame(now_ns, slot, len, frame),
        }
    }

    /// The byte that ends each record on this connection, if its messages hold several.
    pub(crate) fn record_end(&self, slot: ConnSlot) -> Option<u8> {
        match &self.conns[slot].speaks {
            Protocol::Ws(WebSocket::Divided(own)) => Some(own.end),
            Protocol::Ws(WebSocket::Reconnectable(_)) => self.reconnecting_op(slot)?.records,
            Protocol::Sse(_) => self.events_op(slot).records,
            Protocol::Tcp { .. } => self.tcp_op(slot)?.records,
            Protocol::Http
            | Protocol::Ws(WebSocket::Plain | WebSocket::Deflated(_))
            | Protocol::Channels(_)
            | Protocol::Poll(_)
            | Protocol::Call(_) => None,
        }
    }

    /// Takes the head of a response, of `len` bytes, after which more comes.
    pub(crate) fn take_head(&mut self, now_ns: u64, slot: ConnSlot, len: usize, head: &Head<'_>) {
        match self.conns[slot].speaks {
            Protocol::Http if self.is_answer(slot) => self.begin_answer(now_ns, slot, head),
            Protocol::Http | Protocol::Poll(_) => self.keep_head(slot, head),
            Protocol::Call(_) => self.take_call_head(now_ns, slot, head),
            Protocol::Ws(_) | Protocol::Channels(_) => {
                self.take_connect_head(now_ns, slot, len, head);
            }
            Protocol::Sse(_) => self.take_stream_head(now_ns, slot, len, head),
            Protocol::Tcp { .. } => {}
        }
    }

    /// Takes a response that consists of a head, of `len` bytes.
    pub(crate) fn take_only_head(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        len: usize,
        head: &Head<'_>,
    ) {
        match self.conns[slot].speaks {
            Protocol::Http if self.is_answer(slot) => self.end_call_at_head(now_ns, slot, head),
            Protocol::Http => self.end_response(now_ns, slot, head, &[], false),
            Protocol::Call(_) => self.end_open_call_at_head(now_ns, slot, head),
            Protocol::Ws(_)
            | Protocol::Channels(_)
            | Protocol::Sse(_)
            | Protocol::Poll(_)
            | Protocol::Tcp { .. } => {
                let id = self.conns.id(slot);
                self.take_head(now_ns, slot, len, head);
                if self.conns.live(id).is_some() {
                    self.take_end(now_ns, slot, &[], false);
                }
            }
        }
    }

    /// Takes a piece of a response's body.
    pub(crate) fn take_piece(&mut self, now_ns: u64, slot: ConnSlot, piece: &[u8]) {
        match self.conns[slot].speaks {
            Protocol::Http if self.is_answer(slot) => self.take_answer_piece(now_ns, slot, piece),
            Protocol::Http | Protocol::Poll(_) => self.keep_piece(slot, piece),
            Protocol::Call(_) => self.take_call_piece(now_ns, slot, piece),
            Protocol::Ws(_) | Protocol::Channels(_) => {
                if !self.take_declined_piece(now_ns, slot, piece) {
                    self.take_in(now_ns, slot, piece);
                }
            }
            Protocol::Sse(_) => {
                if !self.take_declined_piece(now_ns, slot, piece) {
                    self.take_stream_piece(now_ns, slot, piece);
                }
            }
            Protocol::Tcp { .. } => {}
        }
    }

    /// Takes the end of a response. `surplus`: more bytes follow it.
    pub(crate) fn take_end(&mut self, now_ns: u64, slot: ConnSlot, trailers: &[u8], surplus: bool) {
        let ended = match self.conns[slot].speaks {
            Protocol::Http if self.is_answer(slot) => {
                return self.end_call(now_ns, slot, trailers);
            }
            Protocol::Http => return self.end_pieces(now_ns, slot, surplus),
            Protocol::Poll(_) => return self.end_poll(now_ns, slot, surplus),
            Protocol::Call(_) => return self.end_open_call(now_ns, slot, trailers),
            Protocol::Ws(_) | Protocol::Channels(_) => "the peer closed",
            Protocol::Sse(_) => "the server ended the event stream",
            Protocol::Tcp { .. } => return,
        };
        self.lost(now_ns, slot, Outcome::Closed, || ended.to_owned());
    }

    /// True if a row's response is the answer to a call of gRPC.
    fn is_answer(&self, slot: ConnSlot) -> bool {
        self.conns[slot].stream().is_some() && self.call_on(slot).is_some()
    }

    // What runs beside the steps.

    /// Does what is due on a connection beside the steps, if it is more than the next operation or the end of the time
    /// that the one in flight has. False: it is not.
    pub(crate) fn fire_on(&mut self, now_ns: u64, slot: ConnSlot) -> bool {
        match self.conns[slot].speaks {
            Protocol::Channels(_) if !self.conns[slot].is_background() => {
                self.channels_due(now_ns, slot);
                true
            }
            Protocol::Call(_) => {
                self.end_at_deadline(now_ns, slot);
                true
            }
            Protocol::Http
            | Protocol::Ws(_)
            | Protocol::Channels(_)
            | Protocol::Sse(_)
            | Protocol::Poll(_)
            | Protocol::Tcp { .. } => false,
        }
    }

    /// The measure of the operations that run beside the steps on this connection.
    pub(crate) fn background_measure(&self, slot: ConnSlot) -> Option<MeasureId> {
        match self.background_op(slot) {
            Op::SseOpen(open) => open.reconnect.map(|reconnect| reconnect.measure),
            Op::Poll(poll) => Some(poll.measure),
            Op::WsOpen(open) => open.reconnect.as_ref().map(|reconnect| reconnect.measure),
            _ => None,
        }
    }

    // Losing the connection.

    /// A connection on which no step in flight depends is lost, or could not be had.
    pub(crate) fn lost_in_background(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        match self.conns[slot].speaks {
            Protocol::Poll(_) => self.poll_lost(now_ns, slot, outcome, detail),
            Protocol::Ws(_) | Protocol::Channels(_) => {
                self.reconnect_failed(now_ns, slot, outcome, 0, detail);
            }
            Protocol::Sse(_) => self.event_stream_lost(now_ns, slot, outcome, detail),
            // Steps depend on all of their connections.
            Protocol::Http | Protocol::Call(_) | Protocol::Tcp { .. } => {
                self.stream_lost(now_ns, slot, outcome, detail);
            }
        }
    }

    /// A connection is lost that steps use.
    pub(crate) fn lost_while_open(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        match self.conns[slot].speaks {
            Protocol::Call(_) => self.call_lost(now_ns, slot, outcome, detail),
            Protocol::Http
            | Protocol::Ws(_)
            | Protocol::Channels(_)
            | Protocol::Sse(_)
            | Protocol::Poll(_)
            | Protocol::Tcp { .. } => self.stream_lost(now_ns, slot, outcome, detail),
        }
    }

    /// Sends a request once more that its server has not processed. False: it is not to be sent again.
    pub(crate) fn send_unprocessed_again(&mut self, now_ns: u64, slot: ConnSlot) -> bool {
        match self.conns[slot].speaks {
            Protocol::Http => self.resend(now_ns, slot, true),
            Protocol::Poll(_) => self.poll_again(now_ns, slot, true),
            Protocol::Sse(_) | Protocol::Ws(_) | Protocol::Channels(_) if self.is_opening(slot) => {
                self.resend(now_ns, slot, true);
            }
            Protocol::Ws(_)
            | Protocol::Channels(_)
            | Protocol::Sse(_)
            | Protocol::Call(_)
            | Protocol::Tcp { .. } => return false,
        }
        true
    }
}
