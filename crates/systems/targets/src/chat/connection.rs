//! The state of a connection, by the protocol it speaks.

use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::cable::Cable;
use super::channels::Channels;
use super::phoenix::Phoenix;
use super::reply::{Action, Reply};
use super::request_error::RequestError;
use super::socket::Socket;
use super::state::ChatState;
use server::reactor::Response;

/// One connection.
#[derive(Debug)]
pub(super) enum Connection {
    /// It says nothing.
    Stream,
    Socket(Socket),
    Cable(Box<Cable>),
    Phoenix(Box<Phoenix>),
}

impl Connection {
    /// The action that a text requests.
    pub(super) fn on_text(
        &mut self,
        state: &ChatState,
        channels: &mut Channels,
        text: &str,
    ) -> Action {
        match self {
            // Nothing is read from a stream.
            Self::Stream => Action::Reply(Reply::nothing()),
            Self::Socket(socket) => socket.on_text(state, text),
            Self::Cable(cable) => cable.on_text(state, channels, text),
            Self::Phoenix(phoenix) => phoenix.on_text(state, channels, text),
        }
    }

    /// The answer to a binary message, which nobody here understands.
    pub(super) fn on_binary(&self) -> Response {
        let error = RequestError::Invalid("messages are text".to_owned());
        let reply = match self {
            Self::Socket(_) => super::socket::refused(&error),
            Self::Phoenix(_) => Reply::bad().end(CloseCode::Unsupported, "messages are text"),
            Self::Stream | Self::Cable(_) => Reply::bad(),
        };
        reply.into_response()
    }
}
