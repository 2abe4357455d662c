//! Protocols of channels: Phoenix, ActionCable, Socket.IO, SignalR and GraphQL over WebSocket; MQTT, whose topics are
//! channels.

use serde::Serialize;

use crate::expr::Template;
use crate::ids::MeasureId;
use crate::messages::Expect;
use crate::mqtt::Delivery;
use crate::tcp::Payload;

/// A protocol of channels, and how it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Protocol {
    /// Phoenix channels; messages are objects (serializer 1.0.0) or arrays of five (2.0.0).
    Phoenix {
        arrays: bool,
        /// From one heartbeat of ours to the next; one without its answer by then has lost the
        /// connection.
        heartbeat_ns: u64,
    },
    /// `actioncable-v1-json`.
    ActionCable,
    /// Socket.IO 5 (the protocol of Socket.IO 3 and 4) over Engine.IO 4.
    SocketIo,
    /// `graphql-transport-ws`, of the library graphql-ws.
    GraphQl,
    /// The hub protocol of ASP.NET Core SignalR, as JSON.
    SignalR,
    /// MQTT.
    Mqtt {
        /// Version 5, else 3.1.1.
        five: bool,
        /// Longest time between two packets of the client, seconds.
        keep_alive_s: u16,
    },
}

impl Protocol {
    /// As scenarios call it.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Phoenix { .. } => "phoenix",
            Protocol::ActionCable => "actioncable",
            Protocol::SocketIo => "socket.io",
            Protocol::GraphQl => "graphql-ws",
            Protocol::SignalR => "signalr",
            Protocol::Mqtt { .. } => "mqtt",
        }
    }
}

/// Something done with a channel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChannelOp {
    pub verb: ChannelVerb,
    /// The topic (Phoenix), the identifier (ActionCable), the namespace (Socket.IO), the id (GraphQL), or the topic or
    /// filter of topics (MQTT); empty with SignalR, which has none. `None`: that of the channel joined last.
    pub topic: Option<Template>,
    /// The event that is pushed (Phoenix, Socket.IO), or the method that is called (SignalR).
    pub event: Template,
    /// JSON: the payload (Phoenix), the data with its action (ActionCable), the list of arguments (Socket.IO, SignalR) or,
    /// when joining, what authenticates (Socket.IO), the operation (GraphQL). Any bytes with MQTT. Empty: none.
    pub payload: Payload,
    /// The answer to a push, or to an operation of GraphQL.
    pub reply: Option<Expect>,
    pub measure: MeasureId,
    /// Time limit for the server's answer.
    pub timeout_ns: u64,
    /// For a join: the server confirms it, and the step waits for that.
    pub confirmed: bool,
    /// For a join: the channel is joined again if it fails at the server. Each attempt is an
    /// operation of this measure.
    pub rejoin: Option<MeasureId>,
    /// MQTT only.
    pub delivery: Option<Box<Delivery>>,
}

/// Operation on a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum ChannelVerb {
    Join,
    Push,
    Leave,
}
