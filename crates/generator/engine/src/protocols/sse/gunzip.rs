//! Event streams that their server compressed with gzip (RFC 1952), decoded as they come.

use std::io::{self, ErrorKind, Write};
use std::mem;

use flate2::write::MultiGzDecoder;

/// Most compressed bytes that are decoded at once. Deflate makes at most 1,032 bytes of one (zlib, "Technical Details"), so
/// half a mebibyte is decoded before the size of an event is checked.
const PIECE_BYTES_MAX: usize = 512;

/// The decoder of one stream, of one gzip member or several.
#[derive(Debug)]
pub(crate) struct Gunzip(MultiGzDecoder<Vec<u8>>);

impl Gunzip {
    /// Bytes that one takes: two windows of 32 KiB, one of them its output, and the tables of codes.
    pub(crate) const BYTES: usize = 76 << 10;

    pub(crate) fn new() -> Gunzip {
        Gunzip(MultiGzDecoder::new(Vec::new()))
    }

    /// Takes bytes from the front of `input` and returns all that they complete.
    ///
    /// # Errors
    /// They are not valid gzip.
    pub(crate) fn decode(&mut self, input: &mut &[u8]) -> io::Result<Vec<u8>> {
        let piece = &input[..input.len().min(PIECE_BYTES_MAX)];
        let taken = self.0.write(piece)?;
        if taken == 0 && !piece.is_empty() {
            return Err(ErrorKind::InvalidData.into());
        }
        *input = &input[taken..];
        self.0.flush()?;
        Ok(mem::take(self.0.get_mut()))
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).expect("a Vec takes all");
        encoder.finish().expect("a Vec takes all")
    }

    /// All that is decoded of pieces of this length.
    fn decoded(wire: &[u8], piece_len: usize) -> io::Result<Vec<u8>> {
        let mut gunzip = Gunzip::new();
        let mut text = Vec::new();
        for mut piece in wire.chunks(piece_len) {
            while !piece.is_empty() {
                text.extend(gunzip.decode(&mut piece)?);
            }
        }
        Ok(text)
    }

    /// What a server flushes is there at once, before the stream ends.
    #[test]
    fn flushed_text_is_there_at_once() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let mut gunzip = Gunzip::new();
        for number in 0..100 {
            let event = format!("data: {number}\n\n");
            encoder.write_all(event.as_bytes()).expect("a Vec takes all");
            encoder.flush().expect("a Vec takes all");
            let wire = mem::take(encoder.get_mut());
            let mut rest = &wire[..];
            let mut text = Vec::new();
            while !rest.is_empty() {
                text.extend(gunzip.decode(&mut rest).expect("it is gzip"));
            }
            assert_eq!(text, event.as_bytes());
        }
    }

    #[test]
    fn a_bomb_is_decoded_in_small_pieces() {
        let wire = gzip(&vec![0; 8 << 20]);
        let mut gunzip = Gunzip::new();
        let mut rest = &wire[..];
        while !rest.is_empty() {
            let text = gunzip.decode(&mut rest).expect("it is gzip");
            assert!(text.len() <= PIECE_BYTES_MAX * 1_032 + (64 << 10), "{}", text.len());
        }
    }

    #[test]
    fn damage_is_an_error() {
        assert!(decoded(b"data: plain\n\n", 4).is_err());
        let mut wire = gzip(b"hello");
        let sum_at = wire.len() - 8;
        wire[sum_at] ^= 1;
        // The sum is checked when it is known that another member follows.
        wire.extend(gzip(b"hello"));
        assert!(decoded(&wire, 1_000).is_err());
    }

    proptest! {
        #[test]
        fn any_split_of_any_members_reads_the_same(
            texts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3_000), 1..4),
            piece_len in 1_usize..2_000,
        ) {
            let wire: Vec<u8> = texts.iter().flat_map(|text| gzip(text)).collect();
            let read = decoded(&wire, piece_len).expect("it is gzip");
            prop_assert_eq!(read, texts.concat());
        }
    }
}
