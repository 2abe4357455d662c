//! WebSocket frames at the server's end (RFC 6455, section 5), for connections that own no buffer.
//!
//! tungstenite reads and writes the headers; what they mean is decided here: the caller offers all
//! bytes that it has, a whole message is taken out of their midst, and only the parts of a
//! fragmented one are kept.

use std::borrow::Cow;
use std::io::Cursor;

use bytes::Bytes;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Control, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{CloseFrame, FrameHeader};

/// Longest payload of a control frame, in bytes (section 5.5).
const CONTROL_MAX: u64 = 125;
/// Longest header of a frame without a mask, in bytes (section 5.2).
const HEADER_MAX: usize = 10;
/// A ping without a payload.
pub const PING: Bytes = Bytes::from_static(&[0x89, 0]);

/// A message or control frame of a peer.
#[derive(Debug, PartialEq, Eq)]
pub enum PeerMessage<'b> {
    /// A text message; borrowed if it came in one frame.
    Text(Cow<'b, str>),
    /// A binary message; borrowed if it came in one frame.
    Binary(Cow<'b, [u8]>),
    /// A ping, to be answered by a pong of the same payload.
    Ping(&'b [u8]),
    /// A pong.
    Pong,
    /// The closing handshake begins, or was answered; with the status, if one was given.
    Close(Option<CloseCode>),
}

/// Result of decoding the bytes at hand.
#[derive(Debug, PartialEq, Eq)]
pub enum DecodeResult<'b> {
    /// Less than a frame; nothing was taken.
    Nothing,
    /// A frame of `length` bytes, and what it completed: `None` for the beginning or the middle
    /// of a message.
    Frame { length: usize, received: Option<PeerMessage<'b>> },
}

/// Why a peer cannot be listened to any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("protocol violated")]
    Protocol,
    #[error("text is not UTF-8")]
    NotUtf8,
    #[error("message too long")]
    TooLong,
}

impl FrameError {
    /// The status to close with (section 7.4.1).
    pub fn code(self) -> CloseCode {
        match self {
            Self::Protocol => CloseCode::Protocol,
            Self::NotUtf8 => CloseCode::Invalid,
            Self::TooLong => CloseCode::Size,
        }
    }
}

/// The beginning of a message that comes in several frames (section 5.4).
#[derive(Debug, Default)]
pub struct Fragments {
    /// `None` between messages.
    begun: Option<PartialMessage>,
}

#[derive(Debug)]
struct PartialMessage {
    is_text: bool,
    payload: Vec<u8>,
}

impl Fragments {
    /// Whether a message has begun and not ended.
    pub fn under_way(&self) -> bool {
        self.begun.is_some()
    }

    fn len(&self) -> usize {
        self.begun.as_ref().map_or(0, |begun| begun.payload.len())
    }
}

/// Takes the first frame out of `bytes`, which are unmasked where they stand. Messages are at
/// most `message_max` bytes long.
///
/// # Errors
/// When the peer breaks the protocol, or sends what is too long or not UTF-8.
pub fn take<'b>(
    bytes: &'b mut [u8],
    fragments: &mut Fragments,
    message_max: usize,
) -> Result<DecodeResult<'b>, FrameError> {
    let mut cursor = Cursor::new(&*bytes);
    // Fails on opcodes that mean nothing: reading memory cannot.
    let header = FrameHeader::parse(&mut cursor).map_err(|_| FrameError::Protocol)?;
    let begin = cursor.position() as usize;
    let Some((header, payload_length)) = header else {
        return Ok(DecodeResult::Nothing);
    };
    let mask = check(&header, payload_length, fragments.under_way())?;
    let payload_length = usize::try_from(payload_length).unwrap_or(usize::MAX);
    let is_data = matches!(header.opcode, OpCode::Data(_));
    if is_data && payload_length > message_max.saturating_sub(fragments.len()) {
        return Err(FrameError::TooLong);
    }
    let end = begin + payload_length;
    let Some(payload) = bytes.get_mut(begin..end) else {
        return Ok(DecodeResult::Nothing);
    };
    unmask(payload, mask);
    Ok(DecodeResult::Frame { length: end, received: meaning(&header, payload, fragments)? })
}

/// Checks a header by sections 5.1 to 5.5; the mask.
fn check(
    header: &FrameHeader,
    payload_length: u64,
    under_way: bool,
) -> Result<[u8; 4], FrameError> {
    // No extension was agreed on that would give these bits a meaning.
    let reserved = header.rsv1 || header.rsv2 || header.rsv3;
    let in_place = match header.opcode {
        OpCode::Control(_) => header.is_final && payload_length <= CONTROL_MAX,
        OpCode::Data(Data::Continue) => under_way,
        OpCode::Data(_) => !under_way,
    };
    // Section 5.1: a server must close when it meets a frame without a mask.
    header.mask.filter(|_| in_place && !reserved).ok_or(FrameError::Protocol)
}

