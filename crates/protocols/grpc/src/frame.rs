//! The division of a body into messages: each begins with a byte that says whether it is compressed, and its length
//! in four bytes (PROTOCOL-HTTP2.md, "Length-Prefixed-Message").

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

/// Bytes in front of each message.
pub const PREFIX_BYTES: usize = 5;

/// Reads the prefixes of a body that comes in pieces. Messages are not kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Frames {
    prefix: [u8; PREFIX_BYTES],
    /// Bytes of the prefix that are there; all: a message is under way.
    have: u8,
    /// Bytes of the message that are still to come.
    left: u32,
}

/// The next piece of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A message of this length.
    Begin { is_compressed: bool, len: u32 },
    /// A piece of it, never empty.
    Piece(&'a [u8]),
    /// It is complete.
    End,
}

/// An error in a body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("a message's first byte is {0}; it is 0, or 1 for a compressed message")]
    Flag(u8),
    #[error("a message of {len} bytes; at most {max} are taken")]
    TooLarge { len: u32, max: u32 },
    #[error("a message that is no frame of its stated length")]
    Cut,
    #[error("a compressed message that cannot be decompressed: {0}")]
    Compressed(String),
}

impl Frames {
    /// The bytes taken from the front of `input` and what they are. `(_, None)`: more bytes are needed after them.
    ///
    /// # Errors
    /// The prefix is none, or its message larger than `bytes_max`.
    pub fn next<'a>(
        &mut self,
        input: &'a [u8],
        bytes_max: u32,
    ) -> Result<(usize, Option<Frame<'a>>), FrameError> {
        let have = usize::from(self.have);
        if have < PREFIX_BYTES {
            let taken = input.len().min(PREFIX_BYTES - have);
            self.prefix[have..have + taken].copy_from_slice(&input[..taken]);
            self.have += taken as u8;
            if have + taken < PREFIX_BYTES {
                return Ok((taken, None));
            }
            let [flag, a, b, c, d] = self.prefix;
            let len = u32::from_be_bytes([a, b, c, d]);
            if flag > 1 {
                return Err(FrameError::Flag(flag));
            }
            if len > bytes_max {
                return Err(FrameError::TooLarge { len, max: bytes_max });
            }
            self.left = len;
            let is_compressed = flag == 1;
            return Ok((taken, Some(Frame::Begin { is_compressed, len })));
        }
        if self.left == 0 {
            self.have = 0;
            return Ok((0, Some(Frame::End)));
        }
        let taken = input.len().min(self.left as usize);
        self.left -= taken as u32;
        match taken {
            0 => Ok((0, None)),
            _ => Ok((taken, Some(Frame::Piece(&input[..taken])))),
        }
    }

    /// True if the body may end here.
    pub fn is_between_messages(&self) -> bool {
        self.have == 0
    }
}

/// Appends a message that `write` appends, in its frame. What `write` returns is returned.
pub fn write_frame<T>(
    compress: bool,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> T,
) -> T {
    let start = out.len();
    out.extend_from_slice(&[u8::from(compress), 0, 0, 0, 0]);
    let body = start + PREFIX_BYTES;
    let written = write(out);
    if compress {
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        // Writing to memory cannot fail.
        let packed = packed.write_all(&out[body..]).and_then(|()| packed.finish());
        out.truncate(body);
        out.extend_from_slice(&packed.unwrap_or_default());
    }
    let len = (out.len() - body) as u32;
    out[start + 1..body].copy_from_slice(&len.to_be_bytes());
    written
}

/// The message of a frame as [`write_frame`] makes it, or as it was received, at most `bytes_max` bytes when it is
/// decompressed.
///
/// # Errors
/// The bytes are no such frame.
pub fn unframed(bytes: &[u8], bytes_max: u32) -> Result<Vec<u8>, FrameError> {
    let (prefix, message) = bytes.split_first_chunk::<PREFIX_BYTES>().ok_or(FrameError::Cut)?;
    let len = u32::from_be_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]);
    if len as usize != message.len() {
        return Err(FrameError::Cut);
    }
    match prefix[0] {
        0 => Ok(message.to_vec()),
        1 => unpacked(message, bytes_max),
        flag => Err(FrameError::Flag(flag)),
    }
}

