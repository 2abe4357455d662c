//! The action that a message leads to, in whatever protocol it came.

use std::sync::Arc;

use bytes::Bytes;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::channels::{Channels, Form};
use super::message::Utterance;
use super::request_error::RequestError;
use super::room::Room;
use super::state::ChatState;
use server::reactor::{Response, SubscriptionChange};
use server::websocket::frames;

/// Rooms that one connection may be in at once.
pub(super) const ROOMS_EACH_MAX: usize = 16;

/// An action that a message requests.
pub(super) enum Action {
    Reply(Reply),
    /// To be said in a room; its number, or why it has none, decides the reply.
    Speak {
        room: Arc<Room>,
        said: Utterance,
        then: Box<dyn FnOnce(Result<u64, RequestError>) -> Reply>,
    },
}

/// A reply of any number of messages.
#[derive(Debug)]
pub(super) struct Reply(Response);

impl Reply {
    /// Without a word.
    pub(super) fn nothing() -> Self {
        Self(Response {
            frames: Bytes::new(),
            count: 0,
            good: true,
            subscription: SubscriptionChange::Keep,
            end: None,
        })
    }

    /// The reply to a bad request.
    pub(super) fn bad() -> Self {
        Self::nothing().but_bad()
    }

    /// And the request was bad.
    pub(super) fn but_bad(mut self) -> Self {
        self.0.good = false;
        self
    }

    /// And this text.
    pub(super) fn and(self, text: &str) -> Self {
        let frame = frames::text(|bytes| bytes.extend_from_slice(text.as_bytes()));
        self.and_frames(&frame, 1)
    }

    /// And this number of messages, as they are sent.
    pub(super) fn and_frames(mut self, frames: &[u8], count: u64) -> Self {
        self.0.frames = Bytes::from([&self.0.frames[..], frames].concat());
        self.0.count += count;
        self
    }

    /// And it changes the subscriptions.
    pub(super) fn subscribing(mut self, subscription: SubscriptionChange) -> Self {
        self.0.subscription = subscription;
        self
    }

    /// And it is the last one.
    pub(super) fn end(mut self, code: CloseCode, reason: &'static str) -> Self {
        self.0.end = Some((code, reason));
        self
    }

    pub(super) fn into_response(self) -> Response {
        self.0
    }
}

/// The messages that a newcomer has missed, after its cursor and sent on already, in the form of its channel.
/// All later ones will come by the channel. Also their count.
pub(super) fn missed(
    state: &ChatState,
    room: &Room,
    channels: &Channels,
    after: Option<u64>,
    form: &Form,
) -> (Vec<u8>, u64) {
    let Some(after) = after else {
        return Default::default();
    };
    let found = room.read(after, channels.position(room.id), usize::MAX);
    state.metrics.overrun.add(found.forgotten);
    let frames = found.messages.iter().map(|message| form.encode(message, state.options.names));
    let bytes: Vec<Bytes> = frames.collect();
    (bytes.concat(), bytes.len() as u64)
}
