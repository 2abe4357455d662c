//! Frames as bytes (RFC 9113 §4.1, §6).

use alloc::vec::Vec;

use super::error::{Code, Error};

/// The first bytes of a client's connection (§3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Bytes of a frame's header.
pub(super) const HEADER_BYTES: usize = 9;
/// The largest payload that either side takes unless it says otherwise; ours never does.
pub(super) const PAYLOAD_BYTES_MAX: usize = 1 << 14;
/// Streams, windows and increments have 31 bits.
pub(super) const BITS_31: u32 = u32::MAX >> 1;

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const PRIORITY: u8 = 2;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PUSH_PROMISE: u8 = 5;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

/// A flag of SETTINGS and PING.
pub(super) const ACK: u8 = 1;
/// A flag of DATA and HEADERS.
pub(super) const END_STREAM: u8 = 1;
pub(super) const PADDED: u8 = 8;
/// A flag of HEADERS and CONTINUATION.
pub(super) const END_HEADERS: u8 = 4;
/// A flag of HEADERS.
pub(super) const WITH_PRIORITY: u8 = 0x20;
/// The bytes that [`WITH_PRIORITY`] puts before the block.
pub(super) const PRIORITY_BYTES: usize = 5;

/// A frame's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHead {
    /// Bytes of the payload.
    pub(super) len: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl FrameHead {
    /// `None` while it is incomplete.
    pub(super) fn parse(input: &[u8]) -> Option<FrameHead> {
        let bytes: &[u8; HEADER_BYTES] = input.first_chunk()?;
        let [a, b, c, kind, flags, stream @ ..] = *bytes;
        Some(FrameHead {
            len: u32::from_be_bytes([0, a, b, c]) as usize,
            kind,
            flags,
            stream: u32::from_be_bytes(stream) & BITS_31,
        })
    }

    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Appends a frame's header.
pub(super) fn put_head(out: &mut Vec<u8>, len: usize, kind: u8, flags: u8, stream: u32) {
    let [_, a, b, c] = (len as u32).to_be_bytes();
    let [d, e, f, g] = stream.to_be_bytes();
    out.extend_from_slice(&[a, b, c, kind, flags, d, e, f, g]);
}

/// Appends a frame.
pub(super) fn put(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    put_head(out, payload.len(), kind, flags, stream);
    out.extend_from_slice(payload);
}

/// Appends a RST_STREAM frame.
pub(super) fn put_reset(out: &mut Vec<u8>, stream: u32, code: Code) {
    put(out, RST_STREAM, 0, stream, &(code as u32).to_be_bytes());
}

/// Appends a WINDOW_UPDATE frame.
pub(super) fn put_window_update(out: &mut Vec<u8>, stream: u32, increment: u32) {
    put(out, WINDOW_UPDATE, 0, stream, &increment.to_be_bytes());
}

/// A payload without its padding (§6.1).
pub(super) fn without_padding(head: FrameHead, payload: &[u8]) -> Result<&[u8], Error> {
    if !head.has(PADDED) {
        return Ok(payload);
    }
    let (&padding, rest) =
        payload.split_first().ok_or(Error::new(Code::FrameSizeError, "a padded frame is empty"))?;
    let len = rest.len().checked_sub(usize::from(padding));
    let len = len.ok_or(Error::protocol("a frame's padding is longer than the frame"))?;
    Ok(&rest[..len])
}

/// A payload of four bytes as a number.
pub(super) fn number(payload: &[u8], what: &'static str) -> Result<u32, Error> {
    let bytes = payload.try_into();
    let bytes = bytes.map_err(|_| Error::new(Code::FrameSizeError, what))?;
    Ok(u32::from_be_bytes(bytes))
}
