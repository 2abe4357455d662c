//! Numbers that look drawn and follow from what they are drawn for.

/// `SplitMix64` (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
#[derive(Debug, Clone)]
pub(super) struct Draws {
    state: u64,
}

/// The golden ratio's fraction, as odd 64 bits.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Draws {
    /// Draws that belong to all of these numbers together.
    pub(super) fn of(keys: &[u64]) -> Draws {
        let mut draws = Draws { state: 0 };
        for key in keys {
            draws.state = draws.next() ^ key;
        }
        draws
    }

    /// Draws that belong to a text.
    pub(super) fn of_text(seed: u64, text: &str) -> Draws {
        let mut draws = Draws::of(&[seed]);
        for byte in text.bytes() {
            draws.state = draws.next() ^ u64::from(byte);
        }
        draws
    }

    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn wide(&mut self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }

    /// In 0..1.
    pub(super) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_numbers_come_out() {
        // Of the reference code, seeded with 1234567.
        let mut draws = Draws { state: 1_234_567 };
        assert_eq!(draws.next(), 6_457_827_717_110_365_317);
        assert_eq!(draws.next(), 3_203_168_211_198_807_973);
    }
}
