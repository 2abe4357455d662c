//! `/chat/socket`: what is said comes as `{"message":…,"from":…}`, and messages go out as they are.

use std::sync::Arc;

use super::channels::Form;
use super::fault::Fault;
use super::hub::Hub;
use super::message::Said;
use super::reply::{Deed, Reply};
use super::room::Room;

/// What is known of a connection.
#[derive(Debug)]
pub(super) struct Socket {
    pub(super) room: Arc<Room>,
}

impl Socket {
    /// In what form it gets messages.
    pub(super) const FORM: Form = Form::Socket;

    /// What a message asks for.
    pub(super) fn hear(&self, hub: &Hub, text: &str) -> Deed {
        match Said::parse(text, hub.options.message_max) {
            // Who spoke gets the message as everybody does.
            Ok(said) => Deed::Speak {
                room: Arc::clone(&self.room),
                said,
                then: Box::new(|number| match number {
                    Ok(_) => Reply::nothing(),
                    Err(fault) => refused(&fault),
                }),
            },
            Err(fault) => Deed::Reply(refused(&fault)),
        }
    }
}

/// A fault, told.
pub(super) fn refused(fault: &Fault) -> Reply {
    Reply::bad().and(&fault.json())
}
