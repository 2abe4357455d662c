//! `/socket/websocket`: Phoenix channels, as objects (`vsn` 1.0.0, the default) or as arrays of
//! five (`vsn` 2.0.0).
//!
//! Topic `chat` is the lobby, `room:NAME` any room. A client joins it, pushes `speak`, and gets
//! `message`, or whatever [`Names`] calls it. Replies are those of Phoenix' own server, and so is what it does with the unknown: a
//! push on a topic that was not joined is refused, and one that a channel does not understand ends
//! the channel with `phx_error`.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::channels::{Channels, Form, quoted};
use super::message::Utterance;
use super::options::Names;
use super::reply::{Action, ROOMS_EACH_MAX, Reply, missed};
use super::request_error::RequestError;
use super::room::Room;
use super::state::{ChatState, LOBBY};
use server::reactor::SubscriptionChange;

/// Longest topic, in bytes.
const TOPIC_MAX: usize = 128;
/// Longest reference of a message or a join, as JSON, in bytes.
const REF_MAX: usize = 64;

/// How messages are framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Object,
    Array,
}

impl Framing {
    /// The framing that a client requests by `vsn`, if it is known.
    pub(super) fn of_version(vsn: Option<&str>) -> Option<Self> {
        match vsn.unwrap_or("1.0.0").split('.').next() {
            Some("1") => Some(Self::Object),
            Some("2") => Some(Self::Array),
            _ => None,
        }
    }
}

/// State of a connection: the topics it has joined.
#[derive(Debug)]
pub(super) struct Phoenix {
    framing: Framing,
    joined: Vec<JoinedTopic>,
}

#[derive(Debug)]
struct JoinedTopic {
    topic: Arc<str>,
    room: Arc<Room>,
    /// The client's reference for this joining.
    join_ref: Option<Box<RawValue>>,
}

/// A message of a client.
#[derive(Debug)]
struct Push<'a> {
    join_ref: Option<&'a RawValue>,
    reference: Option<&'a RawValue>,
    topic: Cow<'a, str>,
    event: Cow<'a, str>,
    payload: &'a RawValue,
}

#[derive(Deserialize)]
struct ObjectPush<'a> {
    #[serde(borrow)]
    join_ref: Option<&'a RawValue>,
    #[serde(borrow, rename = "ref")]
    reference: Option<&'a RawValue>,
    #[serde(borrow)]
    topic: Cow<'a, str>,
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(borrow)]
    payload: &'a RawValue,
}

