//! A header block → a head as text, checked (RFC 9113 §8.2, §8.3.2).

use alloc::vec::Vec;

use super::error::{Code, Error};
use super::request::OF_CONNECTIONS;
use crate::hpack::FIELD_OVERHEAD_BYTES;
use crate::http1::{decimal, is_token_byte};
use crate::limits::Limits;

/// The contents of a block, while it is read.
#[derive(Debug)]
pub(super) struct Reading<'t> {
    /// `HTTP/2 200`, then a line for each field.
    text: &'t mut Vec<u8>,
    is_trailers: bool,
    limits: Limits,
    list_bytes: usize,
    count: usize,
    pub(super) status: u16,
    pub(super) content_length: Option<u64>,
    /// The first thing that was wrong. The rest of the block is still decoded, for the table.
    pub(super) fault: Option<Error>,
}

impl<'t> Reading<'t> {
    pub(super) fn new(text: &'t mut Vec<u8>, is_trailers: bool, limits: Limits) -> Reading<'t> {
        text.clear();
        Reading {
            text,
            is_trailers,
            limits,
            list_bytes: 0,
            count: 0,
            status: 0,
            content_length: None,
            fault: None,
        }
    }

    pub(super) fn field(&mut self, name: &[u8], value: &[u8]) {
        if self.fault.is_none() {
            self.fault = self.take(name, value).err();
        }
    }

    /// All fields were read. A head ends with an empty line.
    pub(super) fn end(&mut self) {
        if self.fault.is_none() && self.status == 0 && !self.is_trailers {
            self.fault = Some(Error::protocol("a response has no :status"));
        }
        self.text.extend_from_slice(b"\r\n");
    }

    fn take(&mut self, name: &[u8], value: &[u8]) -> Result<(), Error> {
        self.list_bytes += name.len() + value.len() + FIELD_OVERHEAD_BYTES;
        self.count += 1;
        if self.list_bytes > self.limits.head_bytes_max
            || self.count > self.limits.headers_count_max
        {
            let what = "the fields of a response are larger, or more, than is taken";
            return Err(Error::too_large(Code::Cancel, what));
        }
        if name.first() == Some(&b':') {
            return self.take_pseudo(name, value);
        }
        if self.status == 0 && !self.is_trailers {
            return Err(Error::protocol("a field comes before :status"));
        }
        let is_name = |&b: &u8| is_token_byte(b) && !b.is_ascii_uppercase();
        if name.is_empty() || !name.iter().all(is_name) {
            return Err(Error::protocol("a field's name has characters that it must not have"));
        }
        if value.iter().any(|b| matches!(b, 0 | b'\n' | b'\r'))
            || value.trim_ascii().len() != value.len()
        {
            return Err(Error::protocol("a field's value has characters that it must not have"));
        }
        if OF_CONNECTIONS.iter().any(|own| own.as_bytes() == name) {
            return Err(Error::protocol("a field speaks of a connection of HTTP/1.1"));
        }
        if name == b"content-length" && !self.is_trailers {
            self.take_length(value)?;
        }
        self.line(name, value);
        Ok(())
    }

    fn take_pseudo(&mut self, name: &[u8], value: &[u8]) -> Result<(), Error> {
        if name != b":status" || self.status != 0 || self.is_trailers {
            return Err(Error::protocol("a response has a pseudo-field that it must not have"));
        }
        let is_status =
            value.len() == 3 && value.iter().all(u8::is_ascii_digit) && value[0] != b'0';
        if !is_status || self.count != 1 {
            return Err(Error::protocol(
                "a response's :status is no status, or not its first field",
            ));
        }
        self.status = value.iter().fold(0, |status, b| status * 10 + u16::from(b - b'0'));
        if self.status == 101 {
            return Err(Error::protocol("status 101 does not exist in HTTP/2"));
        }
        self.text.extend_from_slice(b"HTTP/2 ");
        self.text.extend_from_slice(value);
        self.text.extend_from_slice(b"\r\n");
        Ok(())
    }

    fn take_length(&mut self, value: &[u8]) -> Result<(), Error> {
        let length = decimal(value).ok_or(Error::protocol("a content-length is no number"))?;
        if self.content_length.is_some_and(|earlier| earlier != length) {
            return Err(Error::protocol("several content-length differ"));
        }
        self.content_length = Some(length);
        Ok(())
    }

    fn line(&mut self, name: &[u8], value: &[u8]) {
        self.text.extend_from_slice(name);
        self.text.extend_from_slice(b": ");
        self.text.extend_from_slice(value);
        self.text.extend_from_slice(b"\r\n");
    }
}
