//! The lines between the data of a chunked body (RFC 9112 §7.1).

use super::error::Error;
use super::head;
use crate::limits::CHUNK_LINE_BYTES_MAX;
use memchr::memchr;

/// Reads `chunk-size [chunk-ext] CRLF`. Returns the bytes of the line and the size; `None` while
/// it is incomplete. Extensions are skipped, as a recipient must that knows none (§7.1.1). A bare
/// LF is refused: §2.2 allows it in heads only.
pub(super) fn parse_size(input: &[u8]) -> Result<Option<(usize, u64)>, Error> {
    let window = &input[..input.len().min(CHUNK_LINE_BYTES_MAX)];
    let Some(end) = memchr(b'\n', window) else {
        return match window.len() {
            CHUNK_LINE_BYTES_MAX => Err(Error::ChunkLineTooLarge),
            _ => Ok(None),
        };
    };
    let line = window[..end].strip_suffix(b"\r").ok_or(Error::BadChunkSize)?;
    let digits = line.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    let (digits, extension) = line.split_at(digits);
    let blanks = extension.iter().take_while(|&&b| b == b' ' || b == b'\t').count();
    let extension = &extension[blanks..];
    if extension.first().is_some_and(|&b| b != b';')
        || extension.iter().any(|&b| head::is_control(b))
    {
        return Err(Error::BadChunkSize);
    }
    let size = hexadecimal(digits).ok_or(Error::BadChunkSize)?;
    Ok(Some((end + 1, size)))
}

fn hexadecimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, &b| {
        let digit = char::from(b).to_digit(16)?;
        Some(number.checked_mul(16)? + u64::from(digit))
    })
}

/// Reads the CRLF after a chunk's data; `false` while it is incomplete.
pub(super) fn parse_end(input: &[u8]) -> Result<bool, Error> {
    match input {
        [] | [b'\r'] => Ok(false),
        [b'\r', b'\n', ..] => Ok(true),
        _ => Err(Error::BadChunkEnd),
    }
}

/// Reads one line of the trailer section. Returns its bytes and whether it was the empty line
/// that ends the body; `None` while it is incomplete. Trailers are checked and dropped. `is_first`: no
/// line comes before, so that none can be continued (RFC 9112 §5.2).
pub(super) fn parse_trailer(input: &[u8], is_first: bool) -> Result<Option<(usize, bool)>, Error> {
    let Some((line, terminator_len)) = head::next_line(input) else {
        return Ok(None);
    };
    if !line.is_empty() {
        let value = match line {
            [b' ' | b'\t', value @ ..] if !is_first => value,
            line => head::field(line)?.1,
        };
        if value.iter().any(|&b| head::is_control(b)) {
            return Err(Error::ControlByte);
        }
    }
    Ok(Some((line.len() + terminator_len, line.is_empty())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (line, expected) in [
            (&b"0\r\n"[..], Ok(Some((3, 0)))),
            (b"1a;name=\"v\"\r\nrest", Ok(Some((13, 26)))),
            (b"00F \t; x\r\n", Ok(Some((10, 15)))),
            (b"ffffffffffffffff\r\n", Ok(Some((18, u64::MAX)))),
            (b"10000000000000000\r\n", Err(Error::BadChunkSize)),
            (b"1", Ok(None)),
            (b"1\r", Ok(None)),
            (b"1\n", Err(Error::BadChunkSize)),
            (b"\r\n", Err(Error::BadChunkSize)),
            (b"-1\r\n", Err(Error::BadChunkSize)),
            (b"0x1\r\n", Err(Error::BadChunkSize)),
            (b"1 2\r\n", Err(Error::BadChunkSize)),
            (b"1;\r\r\n", Err(Error::BadChunkSize)),
        ] {
            assert_eq!(parse_size(line), expected, "{}", line.escape_ascii());
        }
    }

    #[test]
    fn long_lines_are_refused() {
        assert_eq!(parse_size(&[b'0'; CHUNK_LINE_BYTES_MAX - 1]), Ok(None));
        assert_eq!(parse_size(&[b'0'; CHUNK_LINE_BYTES_MAX]), Err(Error::ChunkLineTooLarge));
    }
}
