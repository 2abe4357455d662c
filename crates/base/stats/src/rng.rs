//! One seeded, counter-based generator, keyed by (seed, user, purpose).
//!
//! It is Philox2x64-10 of Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as
//! 1, 2, 3" (SC 2011): ten rounds of a block cipher over a counter. The n-th draw is a function
//! of the key and n alone, so what a user draws does not depend on who else draws, nor on how
//! the users are spread over loops. Of each block the first word is used: draws then cost the
//! same and need no buffer.

use std::convert::Infallible;

use rand_core::TryRng;

const ROUNDS: u32 = 10;
/// `PHILOX_M2x64_0` of the reference implementation, Random123.
const MULTIPLIER: u64 = 0xD2B7_4407_B1CE_6E93;
/// `PHILOX_W64_0`: the golden ratio.
const WEYL: u64 = 0x9E37_79B9_7F4A_7C15;

/// The purpose of a stream of draws; streams of different purposes never share draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Purpose {
    /// Gaps between arrivals (user 0).
    Arrivals = 1,
    /// Which session a user runs.
    Session = 2,
    /// Think times and paces.
    Think = 3,
    /// Weighted choices.
    Choice = 4,
    /// Values in templates.
    Value = 5,
    /// Nonces and mask keys of the wire.
    Wire = 6,
    /// Bootstraps and other tests that draw.
    Resample = 7,
    /// Periods of on/off sources (a source's number in the user's place).
    Source = 8,
    /// Which of several servers a user belongs to.
    Server = 9,
    /// Service times of a server (a request's number in the user's place).
    Service = 10,
    /// Choices of a load balancer.
    Balance = 11,
    /// Losses and jitter of a network (a link's number in the user's place).
    Network = 12,
    /// Which of a name's addresses a user connects to.
    Address = 13,
    /// Pauses before steps are tried again.
    Retry = 14,
    /// The seeds of what runs once (0 before the users, 1 after them, in the user's place).
    Once = 15,
    /// The seeds of a user's branches.
    Branch = 16,
}

/// A stream of draws. 16 bytes; the n-th draw depends on (key, n) alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rng {
    key: u64,
    counter: u64,
}

impl Rng {
    /// The stream of this purpose for this user of a run with this seed.
    pub fn new(seed: u64, user: u64, purpose: Purpose) -> Rng {
        let seed = mix(seed.wrapping_add(WEYL));
        let user = mix(seed.wrapping_add(user));
        Rng { key: mix(user.wrapping_add(purpose as u64)), counter: 0 }
    }

    /// The stream without its next `draws`.
    pub fn skip(self, draws: u64) -> Rng {
        Rng { counter: self.counter.wrapping_add(draws), ..self }
    }

    /// 64 uniform bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let block = philox([self.counter, 0], self.key);
        self.counter = self.counter.wrapping_add(1);
        block[0]
    }

    /// A real number, uniform on `[0, 1)`: a multiple of 2⁻⁵³.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// A whole number, uniform on `0..n`, without bias: Lemire, "Fast Random Integer Generation
    /// in an Interval" (2019), algorithm 5. Takes one draw, rarely more.
    ///
    /// # Panics
    /// If `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "no whole number is below 0");
        let mut wide = u128::from(self.next_u64()) * u128::from(n);
        if (wide as u64) < n {
            let threshold = n.wrapping_neg() % n;
            while (wide as u64) < threshold {
                wide = u128::from(self.next_u64()) * u128::from(n);
            }
        }
        (wide >> 64) as u64
    }

    /// Puts items into a random order, each equally likely (Fisher and Yates 1938; Durstenfeld 1964).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

impl TryRng for Rng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.next_u64() >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.next_u64())
    }

    fn try_fill_bytes(&mut self, target: &mut [u8]) -> Result<(), Infallible> {
        for chunk in target.chunks_mut(8) {
            let bytes = self.next_u64().to_le_bytes();
            chunk.copy_from_slice(&bytes[..chunk.len()]);
        }
        Ok(())
    }
}

/// One block of Philox2x64-10.
#[inline]
fn philox(mut block: [u64; 2], mut key: u64) -> [u64; 2] {
    for _ in 0..ROUNDS {
        let wide = u128::from(block[0]) * u128::from(MULTIPLIER);
        block = [(wide >> 64) as u64 ^ key ^ block[1], wide as u64];
        key = key.wrapping_add(WEYL);
    }
    block
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
/// Generators", OOPSLA 2014, with Stafford's variant 13 of the constants): a bijection that
/// changes half of the bits for each bit of the argument.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests;
