//! Putting messages into frames.

use alloc::vec::Vec;

use super::error::EncodeError;
use super::framing::{Counts, Framing, LengthField, Marks};
use super::varint;

impl Framing {
    /// Appends the frame of a message that `write` appends to `out`: rendered in place, without a
    /// buffer between. `write` must only append. On an error `out` is as it was.
    ///
    /// # Panics
    /// `write` made `out` shorter than it was.
    pub fn encode_with(
        &self,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), EncodeError> {
        let start = out.len();
        let room = match &self.marks {
            Marks::Length(field) => field.width.bytes(),
            Marks::Varint { .. } | Marks::Delimiter(_) | Marks::Fixed(_) | Marks::Nothing => 0,
        };
        out.resize(start + room, 0);
        write(out);
        assert!(out.len() >= start + room, "the message's writer only appends");
        let bytes = out.len() - start - room;
        let result = match &self.marks {
            Marks::Length(field) => field.write(&mut out[start..], self.header),
            Marks::Varint { at } if bytes < *at => {
                Err(EncodeError::TooShort { bytes, bytes_min: *at })
            }
            Marks::Varint { at } => {
                // Its own length is known only now.
                let mut field = Vec::with_capacity(5);
                varint::write((bytes - at) as u64, &mut field);
                drop(out.splice(start + at..start + at, field));
                Ok(())
            }
            Marks::Delimiter(delimiter) => {
                out.extend_from_slice(delimiter.bytes());
                Ok(())
            }
            Marks::Fixed(fixed) if bytes != fixed.get() => {
                Err(EncodeError::NotFixed { bytes, fixed: fixed.get() })
            }
            Marks::Fixed(_) | Marks::Nothing => Ok(()),
        };
        if result.is_err() {
            out.truncate(start);
        }
        result
    }
}

impl LengthField {
    /// Fills in the field. `frame` has room for it in front, and then the message.
    fn write(&self, frame: &mut [u8], header: usize) -> Result<(), EncodeError> {
        let width = self.width.bytes();
        let bytes = frame.len() - width;
        let bytes_min = match self.counts {
            Counts::Payload => self.at.max(header),
            Counts::Rest | Counts::Frame => self.at,
        };
        if bytes < bytes_min {
            return Err(EncodeError::TooShort { bytes, bytes_min });
        }
        // Not below zero: the message has what is not counted of it.
        let length = (frame.len() - self.uncounted(header)) as u64;
        if width < 8 && length >> (8 * width) != 0 {
            return Err(EncodeError::TooLong { bytes });
        }
        frame.copy_within(width..width + self.at, 0);
        let field = &mut frame[self.at..self.at + width];
        if self.little_endian {
            field.copy_from_slice(&length.to_le_bytes()[..width]);
        } else {
            field.copy_from_slice(&length.to_be_bytes()[8 - width..]);
        }
        Ok(())
    }
}
