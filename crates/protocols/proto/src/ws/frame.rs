//! Frame headers (RFC 6455 §5.2).

use super::error::Error;

/// The most payload that a control frame may carry (§5.5).
pub const CONTROL_PAYLOAD_BYTES_MAX: usize = 125;

/// Bytes of the header of a masked frame, by the size of its payload.
pub(super) const MASKED_HEADER_BYTES_SHORT: usize = 6;
pub(super) const MASKED_HEADER_BYTES_MEDIUM: usize = 8;
pub(super) const MASKED_HEADER_BYTES_LONG: usize = 14;

const FIN: u8 = 0x80;
const RESERVED: u8 = 0x70;
const MASK: u8 = 0x80;

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opcode {
    Continuation = 0,
    Text = 1,
    Binary = 2,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

impl Opcode {
    fn from_nibble(nibble: u8) -> Result<Self, Error> {
        Ok(match nibble {
            0 => Self::Continuation,
            1 => Self::Text,
            2 => Self::Binary,
            8 => Self::Close,
            9 => Self::Ping,
            10 => Self::Pong,
            reserved => return Err(Error::ReservedOpcode(reserved)),
        })
    }

    pub(super) fn is_control(self) -> bool {
        self as u8 >= Self::Close as u8
    }
}

/// The header of a frame from the server, checked as far as it can be by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) fin: bool,
    pub(super) opcode: Opcode,
    /// Bytes of the header, in {2, 4, 10}.
    pub(super) header_len: usize,
    /// In [0, 2⁶³).
    pub(super) payload_len: u64,
}

/// Reads the frame header at the front of `input`; `None` while it is incomplete.
#[inline]
pub(super) fn parse(input: &[u8]) -> Result<Option<Header>, Error> {
    parse_allowing(input, 0)
}

/// As [`parse`], if these of the reserved bits may be set.
#[inline]
pub(super) fn parse_allowing(input: &[u8], reserved: u8) -> Result<Option<Header>, Error> {
    let &[first, second, ..] = input else {
        return Ok(None);
    };
    if first & RESERVED & !reserved != 0 {
        return Err(Error::ReservedBits);
    }
    let opcode = Opcode::from_nibble(first & 0x0f)?;
    let fin = first & FIN != 0;
    if second & MASK != 0 {
        return Err(Error::Masked);
    }
    if opcode.is_control() {
        if !fin {
            return Err(Error::ControlFragmented);
        }
        if usize::from(second) > CONTROL_PAYLOAD_BYTES_MAX {
            return Err(Error::ControlTooLong);
        }
    }
    let Some((header_len, payload_len)) = lengths(second, input) else {
        return Ok(None);
    };
    match second {
        126 if payload_len <= 125 => return Err(Error::LengthNotMinimal),
        127 if payload_len <= u64::from(u16::MAX) => return Err(Error::LengthNotMinimal),
        127 if payload_len >> 63 != 0 => return Err(Error::LengthTooLong),
        _ => {}
    }
    Ok(Some(Header { fin, opcode, header_len, payload_len }))
}

/// Bytes of the header and of the payload, from the length byte without its mask bit.
fn lengths(second: u8, input: &[u8]) -> Option<(usize, u64)> {
    match second {
        126 => Some((4, u64::from(u16::from_be_bytes(*input.get(2..)?.first_chunk()?)))),
        127 => Some((10, u64::from_be_bytes(*input.get(2..)?.first_chunk()?))),
        short => Some((2, u64::from(short))),
    }
}

/// How many bytes have to be at the front of the input before the decoder can take the next step:
/// all of the frame whose header is there, or else that header. Never zero.
///
/// It lets the caller make room at once for a large frame. Use it only for input that the
/// decoder was offered and wants more of, as then the frame is within the limits.
pub fn needed(input: &[u8]) -> usize {
    let Some(&second) = input.get(1) else {
        return 2;
    };
    match lengths(second & !MASK, input) {
        Some((header_len, payload_len)) => {
            usize::try_from(payload_len).unwrap_or(usize::MAX).saturating_add(header_len)
        }
        None if second & !MASK == 126 => 4,
        None => 10,
    }
}

/// Bytes of the header of a masked frame with so much payload.
pub(super) fn masked_header_len(payload_len: usize) -> usize {
    match payload_len {
        0..=125 => MASKED_HEADER_BYTES_SHORT,
        126..=0xffff => MASKED_HEADER_BYTES_MEDIUM,
        _ => MASKED_HEADER_BYTES_LONG,
    }
}

/// Writes the header of a final, masked frame into `header`, which is as long as
/// [`masked_header_len`] returns.
pub(super) fn write_masked(header: &mut [u8], opcode: Opcode, payload_len: usize, mask: [u8; 4]) {
    header[0] = FIN | opcode as u8;
    let mask_at = header.len() - mask.len();
    match header.len() {
        MASKED_HEADER_BYTES_SHORT => header[1] = MASK | payload_len as u8,
        MASKED_HEADER_BYTES_MEDIUM => {
            header[1] = MASK | 126;
            header[2..mask_at].copy_from_slice(&(payload_len as u16).to_be_bytes());
        }
        _ => {
            header[1] = MASK | 127;
            header[2..mask_at].copy_from_slice(&(payload_len as u64).to_be_bytes());
        }
    }
    header[mask_at..].copy_from_slice(&mask);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        use Opcode::{Binary, Ping, Text};
        let header = |fin, opcode, header_len, payload_len| {
            Ok(Some(Header { fin, opcode, header_len, payload_len }))
        };
        for (input, expected) in [
            (&[][..], Ok(None)),
            (&[0x81], Ok(None)),
            (&[0x81, 5], header(true, Text, 2, 5)),
            (&[0x02, 125], header(false, Binary, 2, 125)),
            (&[0x82, 126, 0], Ok(None)),
            (&[0x82, 126, 0, 126], header(true, Binary, 4, 126)),
            (&[0x82, 126, 0, 125], Err(Error::LengthNotMinimal)),
            (&[0x82, 127, 0, 0, 0, 0, 0, 1, 0], Ok(None)),
            (&[0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0], header(true, Binary, 10, 65_536)),
            (&[0x82, 127, 0, 0, 0, 0, 0, 0, 255, 255], Err(Error::LengthNotMinimal)),
            (&[0x82, 127, 128, 0, 0, 0, 0, 0, 0, 0], Err(Error::LengthTooLong)),
            (&[0x89, 125], header(true, Ping, 2, 125)),
            (&[0x89, 126], Err(Error::ControlTooLong)),
            (&[0x09, 0], Err(Error::ControlFragmented)),
            (&[0x83, 0], Err(Error::ReservedOpcode(3))),
            (&[0x8f, 0], Err(Error::ReservedOpcode(15))),
            (&[0xc1, 0], Err(Error::ReservedBits)),
            (&[0x91, 0], Err(Error::ReservedBits)),
            (&[0x81, 0x85], Err(Error::Masked)),
        ] {
            assert_eq!(parse(input), expected, "{input:02x?}");
        }
    }

    #[test]
    fn needed_is_the_next_step() {
        for (input, expected) in [
            (&[][..], 2),
            (&[0x81], 2),
            (&[0x81, 0], 2),
            (&[0x81, 125], 127),
            (&[0x81, 126], 4),
            (&[0x81, 126, 1, 0], 260),
            (&[0x81, 127, 0, 0], 10),
            (&[0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0], 65_546),
            (&[0x81, 127, 255, 255, 255, 255, 255, 255, 255, 255], usize::MAX),
        ] {
            assert_eq!(needed(input), expected, "{input:02x?}");
        }
    }
}
