//! The interface between a reactor and the system that it serves.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use bytes::Bytes;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::Reactor;
use super::outbox::QueueLimits;
use crate::http::{Endpoint, OpenRequest};
use crate::metrics::Connections;

/// A reactor, shared by the tasks of its thread. None of them borrows it across an `await`.
pub type SharedReactor<S> = Rc<RefCell<Reactor<S>>>;

/// Something that takes its time.
pub type Later<T> = Pin<Box<dyn Future<Output = T>>>;

/// A system that serves long-lived connections.
///
/// Channels are numbers, each thread's own: the subscribers of a channel get what is broadcast
/// there.
pub trait Service: Sized + 'static {
    /// The state of one connection. It is not in its row while a request is being
    /// answered.
    type Connection: 'static;
    /// The state of the service on each thread.
    type ThreadState: 'static;

    /// Kind of connection that a path opens.
    fn endpoint(path: &str) -> Option<Endpoint>;

    /// Everything that is not a WebSocket or a stream.
    fn router(self: &Arc<Self>) -> Router;

    /// The counters of connections.
    fn connections(&self) -> &Connections;

    /// State of a new thread. Called once a thread, before it serves.
    fn thread_state(self: &Arc<Self>) -> Self::ThreadState;

    /// Starts the tasks of the service on a thread, such as broadcasts.
    fn start(self: &Arc<Self>, reactor: &SharedReactor<Self>);

    /// Lets a connection in.
    ///
    /// # Errors
    /// The whole answer to a request that is refused; the connection ends with it.
    fn accept(
        self: &Arc<Self>,
        thread_state: &mut Self::ThreadState,
        open_request: &OpenRequest,
    ) -> Result<AcceptedConnection<Self::Connection>, Bytes>;

    /// Answers a text message.
    fn on_text(
        self: &Arc<Self>,
        thread_state: &mut Self::ThreadState,
        connection: Self::Connection,
        text: &str,
    ) -> HandleResult<Self::Connection>;

    /// Whether the connection's binary messages are read as if they were text.
    fn binary_as_text(&self, connection: &Self::Connection) -> bool;

    /// Answers a binary message that is not.
    fn on_binary(&self, connection: &Self::Connection) -> Response;

    /// A connection ended; what is left to do, if that takes time.
    fn on_close(self: &Arc<Self>, connection: Self::Connection) -> Option<Later<()>>;

    /// The message on a connection before it is closed because the system stops.
    fn closing_message(&self, connection: &Self::Connection) -> Bytes;

    /// The last one in a channel has left it.
    fn on_empty_channel(thread_state: &mut Self::ThreadState, channel: u32);
}

/// A connection that was let in.
pub struct AcceptedConnection<G> {
    pub connection: G,
    pub keep_alive: KeepAlive,
    /// The subprotocol chosen.
    pub protocol: Option<&'static str>,
    /// Bytes that the connection gets first: frames for a WebSocket, for a stream its head and events.
    pub greeting: Vec<u8>,
    /// Messages in there.
    pub greetings_count: u64,
    /// The channel in which it has a subscription from the start.
    pub channel: Option<u32>,
}

/// Kind of a connection, and the reaction to the silence of its peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepAlive {
    /// Neither a WebSocket nor a stream, or not yet.
    None,
    /// A WebSocket that is pinged, and closed after the idle timeout.
    PingAndTimeout,
    /// A WebSocket that is pinged.
    Ping,
    /// A WebSocket that is closed after the idle timeout.
    Timeout,
    /// A WebSocket with heartbeats of its own.
    OwnHeartbeats,
    /// A stream, whose peer has nothing to say: it gets heartbeats instead of pings.
    Stream,
}

impl KeepAlive {
    /// Whether silence leads to pings or heartbeats.
    pub(super) fn is_pinged(self) -> bool {
        matches!(self, Self::PingAndTimeout | Self::Ping | Self::Stream)
    }

    /// Whether silence leads to the end.
    pub(super) fn is_closed(self) -> bool {
        matches!(self, Self::PingAndTimeout | Self::Timeout)
    }
}

/// Result of handling a message.
pub enum HandleResult<G> {
    Now(G, Response),
    /// Nothing more is heard of the connection until then.
    Later(Later<(G, Response)>),
}

/// An answer.
#[derive(Debug)]
pub struct Response {
    /// The frames to send.
    pub frames: Bytes,
    /// How many messages these are.
    pub count: u64,
    /// Whether the request was good.
    pub good: bool,
    pub subscription: SubscriptionChange,
    /// Why the connection ends now.
    pub end: Option<(CloseCode, &'static str)>,
}

/// How a response changes the subscriptions of its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubscriptionChange {
    /// The subscriptions stay.
    Keep,
    /// The only subscription; `None`: there is none.
    Only(Option<u32>),
    /// One more in a channel, if it has none there.
    Subscribe(u32),
    /// The subscription in this channel ends.
    Unsubscribe(u32),
}

/// How a reactor serves.
#[derive(Debug, Clone)]
pub struct ReactorOptions {
    /// Connections expected on each thread.
    pub connections_each: usize,
    /// Longest message of a client, in bytes.
    pub message_max: usize,
    /// Bad requests on a connection before it is closed.
    pub errors_max: u16,
    pub queue_limits: QueueLimits,
    /// How long a connection may take until its first request is whole.
    pub opening_timeout: Duration,
    /// Silence after which a connection is pinged, each time.
    pub ping_after: Option<Duration>,
    /// Silence after which it is closed.
    pub idle_timeout: Option<Duration>,
    /// Mean life of a connection: then it is closed between two requests, so that its peer may come to another server;
    /// `None`: it lives until its peer leaves.
    pub mean_life: Option<Duration>,
    /// How long a stop may take.
    pub stop_within: Duration,
    /// The reason given when the server stops.
    pub close_reason: &'static str,
}
