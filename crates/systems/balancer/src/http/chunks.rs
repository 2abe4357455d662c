//! Bodies in chunks (RFC 9112, section 7.1), read strictly.

/// Longest size line of a chunk, extensions included, in bytes.
const LINE_MAX: usize = 256;
/// Longest trailer section, in bytes.
const TRAILERS_MAX: usize = 8 << 10;
/// Most digits of a size: 2⁶⁰ bytes are enough.
const DIGITS_MAX: usize = 15;

/// Position in a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// At a size line.
    Size,
    /// This many bytes of a chunk are left.
    Data(u64),
    /// At the line end after a chunk.
    DataEnd,
    /// In the trailer section, of which this many bytes are left at most.
    Trailers(usize),
    Done,
}

/// The next piece of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A chunk of this many bytes begins.
    Begin(u64),
    /// Bytes of a chunk.
    Data(&'a [u8]),
    /// A chunk has ended.
    End,
    /// The body has ended. Its trailer fields are dropped, as a recipient may (section 7.1.2).
    Done,
    /// More bytes are needed.
    More,
}

/// The reader of one body.
#[derive(Debug, Clone)]
pub struct Chunks {
    state: State,
}

impl Default for Chunks {
    fn default() -> Self {
        Self { state: State::Size }
    }
}

impl Chunks {
    /// The next piece, and how many bytes it took.
    ///
    /// # Errors
    /// On anything that another reader could understand differently: signs and spaces in sizes, lines that end without a
    /// carriage return, chunks without their line end.
    pub fn next<'a>(&mut self, bytes: &'a [u8]) -> Result<(Piece<'a>, usize), &'static str> {
        match self.state {
            State::Size => {
                let Some(line) = line(bytes, LINE_MAX)? else {
                    return Ok((Piece::More, 0));
                };
                let size = size(line)?;
                let used = line.len() + 2;
                if size == 0 {
                    self.state = State::Trailers(TRAILERS_MAX);
                    return self.next(&bytes[used..]).map(|(piece, more)| (piece, used + more));
                }
                self.state = State::Data(size);
                Ok((Piece::Begin(size), used))
            }
            State::Data(left) => {
                if bytes.is_empty() {
                    return Ok((Piece::More, 0));
                }
                let count = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                self.state = match left - count as u64 {
                    0 => State::DataEnd,
                    left => State::Data(left),
                };
                Ok((Piece::Data(&bytes[..count]), count))
            }
            State::DataEnd => match bytes {
                [b'\r', b'\n', ..] => {
                    self.state = State::Size;
                    Ok((Piece::End, 2))
                }
                [] | [b'\r'] => Ok((Piece::More, 0)),
                _ => Err("a chunk must end with CR LF"),
            },
            State::Trailers(left) => self.trailers(bytes, left),
            State::Done => Ok((Piece::Done, 0)),
        }
    }

    fn trailers<'a>(
        &mut self,
        bytes: &'a [u8],
        mut left: usize,
    ) -> Result<(Piece<'a>, usize), &'static str> {
        let mut used = 0;
        loop {
            let Some(line) = line(&bytes[used..], left)? else {
                self.state = State::Trailers(left);
                return Ok((Piece::More, used));
            };
            used += line.len() + 2;
            if line.is_empty() {
                self.state = State::Done;
                return Ok((Piece::Done, used));
            }
            if matches!(line[0], b' ' | b'\t') || !line.contains(&b':') {
                return Err("the trailer section is malformed");
            }
            left = left.saturating_sub(line.len() + 2);
        }
    }
}

/// The line that begins the bytes, without its end.
fn line(bytes: &[u8], max: usize) -> Result<Option<&[u8]>, &'static str> {
    let Some(at) = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n')) else {
        return match bytes.len() > max {
            true => Err("a line of a chunked body is too long"),
            false => Ok(None),
        };
    };
    if at > max {
        return Err("a line of a chunked body is too long");
    }
    match (bytes[at], bytes.get(at + 1)) {
        (b'\r', Some(b'\n')) => Ok(Some(&bytes[..at])),
        (b'\r', None) => Ok(None),
        _ => Err("a line of a chunked body must end with CR LF"),
    }
}

