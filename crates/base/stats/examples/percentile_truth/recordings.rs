//! Recordings whose percentiles are known: times by second, of operations that are independent, that wait in
//! one queue, or that share conditions which change slowly.

use rand_distr::{Distribution, Exp1, Poisson, StandardNormal};
use stats::censored::CensoredTimes;
use stats::hist::LogHistogram;
use stats::percentile::{self, Blocks, Interval};
use stats::rng::{Purpose, Rng};

/// Operations per second, or jobs that a queue's server does in one.
const PER_SECOND: f64 = 100.0;
/// The time that numbers are multiples of, in nanoseconds.
const UNIT_NS: f64 = 1e7;
/// Deviation of the logarithm of slow conditions, and within a second.
const DEVIATION: f64 = 0.5;

/// Where times come from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Source {
    /// Exponential, independent.
    Exponential,
    /// M/M/1 with this utilisation: exponential, too, but alike among those that waited together.
    Queue(f64),
    /// Lognormal about a level that follows an autoregression from second to second, with this coefficient.
    Lognormal(f64),
}

impl Source {
    /// The time that a share `q` does not exceed, in nanoseconds.
    pub(super) fn quantile(self, q: f64) -> f64 {
        match self {
            Source::Exponential => -(1.0 - q).ln() * UNIT_NS,
            // Exponential with rate μ − λ.
            Source::Queue(utilisation) => {
                -(1.0 - q).ln() / (PER_SECOND * (1.0 - utilisation)) * 1e9
            }
            Source::Lognormal(_) => {
                (normal_quantile(q) * (2.0 * DEVIATION * DEVIATION).sqrt()).exp() * UNIT_NS
            }
        }
    }

    /// A recording of whole seconds, the `number`-th.
    pub(super) fn seconds(self, seconds: usize, number: u64) -> Vec<LogHistogram> {
        let mut rng = Rng::new(20_091_217, number, Purpose::Value);
        let mut all = vec![LogHistogram::new(); seconds];
        match self {
            Source::Exponential => each(&mut all, &mut rng, |rng, _| exponential(rng) * UNIT_NS),
            Source::Queue(utilisation) => queue(&mut all, &mut rng, utilisation),
            Source::Lognormal(correlation) => {
                let mut level = normal(&mut rng);
                let mut second = 0;
                let noise = (1.0 - correlation * correlation).sqrt();
                each(&mut all, &mut rng, |rng, at| {
                    while second < at {
                        level = correlation * level + noise * normal(rng);
                        second += 1;
                    }
                    (DEVIATION * (level + normal(rng))).exp() * UNIT_NS
                });
            }
        }
        all
    }
}

/// A Poisson number of times for each second.
fn each(all: &mut [LogHistogram], rng: &mut Rng, mut time: impl FnMut(&mut Rng, usize) -> f64) {
    let number = Poisson::new(PER_SECOND).expect("the rate is positive");
    for (second, hist) in all.iter_mut().enumerate() {
        for _ in 0..number.sample(rng) as u64 {
            hist.record(time(rng, second) as u64);
        }
    }
}

/// Jobs by the second in which they are done. The queue is stationary from the start: work waits with the
/// probability of the utilisation, and is exponential then.
fn queue(all: &mut [LogHistogram], rng: &mut Rng, utilisation: f64) {
    let arrivals = utilisation * PER_SECOND;
    let mut work = match rng.unit() < utilisation {
        true => exponential(rng) / (PER_SECOND - arrivals),
        false => 0.0,
    };
    let mut now = 0.0;
    while now < all.len() as f64 {
        let between = exponential(rng) / arrivals;
        now += between;
        work = f64::max(work - between, 0.0) + exponential(rng) / PER_SECOND;
        if let Some(hist) = all.get_mut((now + work) as usize) {
            hist.record((work * 1e9) as u64);
        }
    }
}

fn exponential(rng: &mut Rng) -> f64 {
    Exp1.sample(rng)
}

fn normal(rng: &mut Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// Of the percentiles that are looked at (tables of the normal distribution).
fn normal_quantile(q: f64) -> f64 {
    match q {
        0.5 => 0.0,
        0.95 => 1.644_853_626_951_472_2,
        0.99 => 2.326_347_874_040_841,
        _ => f64::NAN,
    }
}

/// The interval of a recording's percentile.
pub(super) fn interval_of(seconds: &[LogHistogram], q: f64) -> Interval {
    let mut known = LogHistogram::new();
    seconds.iter().for_each(|hist| known.merge(hist));
    let times = CensoredTimes::new(&known, &LogHistogram::new());
    let blocks = |q: f64| {
        let mut blocks = Blocks::new(times.influence(times.quantile(q).value()));
        let all = seconds.iter().enumerate();
        all.for_each(|(block, hist)| blocks.add_known(block, hist));
        blocks
    };
    percentile::interval(&times, q, &blocks(q), Some(&blocks(0.5)), 0.95)
}
