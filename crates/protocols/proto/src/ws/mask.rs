//! Masking (RFC 6455 §5.3): each payload byte is combined with a byte of a four-byte key.

/// Masks `buf` in place with `key`, or takes the mask off again.
pub fn apply(buf: &mut [u8], key: [u8; 4]) {
    let [a, b, c, d] = key;
    // Words keep the loop branch-free at any alignment; the compiler widens it to vectors.
    let word = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (words, tail) = buf.as_chunks_mut::<8>();
    for bytes in words {
        *bytes = (u64::from_ne_bytes(*bytes) ^ word).to_ne_bytes();
    }
    for (byte, key) in tail.iter_mut().zip([a, b, c, d, a, b, c]) {
        *byte ^= key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// The formula of §5.3, byte by byte.
    fn naive(buf: &mut [u8], key: [u8; 4]) {
        for (i, byte) in buf.iter_mut().enumerate() {
            *byte ^= key[i % 4];
        }
    }

    #[test]
    fn every_length_at_every_offset_is_as_the_formula_says() {
        let key = [0x37, 0xfa, 0x21, 0x3d];
        let original: Vec<u8> = (0..400_u32).map(|i| (i * 37 % 251) as u8).collect();
        for offset in 0..16 {
            for len in 0..original.len() - offset {
                let mut fast = original.clone();
                let mut slow = original.clone();
                apply(&mut fast[offset..offset + len], key);
                naive(&mut slow[offset..offset + len], key);
                assert_eq!(fast, slow, "offset {offset}, length {len}");
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn twice_is_never(mut buf: Vec<u8>, key: [u8; 4]) {
            let original = buf.clone();
            apply(&mut buf, key);
            let mut slow = original.clone();
            naive(&mut slow, key);
            proptest::prop_assert_eq!(&buf, &slow);
            apply(&mut buf, key);
            proptest::prop_assert_eq!(buf, original);
        }
    }
}