fn size(line: &[u8]) -> Result<u64, &'static str> {
    let wrong = "the size of a chunk must be a hexadecimal number";
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (digits, rest) = line.split_at(digits);
    if digits.is_empty() || digits.len() > DIGITS_MAX {
        return Err(wrong);
    }
    // Extensions mean nothing here and are not passed on; what else follows is not one.
    if !rest.is_empty() && rest[0] != b';' {
        return Err(wrong);
    }
    if rest.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
        return Err(wrong);
    }
    let text = std::str::from_utf8(digits).map_err(|_| wrong)?;
    u64::from_str_radix(text, 16).map_err(|_| wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body's bytes, and those behind it.
    type Whole = (Vec<u8>, Vec<u8>);

    /// What is read of bytes that are offered in pieces of this many.
    fn read(bytes: &[u8], step: usize) -> Result<Option<Whole>, &'static str> {
        let mut chunks = Chunks::default();
        let mut body = Vec::new();
        let mut kept = Vec::new();
        for (number, piece) in bytes.chunks(step).enumerate() {
            kept.extend_from_slice(piece);
            loop {
                let (next, used) = chunks.next(&kept)?;
                let more = next == Piece::More;
                if let Piece::Data(data) = next {
                    body.extend_from_slice(data);
                }
                if next == Piece::Done {
                    let rest = bytes.chunks(step).skip(number + 1).flatten();
                    let behind = kept[used..].iter().chain(rest).copied().collect();
                    return Ok(Some((body, behind)));
                }
                kept.drain(..used);
                if more {
                    break;
                }
            }
        }
        Ok(None)
    }

    #[test]
    fn bodies_are_read_in_whatever_pieces_they_come() {
        let text = b"5\r\nhello\r\nA;x=\"y\"\r\n, chunked \r\n000\r\nX: y\r\nZ: \r\n\r\nGET /";
        for step in 1..text.len() + 1 {
            let (body, behind) = read(text, step).unwrap().unwrap();
            assert_eq!(body, b"hello, chunked ", "{step}");
            assert_eq!(behind, b"GET /", "{step}");
        }
        assert_eq!(read(b"5\r\nhel", 100), Ok(None));
        assert_eq!(read(b"0\r\n", 100), Ok(None));
    }

    #[test]
    fn ambiguous_chunks_are_refused() {
        for wrong in [
            &b"5\nhello\r\n0\r\n\r\n"[..],
            b"+5\r\nhello\r\n0\r\n\r\n",
            b"0x5\r\nhello\r\n0\r\n\r\n",
            b" 5\r\nhello\r\n0\r\n\r\n",
            b"5 \r\nhello\r\n0\r\n\r\n",
            b"-1\r\nhello\r\n0\r\n\r\n",
            b"\r\nhello\r\n0\r\n\r\n",
            b"5\r\nhelloX0\r\n\r\n",
            b"5\r\nhello\n0\r\n\r\n",
            b"5\r\nhello0\r\n\r\n",
            b"5;\x00\r\nhello\r\n0\r\n\r\n",
            b"ffffffffffffffff1\r\n",
            b"0\r\nX: y\n\r\n",
            b"0\r\n folded\r\n\r\n",
            b"0\r\nGET / HTTP/1.1\r\n\r\n",
        ] {
            assert!(read(wrong, 1000).is_err(), "{:?}", String::from_utf8_lossy(wrong));
        }
        let long = [vec![b'1'; LINE_MAX + 1], b"\r\n".to_vec()].concat();
        assert!(read(&long, 1000).is_err());
        let endless = [b"0\r\n".to_vec(), b"X: y\r\n".repeat(TRAILERS_MAX)].concat();
        assert!(read(&endless, 1 << 20).is_err());
    }
}
