//! Reading a response head: status line and header lines (RFC 9112 §4, §5).
//!
//! One pass over the bytes finds the lines, checks them and notes the few fields that decide how
//! the body is framed. Nothing is stored: [`Head`] walks the checked bytes again to find a
//! header, which most replies of a load test never are.

use super::error::Error;
use super::transfer::{Transfer, list, trim_blanks};
use crate::limits::Limits;
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use memchr::memchr;

/// The first bytes of every response.
pub(super) const VERSION_START: &[u8] = b"HTTP/1.";
/// `HTTP/1.1 200`, the shortest line.
const STATUS_LINE_BYTES_MIN: usize = 12;

/// A response's status line and header lines, borrowed from the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head<'a> {
    /// The status code, in [100, 999].
    pub status: u16,
    /// All bytes of the head, from the status line to the empty line that ends it.
    pub raw: &'a [u8],
    /// Whether the connection may carry another request after this response.
    pub keep_alive: bool,
    /// False where no header is `set-cookie`; true: one may be, which [`headers`](Self::headers) shows.
    pub may_set_cookies: bool,
    /// The place of the first header line in `raw`.
    fields_at: usize,
}

impl<'a> Head<'a> {
    /// A head that was read before: its [`raw`](Self::raw) form. `None`: it is no head.
    pub fn stored(raw: &'a [u8]) -> Option<Head<'a>> {
        let (line, end_len) = next_line(raw)?;
        let code = line.split(|&b| b == b' ').nth(1)?;
        Some(Head {
            status: u16::try_from(decimal(code)?).ok()?,
            raw,
            keep_alive: false,
            may_set_cookies: true,
            fields_at: line.len() + end_len,
        })
    }

    /// A head whose `raw` form was made of checked parts.
    pub(crate) fn of_text(status: u16, raw: &'a [u8]) -> Head<'a> {
        let fields_at = next_line(raw).map_or(raw.len(), |(line, end_len)| line.len() + end_len);
        Head { status, raw, keep_alive: true, may_set_cookies: true, fields_at }
    }

    /// The value of the first header of that name, in any case.
    pub fn header(&self, name: &str) -> Option<Cow<'a, [u8]>> {
        self.headers().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The coding of the body in lower case (RFC 9110 §8.4), if it has one.
    pub fn content_coding(&self) -> Option<String> {
        let coding = self.header("content-encoding")?;
        let coding = String::from_utf8_lossy(coding.trim_ascii()).to_ascii_lowercase();
        (!coding.is_empty() && coding != "identity").then_some(coding)
    }

    /// All headers in their order, names as sent, values without the blanks around them. A value
    /// that was folded over several lines has a space in place of each fold.
    pub fn headers(&self) -> impl Iterator<Item = (&'a str, Cow<'a, [u8]>)> + use<'a> {
        let mut rest = &self.raw[self.fields_at..];
        core::iter::from_fn(move || {
            let (line, terminator_len) = next_line(rest).filter(|(line, _)| !line.is_empty())?;
            let line_len = line.len() + terminator_len;
            let (lines, behind) = rest.split_at(line_len + continuation(&rest[line_len..])?.len);
            rest = behind;
            let (name, value) = field(lines).ok()?;
            Some((core::str::from_utf8(name).ok()?, unfolded(value)))
        })
    }
}

/// A value with a space in place of each fold (RFC 9112 §5.2).
fn unfolded(value: &[u8]) -> Cow<'_, [u8]> {
    if memchr(b'\n', value).is_none() {
        return Cow::Borrowed(value);
    }
    let lines: Vec<&[u8]> = value.split(|&b| b == b'\n').map(trim_blanks).collect();
    Cow::Owned(lines.join(&b' '))
}

/// The facts of a complete head, from one pass over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ParsedHead {
    /// Bytes of the head.
    pub(super) len: usize,
    pub(super) status: u16,
    pub(super) content_length: Option<u64>,
    pub(super) transfer: Transfer,
    fields_at: usize,
    /// `HTTP/1.0` or `HTTP/1.1`.
    minor: u8,
    says_close: bool,
    says_keep_alive: bool,
    sets_cookies: bool,
}

impl ParsedHead {
    /// Another response follows this one for the same request (RFC 9110 §15.2). A 101 is final:
    /// it hands the connection over.
    pub(super) fn is_interim(&self) -> bool {
        self.status < 200 && self.status != 101
    }

