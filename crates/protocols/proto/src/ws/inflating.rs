//! The frames of a connection whose messages may be compressed.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::close;
use super::decoder::Decoder;
use super::deflate::{DeflateParameters, InflateError, Inflater};
use super::encode::MessageKind;
use super::error::Error;
use super::event::Event;
use super::frame::{self, Opcode};
use crate::limits::Limits;

/// The first reserved bit: the message is compressed (RFC 7692 §6).
const COMPRESSED: u8 = 0x40;

/// As [`Decoder`], if permessage-deflate was agreed on. It owns the message that it
/// handed out last until the next call.
#[derive(Debug)]
pub struct InflatingDecoder {
    server_context: bool,
    /// The state that the server's messages refer to; made with the first that is compressed.
    inflater: Option<Inflater>,
    under_way: Option<UnderWay>,
    delivered: Vec<u8>,
    closed: bool,
}

/// A message whose last frame is still to come.
#[derive(Debug)]
struct UnderWay {
    kind: MessageKind,
    compressed: bool,
    /// The payload so far.
    payload: Vec<u8>,
    /// Bytes on the wire of its frames so far.
    wire_len: usize,
}

impl InflatingDecoder {
    /// A decoder right after the handshake.
    pub fn new(agreed: DeflateParameters) -> Self {
        Self {
            server_context: agreed.server_context,
            inflater: None,
            under_way: None,
            delivered: Vec::new(),
            closed: false,
        }
    }

    /// As [`Decoder::gathered_len`].
    pub fn gathered_len(&self) -> usize {
        self.under_way.as_ref().map_or(0, |message| message.wire_len)
    }

    /// As [`Decoder::decode`]. The limit on a message is on what it is
    /// inflated to.
    ///
    /// # Errors
    /// As there; [`Error::Deflate`] for what cannot be inflated.
    pub fn decode<'a>(
        &'a mut self,
        input: &'a [u8],
        limits: &Limits,
    ) -> Result<(usize, Option<Event<'a>>), Error> {
        self.delivered = Vec::new();
        if self.closed {
            return Ok((input.len(), None));
        }
        let Some(header) = frame::parse_allowing(input, COMPRESSED)? else {
            return Ok((0, None));
        };
        let compressed = input[0] & COMPRESSED != 0;
        let payload_len = self.check(&header, compressed, limits)?;
        let len = header.header_len + payload_len;
        let Some(payload) = input.get(header.header_len..len) else {
            return Ok((0, None));
        };
        let kind = match header.opcode {
            Opcode::Ping => return Ok((len, Some(Event::Ping(payload)))),
            Opcode::Pong => return Ok((len, Some(Event::Pong(payload)))),
            Opcode::Close => {
                let (code, reason) = close::parse(payload)?;
                self.closed = true;
                return Ok((len, Some(Event::Close { code, reason })));
            }
            Opcode::Text => Some(MessageKind::Text),
            Opcode::Binary => Some(MessageKind::Binary),
            Opcode::Continuation => None,
        };
        if let Some(kind) = kind {
            self.under_way = Some(UnderWay { kind, compressed, payload: Vec::new(), wire_len: 0 });
        }
        let Some(mut message) = self.under_way.take() else {
            return Err(Error::UnexpectedContinuation);
        };
        message.payload.extend_from_slice(payload);
        message.wire_len = message.wire_len.saturating_add(len);
        if !header.fin {
            self.under_way = Some(message);
            return Ok((len, None));
        }
        self.delivered = if message.compressed {
            self.inflate(&message.payload, limits.message_bytes_max)?
        } else {
            message.payload
        };
        let event = match message.kind {
            MessageKind::Text => {
                let text = core::str::from_utf8(&self.delivered);
                Event::Text(text.map_err(|_| Error::InvalidUtf8)?)
            }
            MessageKind::Binary => Event::Binary(&self.delivered),
        };
        Ok((len, Some(event)))
    }

    fn inflate(&mut self, message: &[u8], bytes_max: usize) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        let inflater = self.inflater.get_or_insert_with(Inflater::new);
        let result = inflater.inflate(message, &mut out, bytes_max);
        if !self.server_context {
            self.inflater = None;
        }
        match result {
            Ok(()) => Ok(out),
            Err(InflateError::Data) => Err(Error::Deflate),
            Err(InflateError::TooLarge) => Err(Error::TooLarge { bytes_max }),
        }
    }

    /// Checks what depends on the state, before the payload is there. Returns its length.
    fn check(
        &self,
        header: &frame::Header,
        compressed: bool,
        limits: &Limits,
    ) -> Result<usize, Error> {
        let gathered_len = match (header.opcode, &self.under_way) {
            // Only a message's first frame marks it as compressed (§6.1).
            (Opcode::Continuation | Opcode::Close | Opcode::Ping | Opcode::Pong, _)
                if compressed =>
            {
                return Err(Error::ReservedBits);
            }
            (Opcode::Continuation, None) => return Err(Error::UnexpectedContinuation),
            (Opcode::Continuation, Some(message)) => message.payload.len(),
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
}

/// A decoder of a WebSocket's frames.
#[derive(Debug)]
pub enum Reader {
    /// Messages as they are.
    Plain(Decoder),
    /// Messages that may be compressed.
    Inflating(Box<InflatingDecoder>),
}

impl Default for Reader {
    fn default() -> Self {
        Self::Plain(Decoder::new())
    }
}

impl Reader {
    /// Bytes on the wire of the message under way; see [`Decoder::gathered_len`].
    pub fn gathered_len(&self) -> usize {
        match self {
            Self::Plain(decoder) => decoder.gathered_len(),
            Self::Inflating(decoder) => decoder.gathered_len(),
        }
    }

    /// Decodes the frame at the front of `input`; see [`Decoder::decode`].
    ///
    /// # Errors
    /// The server broke the protocol, or sends a message over the limit.
    pub fn decode<'a>(
        &'a mut self,
        input: &'a [u8],
        limits: &Limits,
    ) -> Result<(usize, Option<Event<'a>>), Error> {
        match self {
            Self::Plain(decoder) => decoder.decode(input, limits),
            Self::Inflating(decoder) => decoder.decode(input, limits),
        }
    }
}
