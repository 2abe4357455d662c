//! Files of logs, unpacked, as pieces that end where a line ends.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::StreamingDecoder;

/// Bytes of a piece, but for its last line.
const PIECE_BYTES: usize = 1 << 20;
/// A longer line is none.
pub(crate) const LINE_BYTES_MAX: usize = 1 << 16;

/// A file, unpacked where it is packed.
pub(crate) struct Input {
    reader: Box<dyn Read + Send>,
    /// Bytes that were read beyond the last piece's end.
    left: Vec<u8>,
    /// True in the middle of a line that is too long.
    skipping: bool,
    done: bool,
}

/// A piece of a file.
pub(crate) struct Piece {
    /// Whole lines, each with its end; the file's last may be without.
    pub(crate) bytes: Vec<u8>,
    /// How many lines were left out behind these since they were too long: 0 or 1.
    pub(crate) too_long: u64,
    /// The file ended in the middle of what it was packed in; why.
    pub(crate) cut_off: Option<String>,
}

impl Input {
    /// Opens a file; gzip, zstd and xz are detected by their first bytes.
    pub(crate) fn open(path: &Path) -> io::Result<Input> {
        Ok(Input {
            reader: Input::open_whole(path)?,
            left: Vec::new(),
            skipping: false,
            done: false,
        })
    }

    /// Opens a file to be read as bytes.
    pub(crate) fn open_whole(path: &Path) -> io::Result<Box<dyn Read + Send>> {
        let file = regular::open_given(path)?;
        let mut reader = BufReader::with_capacity(1 << 18, file);
        let head = peek(&mut reader)?;
        Ok(match head {
            [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(reader)),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(Zstd::Idle(Some(reader))),
            [0xfd, b'7', b'z', b'X', b'Z', 0] => Box::new(XzReader::new(reader, true)),
            _ => Box::new(reader),
        })
    }

    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// The system's error. A packed file that is damaged or cut off ends there, and its last piece
    /// says so.
    pub(crate) fn next(&mut self) -> io::Result<Option<Piece>> {
        if self.done {
            return Ok(None);
        }
        let mut piece = Piece { bytes: std::mem::take(&mut self.left), too_long: 0, cut_off: None };
        loop {
            let before = piece.bytes.len();
            piece.bytes.resize(before + PIECE_BYTES, 0);
            let got = match self.reader.read(&mut piece.bytes[before..]) {
                Ok(got) => got,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    piece.bytes.truncate(before);
                    continue;
                }
                Err(error) if error.raw_os_error().is_some() => return Err(error),
                Err(error) => {
                    piece.cut_off = Some(error.to_string());
                    0
                }
            };
            piece.bytes.truncate(before + got);
            if got == 0 {
                self.done = true;
                if self.skipping {
                    piece.bytes.clear();
                }
                return Ok(Some(piece));
            }
            if self.skipping {
                match memchr::memchr(b'\n', &piece.bytes) {
                    Some(end) => {
                        piece.bytes.drain(..=end);
                        self.skipping = false;
                    }
                    None => piece.bytes.clear(),
                }
            }
            let end = memchr::memrchr(b'\n', &piece.bytes).map_or(0, |end| end + 1);
            if piece.bytes.len() - end > LINE_BYTES_MAX {
                piece.bytes.truncate(end);
                piece.too_long += 1;
                self.skipping = true;
                return Ok(Some(piece));
            }
            if end > 0 && piece.bytes.len() >= PIECE_BYTES / 2 {
                self.left = piece.bytes.split_off(end);
                return Ok(Some(piece));
            }
        }
    }
}

/// A line without its end. Blanks stay: with tabs as separators, one may mark the last value.
pub(crate) fn without_end(mut line: &[u8]) -> &[u8] {
    while let [rest @ .., b'\n' | b'\r'] = line {
        line = rest;
    }
    line
}

/// The first bytes, which stay to be read.
fn peek(reader: &mut BufReader<File>) -> io::Result<&[u8]> {
    let head = io::BufRead::fill_buf(reader)?;
    Ok(&head[..head.len().min(6)])
}

/// One zstd frame after the other (RFC 8878 lets a file have several).
enum Zstd {
    Idle(Option<BufReader<File>>),
    Frame(Box<StreamingDecoder<BufReader<File>, ruzstd::decoding::FrameDecoder>>),
}

impl Read for Zstd {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            match self {
                Zstd::Idle(reader) => {
                    let Some(mut reader) = reader.take() else {
                        return Ok(0);
                    };
                    if peek(&mut reader)?.is_empty() {
                        return Ok(0);
                    }
                    let decoder = StreamingDecoder::new(reader).map_err(io::Error::other)?;
                    *self = Zstd::Frame(Box::new(decoder));
                }
                Zstd::Frame(decoder) => {
                    let got = decoder.read(out)?;
                    if got > 0 {
                        return Ok(got);
                    }
                    let Zstd::Frame(decoder) = std::mem::replace(self, Zstd::Idle(None)) else {
                        return Ok(0);
                    };
                    *self = Zstd::Idle(Some(decoder.into_inner()));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn text(lines: usize) -> Vec<u8> {
        (0..lines).flat_map(|i| format!("line {i} of some length\n").into_bytes()).collect()
    }

    fn all(bytes: &[u8]) -> (Vec<u8>, u64, bool) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, bytes).unwrap();
        let mut input = Input::open(&path).unwrap();
        let mut whole = Vec::new();
        let mut too_long = 0;
        let mut cut = false;
        while let Some(piece) = input.next().unwrap() {
            assert!(piece.bytes.is_empty() || piece.bytes.ends_with(b"\n") || input.done);
            whole.extend(piece.bytes);
            too_long += piece.too_long;
            cut |= piece.cut_off.is_some();
        }
        (whole, too_long, cut)
    }

    #[test]
    fn packed_and_plain_files_read_alike() {
        let plain = text(100_000);
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(&plain).unwrap();
        let mut packed = packer.finish().unwrap();
        assert_eq!(all(&plain), (plain.clone(), 0, false));
        assert_eq!(all(&packed), (plain.clone(), 0, false));
        packed.truncate(packed.len() / 2);
        let (half, _, cut) = all(&packed);
        assert!(cut && !half.is_empty() && plain.starts_with(&half));
    }

    #[test]
    fn zstd_frames_follow_each_other() {
        let one = ruzstd::encoding::compress_to_vec(
            &b"one\n"[..],
            ruzstd::encoding::CompressionLevel::Fastest,
        );
        let two = ruzstd::encoding::compress_to_vec(
            &b"two\n"[..],
            ruzstd::encoding::CompressionLevel::Fastest,
        );
        assert_eq!(all(&[one, two].concat()).0, b"one\ntwo\n");
    }

    #[test]
    fn too_long_lines_are_skipped() {
        let long = [vec![b'x'; 5 * PIECE_BYTES], b"\nafter\n".to_vec()].concat();
        assert_eq!(all(&long), (b"after\n".to_vec(), 1, false));
        assert_eq!(all(&[b"before\n", &long[..]].concat()).0, b"before\nafter\n");
        assert_eq!(all(b""), (Vec::new(), 0, false));
        assert_eq!(all(b"no end").0, b"no end");
    }
}
