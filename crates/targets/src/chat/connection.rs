//! The state of a connection, by the protocol it speaks.

use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::cable::Cable;
use super::channels::Channels;
use super::fault::Fault;
use super::hub::Hub;
use super::phoenix::Phoenix;
use super::reply::{Deed, Reply};
use super::socket::Socket;
use server::reactor::Answered;

/// One connection.
#[derive(Debug)]
pub(super) enum Guest {
    /// It says nothing.
    Stream,
    Socket(Socket),
    Cable(Box<Cable>),
    Phoenix(Box<Phoenix>),
}

impl Guest {
    /// What a text asks for.
    pub(super) fn hear(&mut self, hub: &Hub, channels: &mut Channels, text: &str) -> Deed {
        match self {
            // Nothing is read from a stream.
            Self::Stream => Deed::Reply(Reply::nothing()),
            Self::Socket(socket) => socket.hear(hub, text),
            Self::Cable(cable) => cable.hear(hub, channels, text),
            Self::Phoenix(phoenix) => phoenix.hear(hub, channels, text),
        }
    }

    /// The answer to a binary message, which nobody here understands.
    pub(super) fn hear_binary(&self) -> Answered {
        let error = Fault::Invalid("messages are text".to_owned());
        let reply = match self {
            Self::Socket(_) => super::socket::refused(&error),
            Self::Phoenix(_) => Reply::bad().end(CloseCode::Unsupported, "messages are text"),
            Self::Stream | Self::Cable(_) => Reply::bad(),
        };
        reply.answered()
    }
}
