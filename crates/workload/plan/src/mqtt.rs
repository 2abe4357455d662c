//! MQTT: how a client is introduced to its server, and how its messages are delivered.

use serde::Serialize;

use crate::expr::Template;
use crate::tcp::Payload;

/// A client's introduction of itself (MQTT 5 §3.1).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MqttOpen {
    /// Straight on TCP or TLS: there is no WebSocket.
    pub bare: bool,
    /// Empty: the server gives it one.
    pub client_id: Template,
    pub user: Option<Template>,
    pub password: Option<Template>,
    /// The server forgets an earlier session of this client.
    pub clean: bool,
    /// Version 5: how long the server keeps the session after the connection, seconds.
    pub session_expiry_s: u32,
    pub will: Option<MqttWill>,
    /// Version 5: how many topics each side may name by numbers; 0: none.
    pub topic_aliases: u16,
    /// Version 5: authentication by a method.
    pub authentication: Option<Box<MqttAuthentication>>,
}

/// An authentication by a method whose data do not depend on the server's (MQTT 5 §4.12).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MqttAuthentication {
    pub method: String,
    /// The data that come with the introduction, and those that answer each further packet of the server, in this order.
    pub data: Vec<Template>,
}

/// The message that the server publishes if the client is lost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MqttWill {
    pub topic: Template,
    pub payload: Payload,
    /// 0 to 2.
    pub qos: u8,
    pub retain: bool,
    /// Version 5: from the loss to the message, seconds.
    pub delay_s: u32,
}

/// Properties of a message, but for user properties (MQTT 5 §3.3.2.3).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct MessageProperties {
    /// The payload is marked as a text.
    pub is_text: bool,
    /// How long it is of use, seconds.
    pub expiry_s: Option<u32>,
    pub content_type: Option<Template>,
    pub response_topic: Option<Template>,
    pub correlation: Option<Template>,
}

/// How a message is delivered, or those of a subscription.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Delivery {
    /// 0 to 2.
    pub qos: u8,
    /// For a message: the server keeps it for later subscribers.
    pub retain: bool,
    /// For a message, version 5: names and values of user properties.
    pub properties: Vec<(String, Template)>,
    /// For a message, version 5: its other properties.
    pub about: MessageProperties,
    /// For a subscription or its end: further filters in the same packet.
    pub more: Vec<Template>,
    /// For a subscription, version 5: messages that the client itself publishes do not come.
    pub no_local: bool,
    /// For a subscription, version 5: retained messages come 0 always, 1 if the subscription is
    /// new, 2 never.
    pub retain_handling: u8,
    /// For a subscription, version 5: the identifier that its messages come with.
    pub id: Option<u32>,
}
