//! Integers, texts and lengths (§1.5), read and written.

use alloc::vec::Vec;

/// Bytes of the longest packet without its fixed header (§2.1.4).
pub const BYTES_MAX: usize = 268_435_455;
/// Bytes of the longest text or binary value (§1.5.4).
pub const TEXT_BYTES_MAX: usize = 65_535;

/// Why bytes are no packet.
pub(crate) type Problem = &'static str;

pub(crate) const SHORT: Problem = "it ends too early";

/// The rest of a packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Problem> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(SHORT)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Problem> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Problem> {
        let bytes = self.take(2)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Problem> {
        let bytes = self.take(4)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// A number that is not 0: packet identifiers (§2.2.1), and several properties.
    pub(crate) fn nonzero_u16(&mut self, problem: Problem) -> Result<u16, Problem> {
        let number = self.u16()?;
        (number > 0).then_some(number).ok_or(problem)
    }

    /// A variable byte integer (§1.5.5).
    pub(crate) fn length(&mut self) -> Result<usize, Problem> {
        let (value, rest) = length(self.0)?.ok_or(SHORT)?;
        self.0 = rest;
        Ok(value)
    }

    pub(crate) fn binary(&mut self) -> Result<&'a [u8], Problem> {
        let count = self.u16()?;
        self.take(usize::from(count))
    }

    /// A text in UTF-8 without U+0000 (§1.5.4).
    pub(crate) fn text(&mut self) -> Result<&'a [u8], Problem> {
        let bytes = self.binary()?;
        if core::str::from_utf8(bytes).is_err() {
            return Err("a text is not UTF-8");
        }
        if bytes.contains(&0) {
            return Err("a text has U+0000");
        }
        Ok(bytes)
    }
}

/// A variable byte integer at the beginning of `bytes`, and what follows it; `None`: it is not there yet.
pub(crate) fn length(bytes: &[u8]) -> Result<Option<(usize, &[u8])>, Problem> {
    let mut value = 0;
    for (place, &byte) in bytes.iter().take(4).enumerate() {
        value |= usize::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            let is_shortest = place == 0 || byte != 0;
            return match is_shortest {
                true => Ok(Some((value, &bytes[place + 1..]))),
                false => Err("a length is not in its shortest form"),
            };
        }
    }
    match bytes.len() < 4 {
        true => Ok(None),
        false => Err("a length has more than four bytes"),
    }
}

/// Appends a variable byte integer. At most [`BYTES_MAX`].
pub(crate) fn push_length(mut value: usize, out: &mut Vec<u8>) {
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            return out.push(byte);
        }
        out.push(byte | 0x80);
    }
}

/// Appends a text or binary value. Its length is at most [`TEXT_BYTES_MAX`]: the caller has checked it.
pub(crate) fn push_binary(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u16).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// Appends what `write` appends, with its length before it.
pub(crate) fn push_counted(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    write(out);
    let mut length = Vec::with_capacity(4);
    push_length(out.len() - start, &mut length);
    out.splice(start..start, length);
}
