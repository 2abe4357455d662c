//! Writing masked frames (RFC 6455 §5). Messages go out in one frame each.

use super::close::REASON_BYTES_MAX;
use super::frame::{self, CONTROL_PAYLOAD_BYTES_MAX, Opcode};
use super::mask;
use alloc::vec::Vec;

/// The two kinds of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageKind {
    /// UTF-8.
    Text,
    /// Any bytes.
    Binary,
}

impl MessageKind {
    fn opcode(self) -> Opcode {
        match self {
            Self::Text => Opcode::Text,
            Self::Binary => Opcode::Binary,
        }
    }
}

/// Appends a message. A text has to be UTF-8 already.
pub fn encode_message(out: &mut Vec<u8>, kind: MessageKind, payload: &[u8], mask: [u8; 4]) {
    encode_frame(out, kind.opcode(), payload, mask);
}

/// Appends a message whose payload `write` appends to `out`: rendered in place, without a buffer
/// between. `write` must only append.
///
/// The length is known only afterwards, so room for the header of a payload of 126 bytes to
/// 64 KiB is left; a shorter payload moves down by two bytes, a longer one up by six.
///
/// # Panics
/// `write` made `out` shorter than it was.
pub fn encode_with(
    out: &mut Vec<u8>,
    kind: MessageKind,
    mask: [u8; 4],
    write: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len();
    let guessed_at = start + frame::MASKED_HEADER_BYTES_MEDIUM;
    out.resize(guessed_at, 0);
    write(out);
    assert!(out.len() >= guessed_at, "the payload's writer only appends");
    let end = out.len();
    let payload_len = end - guessed_at;
    let payload_at = start + frame::masked_header_len(payload_len);
    if payload_at > guessed_at {
        out.resize(payload_at + payload_len, 0);
    }
    if payload_at != guessed_at {
        out.copy_within(guessed_at..end, payload_at);
        out.truncate(payload_at + payload_len);
    }
    let (header, payload) = out[start..].split_at_mut(payload_at - start);
    frame::write_masked(header, kind.opcode(), payload_len, mask);
    mask::apply(payload, mask);
}

/// Appends a message whose payload was [deflated](super::Deflater::deflate) (RFC 7692 §6.1).
pub fn encode_compressed(out: &mut Vec<u8>, kind: MessageKind, payload: &[u8], mask: [u8; 4]) {
    let start = out.len();
    encode_frame(out, kind.opcode(), payload, mask);
    out[start] |= 0x40;
}

/// Appends a ping.
///
/// # Panics
/// `payload` is longer than [`CONTROL_PAYLOAD_BYTES_MAX`].
pub fn encode_ping(out: &mut Vec<u8>, payload: &[u8], mask: [u8; 4]) {
    assert!(payload.len() <= CONTROL_PAYLOAD_BYTES_MAX, "a control frame holds 125 bytes");
    encode_frame(out, Opcode::Ping, payload, mask);
}

/// Appends a pong; as the answer to a ping, with the payload of that.
///
/// # Panics
/// `payload` is longer than [`CONTROL_PAYLOAD_BYTES_MAX`], as that of a ping never is.
pub fn encode_pong(out: &mut Vec<u8>, payload: &[u8], mask: [u8; 4]) {
    assert!(payload.len() <= CONTROL_PAYLOAD_BYTES_MAX, "a control frame holds 125 bytes");
    encode_frame(out, Opcode::Pong, payload, mask);
}

/// Appends a close frame. The reason is cut to [`REASON_BYTES_MAX`] bytes at the end of a
/// character, and left out without a code, as a reason only follows one (§5.5.1).
/// The code is written as given; [`is_valid_code`](super::is_valid_code) selects those that may be
/// sent.
pub fn encode_close(out: &mut Vec<u8>, code: Option<u16>, reason: &str, mask: [u8; 4]) {
    let Some(code) = code else {
        return encode_frame(out, Opcode::Close, b"", mask);
    };
    let reason = &reason[..reason.floor_char_boundary(REASON_BYTES_MAX)];
    let mut payload = [0; CONTROL_PAYLOAD_BYTES_MAX];
    let len = 2 + reason.len();
    payload[..2].copy_from_slice(&code.to_be_bytes());
    payload[2..len].copy_from_slice(reason.as_bytes());
    encode_frame(out, Opcode::Close, &payload[..len], mask);
}

fn encode_frame(out: &mut Vec<u8>, opcode: Opcode, payload: &[u8], mask: [u8; 4]) {
    let header_len = frame::masked_header_len(payload.len());
    let mut header = [0; frame::MASKED_HEADER_BYTES_LONG];
    let header = &mut header[..header_len];
    frame::write_masked(header, opcode, payload.len(), mask);
    out.reserve(header_len + payload.len());
    out.extend_from_slice(header);
    let payload_at = out.len();
    out.extend_from_slice(payload);
    mask::apply(&mut out[payload_at..], mask);
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

    #[test]
    fn hello_is_as_in_the_rfc() {
        let mut out = Vec::new();
        encode_message(&mut out, MessageKind::Text, b"Hello", MASK);
        let expected = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
        assert_eq!(out, expected, "RFC 6455 §5.7");
        out.clear();
        encode_pong(&mut out, b"Hello", MASK);
        assert_eq!(out[0], 0x8a, "RFC 6455 §5.7");
        assert_eq!(out[1..], expected[1..]);
    }

    #[test]
    fn rendering_in_place_gives_the_same_frame_at_every_length() {
        for len in [0, 1, 124, 125, 126, 127, 1000, 65_535, 65_536, 70_000] {
            let payload: Vec<u8> = (0..len).map(|i: u32| (i % 251) as u8).collect();
            let mut copied = Vec::from(*b"before");
            let mut rendered = copied.clone();
            encode_message(&mut copied, MessageKind::Binary, &payload, MASK);
            encode_with(&mut rendered, MessageKind::Binary, MASK, |out| {
                out.extend_from_slice(&payload);
            });
            assert!(copied == rendered, "length {len}");
        }
    }

    #[test]
    fn close_bodies() {
        let encoded = |code, reason: &str| {
            let mut out = Vec::new();
            encode_close(&mut out, code, reason, [0; 4]);
            out
        };
        assert_eq!(encoded(None, "ignored"), b"\x88\x80\0\0\0\0");
        assert_eq!(encoded(Some(1000), "bye"), b"\x88\x85\0\0\0\0\x03\xe8bye");
        let long = encoded(Some(1001), &"ä".repeat(100));
        assert_eq!(long[1] & 0x7f, 124, "cut before the character that does not fit");
        assert_eq!(String::from_utf8(long[8..].to_vec()).unwrap(), "ä".repeat(61));
    }
}
