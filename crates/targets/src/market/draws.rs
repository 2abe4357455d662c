//! SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).

/// What the state moves by from draw to draw.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// A seeded stream of draws.
#[derive(Debug)]
pub(super) struct Draws {
    state: u64,
}

impl Draws {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The stream without its first `count` draws.
    pub(super) fn skipping(seed: u64, count: u64) -> Self {
        Self::new(seed.wrapping_add(GAMMA.wrapping_mul(count)))
    }

    /// 64 uniform bits.
    pub(super) fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1), with 53 bits.
    pub(super) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_draws_are_those_of_the_stream() {
        let mut draws = Draws::new(7);
        for count in 0..5 {
            assert_eq!(Draws::skipping(7, count).bits(), draws.bits());
        }
        // The reference implementation's first draw with seed 0.
        assert_eq!(Draws::new(0).bits(), 0xe220_a839_7b1d_cdaf);
    }
}
