//! Text that arrives in pieces, cut anywhere, even within a character.

use super::error::Error;
use alloc::string::String;

/// The longest character in UTF-8.
const CHAR_BYTES_MAX: usize = 4;

/// Collects text and refuses it at the first byte that no valid text could hold.
#[derive(Debug, Default)]
pub(super) struct TextBuffer {
    text: String,
    /// The start of a character whose rest is still to come: `cut[..cut_len]`.
    cut: [u8; CHAR_BYTES_MAX],
    /// In [0, 3].
    cut_len: usize,
}

impl TextBuffer {
    /// Bytes received so far.
    pub(super) fn len(&self) -> usize {
        self.text.len() + self.cut_len
    }

    /// Appends a piece.
    pub(super) fn push(&mut self, piece: &[u8]) -> Result<(), Error> {
        let mut rest = piece;
        while self.cut_len > 0 {
            let Some((&byte, behind)) = rest.split_first() else {
                return Ok(());
            };
            rest = behind;
            self.push_cut(byte)?;
        }
        match core::str::from_utf8(rest) {
            Ok(text) => self.text.push_str(text),
            Err(error) => {
                let (valid, cut) = rest.split_at(error.valid_up_to());
                if error.error_len().is_some() {
                    return Err(Error::InvalidUtf8);
                }
                self.text.push_str(core::str::from_utf8(valid).map_err(|_| Error::InvalidUtf8)?);
                self.cut[..cut.len()].copy_from_slice(cut);
                self.cut_len = cut.len();
            }
        }
        Ok(())
    }

    /// Appends one byte to a character that was cut.
    fn push_cut(&mut self, byte: u8) -> Result<(), Error> {
        self.cut[self.cut_len] = byte;
        self.cut_len += 1;
        match core::str::from_utf8(&self.cut[..self.cut_len]) {
            Ok(character) => {
                self.text.push_str(character);
                self.cut_len = 0;
                Ok(())
            }
            Err(error) if error.error_len().is_none() => Ok(()),
            Err(_) => Err(Error::InvalidUtf8),
        }
    }

    /// The complete text, once its last piece has arrived.
    pub(super) fn finish(&self) -> Result<&str, Error> {
        if self.cut_len == 0 { Ok(&self.text) } else { Err(Error::InvalidUtf8) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn gathered(pieces: &[&[u8]]) -> Result<String, Error> {
        let mut buffer = TextBuffer::default();
        for piece in pieces {
            buffer.push(piece)?;
        }
        buffer.finish().map(String::from)
    }

    #[test]
    fn fails_at_the_first_impossible_byte() {
        let mut buffer = TextBuffer::default();
        buffer.push(b"\xce\xba\xe1\xbd\xb9\xf4").unwrap();
        assert_eq!(buffer.push(b"\x90"), Err(Error::InvalidUtf8), "above U+10FFFF");
        let mut buffer = TextBuffer::default();
        buffer.push(b"\xed").unwrap();
        assert_eq!(buffer.push(b"\xa0"), Err(Error::InvalidUtf8), "a surrogate");
    }

    /// Any bytes, or text with a few bytes broken.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let broken = (any::<String>(), any::<prop::sample::Index>(), any::<u8>()).prop_map(
            |(text, at, byte)| {
                let mut bytes = text.into_bytes();
                if !bytes.is_empty() {
                    let at = at.index(bytes.len());
                    bytes[at] = byte;
                }
                bytes
            },
        );
        prop_oneof![any::<Vec<u8>>(), any::<String>().prop_map(String::into_bytes), broken]
    }

    proptest! {
        #[test]
        fn agrees_with_the_standard_library_however_it_is_cut(
            bytes in bytes(),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
        ) {
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect();
            let gathered = gathered(&pieces);
            prop_assert_eq!(gathered, String::from_utf8(bytes).map_err(|_| Error::InvalidUtf8));
        }
    }
}
