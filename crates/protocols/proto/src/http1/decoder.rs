//! The state of one connection's responses.

use super::body::Framing;
use super::chunk;
use super::error::Error;
use super::head::{self, Head, ParsedHead};
use super::heads::Heads;
use crate::limits::Limits;

/// Interim (1xx) responses that may precede a final one.
pub const INTERIM_COUNT_MAX: u8 = 32;
/// The server wants the request's body (RFC 9110 §15.2.1).
const CONTINUE: u16 = 100;

/// A part of a response, which consists of one `Head`, any number of `Body`, one `End`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// Status and headers. Interim responses (1xx but 101) are skipped.
    Head(Head<'a>),
    /// A piece of the body, never empty, free of the chunked coding.
    Body(&'a [u8]),
    /// The response is complete.
    End,
}

/// A complete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole<'a> {
    /// Status and headers.
    pub head: Head<'a>,
    /// The complete body; empty if there is none.
    pub body: &'a [u8],
}

/// Reads the responses of one connection, one after another.
///
/// [`begin`](Self::begin) each response, then [`decode`](Self::decode) until
/// [`Event::End`]. A response may begin only when the last has ended.
///
/// After the head of a 101 comes its `End`, with nothing consumed: the bytes that follow belong to the
/// next protocol.
#[derive(Debug, Clone)]
pub struct Decoder {
    /// Bytes that the body or chunk under way still lacks.
    remaining: u64,
    /// Bytes of the body so far, those of the chunk under way included.
    body_bytes: u64,
    /// Bytes at the front of the input known to hold no complete head; or bytes of trailers.
    scanned: u32,
    phase: Phase,
    /// Interim responses skipped, in [0, [`INTERIM_COUNT_MAX`]].
    interim_count: u8,
    head_request: bool,
    keep_alive: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// No response is due.
    Idle,
    Head,
    /// The same, after a 100.
    Continued,
    Length,
    UntilClose,
    ChunkSize,
    ChunkData,
    ChunkEnd,
    Trailers,
    /// Complete; only `End` is left to report.
    Done,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// For a fresh connection: no response is due.
    pub fn new() -> Self {
        Self {
            remaining: 0,
            body_bytes: 0,
            scanned: 0,
            phase: Phase::Idle,
            interim_count: 0,
            head_request: false,
            keep_alive: true,
        }
    }

    /// Expects a response. `head_request`: it answers a HEAD request, so it has no body whatever
    /// its headers say.
    pub fn begin(&mut self, head_request: bool) {
        debug_assert!(self.is_idle(), "a response begins when the last has ended");
        *self = Self { phase: Phase::Head, head_request, ..Self::new() };
    }

    /// Whether no response is due or under way.
    pub fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// Whether the connection may carry another request once this response has ended, as far as
    /// its head shows (before the head: true).
    pub fn keep_alive(&self) -> bool {
        self.keep_alive
    }

    /// Whether the server has said that it wants the body of the request (100), and no response since.
    pub fn is_continued(&self) -> bool {
        self.phase == Phase::Continued
    }

    /// The connection must not carry another request once this response has ended.
    pub fn refuse_reuse(&mut self) {
        self.keep_alive = false;
    }

