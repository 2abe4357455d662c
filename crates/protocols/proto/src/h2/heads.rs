//! Header blocks of the peer's: heads, interim ones, trailers (RFC 9113 §4.3, §8.1).

use alloc::boxed::Box;

use super::connection::{Block, Connection};
use super::error::{Code, Error};
use super::frame::{self, FrameHead};
use super::receive::{FrameEvent, Scratch, check_complete};
use super::response::Reading;
use super::stream::Stream;
use crate::http1::INTERIM_COUNT_MAX;
use crate::limits::Limits;
use alloc::vec::Vec;

/// Frames of one header block. One of the default size takes five.
const BLOCK_FRAMES_MAX: u32 = 64;
/// The server wants the request's body (RFC 9110 §15.2.1).
const CONTINUE: u16 = 100;

impl Connection {
    pub(super) fn take_headers(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        limits: &Limits,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<Option<FrameEvent>, Error> {
        if self.streams.get_mut(head.stream).is_none() {
            self.check_late(head.stream)?;
            self.count_idle()?;
        }
        let mut block = frame::without_padding(head, payload)?;
        if head.has(frame::WITH_PRIORITY) {
            let too_short = Error::new(Code::FrameSizeError, "a HEADERS frame is too short");
            block = block.get(frame::PRIORITY_BYTES..).ok_or(too_short)?;
        }
        if head.has(frame::END_HEADERS) {
            return self.take_block(head, block, limits, scratch, out);
        }
        self.block = Some(Box::new(Block { head, bytes: block.to_vec(), frames_count: 1 }));
        Ok(None)
    }

    pub(super) fn take_continuation(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        limits: &Limits,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<Option<FrameEvent>, Error> {
        let Some(mut block) = self.block.take() else {
            return Ok(None);
        };
        block.bytes.extend_from_slice(payload);
        block.frames_count += 1;
        if block.bytes.len() > limits.head_bytes_max || block.frames_count > BLOCK_FRAMES_MAX {
            let what = "a header block is larger, or in more frames, than is taken";
            return Err(Error::too_large(Code::EnhanceYourCalm, what));
        }
        if head.has(frame::END_HEADERS) {
            return self.take_block(block.head, &block.bytes, limits, scratch, out);
        }
        self.block = Some(block);
        Ok(None)
    }

    /// A whole header block: a head, an interim one, or trailers.
    fn take_block(
        &mut self,
        frame: FrameHead,
        block: &[u8],
        limits: &Limits,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<Option<FrameEvent>, Error> {
        let id = frame.stream;
        let ends = frame.has(frame::END_STREAM);
        let own = self.streams.get_mut(id);
        let is_trailers = own.is_some_and(|stream| stream.has_head);
        let mut reading = Reading::new(&mut scratch.text, is_trailers, *limits);
        let decoded = self.fields.decode(block, &mut scratch.strings, |name, value| {
            reading.field(name, value);
        });
        if let Err(error) = decoded {
            return Err(Error::new(Code::CompressionError, error.text()));
        }
        reading.end();
        // Of a stream that was reset, only the tables needed it.
        let Some(stream) = self.streams.get_mut(id) else {
            return Ok(None);
        };
        if !stream.is_awaited() {
            match ends {
                true => drop(self.streams.remove(id)),
                false => self.reset(id, Code::Cancel, out),
            }
            return Ok(None);
        }
        let token = stream.token;
        let verdict = match reading.fault {
            Some(fault) => Err(fault),
            None => take_fields(stream, &reading, is_trailers, ends),
        };
        match verdict {
            Err(error) => {
                self.break_stream(id, error, out);
                Ok(Some(FrameEvent::Broken { token, error }))
            }
            Ok(Fields::Interim { wants_body }) => {
                self.count_idle()?;
                Ok(wants_body.then_some(FrameEvent::Continue { token }))
            }
            Ok(Fields::Head { status }) => {
                self.idle_frames = 0;
                if ends {
                    self.end_stream(id, out);
                }
                Ok(Some(FrameEvent::Head { token, stream: id, status, ends }))
            }
            Ok(Fields::Trailers) => {
                self.end_stream(id, out);
                Ok(Some(FrameEvent::Trailers { token }))
            }
        }
    }
}

/// The role of a header block.
enum Fields {
    Interim { wants_body: bool },
    Head { status: u16 },
    Trailers,
}

/// Takes over what a stream's header block says. The error is the stream's.
fn take_fields(
    stream: &mut Stream,
    reading: &Reading<'_>,
    is_trailers: bool,
    ends: bool,
) -> Result<Fields, Error> {
    if is_trailers {
        if !ends {
            return Err(Error::protocol("trailers do not end their stream"));
        }
        check_complete(stream)?;
        return Ok(Fields::Trailers);
    }
    let status = reading.status;
    if status < 200 {
        stream.interim_count += 1;
        if ends {
            return Err(Error::protocol("an interim response ends its stream"));
        }
        if stream.interim_count > INTERIM_COUNT_MAX {
            let what = "more interim responses came than are taken";
            return Err(Error::too_large(Code::Cancel, what));
        }
        let wants_body = status == CONTINUE && stream.is_open;
        return Ok(Fields::Interim { wants_body });
    }
    stream.has_head = true;
    if stream.is_tunnel && status < 300 {
        // RFC 9110 §9.3.6: a length is ignored there.
        stream.content_length = None;
    } else if !stream.is_head && !matches!(status, 204 | 304) {
        stream.content_length = reading.content_length;
    } else {
        // Its body is empty, whatever its length would be (§8.1.1).
        stream.content_length = Some(0);
    }
    if ends {
        check_complete(stream)?;
    }
    Ok(Fields::Head { status })
}
