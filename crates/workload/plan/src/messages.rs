//! Messages that are sent, waited for, and that arrive by themselves.

use serde::Serialize;

use crate::expr::{Condition, Template};
use crate::graphql::Answer;
use crate::ids::MeasureId;
use crate::matching::{Match, Save, Source};
use crate::numbered::MessageNumber;
use crate::tcp::Payload;

/// Sending a message over a WebSocket or a framed TCP connection.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SendOp {
    pub payload: Payload,
    /// For a WebSocket: a binary frame instead of a text frame.
    pub binary: bool,
    /// The message that answers it. Its measure runs from the send being due to the reply.
    pub reply: Option<Expect>,
    /// Measure of the send itself if there is no reply (response = its lag).
    pub measure: MeasureId,
}

/// A message that is waited for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Expect {
    /// All must hold. Empty: the next message that is not one of [`crate::Plan::messages`].
    pub when: Vec<Match>,
    /// The connection speaks GraphQL: what the message must be.
    pub graphql: Option<Answer>,
    pub save: Vec<Save>,
    /// Evaluated after `save`; a false one counts as error kind `check`.
    pub check: Vec<Condition>,
    pub measure: MeasureId,
    /// Time limit from being sent to the reply.
    pub timeout_ns: u64,
}

/// A kind of message that the server pushes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PushedMessage {
    /// As written: the key under `messages`.
    pub name: String,
    pub when: Vec<Match>,
    /// The place of the sender's timestamp and how to read it; without it the message is counted
    /// only.
    pub sent_at: Option<SentAt>,
    /// The user's answer if the server wants an acknowledgement (Socket.IO).
    pub ack: Acknowledgement,
    /// The message's number, if it has one: then it is reported which of them each user got.
    pub numbered: Option<MessageNumber>,
    pub measure: MeasureId,
}

/// The answer to a message whose sender wants one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Acknowledgement {
    /// Acknowledgement with these arguments, a JSON list.
    With(Template),
    /// No acknowledgement is sent.
    Never,
}

/// A timestamp inside a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SentAt {
    /// A JSON pointer or a number at a position.
    pub from: Source,
    /// Nanoseconds per unit of the number found: 1e9 for seconds since the epoch, 1e6 for ms, …
    pub unit_ns: f64,
    /// Whether stamps are corrected by the offset of their sender's clock, which replies show.
    pub correct: bool,
    /// Messages that were stamped later than they arrived, and by how much.
    pub ahead: MeasureId,
}