    /// Decodes from the front of `input`: the bytes consumed and the next event, if there is one.
    ///
    /// `(n, None)` requests more input after what remains after `n` bytes; `n` can be above zero
    /// when an interim response, a chunk size or a trailer was read.
    ///
    /// # Errors
    /// The peer broke the protocol, or a limit.
    pub fn decode<'a>(
        &mut self,
        input: &'a [u8],
        limits: &Limits,
    ) -> Result<(usize, Option<Event<'a>>), Error> {
        match self.phase {
            Phase::Idle if input.is_empty() => Ok((0, None)),
            Phase::Idle => Err(Error::Unsolicited),
            Phase::Head | Phase::Continued => self.decode_head(input, limits),
            Phase::Length => Ok(self.take_data(input, Phase::Done)),
            Phase::UntilClose => self.decode_until_close(input, limits),
            Phase::ChunkSize | Phase::ChunkData | Phase::ChunkEnd | Phase::Trailers => {
                self.decode_chunked(input, limits)
            }
            Phase::Done => {
                self.phase = Phase::Idle;
                Ok((0, Some(Event::End)))
            }
        }
    }

    /// Decodes a response at once if all of it is at the front of `input` and its length was
    /// given in its head: the bytes consumed and the response, which has then ended.
    ///
    /// `None` changes nothing and means that [`decode`](Self::decode) has to be used, under the limits of `heads`.
    ///
    /// # Errors
    /// Those of [`decode`](Self::decode).
    pub fn decode_whole<'a>(
        &mut self,
        input: &'a [u8],
        heads: &mut Heads,
    ) -> Result<Option<(usize, Whole<'a>)>, Error> {
        if self.phase != Phase::Head || self.scanned > 0 {
            return Ok(None);
        }
        let Some(parsed) = heads.parse(input)? else {
            return Ok(None);
        };
        if parsed.is_interim() {
            return Ok(None);
        }
        let Framing::Length(length) = Framing::new(&parsed, self.head_request) else {
            return Ok(None);
        };
        check_body(length, heads.limits())?;
        let (_, behind) = input.split_at(parsed.len);
        let Some(body) = usize::try_from(length).ok().and_then(|length| behind.get(..length))
        else {
            return Ok(None);
        };
        self.phase = Phase::Idle;
        self.keep_alive = parsed.is_persistent();
        let head = parsed.head(input, self.keep_alive);
        Ok(Some((parsed.len + body.len(), Whole { head, body })))
    }

    /// The peer has closed the connection and all input was decoded. `true`: that ends the
    /// response under way as it should ([`Event::End`], reported only here); `false`: none was due.
    ///
    /// # Errors
    /// A response was due or incomplete.
    pub fn finish(&mut self) -> Result<bool, Error> {
        match self.phase {
            Phase::Idle => Ok(false),
            Phase::UntilClose | Phase::Done => {
                self.phase = Phase::Idle;
                Ok(true)
            }
            Phase::Head if self.scanned == 0 && self.interim_count == 0 => {
                Err(Error::ClosedBeforeHead)
            }
            Phase::Head | Phase::Continued => Err(Error::ClosedInHead),
            Phase::Length
            | Phase::ChunkSize
            | Phase::ChunkData
            | Phase::ChunkEnd
            | Phase::Trailers => Err(Error::ClosedInBody),
        }
    }

    fn decode_head<'a>(
        &mut self,
        input: &'a [u8],
        limits: &Limits,
    ) -> Result<(usize, Option<Event<'a>>), Error> {
        let mut skipped = 0;
        loop {
            let rest = &input[skipped..];
            let parsed = match self.may_end_head(rest) {
                true => head::parse(rest, limits)?,
                false if rest.len() >= limits.head_bytes_max => {
                    return Err(Error::HeadTooLarge { bytes_max: limits.head_bytes_max });
                }
                false => None,
            };
            let Some(parsed) = parsed else {
                self.scanned = u32::try_from(rest.len()).unwrap_or(u32::MAX);
                return Ok((skipped, None));
            };
            self.scanned = 0;
            if !parsed.is_interim() {
                self.enter_body(&parsed, limits)?;
                let head = parsed.head(rest, self.keep_alive);
                return Ok((skipped + parsed.len, Some(Event::Head(head))));
            }
            if self.interim_count == INTERIM_COUNT_MAX {
                return Err(Error::TooManyInterim);
            }
            if parsed.status == CONTINUE {
                self.phase = Phase::Continued;
            }
            self.interim_count += 1;
            skipped += parsed.len;
        }
    }

    /// Whether the bytes after those scanned can complete a head, or show that it is none. It
    /// keeps a head that arrives byte by byte from being parsed at each.
    fn may_end_head(&self, input: &[u8]) -> bool {
        let from = (self.scanned as usize).min(input.len());
        // Right after a line the next byte shows whether the field continues.
        from < head::VERSION_START.len()
            || input[from - 1] == b'\n'
            || memchr::memchr(b'\n', &input[from..]).is_some()
    }

    fn enter_body(&mut self, parsed: &ParsedHead, limits: &Limits) -> Result<(), Error> {
        let framing = Framing::new(parsed, self.head_request);
        self.keep_alive = parsed.is_persistent() && framing != Framing::UntilClose;
        self.phase = match framing {
            Framing::Length(0) => Phase::Done,
            Framing::Length(length) => {
                check_body(length, limits)?;
                self.remaining = length;
                Phase::Length
            }
            Framing::Chunked => Phase::ChunkSize,
            Framing::UntilClose => Phase::UntilClose,
        };
        Ok(())
    }

    /// Hands out what `input` has of the `remaining` bytes, and goes to `then` after the last.
    fn take_data<'a>(&mut self, input: &'a [u8], then: Phase) -> (usize, Option<Event<'a>>) {
        let len = usize::try_from(self.remaining).map_or(input.len(), |n| n.min(input.len()));
        if len == 0 {
            return (0, None);
        }
        self.remaining -= len as u64;
        if self.remaining == 0 {
            self.phase = then;
        }
        (len, Some(Event::Body(&input[..len])))
    }

    fn decode_until_close<'a>(
        &mut self,
        input: &'a [u8],
        limits: &Limits,
    ) -> Result<(usize, Option<Event<'a>>), Error> {
        if input.is_empty() {
            return Ok((0, None));
        }
        self.body_bytes += input.len() as u64;
        check_body(self.body_bytes, limits)?;
        Ok((input.len(), Some(Event::Body(input))))
    }

    fn decode_chunked<'a>(
        &mut self,
        input: &'a [u8],
        limits: &Limits,
    ) -> Result<(usize, Option<Event<'a>>), Error> {
        let mut at = 0;
        loop {
            let rest = &input[at..];
            match self.phase {
                Phase::ChunkSize => {
                    let Some((len, size)) = chunk::parse_size(rest)? else {
                        break;
                    };
                    at += len;
                    self.body_bytes = self.body_bytes.saturating_add(size);
                    check_body(self.body_bytes, limits)?;
                    self.remaining = size;
                    self.phase = if size == 0 { Phase::Trailers } else { Phase::ChunkData };
                }
                Phase::ChunkEnd => {
                    if !chunk::parse_end(rest)? {
                        break;
                    }
                    at += 2;
                    self.phase = Phase::ChunkSize;
                }
                Phase::Trailers => {
                    let parsed = chunk::parse_trailer(rest, self.scanned == 0)?;
                    let len = parsed.map_or(rest.len(), |(len, _)| len);
                    let bytes_max = limits.head_bytes_max;
                    if self.scanned as usize + len > bytes_max {
                        return Err(Error::TrailersTooLarge { bytes_max });
                    }
                    let Some((len, is_last)) = parsed else { break };
                    at += len;
                    let len = u32::try_from(len).unwrap_or(u32::MAX);
                    self.scanned = self.scanned.saturating_add(len);
                    if is_last {
                        self.phase = Phase::Idle;
                        return Ok((at, Some(Event::End)));
                    }
                }
                _ => {
                    let (len, event) = self.take_data(rest, Phase::ChunkEnd);
                    return Ok((at + len, event));
                }
            }
        }
        Ok((at, None))
    }
}

