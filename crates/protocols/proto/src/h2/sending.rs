//! Request bodies, as far as the peer's windows allow (RFC 9113 §5.2).

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::connection::{Connection, Request};
use super::error::{Code, Error};
use super::frame::{self, BITS_31};
use super::stream::Unsent;

impl Connection {
    /// Appends DATA frames with what the windows take of `body`; returns how many bytes that is. `ends`: the end of
    /// the body is that of its stream.
    fn put_body(&mut self, id: u32, body: &[u8], ends: bool, out: &mut Vec<u8>) -> usize {
        let payload_max = self.peer.payload_bytes_max as usize;
        let Some(stream) = self.streams.get_mut(id) else {
            return 0;
        };
        let mut rest = body;
        while !rest.is_empty() {
            let window = stream.send_window.min(self.send_window);
            let window = usize::try_from(window).unwrap_or(0);
            let len = rest.len().min(window).min(payload_max);
            if len == 0 {
                break;
            }
            let piece;
            (piece, rest) = rest.split_at(len);
            let flags = if rest.is_empty() && ends { frame::END_STREAM } else { 0 };
            frame::put(out, frame::DATA, flags, id, piece);
            stream.send_window -= len as i64;
            self.send_window -= len as i64;
        }
        body.len() - rest.len()
    }

    /// Sends a body as far as the windows take it, and keeps the rest.
    pub(super) fn send_body(&mut self, id: u32, request: &Request<'_>, out: &mut Vec<u8>) {
        let ends = self.streams.get_mut(id).is_some_and(|own| !own.is_open);
        self.send_or_keep(id, request.token, request.body, ends, out);
    }

    fn send_or_keep(&mut self, id: u32, token: u32, body: &[u8], ends: bool, out: &mut Vec<u8>) {
        let sent = self.put_body(id, body, ends, out);
        if sent < body.len() {
            let unsent = Unsent { token, body: body[sent..].to_vec(), sent: 0, ends };
            self.streams.keep_unsent(id, Box::new(unsent));
        }
    }

    /// Sends more of the body of a request that was [opened](Connection::open), behind what waits of it. `ends`: it is
    /// the last of it. Nothing is sent over a stream that has ended.
    pub fn send(&mut self, id: u32, body: &[u8], ends: bool, out: &mut Vec<u8>) {
        let Some(stream) = self.streams.get_mut(id).filter(|own| own.is_open) else {
            return;
        };
        stream.is_open = !ends;
        let token = stream.token;
        match self.streams.take_unsent(id) {
            Some(mut unsent) => {
                // What was sent goes when it is most of it: a stream that lasts may never be sent to its end.
                if unsent.sent > unsent.body.len() / 2 {
                    unsent.body.drain(..unsent.sent);
                    unsent.sent = 0;
                }
                unsent.body.extend_from_slice(body);
                unsent.ends = ends;
                self.streams.keep_unsent(id, unsent);
            }
            None if body.is_empty() && ends => {
                frame::put(out, frame::DATA, frame::END_STREAM, id, &[]);
            }
            None => self.send_or_keep(id, token, body, ends, out),
        }
    }

    /// Sends what bodies wait for, in the order of their streams.
    pub(super) fn send_unsent(&mut self, out: &mut Vec<u8>) {
        let mut id = 0;
        while self.send_window > 0
            && self.has_unsent()
            && let Some(next) = self.streams.first_after(id)
        {
            id = next;
            let Some(mut unsent) = self.streams.take_unsent(id) else {
                continue;
            };
            let start = out.len();
            unsent.sent += self.put_body(id, &unsent.body[unsent.sent..], unsent.ends, out);
            if out.len() > start {
                self.late.push((unsent.token, (out.len() - start) as u32));
            }
            if unsent.sent < unsent.body.len() {
                self.streams.keep_unsent(id, unsent);
            }
        }
    }

    /// True if a body waits for the peer's windows.
    pub fn has_unsent(&self) -> bool {
        self.streams.unsent_bytes() > 0
    }

    /// The frames of waiting bodies that [`Connection::decode`] appended since the last call: the tokens of their
    /// requests, and the bytes of the frames.
    pub fn take_late(&mut self) -> Vec<(u32, u32)> {
        core::mem::take(&mut self.late)
    }

    /// The peer lets us send more, on the connection or on a stream. Returns what is wrong with the stream.
    pub(super) fn widen(
        &mut self,
        id: u32,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Error>, Error> {
        let increment =
            frame::number(payload, "a WINDOW_UPDATE frame is not 4 bytes long")? & BITS_31;
        let window = match (id, self.streams.get_mut(id)) {
            (0, _) => &mut self.send_window,
            (_, Some(stream)) => &mut stream.send_window,
            (_, None) => return Ok(None),
        };
        let fault = match increment {
            0 => Error::protocol("a WINDOW_UPDATE frame adds nothing"),
            increment if *window + i64::from(increment) > i64::from(BITS_31) => {
                Error::new(Code::FlowControlError, "a window is larger than 2^31 - 1")
            }
            increment => {
                *window += i64::from(increment);
                self.send_unsent(out);
                return Ok(None);
            }
        };
        match id {
            0 => Err(fault),
            _ => Ok(Some(fault)),
        }
    }

    /// The peer's SETTINGS: the windows of all streams change with the first one (§6.9.2).
    pub(super) fn take_settings(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        let before = i64::from(self.peer.window_bytes);
        self.peer.take(payload)?;
        let more = i64::from(self.peer.window_bytes) - before;
        for stream in self.streams.iter_mut() {
            stream.send_window += more;
            if stream.send_window > i64::from(BITS_31) {
                let what = "settings make a stream's window larger than 2^31 - 1";
                return Err(Error::new(Code::FlowControlError, what));
            }
        }
        frame::put(out, frame::SETTINGS, frame::ACK, 0, &[]);
        self.send_unsent(out);
        Ok(())
    }
}
