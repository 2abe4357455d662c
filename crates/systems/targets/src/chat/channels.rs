//! The channels of one thread: who gets a room's messages in the same bytes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use super::message::Message;
use super::options::Names;
use server::sse;
use server::websocket::frames;

/// The channel of everybody who speaks ActionCable, for its pings.
pub(super) const CABLE: u32 = 0;

/// The bytes in which a message is sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Form {
    /// The message as an event of a stream.
    Stream,
    /// The message as it is, in a WebSocket frame.
    Socket,
    /// The message to the subscription with this identifier.
    Cable(Arc<str>),
    /// Pushed on this topic, as an object.
    PhoenixObject(Arc<str>),
    /// Pushed on this topic, as an array.
    PhoenixArray(Arc<str>),
}

/// The published name of a stream's events.
const REFRESH: &str = "refresh";

impl Names {
    /// The event by which messages come on a Phoenix channel.
    fn phoenix_event(self) -> &'static str {
        match self {
            Names::Own => "message",
            Names::Published => "publish",
        }
    }

    /// The payload of that event.
    fn phoenix_payload(self, json: &str) -> Cow<'_, str> {
        #[derive(Deserialize)]
        struct View<'a> {
            #[serde(borrow)]
            message: Cow<'a, str>,
        }
        if self == Names::Own {
            return Cow::Borrowed(json);
        }
        match serde_json::from_str::<View<'_>>(json) {
            Ok(View { message }) => {
                Cow::Owned(format!(r#"{{"body":{},{}"#, quoted(&message), &json[1..]))
            }
            // A message of ours always has its text.
            Err(_) => Cow::Borrowed(json),
        }
    }

    /// A message as an event of a stream.
    pub(super) fn stream_text(self, message: &Message) -> String {
        match self {
            Names::Own => sse::event_text(message.id, &message.json),
            Names::Published => sse::named_event_text(REFRESH, message.id, &message.json),
        }
    }
}

