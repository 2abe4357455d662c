//! `/chat/socket`: what is said comes as `{"message":…,"from":…}`, and messages go out as they are.

use std::sync::Arc;

use super::channels::Form;
use super::message::Utterance;
use super::reply::{Action, Reply};
use super::request_error::RequestError;
use super::room::Room;
use super::state::ChatState;

/// State of a connection.
#[derive(Debug)]
pub(super) struct Socket {
    pub(super) room: Arc<Room>,
}

impl Socket {
    /// In what form it gets messages.
    pub(super) const FORM: Form = Form::Socket;

    /// The action that a message requests.
    pub(super) fn on_text(&self, state: &ChatState, text: &str) -> Action {
        match Utterance::parse(text, state.options.message_max) {
            // The speaker gets the message by the channel, like everybody.
            Ok(said) => Action::Speak {
                room: Arc::clone(&self.room),
                said,
                then: Box::new(|number| match number {
                    Ok(_) => Reply::nothing(),
                    Err(fault) => refused(&fault),
                }),
            },
            Err(fault) => Action::Reply(refused(&fault)),
        }
    }
}

/// A fault, as a message.
pub(super) fn refused(fault: &RequestError) -> Reply {
    Reply::bad().and(&fault.json())
}
