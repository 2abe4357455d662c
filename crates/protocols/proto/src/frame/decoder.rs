//! Finding frames in what was received.

use alloc::borrow::Cow;

use memchr::memmem;

use super::error::DecodeError;
use super::framing::{Delimiter, Framing, LengthField, Marks};
use super::varint::{self, TooLong};
use crate::limits::Limits;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The message with its header. Borrowed, unless a length field stands in its middle.
    pub message: Cow<'a, [u8]>,
    header: usize,
}

impl Frame<'_> {
    /// The message without its header; empty if there is nothing more.
    pub fn payload(&self) -> &[u8] {
        self.message.get(self.header..).unwrap_or_default()
    }
}

/// The state between calls; see the crate's text for the contract.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Decoder {
    /// No delimiter begins before there, from the front on.
    scanned: usize,
}

impl Decoder {
    /// A decoder at a stream's beginning.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads one message.
    pub fn decode<'a>(
        &mut self,
        framing: &Framing,
        input: &'a [u8],
        limits: &Limits,
    ) -> Result<(usize, Option<Frame<'a>>), DecodeError> {
        let bytes_max = limits.message_bytes_max;
        let found = match &framing.marks {
            Marks::Length(field) => by_length(field, framing.header, input, bytes_max)?,
            Marks::Varint { at } => by_varint(*at, input, bytes_max)?,
            Marks::Delimiter(delimiter) => self.by_delimiter(delimiter, input, bytes_max)?,
            Marks::Fixed(len) => {
                input.get(..len.get()).map(|message| (len.get(), Cow::Borrowed(message)))
            }
            Marks::Nothing => (!input.is_empty()).then_some((input.len(), Cow::Borrowed(input))),
        };
        let Some((taken, message)) = found else {
            return Ok((0, None));
        };
        let header = framing.header;
        Ok((taken, Some(Frame { message, header })))
    }

    fn by_delimiter<'a>(
        &mut self,
        delimiter: &Delimiter,
        input: &'a [u8],
        bytes_max: usize,
    ) -> Result<DecodedFrame<'a>, DecodeError> {
        let delimiter = delimiter.bytes();
        let from = self.scanned.min(input.len());
        let len = match memmem::find(&input[from..], delimiter) {
            Some(at) => from + at,
            None => input.len().saturating_sub(delimiter.len() - 1).max(from),
        };
        if len > bytes_max {
            return Err(DecodeError::TooLarge { bytes_max });
        }
        if len + delimiter.len() <= input.len() && input[len..].starts_with(delimiter) {
            self.scanned = 0;
            return Ok(Some((len + delimiter.len(), Cow::Borrowed(&input[..len]))));
        }
        self.scanned = len;
        Ok(None)
    }
}

/// The bytes of a frame, and the message in it; `None`: the frame is incomplete.
type DecodedFrame<'a> = Option<(usize, Cow<'a, [u8]>)>;

fn by_length<'a>(
    field: &LengthField,
    header: usize,
    input: &'a [u8],
    bytes_max: usize,
) -> Result<DecodedFrame<'a>, DecodeError> {
    let begin = field.at;
    let end = field.end();
    let Some(field_bytes) = input.get(begin..end) else {
        return Ok(None);
    };
    let length = read(field_bytes, field.little_endian);
    let total = usize::try_from(length)
        .ok()
        .and_then(|length| length.checked_add(field.uncounted(header)))
        .filter(|total| total - field.width.bytes().min(*total) <= bytes_max)
        .ok_or(DecodeError::TooLarge { bytes_max })?;
    if total < end {
        return Err(DecodeError::TooShort { length });
    }
    let Some(frame) = input.get(..total) else {
        return Ok(None);
    };
    Ok(Some((total, without(frame, begin, end))))
}

fn by_varint(at: usize, input: &[u8], bytes_max: usize) -> Result<DecodedFrame<'_>, DecodeError> {
    let Some(field) = input.get(at..) else {
        return Ok(None);
    };
    let too_large = DecodeError::TooLarge { bytes_max };
    let (length, width) = match varint::read(field) {
        Ok(Some(found)) => found,
        Ok(None) => return Ok(None),
        Err(TooLong) => return Err(too_large),
    };
    let message_bytes = usize::try_from(length).ok().and_then(|length| length.checked_add(at));
    let message_bytes = message_bytes.filter(|bytes| *bytes <= bytes_max).ok_or(too_large)?;
    let total = message_bytes + width;
    let frame = input.get(..total);
    Ok(frame.map(|frame| (total, without(frame, at, at + width))))
}

/// The message of a frame whose length field stands at these places.
fn without(frame: &[u8], begin: usize, end: usize) -> Cow<'_, [u8]> {
    if begin == 0 {
        return Cow::Borrowed(&frame[end..]);
    }
    Cow::Owned([&frame[..begin], &frame[end..]].concat())
}

fn read(bytes: &[u8], little_endian: bool) -> u64 {
    let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
    if little_endian { bytes.iter().rev().fold(0, add) } else { bytes.iter().fold(0, add) }
}
