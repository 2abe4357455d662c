//! Frames of WebSocket by hand (RFC 6455 §5.2), as our codec must not stand at both ends.

use std::io::{self, Read};

/// The first byte of a frame: final, of this opcode.
pub(super) const TEXT: u8 = 0x81;
pub(super) const BINARY: u8 = 0x82;
pub(super) const CLOSE: u8 = 0x88;
pub(super) const PING: u8 = 0x89;
pub(super) const PONG: u8 = 0x8a;
/// Of fragments: the first of a text, one in the middle, the last.
pub(super) const TEXT_BEGINS: u8 = 0x01;
pub(super) const CONTINUES: u8 = 0x00;
pub(super) const ENDS: u8 = 0x80;
/// The bit of a compressed message (RFC 7692 §6).
pub(super) const COMPRESSED: u8 = 0x40;

/// A frame from the server, its length in as few bytes as it needs.
pub(super) fn frame(first: u8, payload: impl AsRef<[u8]>) -> Vec<u8> {
    let payload = payload.as_ref();
    let mut frame = vec![first];
    match payload.len() {
        len @ 0..=125 => frame.push(len as u8),
        len @ 126..=0xffff => {
            frame.push(126);
            frame.extend((len as u16).to_be_bytes());
        }
        len => {
            frame.push(127);
            frame.extend((len as u64).to_be_bytes());
        }
    }
    frame.extend(payload);
    frame
}

/// A close frame with this code and reason.
pub(super) fn close(code: u16, reason: impl AsRef<[u8]>) -> Vec<u8> {
    frame(CLOSE, [&code.to_be_bytes(), reason.as_ref()].concat())
}

/// Reads a masked frame of the client: its opcode and payload.
pub(super) fn read(stream: &mut impl Read) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 2];
    stream.read_exact(&mut head)?;
    if head[1] & 0x80 == 0 {
        return Err(io::Error::other("a client masks its frames"));
    }
    let len = match head[1] & 0x7f {
        126 => {
            let mut len = [0; 2];
            stream.read_exact(&mut len)?;
            usize::from(u16::from_be_bytes(len))
        }
        127 => return Err(io::Error::other("no case sends that much")),
        len => usize::from(len),
    };
    let mut mask = [0; 4];
    stream.read_exact(&mut mask)?;
    let mut payload = vec![0; len];
    stream.read_exact(&mut payload)?;
    for (byte, mask) in payload.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= mask;
    }
    Ok((head[0] & 0x0f, payload))
}
