//! A message whose fragments are being gathered (RFC 6455 §5.4).

use super::encode::MessageKind;
use super::error::Error;
use super::event::Event;
use super::utf8::TextBuffer;
use alloc::vec::Vec;

/// The fragments so far.
#[derive(Debug)]
pub(super) struct Message {
    content: Content,
    /// Bytes on the wire of their frames.
    wire_len: usize,
}

#[derive(Debug)]
enum Content {
    Text(TextBuffer),
    Binary(Vec<u8>),
}

impl Message {
    pub(super) fn new(kind: MessageKind) -> Self {
        let content = match kind {
            MessageKind::Text => Content::Text(TextBuffer::default()),
            MessageKind::Binary => Content::Binary(Vec::new()),
        };
        Self { content, wire_len: 0 }
    }

    /// Payload bytes so far.
    pub(super) fn len(&self) -> usize {
        match &self.content {
            Content::Text(text) => text.len(),
            Content::Binary(bytes) => bytes.len(),
        }
    }

    /// Bytes of the frames so far, their headers included.
    pub(super) fn wire_len(&self) -> usize {
        self.wire_len
    }

    /// A fragment came, in a frame of this many bytes.
    pub(super) fn push(&mut self, fragment: &[u8], frame_len: usize) -> Result<(), Error> {
        self.wire_len = self.wire_len.saturating_add(frame_len);
        match &mut self.content {
            Content::Text(text) => text.push(fragment),
            Content::Binary(bytes) => {
                bytes.extend_from_slice(fragment);
                Ok(())
            }
        }
    }

    /// The complete message, once its last fragment has arrived.
    pub(super) fn event(&self) -> Result<Event<'_>, Error> {
        match &self.content {
            Content::Text(text) => text.finish().map(Event::Text),
            Content::Binary(bytes) => Ok(Event::Binary(bytes)),
        }
    }
}