type ArrayPush<'a> =
    (Option<&'a RawValue>, Option<&'a RawValue>, Cow<'a, str>, Cow<'a, str>, &'a RawValue);

impl<'a> Push<'a> {
    fn parse(framing: Framing, text: &'a str) -> Option<Self> {
        let push = match framing {
            Framing::Object => {
                let push: ObjectPush<'a> = serde_json::from_str(text).ok()?;
                Self {
                    join_ref: push.join_ref,
                    reference: push.reference,
                    topic: push.topic,
                    event: push.event,
                    payload: push.payload,
                }
            }
            Framing::Array => {
                let (join_ref, reference, topic, event, payload): ArrayPush<'a> =
                    serde_json::from_str(text).ok()?;
                Self { join_ref, reference, topic, event, payload }
            }
        };
        let references = [push.join_ref, push.reference].into_iter().flatten();
        let short = references.map(RawValue::get).all(|r| r.len() <= REF_MAX);
        (short && push.topic.len() <= TOPIC_MAX).then_some(push)
    }
}

/// Address of a message of ours: a topic, a joining, and the message it answers.
#[derive(Debug, Clone)]
struct Address {
    framing: Framing,
    topic: String,
    join_ref: Option<Box<RawValue>>,
    reference: Option<Box<RawValue>>,
}

impl Address {
    fn message(&self, event: &str, payload: &str) -> String {
        let raw = |value: &Option<Box<RawValue>>| {
            value.as_ref().map_or("null", |value| value.get()).to_owned()
        };
        let topic = quoted(&self.topic);
        let reference = raw(&self.reference);
        match self.framing {
            Framing::Object => format!(
                r#"{{"topic":{topic},"event":"{event}","payload":{payload},"ref":{reference}}}"#
            ),
            Framing::Array => {
                let join_ref = raw(&self.join_ref);
                format!(r#"[{join_ref},{reference},{topic},"{event}",{payload}]"#)
            }
        }
    }

    fn reply(&self, status: &str, response: &str) -> String {
        let payload = format!(r#"{{"status":"{status}","response":{response}}}"#);
        self.message("phx_reply", &payload)
    }

    fn ok(&self) -> String {
        self.reply("ok", "{}")
    }

    fn error(&self, reason: &str) -> String {
        self.reply("error", &format!(r#"{{"reason":{}}}"#, quoted(reason)))
    }

    /// A channel's end.
    fn ended(&self, event: &str) -> String {
        let ended = Self { reference: self.join_ref.clone(), ..self.clone() };
        ended.message(event, "{}")
    }
}

impl Phoenix {
    /// The older framing is JSON whatever the frame's opcode says; of arrays, binary ones have a
    /// layout of their own, which is for uploads.
    pub(super) fn binary_as_text(&self) -> bool {
        self.framing == Framing::Object
    }

    pub(super) fn new(framing: Framing) -> Self {
        Self { framing, joined: Vec::new() }
    }

    /// The action that a message requests.
    pub(super) fn on_text(
        &mut self,
        state: &ChatState,
        channels: &mut Channels,
        text: &str,
    ) -> Action {
        let Some(push) = Push::parse(self.framing, text) else {
            let reply = Reply::bad().end(CloseCode::Invalid, "not a message of Phoenix channels");
            return Action::Reply(reply);
        };
        let address = Address {
            framing: self.framing,
            topic: push.topic.to_string(),
            join_ref: push.join_ref.map(ToOwned::to_owned),
            reference: push.reference.map(ToOwned::to_owned),
        };
        let at = self.joined.iter().position(|joined| *joined.topic == *push.topic);
        match (&*push.event, at) {
            ("heartbeat", _) if push.topic == "phoenix" => {
                Action::Reply(Reply::nothing().and(&address.ok()))
            }
            ("phx_join", at) => Action::Reply(self.join(state, channels, at, &push, &address)),
            (_, None) => Action::Reply(Reply::bad().and(&address.error("unmatched topic"))),
            ("phx_leave", Some(at)) => Action::Reply(self.leave(channels, at, &address)),
            ("speak", Some(at)) => self.speak(state, at, &push, address),
            (_, Some(at)) => {
                let (address, subscription) = self.part(channels, at);
                let ended = address.ended("phx_error");
                Action::Reply(Reply::bad().and(&ended).subscribing(subscription))
            }
        }
    }

    fn join(
        &mut self,
        state: &ChatState,
        channels: &mut Channels,
        at: Option<usize>,
        push: &Push<'_>,
        address: &Address,
    ) -> Reply {
        let mut reply = Reply::nothing();
        if let Some(at) = at {
            // It keeps its subscription if it may join again, which is to the same channel.
            let (old, subscription) = self.part(channels, at);
            reply = reply.and(&old.ended("phx_close")).subscribing(subscription);
        }
        match self.enter(state, channels, push, address) {
            Ok((channel, missed, count)) => reply
                .and(&address.ok())
                .and_frames(&missed, count)
                .subscribing(SubscriptionChange::Subscribe(channel)),
            Err(reason) => reply.and(&address.error(reason)).but_bad(),
        }
    }

    /// The channel of a new joining, and what it has missed; or why there is none.
    fn enter(
        &mut self,
        state: &ChatState,
        channels: &mut Channels,
        push: &Push<'_>,
        address: &Address,
    ) -> Result<(u32, Vec<u8>, u64), &'static str> {
        #[derive(Deserialize)]
        struct Payload {
            after: Option<u64>,
        }
        if self.joined.len() >= ROOMS_EACH_MAX {
            return Err("too many topics");
        }
        let name = match &*push.topic {
            "chat" => LOBBY,
            topic => match topic.strip_prefix("room:") {
                Some(name) => name,
                None => return Err("unmatched topic"),
            },
        };
        let Ok(Payload { after }) = serde_json::from_str(push.payload.get()) else {
            return Err("invalid");
        };
        let room = state.room(name).map_err(|fault| fault.code())?;
        let topic: Arc<str> = push.topic.as_ref().into();
        let form = self.form(&topic);
        let (missed, count) = missed(state, &room, channels, after, &form);
        let channel = channels.open(room.id, form);
        self.joined.push(JoinedTopic {
            topic,
            room,
            // V1 names the joining by its message.
            join_ref: address.join_ref.clone().or_else(|| address.reference.clone()),
        });
        Ok((channel, missed, count))
    }

    fn leave(&mut self, channels: &Channels, at: usize, address: &Address) -> Reply {
        let (joined, subscription) = self.part(channels, at);
        Reply::nothing()
            .and(&address.ok())
            .and(&joined.ended("phx_close"))
            .subscribing(subscription)
    }

    /// Ends a joining; its address, and what becomes of the subscription.
    fn part(&mut self, channels: &Channels, at: usize) -> (Address, SubscriptionChange) {
        let joined = self.joined.swap_remove(at);
        let channel = channels.find(joined.room.id, &self.form(&joined.topic));
        let address = Address {
            framing: self.framing,
            topic: joined.topic.to_string(),
            join_ref: joined.join_ref,
            reference: None,
        };
        (address, channel.map_or(SubscriptionChange::Keep, SubscriptionChange::Unsubscribe))
    }

    fn speak(&self, state: &ChatState, at: usize, push: &Push<'_>, address: Address) -> Action {
        let refused = |address: &Address, fault: &RequestError| {
            Reply::bad().and(&address.error(fault.code()))
        };
        // The published channel answers `{:noreply, socket}`.
        let has_reply = state.options.names == Names::Own;
        match Utterance::parse(push.payload.get(), state.options.message_max) {
            Ok(said) => Action::Speak {
                room: Arc::clone(&self.joined[at].room),
                said,
                then: Box::new(move |number| match number {
                    Ok(_) if !has_reply => Reply::nothing(),
                    Ok(id) => {
                        let reply = address.reply("ok", &format!(r#"{{"id":{id}}}"#));
                        Reply::nothing().and(&reply)
                    }
                    Err(fault) => refused(&address, &fault),
                }),
            },
            Err(fault) => Action::Reply(refused(&address, &fault)),
        }
    }

    fn form(&self, topic: &Arc<str>) -> Form {
        match self.framing {
            Framing::Object => Form::PhoenixObject(Arc::clone(topic)),
            Framing::Array => Form::PhoenixArray(Arc::clone(topic)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn versions_have_framings() {
        for (vsn, framing) in [
            (None, Some(Framing::Object)),
            (Some("1.0.0"), Some(Framing::Object)),
            (Some("2.0.0"), Some(Framing::Array)),
            (Some("3.0.0"), None),
            (Some(""), None),
        ] {
            assert_eq!(Framing::of_version(vsn), framing, "{vsn:?}");
        }
    }

    proptest! {
        /// Both framings say the same, whatever stands in it.
        #[test]
        fn pushes_are_read_in_both_framings(
            topic in any::<String>(),
            event in any::<String>(),
            number in prop::option::of(any::<u32>()),
            payload in any::<String>(),
        ) {
            let payload = serde_json::json!({ "message": payload });
            let reference = number.map(|number| number.to_string());
            let object = serde_json::json!({
                "topic": topic, "event": event, "payload": payload, "ref": reference,
            })
            .to_string();
            let array = serde_json::json!([null, reference, topic, event, payload]).to_string();
            let object = Push::parse(Framing::Object, &object);
            let array = Push::parse(Framing::Array, &array);
            if topic.len() > TOPIC_MAX {
                prop_assert!(object.is_none() && array.is_none());
                return Ok(());
            }
            for push in [object.unwrap(), array.unwrap()] {
                prop_assert_eq!(&push.topic, &topic);
                prop_assert_eq!(&push.event, &event);
                let read: serde_json::Value = serde_json::from_str(push.payload.get()).unwrap();
                prop_assert_eq!(&read, &payload);
                let expected = reference.as_ref().map(|reference| quoted(reference));
                prop_assert_eq!(push.reference.map(|r| r.get().to_owned()), expected);
            }
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            for framing in [Framing::Object, Framing::Array] {
                let _ = Push::parse(framing, &text);
            }
        }
    }
}