    /// RFC 9112 §9.3, and §6.1 for the framings that are not to be trusted with a second message:
    /// both `Transfer-Encoding` and `Content-Length`, or `Transfer-Encoding` from HTTP/1.0.
    pub(super) fn is_persistent(&self) -> bool {
        let wished = !self.says_close && (self.minor >= 1 || self.says_keep_alive);
        let suspect =
            self.transfer != Transfer::Plain && (self.content_length.is_some() || self.minor == 0);
        wished && !suspect && self.status != 101
    }

    pub(super) fn head<'a>(&self, input: &'a [u8], keep_alive: bool) -> Head<'a> {
        let raw = &input[..self.len];
        Head {
            status: self.status,
            raw,
            keep_alive,
            may_set_cookies: self.sets_cookies,
            fields_at: self.fields_at,
        }
    }

    fn note(&mut self, name: &[u8], value: &[u8]) -> Result<(), Error> {
        match name.len() {
            10 if is_name(name, b"connection") => self.note_connection(value),
            10 if is_name(name, b"set-cookie") => self.sets_cookies = true,
            14 if is_name(name, b"content-length") => self.note_length(value)?,
            17 if is_name(name, b"transfer-encoding") => self.transfer.note(value)?,
            _ => {}
        }
        Ok(())
    }

    fn note_connection(&mut self, value: &[u8]) {
        for option in list(value) {
            self.says_close |= option.eq_ignore_ascii_case(b"close");
            self.says_keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    /// Repeated lengths are the same length or an error (RFC 9110 §8.6).
    fn note_length(&mut self, value: &[u8]) -> Result<(), Error> {
        for part in value.split(|&b| b == b',') {
            let length = decimal(part.trim_ascii()).ok_or(Error::BadContentLength)?;
            if self.content_length.is_some_and(|earlier| earlier != length) {
                return Err(Error::ConflictingContentLength);
            }
            self.content_length = Some(length);
        }
        Ok(())
    }
}

/// Reads the head at the front of `input`; `None` while it is incomplete.
///
/// Lines may end with a bare LF (RFC 9112 §2.2). A first header line that begins with a blank is refused
/// (the other choice is to skip it).
pub(super) fn parse(input: &[u8], limits: &Limits) -> Result<Option<ParsedHead>, Error> {
    let window = &input[..input.len().min(limits.head_bytes_max)];
    match parse_lines(window, limits)? {
        None if window.len() == limits.head_bytes_max => {
            Err(Error::HeadTooLarge { bytes_max: limits.head_bytes_max })
        }
        parsed => Ok(parsed),
    }
}

/// Status and length of the head at the front of `input`; `None` while it is incomplete.
pub(crate) fn status_and_len(input: &[u8], limits: &Limits) -> Result<Option<(u16, usize)>, Error> {
    let parsed = parse(input, limits)?;
    Ok(parsed.map(|parsed| (parsed.status, parsed.len)))
}

fn parse_lines(window: &[u8], limits: &Limits) -> Result<Option<ParsedHead>, Error> {
    let Some((mut parsed, mut terminators_count)) = parse_status_line(window)? else {
        return Ok(None);
    };
    let mut at = parsed.len;
    let mut headers_count = 0;
    loop {
        let Some((line, terminator_len)) = next_line(&window[at..]) else {
            return Ok(None);
        };
        let line_at = at;
        at += line.len() + terminator_len;
        terminators_count += terminator_len;
        if line.is_empty() {
            break;
        }
        let (name, mut value) = field(line)?;
        let Some(more) = continuation(&window[at..]) else {
            return Ok(None);
        };
        if more.len > 0 {
            at += more.len;
            terminators_count += more.terminators_count;
            (_, value) = field(&window[line_at..at])?;
        }
        headers_count += 1 + more.count;
        if headers_count > limits.headers_count_max {
            return Err(Error::TooManyHeaders { count_max: limits.headers_count_max });
        }
        parsed.note(name, value)?;
    }
    parsed.len = at;
    // All control bytes have to be line ends; counting them over the whole head takes a few
    // vector instructions, while checking each value apart would be a loop for each header.
    if controls_count(&window[..at]) != terminators_count {
        return Err(Error::ControlByte);
    }
    Ok(Some(parsed))
}

/// Lines that continue a field.
#[derive(Default)]
struct Continuation {
    /// Their bytes, with their ends.
    len: usize,
    count: usize,
    /// Bytes of their ends.
    terminators_count: usize,
}

/// The lines at the front of `bytes` that continue the field before them, as they begin with a blank
/// (RFC 9112 §5.2); mostly none. `None`: more input is needed to know.
#[inline]
fn continuation(bytes: &[u8]) -> Option<Continuation> {
    let mut found = Continuation::default();
    while let b' ' | b'\t' = bytes.get(found.len)? {
        let (line, terminator_len) = next_line(&bytes[found.len..])?;
        found.len += line.len() + terminator_len;
        found.count += 1;
        found.terminators_count += terminator_len;
    }
    Some(found)
}

/// The first line of `bytes` and the length of its end, LF or CRLF.
pub(crate) fn next_line(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let line = &bytes[..memchr(b'\n', bytes)?];
    Some(line.strip_suffix(b"\r").map_or((line, 1), |line| (line, 2)))
}

/// `HTTP/1.x SP 3DIGIT [SP reason]` (RFC 9112 §4), with the length of its line end.
fn parse_status_line(window: &[u8]) -> Result<Option<(ParsedHead, usize)>, Error> {
    let seen = window.len().min(VERSION_START.len());
    if window[..seen] != VERSION_START[..seen] {
        return Err(Error::NotHttp);
    }
    let Some((line, terminator_len)) = next_line(window) else {
        return Ok(None);
    };
    if line.len() < STATUS_LINE_BYTES_MIN {
        return Err(Error::BadStatusLine);
    }
    let [minor @ b'0'..=b'9', b' ', a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', rest @ ..] =
        &line[VERSION_START.len()..]
    else {
        return Err(Error::BadStatusLine);
    };
    if rest.first().is_some_and(|&b| b != b' ') {
        return Err(Error::BadStatusLine);
    }
    let digit = |byte: &u8| u16::from(byte - b'0');
    let len = line.len() + terminator_len;
    let parsed = ParsedHead {
        len,
        status: digit(a) * 100 + digit(b) * 10 + digit(c),
        content_length: None,
        transfer: Transfer::Plain,
        fields_at: len,
        minor: minor - b'0',
        says_close: false,
        says_keep_alive: false,
        sets_cookies: false,
    };
    Ok(Some((parsed, terminator_len)))
}

/// Splits `name: value`. The bytes of the value are not checked.
pub(super) fn field(line: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    let name_len = line.iter().position(|&b| !is_token_byte(b)).ok_or(Error::BadHeader)?;
    match line[name_len] {
        b':' if name_len > 0 => Ok((&line[..name_len], trim_blanks(&line[name_len + 1..]))),
        b' ' | b'\t' if name_len == 0 => Err(Error::FoldedHeader),
        _ => Err(Error::BadHeader),
    }
}

/// Digits only: no sign, no blank, no overflow.
pub(crate) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, &b| {
        let digit = b.is_ascii_digit().then(|| u64::from(b - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// Compares a token with a name in lower case. Setting bit 5 folds letters and maps no other
/// token byte onto a letter or a hyphen.
fn is_name<const N: usize>(token: &[u8], lower: &[u8; N]) -> bool {
    token.len() == N
        && token.iter().zip(lower).fold(0, |diff, (&a, &b)| diff | ((a | 0x20) ^ b)) == 0
}

/// Bytes of a token (RFC 9110 §5.6.2).
pub(crate) fn is_token_byte(byte: u8) -> bool {
    const TOKEN: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte = 0_u8;
        while byte < 128 {
            table[byte as usize] = byte.is_ascii_alphanumeric()
                || matches!(
                    byte,
                    b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~'
                );
            byte += 1;
        }
        table
    };
    TOKEN[usize::from(byte)]
}

/// Bytes that may stand in no value: controls except the tab.
pub(super) fn is_control(byte: u8) -> bool {
    (byte < 0x20) & (byte != b'\t') | (byte == 0x7f)
}

fn controls_count(bytes: &[u8]) -> usize {
    // Sums of one byte, over so few bytes that they cannot overflow, are what vectorises.
    let count = |piece: &[u8]| piece.iter().map(|&b| u8::from(is_control(b))).sum::<u8>();
    bytes.chunks(usize::from(u8::MAX)).map(|piece| usize::from(count(piece))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use alloc::{format, vec};

    fn parsed(head: &str) -> Result<Option<ParsedHead>, Error> {
        parse(head.as_bytes(), &Limits::DEFAULT)
    }

    fn complete(head: &str) -> ParsedHead {
        parsed(head).unwrap().unwrap()
    }

    #[test]
    fn head_of_the_rfc() {
        // RFC 9112 §1.2 points to the example of RFC 9110 §3.9.
        let text = "HTTP/1.1 200 OK\r\nDate: Mon, 27 Jul 2009 12:28:53 GMT\r\nServer: Apache\r\n\
            Last-Modified: Wed, 22 Jul 2009 19:15:56 GMT\r\nETag: \"34aa387-d-1568eb00\"\r\n\
            Accept-Ranges: bytes\r\nContent-Length: 51\r\nVary: Accept-Encoding\r\n\
            Content-Type: text/plain\r\n\r\nHello World!";
        let parsed = complete(text);
        assert_eq!(parsed.content_length, Some(51));
        let head = parsed.head(text.as_bytes(), parsed.is_persistent());
        assert!(head.raw.ends_with(b"text/plain\r\n\r\n"));
        assert!(head.keep_alive);
        assert_eq!((head.status, head.headers().count()), (200, 8));
        assert_eq!(head.headers().nth(1), Some(("Server", b"Apache"[..].into())));
        assert_eq!(head.header("etag"), Some(b"\"34aa387-d-1568eb00\""[..].into()));
        assert_eq!(head.header("date"), Some(b"Mon, 27 Jul 2009 12:28:53 GMT"[..].into()));
        assert_eq!(head.header("dat"), None);
    }

    #[test]
    fn cookies_are_noticed_in_any_case() {
        for (lines, expected) in [
            ("set-cookie: a=1\r\n", true),
            ("A: b\r\nSet-Cookie: a=1\r\nc: d\r\n", true),
            ("SET-COOKIE:\r\n", true),
            ("set-cooky: a=1\r\nx-set-cookie: a=1\r\ncookie: a=1\r\n", false),
            ("", false),
        ] {
            let text = format!("HTTP/1.1 200 OK\r\n{lines}\r\n");
            let head = complete(&text).head(text.as_bytes(), true);
            assert_eq!(head.may_set_cookies, expected, "{lines:?}");
        }
    }

    #[test]
    fn lenient_where_the_rfc_allows() {
        for text in [
            "HTTP/1.1 204\r\n\r\n",
            "HTTP/1.1 204 \r\n\r\n",
            "HTTP/1.1 204 No Content\n\n",
            "HTTP/1.1 204 No Content\nA:\t b \t\nB:\r\n\n",
            "HTTP/1.7 204 grün\r\nx: ü\r\n\r\n",
        ] {
            let parsed = complete(text);
            assert_eq!((parsed.status, parsed.len), (204, text.len()), "{text:?}");
        }
        let text = "HTTP/1.1 204\nA:\t b \t\nB:\r\n\n";
        let headers: Vec<_> = complete(text).head(text.as_bytes(), true).headers().collect();
        assert_eq!(headers, [("A", b"b"[..].into()), ("B", b""[..].into())]);
    }

    #[test]
    fn refusals() {
        for (text, error) in [
            ("GET / HTTP/1.1\r\n\r\n", Error::NotHttp),
            ("HTTP/2", Error::NotHttp),
            ("\r\nHTTP/1.1 200\r\n\r\n", Error::NotHttp),
            ("HTTP/1.1 20\r\n", Error::BadStatusLine),
            ("HTTP/1.1 099 x\r\n", Error::BadStatusLine),
            ("HTTP/1.1 2000\r\n", Error::BadStatusLine),
            ("HTTP/1.1  200 OK\r\n", Error::BadStatusLine),
            ("HTTP/1.x 200 OK\r\n", Error::BadStatusLine),
            ("HTTP/1.1 200 OK\r\nno colon\r\n", Error::BadHeader),
            ("HTTP/1.1 200 OK\r\nnocolon\r\n", Error::BadHeader),
            ("HTTP/1.1 200 OK\r\n: x\r\n", Error::BadHeader),
            ("HTTP/1.1 200 OK\r\nname : x\r\n", Error::BadHeader),
            ("HTTP/1.1 200 OK\r\n a: b\r\n", Error::FoldedHeader),
            ("HTTP/1.1 200 OK\r\na: b\r\n c\0\r\n", Error::ControlByte),
            ("HTTP/1.1 200 OK\r\na: b\r\n c\rd\r\n", Error::ControlByte),
            ("HTTP/1.1 200 OK\r\na: b\rc\r\n\r\n", Error::ControlByte),
            ("HTTP/1.1 200 OK\r\na: b\r\r\n\r\n", Error::ControlByte),
            ("HTTP/1.1 200 O\0K\r\n\r\n", Error::ControlByte),
            ("HTTP/1.1 200 OK\r\na: \x7f\r\n\r\n", Error::ControlByte),
            ("HTTP/1.1 200 OK\r\ncontent-length: \r\n", Error::BadContentLength),
            ("HTTP/1.1 200 OK\r\ncontent-length: +5\r\n", Error::BadContentLength),
            ("HTTP/1.1 200 OK\r\ncontent-length: 5 5\r\n", Error::BadContentLength),
            ("HTTP/1.1 200 OK\r\ncontent-length: 5,\r\n", Error::BadContentLength),
            (
                "HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551616\r\n",
                Error::BadContentLength,
            ),
            ("HTTP/1.1 200 OK\r\ncontent-length: 5, 6\r\n", Error::ConflictingContentLength),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nCONTENT-LENGTH: 6\r\n",
                Error::ConflictingContentLength,
            ),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked, gzip\r\n", Error::BadTransferEncoding),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                Error::BadTransferEncoding,
            ),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked ;a=b\r\n", Error::BadTransferEncoding),
            ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n 5\r\n", Error::BadContentLength),
        ] {
            // Whether a field continues shows in the line after it.
            assert_eq!(parsed(&format!("{text}\r\n")), Err(error), "{text:?}");
        }
    }

    #[test]
    fn folds_are_blanks() {
        let text = "HTTP/1.1 200 OK\r\nA: b\r\n\t c\r\n  \r\n d\r\nContent-Length:\r\n 5\r\n\
                    Connection: x,\n close\r\nTransfer-Encoding: gzip,\r\n chunked\r\n\r\n body";
        let parsed = complete(text);
        assert_eq!(parsed.len, text.len() - " body".len());
        assert_eq!(parsed.content_length, Some(5));
        assert_eq!(parsed.transfer, Transfer::Chunked);
        assert!(parsed.says_close);
        let head = parsed.head(text.as_bytes(), true);
        assert_eq!(head.header("a"), Some(b"b c  d"[..].into()));
        assert_eq!(head.header("content-length"), Some(b"5"[..].into()));
        assert_eq!(head.header("connection"), Some(b"x, close"[..].into()));
        assert_eq!(head.headers().count(), 4);
        // Each line counts, and at each cut more input is needed.
        let limits = |headers_count_max| Limits { headers_count_max, ..Limits::DEFAULT };
        assert!(parse(text.as_bytes(), &limits(10)).is_ok());
        assert!(parse(text.as_bytes(), &limits(9)).is_err());
        for len in 0..parsed.len {
            let cut = parse(&text.as_bytes()[..len], &Limits::DEFAULT);
            assert_eq!(cut, Ok(None), "{len}");
        }
    }

    #[test]
    fn keep_alive_rules() {
        for (version_and_fields, expected) in [
            ("1.1 200\r\n", true),
            ("1.1 200\r\nConnection: close\r\n", false),
            ("1.1 200\r\nConnection: x, Close\r\n", false),
            ("1.1 200\r\nConnection: keep-alive\r\nConnection: close\r\n", false),
            ("1.0 200\r\n", false),
            ("1.0 200\r\nconnection: Keep-Alive\r\n", true),
            ("1.1 200\r\ntransfer-encoding: chunked\r\n", true),
            ("1.1 200\r\ntransfer-encoding: chunked\r\ncontent-length: 5\r\n", false),
            ("1.0 200\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n", false),
            ("1.1 101\r\n", false),
        ] {
            let parsed = complete(&format!("HTTP/{version_and_fields}\r\n"));
            assert_eq!(parsed.is_persistent(), expected, "{version_and_fields:?}");
        }
    }

    #[test]
    fn limits_hold_to_the_byte() {
        let text = "HTTP/1.1 200 OK\r\na: b\r\nc: d\r\n\r\n";
        let limits = |head_bytes_max, headers_count_max| Limits {
            head_bytes_max,
            headers_count_max,
            ..Limits::DEFAULT
        };
        let parse = |limits| parse(text.as_bytes(), &limits).map(|parsed| parsed.is_some());
        assert_eq!(parse(limits(text.len(), 2)), Ok(true));
        let bytes_max = text.len() - 1;
        assert_eq!(parse(limits(bytes_max, 2)), Err(Error::HeadTooLarge { bytes_max }));
        assert_eq!(parse(limits(text.len(), 1)), Err(Error::TooManyHeaders { count_max: 1 }));
    }

    #[test]
    fn names_compare_without_case_and_nothing_else() {
        assert!(is_name(b"Content-LENGTH", b"content-length"));
        for other in 0..=u8::MAX {
            let mut name = *b"content-length";
            name[7] = other;
            assert_eq!(is_token_byte(other) && is_name(&name, b"content-length"), other == b'-');
        }
    }

    #[test]
    fn controls_are_counted_over_any_length() {
        for len in [0, 1, 15, 16, 254, 255, 256, 600] {
            assert_eq!(controls_count(&vec![0x1f; len]), len);
            assert_eq!(controls_count(&vec![b'\t'; len]), 0);
        }
        let all: Vec<u8> = (0..=u8::MAX).collect();
        assert_eq!(controls_count(&all), 32);
    }
}