impl Form {
    /// The bytes of a message.
    pub(super) fn encode(&self, message: &Message, names: Names) -> Bytes {
        let json = &*message.json;
        let text = match self {
            Self::Stream if names == Names::Published => {
                return sse::named_event(REFRESH, message.id, json);
            }
            Self::Stream => return sse::event(message.id, json),
            Self::Socket => return frames::text(|bytes| bytes.extend_from_slice(json.as_bytes())),
            Self::Cable(identifier) => {
                let identifier = quoted(identifier);
                format!(r#"{{"identifier":{identifier},"message":{json}}}"#)
            }
            Self::PhoenixObject(topic) => {
                let topic = quoted(topic);
                let event = names.phoenix_event();
                let payload = names.phoenix_payload(json);
                format!(r#"{{"topic":{topic},"event":"{event}","payload":{payload},"ref":null}}"#)
            }
            Self::PhoenixArray(topic) => {
                let topic = quoted(topic);
                let event = names.phoenix_event();
                let payload = names.phoenix_payload(json);
                format!(r#"[null,null,{topic},"{event}",{payload}]"#)
            }
        };
        frames::text(|bytes| bytes.extend_from_slice(text.as_bytes()))
    }
}

/// A text as JSON.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Which channels there are, and how far each room was sent on.
#[derive(Debug)]
pub(super) struct Channels {
    by_form: HashMap<(u32, Form), u32>,
    /// Channels by number; `None` is free.
    all: Vec<Option<(u32, Form)>>,
    free: Vec<u32>,
    of_room: HashMap<u32, Vec<u32>>,
    /// For each room, the last message that was sent on to who had a subscription then; 0 where missing.
    positions: Vec<u64>,
}

impl Channels {
    /// Without any but [`CABLE`]. What is up to `positions` was sent on already.
    pub(super) fn new(positions: Vec<u64>) -> Self {
        Self {
            by_form: HashMap::new(),
            all: vec![None],
            free: Vec::new(),
            of_room: HashMap::new(),
            positions,
        }
    }

    /// The channel of a room in a form, made if there is none.
    pub(super) fn open(&mut self, room: u32, form: Form) -> u32 {
        let key = (room, form);
        if let Some(&channel) = self.by_form.get(&key) {
            return channel;
        }
        let channel = self.free.pop().unwrap_or_else(|| {
            self.all.push(None);
            // There are no more channels than subscriptions, whose listeners a `u32` counts.
            (self.all.len() - 1) as u32
        });
        self.all[channel as usize] = Some(key.clone());
        self.of_room.entry(room).or_default().push(channel);
        self.by_form.insert(key, channel);
        channel
    }

    /// The channel of a room in a form, if there is one.
    pub(super) fn find(&self, room: u32, form: &Form) -> Option<u32> {
        self.by_form.get(&(room, form.clone())).copied()
    }

    /// Forgets a channel in which nobody is any more.
    pub(super) fn close(&mut self, channel: u32) {
        let Some(key) = self.all.get_mut(channel as usize).and_then(Option::take) else {
            return;
        };
        if let Some(channels) = self.of_room.get_mut(&key.0) {
            channels.retain(|&other| other != channel);
            if channels.is_empty() {
                self.of_room.remove(&key.0);
            }
        }
        self.by_form.remove(&key);
        self.free.push(channel);
    }

    /// The channels of a room with their forms.
    pub(super) fn of_room(&self, room: u32) -> impl Iterator<Item = (u32, &Form)> {
        let channels = self.of_room.get(&room).into_iter().flatten();
        channels.filter_map(|&channel| {
            let (_, form) = self.all.get(channel as usize)?.as_ref()?;
            Some((channel, form))
        })
    }

    /// How far each room was sent on.
    pub(super) fn positions(&self) -> &[u64] {
        &self.positions
    }

    /// How far a room was sent on.
    pub(super) fn position(&self, room: u32) -> u64 {
        self.positions.get(room as usize).copied().unwrap_or(0)
    }

    /// A room is sent on up to `position` from now on.
    pub(super) fn advance(&mut self, room: u32, position: u64) {
        let at = room as usize;
        if at >= self.positions.len() {
            self.positions.resize(at + 1, 0);
        }
        self.positions[at] = position;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_shared_and_their_numbers_used_again() {
        let mut channels = Channels::new(vec![5]);
        let cable = |identifier: &str| Form::Cable(identifier.into());
        let a = channels.open(0, cable("a"));
        let b = channels.open(0, cable("b"));
        assert_eq!(channels.open(0, cable("a")), a);
        assert_ne!(channels.open(1, cable("a")), a);
        assert_eq!(channels.of_room(0).count(), 2);
        channels.close(a);
        assert_eq!(channels.find(0, &cable("a")), None);
        let c = channels.open(0, Form::Socket);
        assert_eq!(c, a);
        let forms: Vec<_> = channels.of_room(0).collect();
        assert_eq!(forms, [(b, &cable("b")), (c, &Form::Socket)]);
        // The pings' channel is no room's.
        channels.close(CABLE);
        assert_ne!(channels.open(2, Form::Stream), CABLE);
    }

    #[test]
    fn rooms_have_positions() {
        let mut channels = Channels::new(vec![5]);
        assert_eq!((channels.position(0), channels.position(3)), (5, 0));
        channels.advance(3, 1);
        assert_eq!(channels.positions(), [5, 0, 0, 1]);
    }

    #[test]
    fn a_message_in_every_form() {
        let message = Message { id: 7, json: r#"{"id":7}"#.into() };
        let text = |form: Form| {
            let bytes = form.encode(&message, Names::Own);
            String::from_utf8_lossy(&bytes[2..]).into_owned()
        };
        assert_eq!(text(Form::Socket), r#"{"id":7}"#);
        assert_eq!(
            text(Form::Cable(r#"{"channel":"ChatChannel"}"#.into())),
            r#"{"identifier":"{\"channel\":\"ChatChannel\"}","message":{"id":7}}"#
        );
        assert_eq!(
            text(Form::PhoenixObject("chat".into())),
            r#"{"topic":"chat","event":"message","payload":{"id":7},"ref":null}"#
        );
        assert_eq!(
            text(Form::PhoenixArray("chat".into())),
            r#"[null,null,"chat","message",{"id":7}]"#
        );
        let stream = Form::Stream.encode(&message, Names::Own);
        assert_eq!(stream, "16\r\nid: 7\ndata: {\"id\":7}\n\n\r\n");
    }

    #[test]
    fn a_message_under_the_published_names() {
        let message = Message { id: 7, json: r#"{"id":7,"message":"a \"b\""}"#.into() };
        let text = |form: Form| {
            let bytes = form.encode(&message, Names::Published);
            String::from_utf8_lossy(&bytes[2..]).into_owned()
        };
        assert_eq!(
            text(Form::PhoenixArray("chat".into())),
            r#"[null,null,"chat","publish",{"body":"a \"b\"","id":7,"message":"a \"b\""}]"#
        );
        assert_eq!(
            text(Form::PhoenixObject("chat".into())),
            r#"{"topic":"chat","event":"publish","payload":{"body":"a \"b\"","id":7,"message":"a \"b\""},"ref":null}"#
        );
        // The published prototype of Rails has our names.
        assert!(
            text(Form::Cable("a".into())).ends_with(r#""message":{"id":7,"message":"a \"b\""}}"#)
        );
        let event = Names::Published.stream_text(&message);
        assert!(event.starts_with("event: refresh\nid: 7\ndata: {"), "{event}");
    }
}
