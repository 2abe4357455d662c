//! `SplitMix64` (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): numbers that
//! follow from a seed alone, so that a system does the same in every run.

/// The increment of the state: the golden ratio's fraction, as odd 64 bits.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// A seeded stream of draws.
#[derive(Debug, Clone)]
pub struct Draws {
    state: u64,
}

impl Draws {
    /// The stream of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The stream of a seed without its first `count` draws.
    #[must_use]
    pub fn skipping(seed: u64, count: u64) -> Self {
        Self::new(seed.wrapping_add(GAMMA.wrapping_mul(count)))
    }

    /// The stream of all these numbers together.
    #[must_use]
    pub fn from_keys(keys: &[u64]) -> Self {
        let mut draws = Self::new(0);
        for key in keys {
            draws.state = draws.bits() ^ key;
        }
        draws
    }

    /// The stream of a seed and a text.
    #[must_use]
    pub fn from_text(seed: u64, text: &str) -> Self {
        let mut draws = Self::from_keys(&[seed]);
        for byte in text.bytes() {
            draws.state = draws.bits() ^ u64::from(byte);
        }
        draws
    }

    /// 64 uniform bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 128 uniform bits.
    pub fn wide(&mut self) -> u128 {
        u128::from(self.bits()) << 64 | u128::from(self.bits())
    }

    /// Uniform in [0, 1), with 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_equal_those_of_the_reference_code() {
        let mut draws = Draws::new(1_234_567);
        assert_eq!(draws.bits(), 6_457_827_717_110_365_317);
        assert_eq!(draws.bits(), 3_203_168_211_198_807_973);
        assert_eq!(Draws::new(0).bits(), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn skipping_yields_the_rest_of_the_stream() {
        let mut draws = Draws::new(7);
        for count in 0..5 {
            assert_eq!(Draws::skipping(7, count).bits(), draws.bits());
        }
    }
}
