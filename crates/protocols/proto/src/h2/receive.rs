//! The peer's frames → events and answers (RFC 9113 §6).

use alloc::vec::Vec;

use super::connection::{Connection, Data};
use super::error::{Code, Error};
use super::frame::{self, FrameHead, HEADER_BYTES, PAYLOAD_BYTES_MAX};
use super::stream::Stream;
use crate::hpack;
use crate::http1::Head;
use crate::limits::Limits;

/// Frames that bring no response further which a peer may send in a row: many more are a flood.
const IDLE_FRAMES_MAX: u32 = 2000;
/// Answers to frames of one call, bytes: then the caller gets to send them.
const ANSWERS_BYTES_MAX: usize = 1 << 14;

/// A part of a response, or a signal of the peer. A response consists of one `Head`, any number of `Body`, and one
/// `End`, unless its stream is reset or broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// Status and headers. Interim responses are skipped.
    Head {
        /// Token of the request.
        token: u32,
        /// Number of the stream.
        stream: u32,
        /// The head; its [`raw`](Head::raw) form is written as that of HTTP/1.1.
        head: Head<'a>,
        /// The response has ended: no `End` follows.
        ends: bool,
    },
    /// The peer wants the body of a request that was [opened](Connection::open), which it has part of at most (100).
    Continue {
        /// Token of the request.
        token: u32,
    },
    /// A piece of the body, never empty.
    Body {
        /// Token of the request.
        token: u32,
        /// The bytes of the piece.
        piece: &'a [u8],
    },
    /// The response is complete.
    End {
        /// Token of the request.
        token: u32,
        /// A line for each field that came after the body, ended by an empty line; empty: none came.
        trailers: &'a [u8],
    },
    /// The peer gave the request up.
    Reset {
        /// Token of the request.
        token: u32,
        /// Reason of the peer.
        code: Code,
    },
    /// The response is wrong, or too large; its stream was reset.
    Broken {
        /// Token of the request.
        token: u32,
        /// The error in it.
        error: Error,
    },
    /// The peer will end the connection: no request may be sent any more. Those that it does not process
    /// follow, the responses of the others may.
    GoAway {
        /// Reason of the peer.
        code: Code,
    },
    /// The request was not processed, and can be sent again on another connection (§6.8).
    Unprocessed {
        /// Token of the request.
        token: u32,
    },
}

/// Room for what is decoded. One serves all connections.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) text: Vec<u8>,
    pub(super) strings: hpack::Scratch,
}

/// The event of a frame, which becomes an [`Event`] once the text that it borrows is at hand.
pub(super) enum FrameEvent {
    Head { token: u32, stream: u32, status: u16, ends: bool },
    Continue { token: u32 },
    Trailers { token: u32 },
    Reset { token: u32, code: Code },
    Broken { token: u32, error: Error },
    GoAway { code: Code },
}