fn unpacked(packed: &[u8], bytes_max: u32) -> Result<Vec<u8>, FrameError> {
    let mut plain = Vec::new();
    let mut limited = MultiGzDecoder::new(packed).take(u64::from(bytes_max) + 1);
    match limited.read_to_end(&mut plain) {
        Ok(len) if len > bytes_max as usize => Err(FrameError::TooLarge {
            len: u32::try_from(len).unwrap_or(u32::MAX),
            max: bytes_max,
        }),
        Ok(_) => Ok(plain),
        Err(error) => Err(FrameError::Compressed(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn framed(message: &[u8], compress: bool) -> Vec<u8> {
        let mut out = Vec::new();
        write_frame(compress, &mut out, |out| out.extend_from_slice(message));
        out
    }

    /// Messages in a body that is handed over in pieces of these lengths.
    fn messages(body: &[u8], mut lens: impl Iterator<Item = usize>) -> Vec<Vec<u8>> {
        let mut frames = Frames::default();
        let mut found = Vec::new();
        let mut message = Vec::new();
        let mut rest = body;
        while !rest.is_empty() {
            let len = lens.next().unwrap_or(usize::MAX).clamp(1, rest.len());
            let mut piece;
            (piece, rest) = rest.split_at(len);
            loop {
                let (taken, frame) = frames.next(piece, u32::MAX).unwrap();
                piece = &piece[taken..];
                match frame {
                    None => break,
                    Some(Frame::Begin { .. }) => message.clear(),
                    Some(Frame::Piece(bytes)) => message.extend_from_slice(bytes),
                    Some(Frame::End) => found.push(message.clone()),
                }
            }
        }
        assert!(frames.is_between_messages());
        found
    }

    proptest! {
        #[test]
        fn messages_come_out_however_their_bytes_are_cut(
            sent in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..6),
            lens in prop::collection::vec(1_usize..9, 0..60),
        ) {
            let body: Vec<u8> = sent.iter().flat_map(|message| framed(message, false)).collect();
            prop_assert_eq!(messages(&body, lens.into_iter()), sent);
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(body in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut frames = Frames::default();
            let mut rest = &body[..];
            while let Ok((taken, frame)) = frames.next(rest, 32) {
                rest = &rest[taken..];
                if frame.is_none() {
                    break;
                }
            }
            let _ = unframed(&body, 32);
        }

        #[test]
        fn compressed_messages_come_back(message in prop::collection::vec(any::<u8>(), 0..400)) {
            prop_assert_eq!(unframed(&framed(&message, true), 400), Ok(message));
        }
    }

    #[test]
    fn prefixes_that_are_none_are_refused() {
        let next = |bytes: &[u8]| Frames::default().next(bytes, 100).unwrap_err();
        assert_eq!(next(&[2, 0, 0, 0, 0]), FrameError::Flag(2));
        let endless = FrameError::TooLarge { len: u32::MAX, max: 100 };
        assert_eq!(next(&[0, 255, 255, 255, 255]), endless);
    }

    #[test]
    fn a_small_message_cannot_fill_the_memory() {
        let packed = framed(&vec![0; 1 << 20], true);
        assert!(packed.len() < 2000);
        let error = unframed(&packed, 1000).unwrap_err();
        assert!(matches!(error, FrameError::TooLarge { len: 1001, .. }), "{error}");
        assert!(unframed(&[1, 0, 0, 0, 1, 9], 10).is_err());
        assert_eq!(unframed(&[0, 0, 0, 0, 2, 9], 10), Err(FrameError::Cut));
    }
}
