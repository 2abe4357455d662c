//! Sources of messages: WebSockets, streams of server-sent events, polling.

use proto::ws::Offer;
use serde::Serialize;

use crate::channels::Protocol;
use crate::expr::Template;
use crate::http::StatusRule;
use crate::ids::{EndpointId, MeasureId};
use crate::matching::Save;
use crate::mqtt::MqttOpen;
use crate::reconnect::WsReconnect;

/// Opening a WebSocket, or a connection that carries MQTT without one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WsOpen {
    pub endpoint: EndpointId,
    /// The user's script of k6 has asked for it, and says where and with which headers.
    pub by_script: bool,
    /// Path and query, base path in front.
    pub path: Template,
    pub headers: Vec<(String, Template)>,
    /// The compression of messages that is offered (RFC 7692).
    #[serde(serialize_with = "crate::remote::offer")]
    pub compress: Option<Offer>,
    /// The byte that ends each record; each record of a message is a message of its own.
    pub records: Option<u8>,
    /// The protocol of channels that is spoken over it.
    pub protocol: Option<Protocol>,
    /// The text that is sent first whenever it opens.
    pub first: Option<Template>,
    /// How the client of MQTT is introduced, if that is the protocol.
    pub mqtt: Option<Box<MqttOpen>>,
    /// The way to reconnect if it is lost; `None`: the session cannot go on.
    pub reconnect: Option<WsReconnect>,
    /// Handshake latency: connect, TLS, upgrade and the protocol's greeting together.
    pub measure: MeasureId,
    pub timeout_ns: u64,
}

/// Opening a stream of server-sent events.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SseOpen {
    pub endpoint: EndpointId,
    /// Path and query, base path in front.
    pub path: Template,
    pub headers: Vec<(String, Template)>,
    /// Connect, TLS and the response's head together.
    pub measure: MeasureId,
    pub timeout_ns: u64,
    /// The way to reconnect a lost stream; `None`: the session cannot go on.
    pub reconnect: Option<Reconnect>,
    /// The byte that ends each record; each record of an event is an event of its own.
    pub records: Option<u8>,
}

/// Reconnecting a lost event stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Reconnect {
    /// From the loss to the next attempt, unless the server said otherwise (`retry`).
    pub pause_ns: u64,
    /// Each attempt, due when the pause is over.
    pub measure: MeasureId,
}

/// Requests beside the steps whose responses hold messages.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Poll {
    pub endpoint: EndpointId,
    /// Path and query, base path in front; rendered for each request.
    pub path: Template,
    pub headers: Vec<(String, Template)>,
    /// From one request being due to the next; `None`: the next follows the response at once.
    pub every_ns: Option<u64>,
    /// The path of the list of messages in the response; `None`: the body is one message.
    pub each: Option<Vec<String>>,
    /// Values to save before the messages are handed on.
    pub save: Vec<Save>,
    pub status: StatusRule,
    /// Response latency of each request.
    pub measure: MeasureId,
    /// From a request being sent to its response's end.
    pub timeout_ns: u64,
    /// Pause from a failure to the next request.
    pub pause_ns: u64,
}
