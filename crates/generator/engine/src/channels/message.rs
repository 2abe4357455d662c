//! Messages of channels, whatever the protocol.

use std::borrow::Cow;

use plan::ChannelVerb;
use plan::expr::value::write_json_text;

/// A message of the server, as its text is understood.
#[derive(Debug, PartialEq, Eq)]
pub enum IncomingMessage<'a> {
    /// The connection may be used. From now on the server sends something within this time, or is gone.
    Greeting { silence_ns: Option<u64> },
    /// A message for the user.
    Message {
        topic: Cow<'a, [u8]>,
        event: Cow<'a, [u8]>,
        payload: Cow<'a, [u8]>,
        /// The server wants an answer under this number.
        answer: Option<u32>,
    },
    /// The answer to what we sent under this number.
    Reply { number: u32, ok: bool, payload: &'a [u8] },
    /// The channel was joined.
    Joined {
        topic: Cow<'a, [u8]>,
        /// The session's name, a JSON string, if the server keeps what is missed while the connection is lost.
        session: Option<&'a [u8]>,
    },
    /// It was not.
    Refused { topic: Cow<'a, [u8]>, reason: &'a [u8] },
    /// The channel has ended.
    Ended(ChannelEnd<'a>),
    /// This many binary messages belong to the message.
    WithAttachments { count: u32, then: Box<IncomingMessage<'a>> },
    /// The server wants this text as an answer to the message.
    Answered { text: Cow<'a, [u8]>, then: Box<IncomingMessage<'a>> },
    /// To be answered with this text.
    Ping { pong: Cow<'a, [u8]> },
    /// A sign of life.
    Alive,
    /// The server ends the connection. `again`: own clients reconnect.
    Disconnect { reason: &'a [u8], again: bool },
    /// The message is of another version of the protocol, which is named.
    OtherVersion { found: &'static str },
    /// Not of this protocol.
    Broken,
}

/// The end of a channel, which the session may have wanted.
#[derive(Debug, PartialEq, Eq)]
pub struct ChannelEnd<'a> {
    pub topic: Cow<'a, [u8]>,
    /// The number of the message that joined what has ended, if the server states it.
    pub joined_by: Option<u32>,
    pub how: EndKind,
    /// The server's reason; empty if it gave none.
    pub reason: &'a [u8],
}

/// How a channel ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndKind {
    /// The server closed it.
    Closed,
    /// It broke at the server, which did not mean to end it: own clients join it again.
    Failed,
    /// The server has sent all that there is.
    Completed,
    /// The server answered with errors, which are the reason.
    Errors,
}

impl EndKind {
    /// Nothing is left of it: it may be left, and joined again under its name, as if it had never been.
    pub fn is_over(self) -> bool {
        matches!(self, EndKind::Completed | EndKind::Errors)
    }
}

/// A message from the user.
#[derive(Debug, Clone, Copy)]
pub struct OutgoingMessage<'a> {
    pub verb: ChannelVerb,
    pub topic: &'a [u8],
    pub event: &'a [u8],
    /// JSON; empty: none.
    pub payload: &'a [u8],
    /// Number of this message.
    pub number: u32,
    /// Number of the message that joined the topic.
    pub joined_by: u32,
    /// Whether the server is to answer.
    pub wants_answer: bool,
}

/// Appends a JSON string.
pub(super) fn quote(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    write_json_text(&String::from_utf8_lossy(text), out);
    out.push(b'"');
}