impl Connection {
    /// Decodes from the front of `input`: the bytes consumed and the next event, if there is one. Appends
    /// to `out` what is to be sent.
    ///
    /// `(n, None)` requests more input after what remains after `n` bytes, unless answers were appended:
    /// then more may be there already, if `n` is above zero.
    ///
    /// # Errors
    /// The peer broke the protocol or a limit: the connection is of no more use, but for
    /// [`Connection::go_away`].
    pub fn decode<'a>(
        &mut self,
        input: &'a [u8],
        limits: &Limits,
        scratch: &'a mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<(usize, Option<Event<'a>>), Error> {
        if let Some(token) = self.take_unprocessed() {
            return Ok((0, Some(Event::Unprocessed { token })));
        }
        let mut at = 0;
        let answers_end = out.len() + ANSWERS_BYTES_MAX;
        while out.len() < answers_end {
            let rest = &input[at..];
            if self.data.is_under_way {
                let (taken, event) = self.take_data(rest, limits, out);
                at += taken;
                if event.is_some() || self.data.is_under_way {
                    return Ok((at, event));
                }
                continue;
            }
            let Some(head) = FrameHead::parse(rest) else {
                break;
            };
            self.check_order(head, rest)?;
            if head.kind == frame::DATA {
                let Some(taken) = self.begin_data(head, rest)? else {
                    break;
                };
                at += taken;
                continue;
            }
            let Some(payload) = rest.get(HEADER_BYTES..HEADER_BYTES + head.len) else {
                break;
            };
            at += HEADER_BYTES + head.len;
            if let Some(found) = self.take_frame(head, payload, limits, scratch, out)? {
                return Ok((at, Some(found.event(scratch))));
            }
        }
        Ok((at, None))
    }

    /// Takes the body of a response, whose head was the last event, if it is wholly at the front of `input`
    /// in one frame that ends it: the bytes consumed and the body; the response has then ended. `None`
    /// changes nothing.
    pub fn take_whole_body<'a>(
        &mut self,
        stream: u32,
        input: &'a [u8],
        limits: &Limits,
        out: &mut Vec<u8>,
    ) -> Option<(usize, &'a [u8])> {
        let head = FrameHead::parse(input)?;
        let is_last = head.has(frame::END_STREAM) && !head.has(frame::PADDED);
        if head.kind != frame::DATA || head.stream != stream || !is_last {
            return None;
        }
        let body = input.get(HEADER_BYTES..HEADER_BYTES + head.len)?;
        let own = self.streams.get_mut(stream)?;
        let len = head.len as u64;
        let is_right = own.content_length.is_none_or(|length| length == len)
            && (len <= limits.body_bytes_max || own.is_endless)
            && !own.is_head
            && head.len <= self.receive_window.min(own.receive_window) as usize
            && head.len <= PAYLOAD_BYTES_MAX;
        if !is_right {
            return None;
        }
        self.receive_window -= head.len as u32;
        self.widen_own(out);
        self.idle_frames = 0;
        self.end_stream(stream, out);
        Some((HEADER_BYTES + head.len, body))
    }

    /// A request that the peer said not to process.
    fn take_unprocessed(&mut self) -> Option<u32> {
        loop {
            let id = self.streams.first_after(self.last_id?)?;
            let stream = self.streams.remove(id)?;
            self.reset_id = self.reset_id.max(id);
            if stream.is_awaited() {
                return Some(stream.token);
            }
        }
    }

    /// Rules for every frame.
    fn check_order(&mut self, head: FrameHead, rest: &[u8]) -> Result<(), Error> {
        if !self.is_greeted && rest.starts_with(b"HTTP/1.") {
            return Err(Error::protocol("the server speaks HTTP/1"));
        }
        if !self.is_greeted && (head.kind != frame::SETTINGS || head.has(frame::ACK)) {
            return Err(Error::protocol("the server's first frame is no SETTINGS"));
        }
        if head.len > PAYLOAD_BYTES_MAX {
            let what = "a frame is larger than we take";
            return Err(Error::new(Code::FrameSizeError, what));
        }
        let continues = head.kind == frame::CONTINUATION;
        match &self.block {
            Some(block) if !continues || block.head.stream != head.stream => {
                Err(Error::protocol("a header block is interrupted"))
            }
            None if continues => Err(Error::protocol("a CONTINUATION continues nothing")),
            _ => Ok(()),
        }
    }

    /// Counts a frame that brings no response further.
    pub(super) fn count_idle(&mut self) -> Result<(), Error> {
        self.idle_frames += 1;
        if self.idle_frames > IDLE_FRAMES_MAX {
            let what = "a flood of frames that bring no response further";
            return Err(Error::new(Code::EnhanceYourCalm, what));
        }
        Ok(())
    }

    /// A frame for a stream that is not open: of one that we have reset it may be late. True: it is.
    pub(super) fn check_late(&self, id: u32) -> Result<(), Error> {
        if id == 0 || id.is_multiple_of(2) || id >= self.next_id {
            return Err(Error::protocol("a frame for a stream that was never opened"));
        }
        if id > self.reset_id {
            let what = "a frame for a stream that has ended";
            return Err(Error::new(Code::StreamClosed, what));
        }
        Ok(())
    }

    // Bodies.

    /// Begins a DATA frame: the bytes of its header, and of the length of its padding; `None`: that is not
    /// there yet.
    fn begin_data(&mut self, head: FrameHead, rest: &[u8]) -> Result<Option<usize>, Error> {
        let mut taken = HEADER_BYTES;
        let mut padding = 0;
        let mut left = head.len as u32;
        if head.has(frame::PADDED) {
            let too_short = Error::new(Code::FrameSizeError, "a padded frame is empty");
            left = left.checked_sub(1).ok_or(too_short)?;
            let Some(&byte) = rest.get(HEADER_BYTES) else {
                return Ok(None);
            };
            padding = byte;
            taken += 1;
            let too_long = Error::protocol("a frame's padding is longer than the frame");
            left = left.checked_sub(u32::from(padding)).ok_or(too_long)?;
        }
        let exceeded = Error::new(Code::FlowControlError, "more came than the window allows");
        let len = head.len as u32;
        self.receive_window = self.receive_window.checked_sub(len).ok_or(exceeded)?;
        match self.streams.get_mut(head.stream) {
            Some(stream) => {
                stream.receive_window = stream.receive_window.checked_sub(len).ok_or(exceeded)?;
            }
            None => self.check_late(head.stream)?,
        }
        if left == 0 {
            self.count_idle()?;
        }
        self.data = Data {
            stream: head.stream,
            left,
            padding,
            ends_stream: head.has(frame::END_STREAM),
            is_under_way: true,
        };
        Ok(Some(taken))
    }

    /// The next bytes of a DATA frame.
    fn take_data<'a>(
        &mut self,
        rest: &'a [u8],
        limits: &Limits,
        out: &mut Vec<u8>,
    ) -> (usize, Option<Event<'a>>) {
        let id = self.data.stream;
        if self.data.left > 0 {
            let piece = &rest[..rest.len().min(self.data.left as usize)];
            self.data.left -= piece.len() as u32;
            let Some(stream) = self.streams.get_mut(id).filter(|_| !piece.is_empty()) else {
                return (piece.len(), None);
            };
            // As TCP does when bytes come for a socket that was closed.
            if !stream.is_awaited() {
                self.reset(id, Code::Cancel, out);
                return (piece.len(), None);
            }
            let token = stream.token;
            stream.body_bytes += piece.len() as u64;
            if let Err(error) = check_body(stream, limits) {
                self.break_stream(id, error, out);
                return (piece.len(), Some(Event::Broken { token, error }));
            }
            self.idle_frames = 0;
            return (piece.len(), Some(Event::Body { token, piece }));
        }
        let padding = rest.len().min(usize::from(self.data.padding));
        self.data.padding -= padding as u8;
        if self.data.padding > 0 {
            return (padding, None);
        }
        self.data.is_under_way = false;
        self.widen_own(out);
        (padding, self.end_data(id, out))
    }

    /// A DATA frame is complete.
    fn end_data<'a>(&mut self, id: u32, out: &mut Vec<u8>) -> Option<Event<'a>> {
        let ends = self.data.ends_stream;
        let window_max = self.stream_window_max;
        let stream = self.streams.get_mut(id)?;
        let token = stream.token;
        if !ends {
            if stream.receive_window < window_max / 2 {
                frame::put_window_update(out, id, window_max - stream.receive_window);
                stream.receive_window = window_max;
            }
            return None;
        }
        if !stream.is_awaited() {
            self.streams.remove(id);
            return None;
        }
        if let Err(error) = check_complete(stream) {
            self.break_stream(id, error, out);
            return Some(Event::Broken { token, error });
        }
        self.end_stream(id, out);
        Some(Event::End { token, trailers: &[] })
    }

    /// Lets the peer send more on the connection, once half of the window is used up.
    fn widen_own(&mut self, out: &mut Vec<u8>) {
        if self.receive_window < self.window_max / 2 {
            frame::put_window_update(out, 0, self.window_max - self.receive_window);
            self.receive_window = self.window_max;
        }
    }

    /// A response has ended. What is left of its request is not sent (§8.1); a tunnel ends on our side, too.
    pub(super) fn end_stream(&mut self, id: u32, out: &mut Vec<u8>) {
        let Some(stream) = self.streams.remove(id) else {
            return;
        };
        if stream.is_tunnel && stream.is_open && !stream.has_unsent() {
            frame::put(out, frame::DATA, frame::END_STREAM, id, &[]);
        } else if stream.has_unsent() || stream.is_open {
            frame::put_reset(out, id, Code::NoError);
            self.reset_id = self.reset_id.max(id);
        }
    }

    pub(super) fn break_stream(&mut self, id: u32, error: Error, out: &mut Vec<u8>) {
        self.reset(id, error.code, out);
    }

    // All other frames.

    fn take_frame(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        limits: &Limits,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<Option<FrameEvent>, Error> {
        match head.kind {
            frame::HEADERS => return self.take_headers(head, payload, limits, scratch, out),
            frame::CONTINUATION => {
                return self.take_continuation(head, payload, limits, scratch, out);
            }
            frame::PUSH_PROMISE => {
                return Err(Error::protocol("the server pushes, which we refuse"));
            }
            frame::WINDOW_UPDATE if self.has_unsent() => {}
            // One that ends a stream costs a request of ours; the others are counted there.
            frame::RST_STREAM => {}
            _ => self.count_idle()?,
        }
        match head.kind {
            frame::RST_STREAM => self.take_reset(head.stream, payload),
            frame::WINDOW_UPDATE => self.take_window_update(head.stream, payload, out),
            frame::PRIORITY if head.len != frame::PRIORITY_BYTES => {
                Err(Error::new(Code::FrameSizeError, "a PRIORITY frame is not 5 bytes long"))
            }
            frame::PRIORITY if head.stream == 0 => {
                Err(Error::protocol("a PRIORITY frame for the connection"))
            }
            frame::SETTINGS | frame::PING | frame::GOAWAY if head.stream != 0 => {
                Err(Error::protocol("a frame of the connection for a stream"))
            }
            frame::SETTINGS if head.has(frame::ACK) && head.len > 0 => {
                Err(Error::new(Code::FrameSizeError, "an acknowledgement of settings is not empty"))
            }
            frame::SETTINGS if head.has(frame::ACK) => Ok(None),
            frame::SETTINGS => {
                if !self.is_greeted {
                    // Whoever does not limit streams takes any number (§6.5.2).
                    self.peer.streams_max = u32::MAX;
                    self.is_greeted = true;
                }
                self.take_settings(payload, out)?;
                Ok(None)
            }
            frame::PING if head.len != 8 => {
                let what = "a PING frame is not 8 bytes long";
                Err(Error::new(Code::FrameSizeError, what))
            }
            frame::PING => {
                if !head.has(frame::ACK) {
                    frame::put(out, frame::PING, frame::ACK, 0, payload);
                }
                Ok(None)
            }
            frame::GOAWAY => self.take_go_away(payload),
            // Frames that we do not know are ignored (§4.1).
            _ => Ok(None),
        }
    }

    fn take_reset(&mut self, id: u32, payload: &[u8]) -> Result<Option<FrameEvent>, Error> {
        let code = frame::number(payload, "a RST_STREAM frame is not 4 bytes long")?;
        let code = Code::from_number(code);
        match self.streams.remove(id) {
            Some(stream) => {
                Ok(stream.is_awaited().then_some(FrameEvent::Reset { token: stream.token, code }))
            }
            // A server may do so after a whole response (§8.1).
            None if id % 2 == 1 && id < self.next_id => {
                self.count_idle()?;
                Ok(None)
            }
            None => Err(Error::protocol("a frame for a stream that was never opened")),
        }
    }

    fn take_window_update(
        &mut self,
        id: u32,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<FrameEvent>, Error> {
        if id != 0 && (id.is_multiple_of(2) || id >= self.next_id) {
            return Err(Error::protocol("a frame for a stream that was never opened"));
        }
        let Some(error) = self.widen(id, payload, out)? else {
            return Ok(None);
        };
        let stream = self.streams.get_mut(id).filter(|own| own.is_awaited());
        let token = stream.map(|stream| stream.token);
        self.break_stream(id, error, out);
        Ok(token.map(|token| FrameEvent::Broken { token, error }))
    }

    fn take_go_away(&mut self, payload: &[u8]) -> Result<Option<FrameEvent>, Error> {
        let too_short = Error::new(Code::FrameSizeError, "a GOAWAY frame is too short");
        let (last, rest) = payload.split_first_chunk().ok_or(too_short)?;
        let code = rest.first_chunk().ok_or(too_short)?;
        let last = u32::from_be_bytes(*last) & frame::BITS_31;
        // It never grows (§6.8).
        self.last_id = Some(self.last_id.map_or(last, |earlier| earlier.min(last)));
        let code = Code::from_number(u32::from_be_bytes(*code));
        Ok(Some(FrameEvent::GoAway { code }))
    }
}

/// RFC 9113 §8.1.1: a body is as long as its head says.
pub(super) fn check_complete(stream: &Stream) -> Result<(), Error> {
    if !stream.has_head {
        return Err(Error::protocol("a response ends without a head"));
    }
    match stream.content_length {
        Some(length) if length != stream.body_bytes => {
            Err(Error::protocol("a body is shorter than its content-length"))
        }
        _ => Ok(()),
    }
}

/// The same of a body that may go on, and what limits say.
fn check_body(stream: &Stream, limits: &Limits) -> Result<(), Error> {
    if !stream.has_head {
        return Err(Error::protocol("a body comes before its head"));
    }
    if stream.content_length.is_some_and(|length| stream.body_bytes > length) {
        return Err(Error::protocol("a body is longer than its content-length"));
    }
    if stream.body_bytes > limits.body_bytes_max && !stream.is_endless {
        let what = "the body of a response is larger than is taken";
        return Err(Error::too_large(Code::Cancel, what));
    }
    Ok(())
}

impl FrameEvent {
    /// With what was written to `scratch`.
    fn event(self, scratch: &Scratch) -> Event<'_> {
        match self {
            FrameEvent::Head { token, stream, status, ends } => {
                Event::Head { token, stream, head: Head::of_text(status, &scratch.text), ends }
            }
            FrameEvent::Continue { token } => Event::Continue { token },
            FrameEvent::Trailers { token } => Event::End { token, trailers: &scratch.text },
            FrameEvent::Reset { token, code } => Event::Reset { token, code },
            FrameEvent::Broken { token, error } => Event::Broken { token, error },
            FrameEvent::GoAway { code } => Event::GoAway { code },
        }
    }
}
