//! Whole numbers in one to ten bytes, seven bits in each, least significant first: varints of Protocol Buffers, unsigned
//! LEB128 of DWARF.

use alloc::vec::Vec;

/// A varint that has more than 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

/// Most bytes of a varint.
const BYTES_MAX: usize = 10;

/// The number that begins `bytes`, and how many bytes it has; `None`: it is incomplete.
///
/// # Errors
/// It has more than 64 bits.
pub fn read(bytes: &[u8]) -> Result<Option<(u64, usize)>, TooLong> {
    let mut number = 0;
    for (at, &byte) in bytes.iter().take(BYTES_MAX).enumerate() {
        let bits = u64::from(byte & 0x7f);
        // Of the tenth byte one bit is left.
        if at == BYTES_MAX - 1 && byte > 1 {
            return Err(TooLong);
        }
        number |= bits << (7 * at);
        if byte < 0x80 {
            return Ok(Some((number, at + 1)));
        }
    }
    Ok(None)
}

/// Appends a number.
pub fn write(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
