//! What stands behind a front: the system that is served, as its connections see it.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use bytes::Bytes;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::Front;
use super::outbox::Patience;
use crate::http::{Asked, Door};
use crate::metrics::Connections;

/// A front as the tasks of its thread share it. None of them holds it over an `await`.
pub type Shared<H> = Rc<RefCell<Front<H>>>;

/// Something that takes its time.
pub type Later<T> = Pin<Box<dyn Future<Output = T>>>;

/// A system that serves long-lived connections.
///
/// Channels are numbers, each thread's own: who has a seat in a channel gets what is broadcast
/// there.
pub trait House: Sized + 'static {
    /// What the house knows of one connection. It is away from its row while a request is being
    /// answered.
    type Guest: 'static;
    /// What the house keeps on each thread.
    type Local: 'static;

    /// What a path opens.
    fn door(path: &str) -> Option<Door>;

    /// Everything that is not a WebSocket or a stream.
    fn router(self: &Arc<Self>) -> Router;

    /// The counters of connections.
    fn connections(&self) -> &Connections;

    /// What a new thread keeps. Called once a thread, before it serves.
    fn local(self: &Arc<Self>) -> Self::Local;

    /// Starts what the house does on a thread besides answering: broadcasts, most of all.
    fn begin(self: &Arc<Self>, front: &Shared<Self>);

    /// Lets a connection in.
    ///
    /// # Errors
    /// The whole answer to a request that is refused; the connection ends with it.
    fn admit(
        self: &Arc<Self>,
        local: &mut Self::Local,
        asked: &Asked,
    ) -> Result<Admitted<Self::Guest>, Bytes>;

    /// Answers a text message.
    fn hear(
        self: &Arc<Self>,
        local: &mut Self::Local,
        guest: Self::Guest,
        text: &str,
    ) -> Heard<Self::Guest>;

    /// Whether the guest's binary messages are read as if they were text.
    fn reads_binary(&self, guest: &Self::Guest) -> bool;

    /// Answers a binary message that is not.
    fn hear_binary(&self, guest: &Self::Guest) -> Answered;

    /// Lets a guest go whose connection ends; what is left to do, if that takes time.
    fn dismiss(self: &Arc<Self>, guest: Self::Guest) -> Option<Later<()>>;

    /// What a guest is told before its connection is closed because the house stops.
    fn last_words(&self, guest: &Self::Guest) -> Bytes;

    /// The last one in a channel has left it.
    fn emptied(local: &mut Self::Local, channel: u32);
}

/// Who was let in.
pub struct Admitted<G> {
    pub guest: G,
    pub habit: Habit,
    /// The subprotocol chosen.
    pub protocol: Option<&'static str>,
    /// What the guest gets first: frames for a WebSocket, for a stream its head and events.
    pub greeting: Vec<u8>,
    /// Messages in there.
    pub greetings_count: u64,
    /// The channel in which it has a seat from the start.
    pub channel: Option<u32>,
}

/// What a connection is, and what is done when its peer is silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Habit {
    /// Neither a WebSocket nor a stream, or not yet.
    Nothing,
    /// A WebSocket that is pinged, and closed after the idle timeout.
    Both,
    /// A WebSocket that is pinged.
    Pinged,
    /// A WebSocket that is closed after the idle timeout.
    Closed,
    /// A WebSocket with heartbeats of its own.
    Left,
    /// A stream, whose peer has nothing to say: it gets heartbeats instead of pings.
    Stream,
}

impl Habit {
    /// Whether silence leads to pings or heartbeats.
    pub(super) fn is_pinged(self) -> bool {
        matches!(self, Self::Both | Self::Pinged | Self::Stream)
    }

    /// Whether silence leads to the end.
    pub(super) fn is_closed(self) -> bool {
        matches!(self, Self::Both | Self::Closed)
    }
}

/// What comes of a message.
pub enum Heard<G> {
    Now(G, Answered),
    /// Nothing more is heard of the connection until then.
    Later(Later<(G, Answered)>),
}

/// An answer.
#[derive(Debug)]
pub struct Answered {
    /// The frames to send.
    pub frames: Bytes,
    /// How many messages these are.
    pub count: u64,
    /// Whether the request was good.
    pub good: bool,
    pub seat: Seating,
    /// Why the connection ends now.
    pub end: Option<(CloseCode, &'static str)>,
}

/// What an answer does to the seats of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seating {
    /// They stay.
    Keep,
    /// There is one, or none.
    Only(Option<u32>),
    /// One more in a channel, if it has none there.
    Take(u32),
    /// None in this channel any more.
    Give(u32),
}

/// How a front serves.
#[derive(Debug, Clone)]
pub struct FrontOptions {
    /// Connections expected on each thread.
    pub connections_each: usize,
    /// Longest message of a client, in bytes.
    pub message_max: usize,
    /// Bad requests on a connection before it is closed.
    pub errors_max: u16,
    pub patience: Patience,
    /// How long a connection may take until its first request is whole.
    pub opening_timeout: Duration,
    /// Silence after which a connection is pinged, each time.
    pub ping_after: Option<Duration>,
    /// Silence after which it is closed.
    pub idle_timeout: Option<Duration>,
    /// How long a stop may take.
    pub stop_within: Duration,
    /// The reason given when the server stops.
    pub farewell: &'static str,
}
