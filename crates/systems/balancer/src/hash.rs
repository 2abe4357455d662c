//! Hashes that are the same in every process, for whatever balancers must agree on.

/// FNV-1a of 64 bits (Fowler, Noll and Vo; RFC 9923), finished by the mixer of `SplitMix64`: FNV alone spreads the
/// last bytes of a text over few of the high bits.
#[must_use]
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in bytes {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    mix(hash)
}

/// [`hash_bytes`] of a text.
#[must_use]
pub fn hash_text(text: &str) -> u64 {
    hash_bytes(text.as_bytes())
}

/// A hash of two hashes, of which the order matters.
#[must_use]
pub fn pair(first: u64, second: u64) -> u64 {
    mix(mix(first).wrapping_add(0x9e37_79b9_7f4a_7c15) ^ second)
}

/// The mixer of `SplitMix64` (Steele, Lea and Flood 2014), a bijection.
#[must_use]
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A hash as a number uniform on the open interval (0, 1).
#[must_use]
pub fn unit(hash: u64) -> f64 {
    ((hash >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_stay_what_they_are() {
        // FNV-1a's published value of "a", mixed.
        assert_eq!(hash_text("a"), mix(0xaf63_dc4c_8601_ec8c));
        assert_ne!(pair(1, 2), pair(2, 1));
        assert!(unit(0) > 0.0 && unit(u64::MAX) < 1.0);
    }
}