fn check_body(bytes: u64, limits: &Limits) -> Result<(), Error> {
    let bytes_max = limits.body_bytes_max;
    if bytes > bytes_max { Err(Error::BodyTooLarge { bytes_max }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_connection_costs_little() {
        assert!(size_of::<Decoder>() <= 24);
    }

    #[test]
    fn a_100_is_reported_until_the_response_comes() {
        let limits = Limits::DEFAULT;
        let mut decoder = Decoder::new();
        decoder.begin(false);
        let hints = b"HTTP/1.1 103 Early Hints\r\n\r\n";
        assert_eq!(decoder.decode(hints, &limits), Ok((hints.len(), None)));
        assert!(!decoder.is_continued());
        let interim = b"HTTP/1.1 100 Continue\r\n\r\n";
        assert_eq!(decoder.decode(interim, &limits), Ok((interim.len(), None)));
        assert!(decoder.is_continued());
        assert_eq!(decoder.decode(hints, &limits), Ok((hints.len(), None)));
        assert!(decoder.is_continued());
        let whole = decoder.decode_whole(b"HTTP/1.1 200 OK\r\n", &mut Heads::new(limits));
        assert_eq!(whole, Ok(None));
        let head = b"HTTP/1.1 204 No Content\r\n\r\n";
        let (_, event) = decoder.decode(head, &limits).unwrap();
        assert!(matches!(event, Some(Event::Head(_))));
        assert!(!decoder.is_continued() && decoder.keep_alive());
        decoder.refuse_reuse();
        assert!(!decoder.keep_alive());
    }
}
