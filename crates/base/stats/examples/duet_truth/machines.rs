//! Machines whose noise is known: the logarithm of the time of a block.

use stats::rng::Rng;

/// The noise of the next block: from a generator, the block's number and what the machine keeps.
pub(super) type Noise = fn(&mut Rng, u32, &mut f64) -> f64;

/// A kind of noise.
#[derive(Clone, Copy)]
pub(super) struct NamedNoise {
    pub(super) name: &'static str,
    pub(super) noise: Noise,
}

/// A machine on which blocks follow each other.
#[derive(Debug, Default)]
pub(super) struct Machine {
    blocks: u32,
    kept: f64,
}

impl Machine {
    /// The noise of the next block.
    pub(super) fn block(&mut self, noise: Noise, rng: &mut Rng) -> f64 {
        let number = self.blocks;
        self.blocks += 1;
        noise(rng, number, &mut self.kept)
    }
}

pub(super) const MACHINES: [NamedNoise; 7] = [
    NamedNoise { name: "normal", noise: |rng, _, _| normal(rng) },
    NamedNoise { name: "exponential", noise: |rng, _, _| -(1.0 - rng.unit()).ln() },
    NamedNoise { name: "two groups of blocks, 47 % apart", noise: bimodal },
    NamedNoise {
        name: "Pareto, without a mean",
        noise: |rng, _, _| (1.0 - rng.unit()).powf(-1.0 / 0.9),
    },
    NamedNoise { name: "AR(1), φ = 0.9", noise: autocorrelated },
    NamedNoise {
        name: "slower with every block",
        noise: |rng, block, _| 0.2 * f64::from(block) + normal(rng),
    },
    NamedNoise { name: "a neighbour for a third of the time", noise: neighbour },
];

/// Two uniform numbers to a normal one: Box and Muller (1958).
pub(super) fn normal(rng: &mut Rng) -> f64 {
    let u = 1.0 - rng.unit();
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * rng.unit()).cos()
}

fn bimodal(rng: &mut Rng, _: u32, _: &mut f64) -> f64 {
    0.02 * normal(rng) + if rng.below(2) == 0 { 0.0 } else { 1.47_f64.ln() }
}

fn autocorrelated(rng: &mut Rng, _: u32, kept: &mut f64) -> f64 {
    *kept = 0.9 * *kept + normal(rng);
    *kept
}

fn neighbour(rng: &mut Rng, block: u32, _: &mut f64) -> f64 {
    let busy = if block % 30 < 10 { 3.0 } else { 0.0 };
    busy + normal(rng)
}
