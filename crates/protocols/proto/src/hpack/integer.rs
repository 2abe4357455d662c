//! Numbers whose first bits share a byte with flags (RFC 7541 §5.1).

use alloc::vec::Vec;

/// Bytes after the prefix: enough for any `u32`, with room for useless zeros at the end.
const CONTINUATION_BYTES_MAX: u32 = 5;

/// Takes a number with a prefix of this many bits off the front; `None`: it is incomplete, or too large.
pub(super) fn take(input: &mut &[u8], prefix_bits: u32) -> Option<u32> {
    let (&first, mut rest) = input.split_first()?;
    let mask = (1_u32 << prefix_bits) - 1;
    let mut number = u32::from(first) & mask;
    if number == mask {
        let mut places = 0;
        loop {
            let (&byte, after) = rest.split_first()?;
            rest = after;
            let bits = u64::from(byte & 0x7f) << (7 * places);
            number = u32::try_from(u64::from(number) + bits).ok()?;
            places += 1;
            if byte & 0x80 == 0 {
                break;
            }
            if places == CONTINUATION_BYTES_MAX {
                return None;
            }
        }
    }
    *input = rest;
    Some(number)
}

/// Appends a number; the bits before its prefix are those of `flags`.
pub(super) fn put(out: &mut Vec<u8>, flags: u8, prefix_bits: u32, number: usize) {
    let mask = (1_usize << prefix_bits) - 1;
    if number < mask {
        out.push(flags | number as u8);
        return;
    }
    out.push(flags | mask as u8);
    let mut rest = number - mask;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_examples_of_the_rfc() {
        // RFC 7541 C.1.
        for (prefix_bits, number, bytes) in
            [(5, 10, &[0x0a][..]), (5, 1337, &[0x1f, 0x9a, 0x0a]), (8, 42, &[0x2a])]
        {
            let mut out = Vec::new();
            put(&mut out, 0, prefix_bits, number);
            assert_eq!(out, bytes);
            assert_eq!(take(&mut &*out, prefix_bits), Some(number as u32));
        }
    }

    #[test]
    fn numbers_beyond_32_bits_are_refused() {
        for bytes in [
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0x7f][..],
            &[0xff, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00],
            &[0xff, 0x80],
            &[],
        ] {
            assert_eq!(take(&mut &*bytes, 7), None, "{bytes:?}");
        }
        assert_eq!(take(&mut &[0x7f, 0x80, 0x80, 0x80, 0x00][..], 7), Some(127));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(number: u32, prefix_bits in 4_u32..=7, behind: u8) {
            let mut out = Vec::new();
            put(&mut out, 0, prefix_bits, number as usize);
            out.push(behind);
            let mut input = &*out;
            prop_assert_eq!(take(&mut input, prefix_bits), Some(number));
            prop_assert_eq!(input, &[behind]);
        }
    }
}
