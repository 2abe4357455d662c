//! Messages that are kept.

use super::{Label, ReceivedMessage};

/// A message that outlives the bytes that it came in.
#[derive(Debug)]
pub(crate) struct OwnedMessage {
    body: Box<[u8]>,
    label: OwnedLabel,
}

/// As [`Label`].
#[derive(Debug)]
enum OwnedLabel {
    Nothing,
    Event { name: Box<[u8]>, id: Box<[u8]> },
    Frame(Box<[u8]>),
    Channel { topic: Box<[u8]>, event: Box<[u8]> },
    Published { topic: Box<[u8]>, retained: bool, properties: Box<[u8]> },
}

impl OwnedMessage {
    /// A copy, without the head of the response that it came in.
    pub(crate) fn new(received: &ReceivedMessage<'_>) -> OwnedMessage {
        let label = match received.label {
            Label::Nothing => OwnedLabel::Nothing,
            Label::Event { name, id } => OwnedLabel::Event { name: name.into(), id: id.into() },
            Label::Frame(whole) => OwnedLabel::Frame(whole.into()),
            Label::Channel { topic, event } => {
                OwnedLabel::Channel { topic: topic.into(), event: event.into() }
            }
            Label::Published { topic, retained, properties } => OwnedLabel::Published {
                topic: topic.into(),
                retained,
                properties: properties.into(),
            },
        };
        OwnedMessage { body: received.body.into(), label }
    }

    /// The message as steps see it.
    pub(crate) fn received(&self) -> ReceivedMessage<'_> {
        let label = match &self.label {
            OwnedLabel::Nothing => Label::Nothing,
            OwnedLabel::Event { name, id } => Label::Event { name, id },
            OwnedLabel::Frame(whole) => Label::Frame(whole),
            OwnedLabel::Channel { topic, event } => Label::Channel { topic, event },
            OwnedLabel::Published { topic, retained, properties } => {
                Label::Published { topic, retained: *retained, properties }
            }
        };
        ReceivedMessage::labelled(&self.body, label)
    }

    /// Bytes of its parts.
    pub(crate) fn bytes(&self) -> usize {
        let label = match &self.label {
            OwnedLabel::Nothing => 0,
            OwnedLabel::Event { name: a, id: b }
            | OwnedLabel::Channel { topic: a, event: b }
            | OwnedLabel::Published { topic: a, properties: b, .. } => a.len() + b.len(),
            OwnedLabel::Frame(whole) => whole.len(),
        };
        self.body.len() + label
    }
}
