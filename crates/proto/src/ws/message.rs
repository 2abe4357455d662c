//! A message whose fragments are being gathered (RFC 6455 §5.4).

use super::utf8::TextBuffer;
use super::{Error, Event, MessageKind};
use alloc::vec::Vec;

/// The fragments so far.
#[derive(Debug)]
pub(super) enum Message {
    Text(TextBuffer),
    Binary(Vec<u8>),
}

impl Message {
    pub(super) fn new(kind: MessageKind) -> Self {
        match kind {
            MessageKind::Text => Self::Text(TextBuffer::default()),
            MessageKind::Binary => Self::Binary(Vec::new()),
        }
    }

    /// Payload bytes so far.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Binary(bytes) => bytes.len(),
        }
    }

    pub(super) fn push(&mut self, fragment: &[u8]) -> Result<(), Error> {
        match self {
            Self::Text(text) => text.push(fragment),
            Self::Binary(bytes) => {
                bytes.extend_from_slice(fragment);
                Ok(())
            }
        }
    }

    /// The whole message, once its last fragment is in.
    pub(super) fn event(&self) -> Result<Event<'_>, Error> {
        match self {
            Self::Text(text) => text.finish().map(Event::Text),
            Self::Binary(bytes) => Ok(Event::Binary(bytes)),
        }
    }
}
