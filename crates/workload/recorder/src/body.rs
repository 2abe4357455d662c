//! The end of a body, and what it contains (RFC 9112, sections 6 and 7).

use crate::head::Length;

/// Longest line of a chunk's size with its extensions, and of a field behind the last chunk.
const LINE_BYTES_MAX: usize = 16 << 10;
/// Most digits of a chunk's size.
const DIGITS_MAX: u8 = 15;

/// A body whose chunks are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("its chunks are malformed")]
pub(crate) struct BadChunks;

/// A body while it passes.
#[derive(Debug)]
pub(crate) struct BodyState(State);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// This many bytes are left.
    Exact(u64),
    UntilClose,
    /// In the line with the size of a chunk.
    Size(SizeLine),
    /// Within a chunk.
    Data(u64),
    /// In the line end behind a chunk; how many of its bytes were there.
    AfterData(u8),
    /// In a line behind the last chunk; how long it is so far.
    Trailer(usize),
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct SizeLine {
    size: u64,
    digits: u8,
    /// The digits have ended.
    is_extended: bool,
    bytes_count: usize,
}

impl BodyState {
    pub(crate) fn new(length: Length) -> BodyState {
        BodyState(match length {
            Length::Exact(0) => State::Done,
            Length::Exact(bytes) => State::Exact(bytes),
            Length::UntilClose => State::UntilClose,
            Length::Chunked => State::Size(SizeLine::default()),
        })
    }

    /// Whether nothing of it is missing.
    pub(crate) fn is_done(&self) -> bool {
        self.0 == State::Done
    }

    /// Whether the end of the connection is its end.
    pub(crate) fn ends_at_close(&self) -> bool {
        matches!(self.0, State::Done | State::UntilClose)
    }

    /// How many of the received bytes belong to it. What they contain is given to `content`.
    pub(crate) fn take(
        &mut self,
        input: &[u8],
        content: &mut dyn FnMut(&[u8]),
    ) -> Result<usize, BadChunks> {
        let mut at = 0;
        while at < input.len() && self.0 != State::Done {
            let rest = &input[at..];
            at += match self.0 {
                State::Exact(left) => {
                    let taken = part(left, rest);
                    content(&rest[..taken]);
                    let left = left - taken as u64;
                    self.0 = if left == 0 { State::Done } else { State::Exact(left) };
                    taken
                }
                State::UntilClose => {
                    content(rest);
                    rest.len()
                }
                State::Data(left) => {
                    let taken = part(left, rest);
                    content(&rest[..taken]);
                    let left = left - taken as u64;
                    self.0 = if left == 0 { State::AfterData(0) } else { State::Data(left) };
                    taken
                }
                State::Size(line) => {
                    self.0 = line.next(rest[0])?;
                    1
                }
                State::AfterData(count) => {
                    self.0 = match (count, rest[0]) {
                        (0, b'\r') => State::AfterData(1),
                        (_, b'\n') => State::Size(SizeLine::default()),
                        _ => return Err(BadChunks),
                    };
                    1
                }
                State::Trailer(length) => {
                    self.0 = match rest[0] {
                        b'\n' if length == 0 => State::Done,
                        b'\n' => State::Trailer(0),
                        b'\r' => State::Trailer(length),
                        _ if length == LINE_BYTES_MAX => return Err(BadChunks),
                        _ => State::Trailer(length + 1),
                    };
                    1
                }
                State::Done => 0,
            };
        }
        Ok(at)
    }
}

/// How many of the bytes belong to what is left.
fn part(left: u64, bytes: &[u8]) -> usize {
    usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()))
}

impl SizeLine {
    fn next(mut self, byte: u8) -> Result<State, BadChunks> {
        self.bytes_count += 1;
        if self.bytes_count > LINE_BYTES_MAX {
            return Err(BadChunks);
        }
        match (byte, char::from(byte).to_digit(16)) {
            (b'\n', _) if self.digits == 0 => return Err(BadChunks),
            (b'\n', _) if self.size == 0 => return Ok(State::Trailer(0)),
            (b'\n', _) => return Ok(State::Data(self.size)),
            (_, _) if self.is_extended => {}
            (_, Some(_)) if self.digits == DIGITS_MAX => return Err(BadChunks),
            (_, Some(digit)) => {
                self.size = self.size << 4 | u64::from(digit);
                self.digits += 1;
            }
            (b';' | b' ' | b'\t' | b'\r', _) => self.is_extended = true,
            _ => return Err(BadChunks),
        }
        Ok(State::Size(self))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What a body contains that comes in pieces of this length, and how many bytes it had.
    fn taken(length: Length, input: &[u8], piece: usize) -> Result<(Vec<u8>, usize), BadChunks> {
        let mut body = BodyState::new(length);
        let mut content = Vec::new();
        let mut count = 0;
        for piece in input.chunks(piece) {
            let taken = body.take(piece, &mut |bytes| content.extend_from_slice(bytes))?;
            count += taken;
            if taken < piece.len() {
                assert!(body.is_done());
                break;
            }
        }
        Ok((content, count))
    }

    #[test]
    fn bodies_end_where_their_length_says() {
        let chunked = b"4;a=\"b\"\r\nWiki\r\n05\r\npedia\r\n0\r\nA: b\r\n\r\nGET";
        let end = chunked.len() - 3;
        for piece in [1, 2, 3, 7, 100] {
            let found = taken(Length::Chunked, chunked, piece).unwrap();
            assert_eq!(found, (b"Wikipedia".to_vec(), end), "{piece}");
            let found = taken(Length::Exact(3), b"abcd", piece).unwrap();
            assert_eq!(found, (b"abc".to_vec(), 3));
            let found = taken(Length::UntilClose, b"abcd", piece).unwrap();
            assert_eq!(found, (b"abcd".to_vec(), 4));
            assert_eq!(taken(Length::Exact(0), b"GET", piece).unwrap().1, 0);
        }
    }

    #[test]
    fn malformed_chunks_are_refused() {
        for wrong in ["\r\n", "g\r\n", "-1\r\n", "1\r\nab\r\n", "ffffffffffffffff\r\n"] {
            assert_eq!(taken(Length::Chunked, wrong.as_bytes(), 1), Err(BadChunks), "{wrong}");
        }
        let long = format!("1;{}", "a".repeat(LINE_BYTES_MAX));
        assert_eq!(taken(Length::Chunked, long.as_bytes(), 100), Err(BadChunks));
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(input: Vec<u8>, piece in 1_usize..9) {
            let whole = taken(Length::Chunked, &input, usize::MAX);
            let pieces = taken(Length::Chunked, &input, piece);
            prop_assert_eq!(whole.is_err(), pieces.is_err());
            if let (Ok(whole), Ok(pieces)) = (whole, pieces) {
                prop_assert_eq!(whole, pieces);
            }
        }

        #[test]
        fn chunks_contain_what_was_put_into_them(
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..6),
            piece in 1_usize..50,
        ) {
            let mut wire = Vec::new();
            for chunk in &chunks {
                wire.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                wire.extend_from_slice(chunk);
                wire.extend_from_slice(b"\r\n");
            }
            wire.extend_from_slice(b"0\r\n\r\n");
            let found = taken(Length::Chunked, &wire, piece).unwrap();
            prop_assert_eq!(found, (chunks.concat(), wire.len()));
        }
    }
}
