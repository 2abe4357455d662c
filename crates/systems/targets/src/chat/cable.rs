//! `/cable`: the protocol of Rails' ActionCable, `actioncable-v1-json`.
//!
//! The server says welcome and pings everybody; a client subscribes to `ChatChannel` under an
//! identifier, a JSON object as text, which may name a `room`, and performs `speak` there.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;

use super::channels::{Channels, Form, quoted};
use super::message::Utterance;
use super::reply::{Action, ROOMS_EACH_MAX, Reply};
use super::room::Room;
use super::state::{ChatState, LOBBY};
use server::reactor::SubscriptionChange;

/// The subprotocol.
pub(super) const PROTOCOL: &str = "actioncable-v1-json";
/// The first word.
pub(super) const WELCOME: &str = r#"{"type":"welcome"}"#;
/// The last word when the server stops: clients come back.
pub(super) const RESTART: &str =
    r#"{"type":"disconnect","reason":"server_restart","reconnect":true}"#;
/// Longest identifier, in bytes.
const IDENTIFIER_MAX: usize = 512;
/// The one channel there is.
const CHANNEL: &str = "ChatChannel";

/// State of a connection: its subscriptions.
#[derive(Debug, Default)]
pub(super) struct Cable {
    subscriptions: Vec<(Arc<str>, Arc<Room>)>,
}

/// A command of a client.
#[derive(Deserialize)]
struct Command<'a> {
    #[serde(borrow)]
    command: Cow<'a, str>,
    #[serde(borrow, default)]
    identifier: Cow<'a, str>,
    #[serde(borrow, default)]
    data: Cow<'a, str>,
}

/// Contents of an identifier.
#[derive(Deserialize)]
struct Identifier<'a> {
    #[serde(borrow)]
    channel: Cow<'a, str>,
    #[serde(borrow)]
    room: Option<Cow<'a, str>>,
}

/// Contents of a command's data.
#[derive(Deserialize)]
struct Data<'a> {
    #[serde(borrow)]
    action: Cow<'a, str>,
}

impl Cable {
    /// The action that a message requests. As with Rails, a message that cannot be understood gets no answer.
    pub(super) fn on_text(
        &mut self,
        state: &ChatState,
        channels: &mut Channels,
        text: &str,
    ) -> Action {
        let Ok(command) = serde_json::from_str::<Command<'_>>(text) else {
            return Action::Reply(Reply::bad());
        };
        let identifier = &*command.identifier;
        match &*command.command {
            "subscribe" => Action::Reply(self.subscribe(state, channels, identifier)),
            "unsubscribe" => Action::Reply(self.unsubscribe(channels, identifier)),
            "message" => self.perform(state, identifier, &command.data),
            _ => Action::Reply(Reply::bad()),
        }
    }

    fn subscribe(&mut self, state: &ChatState, channels: &mut Channels, identifier: &str) -> Reply {
        let name = quoted(identifier);
        let confirm = format!(r#"{{"identifier":{name},"type":"confirm_subscription"}}"#);
        if self.room(identifier).is_some() {
            // Clients send it again when a confirmation is late.
            return Reply::nothing().and(&confirm);
        }
        let Some(room) = self.room_to_enter(state, identifier) else {
            let reject = format!(r#"{{"identifier":{name},"type":"reject_subscription"}}"#);
            return Reply::bad().and(&reject);
        };
        let identifier: Arc<str> = identifier.into();
        let channel = channels.open(room.id, Form::Cable(Arc::clone(&identifier)));
        self.subscriptions.push((identifier, room));
        Reply::nothing().and(&confirm).subscribing(SubscriptionChange::Subscribe(channel))
    }

    fn room_to_enter(&self, state: &ChatState, identifier: &str) -> Option<Arc<Room>> {
        if identifier.len() > IDENTIFIER_MAX || self.subscriptions.len() >= ROOMS_EACH_MAX {
            return None;
        }
        let wanted: Identifier<'_> = serde_json::from_str(identifier).ok()?;
        if wanted.channel != CHANNEL {
            return None;
        }
        state.room(wanted.room.as_deref().unwrap_or(LOBBY)).ok()
    }

    fn unsubscribe(&mut self, channels: &Channels, identifier: &str) -> Reply {
        let mut all = self.subscriptions.iter();
        let Some(at) = all.position(|(own, _)| **own == *identifier) else {
            return Reply::bad();
        };
        let (identifier, room) = self.subscriptions.swap_remove(at);
        let channel = channels.find(room.id, &Form::Cable(identifier));
        Reply::nothing()
            .subscribing(channel.map_or(SubscriptionChange::Keep, SubscriptionChange::Unsubscribe))
    }

    fn perform(&self, state: &ChatState, identifier: &str, data: &str) -> Action {
        let speaks = serde_json::from_str(data).is_ok_and(|Data { action }| action == "speak");
        let said = Utterance::parse(data, state.options.message_max);
        match (self.room(identifier), said) {
            (Some(room), Ok(said)) if speaks => Action::Speak {
                room: Arc::clone(room),
                said,
                then: Box::new(|number| match number {
                    Ok(_) => Reply::nothing(),
                    Err(_) => Reply::bad(),
                }),
            },
            _ => Action::Reply(Reply::bad()),
        }
    }

    /// The room of a subscription.
    fn room(&self, identifier: &str) -> Option<&Arc<Room>> {
        let mut all = self.subscriptions.iter();
        all.find_map(|(own, room)| (**own == *identifier).then_some(room))
    }
}

/// The ping that every connection gets every few seconds.
pub(super) fn ping(now_ms: f64) -> String {
    format!(r#"{{"type":"ping","message":{}}}"#, (now_ms / 1000.0) as u64)
}