/// Unmasks a payload (RFC 6455, section 5.3).
fn unmask(payload: &mut [u8], mask: [u8; 4]) {
    let (blocks, rest) = payload.as_chunks_mut::<4>();
    for block in blocks {
        *block = (u32::from_ne_bytes(*block) ^ u32::from_ne_bytes(mask)).to_ne_bytes();
    }
    for (byte, mask) in rest.iter_mut().zip(mask) {
        *byte ^= mask;
    }
}

fn meaning<'b>(
    header: &FrameHeader,
    payload: &'b [u8],
    fragments: &mut Fragments,
) -> Result<Option<PeerMessage<'b>>, FrameError> {
    match header.opcode {
        OpCode::Control(Control::Ping) => Ok(Some(PeerMessage::Ping(payload))),
        OpCode::Control(Control::Close) => {
            close_status(payload).map(|code| Some(PeerMessage::Close(code)))
        }
        // Opcodes without a meaning were refused with the header.
        OpCode::Control(_) => Ok(Some(PeerMessage::Pong)),
        OpCode::Data(_) if header.is_final && !fragments.under_way() => {
            if header.opcode == OpCode::Data(Data::Binary) {
                return Ok(Some(PeerMessage::Binary(Cow::Borrowed(payload))));
            }
            let text = std::str::from_utf8(payload).map_err(|_| FrameError::NotUtf8)?;
            Ok(Some(PeerMessage::Text(Cow::Borrowed(text))))
        }
        OpCode::Data(data) => {
            let begun = fragments.begun.get_or_insert_with(|| PartialMessage {
                is_text: data == Data::Text,
                payload: Vec::new(),
            });
            begun.payload.extend_from_slice(payload);
            match fragments.begun.take_if(|_| header.is_final) {
                Some(whole) => whole.end().map(Some),
                None => Ok(None),
            }
        }
    }
}

impl PartialMessage {
    fn end(self) -> Result<PeerMessage<'static>, FrameError> {
        if !self.is_text {
            return Ok(PeerMessage::Binary(Cow::Owned(self.payload)));
        }
        let text = String::from_utf8(self.payload).map_err(|_| FrameError::NotUtf8)?;
        Ok(PeerMessage::Text(Cow::Owned(text)))
    }
}

/// The status of a close frame (sections 5.5.1 and 7.4).
fn close_status(payload: &[u8]) -> Result<Option<CloseCode>, FrameError> {
    match payload {
        [] => Ok(None),
        [high, low, reason @ ..] => {
            let code = CloseCode::from(u16::from_be_bytes([*high, *low]));
            if !code.is_allowed() {
                return Err(FrameError::Protocol);
            }
            match std::str::from_utf8(reason) {
                Ok(_) => Ok(Some(code)),
                Err(_) => Err(FrameError::NotUtf8),
            }
        }
        [_] => Err(FrameError::Protocol),
    }
}

/// A text message in one frame; `fill` appends its text. A server does not mask, so the bytes are
/// the same for whoever they are sent to.
pub fn text(fill: impl FnOnce(&mut Vec<u8>)) -> Bytes {
    let mut bytes = vec![0; HEADER_MAX];
    fill(&mut bytes);
    frame(OpCode::Data(Data::Text), bytes)
}

/// The answer to a ping; `payload` is that of the ping.
pub fn pong(payload: &[u8]) -> Bytes {
    control(Control::Pong, payload)
}

/// A close frame; `None` has neither status nor reason (section 5.5.1).
pub fn close(frame: Option<&CloseFrame>) -> Bytes {
    let mut payload = Vec::new();
    if let Some(CloseFrame { code, reason }) = frame {
        payload.extend(u16::from(*code).to_be_bytes());
        let reason_max = CONTROL_MAX as usize - payload.len();
        let end = reason.floor_char_boundary(reason_max);
        payload.extend_from_slice(&reason.as_bytes()[..end]);
    }
    control(Control::Close, &payload)
}

fn control(kind: Control, payload: &[u8]) -> Bytes {
    let mut bytes = vec![0; HEADER_MAX];
    bytes.extend_from_slice(payload);
    frame(OpCode::Control(kind), bytes)
}

/// Puts a header in front of the payload, which stands after room for the longest one.
fn frame(opcode: OpCode, mut bytes: Vec<u8>) -> Bytes {
    let header = FrameHeader { opcode, ..FrameHeader::default() };
    let payload_length = (bytes.len() - HEADER_MAX) as u64;
    let begin = HEADER_MAX - header.len(payload_length);
    header
        .format(payload_length, &mut &mut bytes[begin..HEADER_MAX])
        .expect("there is just so much room");
    Bytes::from(bytes).slice(begin..)
}

#[cfg(test)]
mod tests;
