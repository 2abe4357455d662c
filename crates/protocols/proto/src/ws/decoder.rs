//! The state of one connection's incoming frames.

use super::close;
use super::encode::MessageKind;
use super::error::Error;
use super::event::Event;
use super::frame::{self, Header, Opcode};
use super::message::Message;
use crate::limits::Limits;
use alloc::boxed::Box;

/// Reads the frames of one connection.
///
/// A message in one frame is handed out from the input; it needs all of the frame there. Only
/// messages in fragments are gathered here, and forgotten at the call that follows theirs.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The message whose last fragment is still to come.
    gathering: Option<Box<Message>>,
    /// The message that the last event borrowed.
    delivered: Option<Box<Message>>,
    closed: bool,
}

impl Decoder {
    /// For a connection whose handshake is done.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes on the wire of the fragments so far of the message under way, frame headers included; 0: none is under
    /// way.
    pub fn gathered_len(&self) -> usize {
        self.gathering.as_deref().map_or(0, Message::wire_len)
    }

    /// Decodes the frame at the front of `input`: the bytes consumed and the event, if it made
    /// one.
    ///
    /// `(n, None)` with `n` above zero is a fragment but the last: call again with the rest.
    /// `(0, None)` requests more input; [`needed`](super::needed) returns how much. Everything after
    /// a close frame is consumed unread, as §1.4 has it.
    ///
    /// # Errors
    /// The server broke the protocol, or sends a message over the limit.
    pub fn decode<'a>(
        &'a mut self,
        input: &'a [u8],
        limits: &Limits,
    ) -> Result<(usize, Option<Event<'a>>), Error> {
        self.delivered = None;
        if self.closed {
            return Ok((input.len(), None));
        }
        let Some(header) = frame::parse(input)? else {
            return Ok((0, None));
        };
        let payload_len = self.check(&header, limits)?;
        let len = header.header_len + payload_len;
        let Some(payload) = input.get(header.header_len..len) else {
            return Ok((0, None));
        };
        let event = match header.opcode {
            Opcode::Text if header.fin => {
                Some(Event::Text(core::str::from_utf8(payload).map_err(|_| Error::InvalidUtf8)?))
            }
            Opcode::Binary if header.fin => Some(Event::Binary(payload)),
            Opcode::Text => self.gather_first(MessageKind::Text, payload, len)?,
            Opcode::Binary => self.gather_first(MessageKind::Binary, payload, len)?,
            Opcode::Continuation => self.gather(payload, len, header.fin)?,
            Opcode::Ping => Some(Event::Ping(payload)),
            Opcode::Pong => Some(Event::Pong(payload)),
            Opcode::Close => {
                let (code, reason) = close::parse(payload)?;
                self.closed = true;
                Some(Event::Close { code, reason })
            }
        };
        Ok((len, event))
    }

    /// Checks what depends on the state, before the payload is there. Returns its length.
    fn check(&self, header: &Header, limits: &Limits) -> Result<usize, Error> {
        let gathered_len = match (header.opcode, &self.gathering) {
            (Opcode::Continuation, None) => return Err(Error::UnexpectedContinuation),
            (Opcode::Continuation, Some(message)) => message.len(),
            (Opcode::Text | Opcode::Binary, Some(_)) => return Err(Error::InterleavedMessage),
            (Opcode::Text | Opcode::Binary, None) => 0,
            // At most 125 bytes, which count towards no message.
            (Opcode::Close | Opcode::Ping | Opcode::Pong, _) => {
                return Ok(header.payload_len as usize);
            }
        };
        let bytes_max = limits.message_bytes_max;
        usize::try_from(header.payload_len)
            .ok()
            .filter(|&len| len <= bytes_max.saturating_sub(gathered_len))
            .ok_or(Error::TooLarge { bytes_max })
    }

    fn gather_first(
        &mut self,
        kind: MessageKind,
        fragment: &[u8],
        frame_len: usize,
    ) -> Result<Option<Event<'_>>, Error> {
        self.gathering = Some(Box::new(Message::new(kind)));
        self.gather(fragment, frame_len, false)
    }

    fn gather(
        &mut self,
        fragment: &[u8],
        frame_len: usize,
        fin: bool,
    ) -> Result<Option<Event<'_>>, Error> {
        let Some(mut message) = self.gathering.take() else {
            return Err(Error::UnexpectedContinuation);
        };
        message.push(fragment, frame_len)?;
        if fin {
            self.delivered.insert(message).event().map(Some)
        } else {
            self.gathering = Some(message);
            Ok(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_connection_costs_little() {
        assert!(size_of::<Decoder>() <= 24);
    }

    #[test]
    fn gathered_bytes_are_given_back() {
        let mut decoder = Decoder::new();
        let limits = Limits::DEFAULT;
        assert_eq!(decoder.decode(b"\x01\x01a", &limits), Ok((3, None)));
        assert_eq!(decoder.gathered_len(), 3);
        assert_eq!(decoder.decode(b"\x89\x00", &limits), Ok((2, Some(Event::Ping(b"")))));
        assert_eq!(decoder.gathered_len(), 3, "a ping is no part of it");
        assert_eq!(decoder.decode(b"\x80\x01b", &limits), Ok((3, Some(Event::Text("ab")))));
        assert_eq!(decoder.gathered_len(), 0);
        assert_eq!(decoder.decode(b"", &limits), Ok((0, None)));
        assert!(decoder.delivered.is_none());
    }
}
