//! One seeded, counter-based generator, keyed by (seed, user, purpose).

/// What a stream of draws is for; streams of different purposes never share draws.
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
        let _ = (seed, user, purpose);
        Rng { key: 0, counter: 0 }
    }
}
