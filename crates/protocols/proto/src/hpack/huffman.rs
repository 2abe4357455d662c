//! The Huffman code of strings (RFC 7541 §5.2, appendix B).
//!
//! The code is canonical: codes of one length follow each other in the order of their symbols. So the
//! lengths alone say everything, and all tables are computed from them when this is compiled.

use alloc::vec::Vec;

/// Symbols: the bytes, and the end of a string, which never stands in one.
const SYMBOLS: usize = 257;
const END: u16 = 256;
const BITS_MAX: usize = 30;
/// Codes up to this length are looked up at once; they are those of most texts.
const FAST_BITS: usize = 8;

/// Bits of each symbol's code.
#[rustfmt::skip]
const LENGTHS: [u8; SYMBOLS] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7,
    7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21,
    23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24,
    21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];

struct Code {
    /// Each symbol's code.
    codes: [u32; SYMBOLS],
    /// Symbols in the order of their codes.
    ordered: [u16; SYMBOLS],
    /// By length: one beyond its last code, moved to the left of 32 bits; 64 bits hold what lies beyond all.
    ends: [u64; BITS_MAX + 1],
    /// By length: its first code, and the place of that in `ordered`.
    firsts: [(u32, u16); BITS_MAX + 1],
    /// By the next bits: a symbol and the bits of its code; 0 bits: the code is longer.
    fast: [(u8, u8); 1 << FAST_BITS],
}

static CODE: Code = code();

const fn code() -> Code {
    let mut made = Code {
        codes: [0; SYMBOLS],
        ordered: [0; SYMBOLS],
        ends: [0; BITS_MAX + 1],
        firsts: [(0, 0); BITS_MAX + 1],
        fast: [(0, 0); 1 << FAST_BITS],
    };
    let mut code = 0_u32;
    let mut place = 0;
    let mut length = 1;
    while length <= BITS_MAX {
        code <<= 1;
        made.firsts[length] = (code, place as u16);
        let mut symbol = 0;
        while symbol < SYMBOLS {
            if LENGTHS[symbol] as usize == length {
                made.codes[symbol] = code;
                made.ordered[place] = symbol as u16;
                if length <= FAST_BITS {
                    let mut at = (code as usize) << (FAST_BITS - length);
                    let end = (code as usize + 1) << (FAST_BITS - length);
                    while at < end {
                        made.fast[at] = (symbol as u8, length as u8);
                        at += 1;
                    }
                }
                place += 1;
                code += 1;
            }
            symbol += 1;
        }
        made.ends[length] = (code as u64) << (32 - length);
        length += 1;
    }
    made
}

/// Appends the string that `coded` stands for; `None`: it is no such code. A string ends with fewer than
/// eight bits, all ones.
pub(super) fn decode(coded: &[u8], out: &mut Vec<u8>) -> Option<()> {
    // The next bits, at the left, and how many of them are there.
    let mut bits = 0_u64;
    let mut count = 0_u32;
    let mut rest = coded;
    loop {
        while count <= 56 {
            let Some((&byte, after)) = rest.split_first() else {
                break;
            };
            bits |= u64::from(byte) << (56 - count);
            count += 8;
            rest = after;
        }
        let (symbol, mut length) = CODE.fast[(bits >> (64 - FAST_BITS)) as usize];
        let mut symbol = u16::from(symbol);
        if length == 0 {
            (symbol, length) = long_code((bits >> 32) as u32)?;
        }
        let length = u32::from(length);
        if length > count {
            // What is left is no whole code: padding.
            let ones = u64::MAX.checked_shl(64 - count).unwrap_or(0);
            return (count < 8 && bits == ones).then_some(());
        }
        if symbol == END {
            return None;
        }
        out.push(symbol as u8);
        bits <<= length;
        count -= length;
    }
}

/// The symbol of a code that is longer than those in `fast`, and the bits of the code.
fn long_code(bits: u32) -> Option<(u16, u8)> {
    let lengths = FAST_BITS + 1..=BITS_MAX;
    let length = lengths.into_iter().find(|&length| u64::from(bits) < CODE.ends[length])?;
    let (first, place) = CODE.firsts[length];
    let nth = (bits >> (32 - length)) - first;
    let symbol = *CODE.ordered.get(usize::from(place) + nth as usize)?;
    Some((symbol, length as u8))
}

/// Appends `text` in the code.
pub fn encode(text: &[u8], out: &mut Vec<u8>) {
    let mut bits = 0_u64;
    let mut count = 0;
    for &byte in text {
        let length = u32::from(LENGTHS[usize::from(byte)]);
        bits = bits << length | u64::from(CODE.codes[usize::from(byte)]);
        count += length;
        while count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    if count > 0 {
        out.push((bits << (8 - count)) as u8 | 0xff >> count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn codes_are_those_of_the_rfc() {
        // RFC 7541 appendix B, some of each length.
        for (symbol, code) in [
            (b'0', 0x0),
            (b'%', 0x15),
            (b':', 0x5c),
            (b'&', 0xf8),
            (b'!', 0x3f8),
            (b'#', 0xffa),
            (0, 0x1ff8),
            (b'^', 0x3ffc),
            (b'<', 0x7ffc),
            (b'\\', 0x7fff0),
            (0x80, 0xfffe6),
            (1, 0x7f_ffd8),
            (255, 0x3ff_ffee),
            (22, 0x3fff_fffe),
        ] {
            assert_eq!(CODE.codes[usize::from(symbol)], code, "{symbol}");
        }
        assert_eq!(CODE.codes[256], 0x3fff_ffff);
    }

    #[test]
    fn bad_padding_and_ends_are_refused() {
        for coded in [
            // Eight ones, and more: longer than padding may be.
            &[0xff][..],
            &[0xff, 0xff, 0xff, 0xff],
            // `0` is five zeros; then zeros instead of ones.
            &[0x00],
            &[0x1f, 0xff, 0xff, 0xff, 0xff],
        ] {
            assert_eq!(decode(coded, &mut Vec::new()), None, "{coded:?}");
        }
        let mut out = Vec::new();
        assert_eq!(decode(&[0x07], &mut out), Some(()));
        assert_eq!(out, b"0");
        assert_eq!(decode(&[], &mut out), Some(()));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut coded = Vec::new();
            let mut out = Vec::new();
            encode(&text, &mut coded);
            prop_assert_eq!(decode(&coded, &mut out), Some(()));
            prop_assert_eq!(out, text);
        }

        #[test]
        fn no_bytes_panic(coded in proptest::collection::vec(any::<u8>(), 0..64)) {
            let mut out = Vec::new();
            if decode(&coded, &mut out).is_some() {
                // There is one way to write a string.
                let mut again = Vec::new();
                encode(&out, &mut again);
                prop_assert_eq!(again, coded);
            }
        }
    }
}
