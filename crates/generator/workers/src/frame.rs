//! Messages as frames: four bytes of length, least significant first, then as many bytes of
//! [postcard](https://postcard.jamesmunns.com).

use std::io::{ErrorKind, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// No frame is longer. The longest are plan slices with their files.
pub(crate) const FRAME_BYTES_MAX: usize = 64 << 20;
/// The maximum of a frame before the peer is accepted.
pub(crate) const HELLO_BYTES_MAX: usize = 4 << 10;
/// Bytes read at a time: a length alone reserves no memory.
const READ_BYTES: usize = 64 << 10;
const LENGTH_BYTES: usize = 4;

/// Why there is no next message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    /// The peer has closed the connection between two frames.
    #[error("the connection was closed")]
    Closed,
    /// It has closed it in the middle of one.
    #[error("the connection broke in the middle of a message")]
    Cut,
    #[error("a message of {bytes} bytes exceeds the maximum of {max}")]
    TooLong { bytes: usize, max: usize },
    #[error("an invalid message")]
    Garbage(#[source] postcard::Error),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

impl FrameError {
    /// True if nothing came within the timeout of the stream.
    pub(crate) fn is_timeout(&self) -> bool {
        // Systems differ in which of the two they return.
        matches!(self, FrameError::Io(error)
            if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut))
    }
}

/// Takes messages from a stream.
#[derive(Debug)]
pub(crate) struct FrameReader<R> {
    stream: R,
    /// The bytes of one read.
    piece: Box<[u8]>,
    buffer: Vec<u8>,
    /// Bytes at the front of `buffer` that were handed out.
    taken: usize,
    bytes_max: usize,
    /// Bytes of all messages that were handed out.
    position: u64,
}

impl<R: Read> FrameReader<R> {
    /// A reader that takes short frames only, until the peer is known.
    pub(crate) fn new(stream: R) -> FrameReader<R> {
        FrameReader {
            stream,
            piece: vec![0; READ_BYTES].into(),
            buffer: Vec::new(),
            taken: 0,
            bytes_max: HELLO_BYTES_MAX,
            position: 0,
        }
    }

    /// Changes the stream, and keeps the state of the reader.
    pub(crate) fn with_stream<S>(self, change: impl FnOnce(R) -> S) -> FrameReader<S> {
        FrameReader {
            stream: change(self.stream),
            piece: self.piece,
            buffer: self.buffer,
            taken: self.taken,
            bytes_max: self.bytes_max,
            position: self.position,
        }
    }

    /// The peer is known: frames of any length allowed.
    pub(crate) fn trust(&mut self) {
        self.bytes_max = FRAME_BYTES_MAX;
    }

    /// The end of the last message, in bytes from the beginning.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// The next message. After a timeout it can be requested again.
    pub(crate) fn next<T: DeserializeOwned>(&mut self) -> Result<T, FrameError> {
        let (message, rest) = postcard::take_from_bytes(self.next_bytes()?)?;
        if rest.is_empty() {
            Ok(message)
        } else {
            Err(FrameError::Garbage(postcard::Error::SerdeDeCustom))
        }
    }

    /// The front of the next message, and the rest, whose form may depend on the front.
    pub(crate) fn next_front<T: DeserializeOwned>(&mut self) -> Result<(T, Vec<u8>), FrameError> {
        let (front, rest) = postcard::take_from_bytes(self.next_bytes()?)?;
        Ok((front, rest.to_vec()))
    }

    fn next_bytes(&mut self) -> Result<&[u8], FrameError> {
        self.buffer.drain(..std::mem::take(&mut self.taken));
        self.fill(LENGTH_BYTES)?;
        let length = self.buffer[..LENGTH_BYTES].iter().rev();
        let length = length.fold(0, |sum, &byte| sum << 8 | usize::from(byte));
        if length > self.bytes_max {
            return Err(FrameError::TooLong { bytes: length, max: self.bytes_max });
        }
        let end = LENGTH_BYTES + length;
        self.fill(end)?;
        self.taken = end;
        self.position += end as u64;
        Ok(&self.buffer[LENGTH_BYTES..end])
    }

    /// Reads until the buffer holds so many bytes.
    fn fill(&mut self, bytes: usize) -> Result<(), FrameError> {
        while self.buffer.len() < bytes {
            match self.stream.read(&mut self.piece) {
                Ok(0) if self.buffer.is_empty() => return Err(FrameError::Closed),
                Ok(0) => return Err(FrameError::Cut),
                Ok(count) => self.buffer.extend_from_slice(&self.piece[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

impl From<postcard::Error> for FrameError {
    fn from(error: postcard::Error) -> FrameError {
        FrameError::Garbage(error)
    }
}

/// Writes one message as a frame.
pub(crate) fn send<T: Serialize>(stream: &mut impl Write, message: &T) -> Result<(), FrameError> {
    let bytes = postcard::to_extend(message, vec![0; LENGTH_BYTES])?;
    stream.write_all(&with_length(bytes)?)?;
    Ok(())
}

/// Fills in the length of a frame whose first bytes were left for it.
fn with_length(mut frame: Vec<u8>) -> Result<Vec<u8>, FrameError> {
    let length = frame.len() - LENGTH_BYTES;
    if length > FRAME_BYTES_MAX {
        return Err(FrameError::TooLong { bytes: length, max: FRAME_BYTES_MAX });
    }
    frame[..LENGTH_BYTES].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(frame)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::protocol::{ToController, ToWorker};

    /// Gives its bytes in pieces of these lengths, in turn, and a timeout between two of them.
    struct Pieces<'a> {
        bytes: &'a [u8],
        lengths: Vec<usize>,
        turn: usize,
        tired: bool,
    }

    impl<'a> Pieces<'a> {
        fn of(bytes: &'a [u8], lengths: &[usize]) -> Pieces<'a> {
            Pieces { bytes, lengths: lengths.to_vec(), turn: 0, tired: false }
        }
    }

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.tired = !self.tired;
            if self.tired {
                return Err(ErrorKind::WouldBlock.into());
            }
            let length = self.lengths[self.turn % self.lengths.len()];
            self.turn += 1;
            let length = length.min(self.bytes.len()).min(buffer.len());
            let (now, later) = self.bytes.split_at(length);
            buffer[..length].copy_from_slice(now);
            self.bytes = later;
            Ok(length)
        }
    }

    fn next<T: DeserializeOwned>(reader: &mut FrameReader<Pieces<'_>>) -> Result<T, FrameError> {
        loop {
            match reader.next() {
                Err(error) if error.is_timeout() => {}
                other => return other,
            }
        }
    }

    proptest! {
        #[test]
        fn messages_come_whole_however_the_bytes_come(
            texts: Vec<String>,
            lengths in prop::collection::vec(1_usize..20, 1..5),
        ) {
            let mut bytes = Vec::new();
            for text in &texts {
                send(&mut bytes, text).unwrap();
            }
            let length = bytes.len();
            let mut reader = FrameReader::new(Pieces::of(&bytes, &lengths));
            for text in &texts {
                prop_assert_eq!(&next::<String>(&mut reader).unwrap(), text);
            }
            prop_assert!(matches!(next::<String>(&mut reader), Err(FrameError::Closed)));
            // If it is cut anywhere inside, the last message is missing.
            if length > 0 {
                let mut reader = FrameReader::new(Pieces::of(&bytes[..length - 1], &lengths));
                for text in &texts[..texts.len() - 1] {
                    prop_assert_eq!(&next::<String>(&mut reader).unwrap(), text);
                }
                prop_assert!(matches!(next::<String>(&mut reader), Err(FrameError::Cut)));
            }
        }

        #[test]
        fn rubbish_is_an_error_and_no_panic(bytes: Vec<u8>) {
            let _ = FrameReader::new(&bytes[..]).next::<ToController>();
            let _ = FrameReader::new(&bytes[..]).next::<ToWorker>();
            let mut framed = vec![0; LENGTH_BYTES];
            framed.extend(&bytes);
            let framed = with_length(framed).unwrap();
            let _ = FrameReader::new(&framed[..]).next::<ToController>();
            let _ = FrameReader::new(&framed[..]).next::<ToWorker>();
        }
    }

    #[test]
    fn lengths_have_their_limit() {
        let mut reader = FrameReader::new(&[0xff; 8][..]);
        assert!(matches!(
            reader.next::<u8>(),
            Err(FrameError::TooLong { bytes, max: HELLO_BYTES_MAX }) if bytes == u32::MAX as usize
        ));
        let bytes = vec![0; LENGTH_BYTES + FRAME_BYTES_MAX + 1];
        assert!(matches!(with_length(bytes), Err(FrameError::TooLong { .. })));
    }

    #[test]
    fn what_stands_behind_a_message_in_its_frame_is_an_error() {
        let mut bytes = Vec::new();
        send(&mut bytes, &(7_u8, 9_u8)).unwrap();
        assert!(matches!(FrameReader::new(&bytes[..]).next::<u8>(), Err(FrameError::Garbage(_))));
        let (front, rest) = FrameReader::new(&bytes[..]).next_front::<u8>().unwrap();
        assert_eq!((front, &rest[..]), (7, &[9][..]));
    }
}
