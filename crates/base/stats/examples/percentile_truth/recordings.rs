//! Recordings whose percentiles are known: times by stretch of a second or less, of operations that are independent,
//! that wait in one queue, that resemble the one before, or that share conditions which change slowly.

use rand_distr::{Distribution, Exp1, StandardNormal};
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
/// Mean of the times of an autoregression, in its deviations.
const LEVEL: f64 = 10.0;
/// Shorter recordings have this many stretches, longer ones a stretch for each second; as a run has them.
const STRETCHES: usize = 60;

/// Where times come from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Source {
    /// Exponential, independent.
    Exponential,
    /// M/M/1 with this utilisation: exponential, too, but alike among those that waited together.
    Queue(f64),
    /// A normal autoregression from operation to operation, with this coefficient.
    Autoregression(f64),
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
            Source::Autoregression(_) => (LEVEL + normal_quantile(q)) * UNIT_NS,
            Source::Lognormal(_) => {
                (normal_quantile(q) * (2.0 * DEVIATION * DEVIATION).sqrt()).exp() * UNIT_NS
            }
        }
    }

    /// A recording of whole seconds, the `number`-th, by stretch.
    pub(super) fn stretches(self, seconds: usize, number: u64) -> Vec<LogHistogram> {
        let mut rng = Rng::new(20_091_217, number, Purpose::Value);
        let mut recording = Recording::new(seconds);
        match self {
            Source::Exponential => recording.fill(&mut rng, |rng, _| exponential(rng) * UNIT_NS),
            Source::Queue(utilisation) => recording.fill_by_queue(&mut rng, utilisation),
            Source::Autoregression(correlation) => {
                let mut level = normal(&mut rng);
                let noise = (1.0 - correlation * correlation).sqrt();
                recording.fill(&mut rng, |rng, _| {
                    level = correlation * level + noise * normal(rng);
                    (LEVEL + level) * UNIT_NS
                });
            }
            Source::Lognormal(correlation) => {
                let mut level = normal(&mut rng);
                let mut second = 0;
                let noise = (1.0 - correlation * correlation).sqrt();
                recording.fill(&mut rng, |rng, at_s| {
                    while second < at_s as usize {
                        level = correlation * level + noise * normal(rng);
                        second += 1;
                    }
                    (DEVIATION * (level + normal(rng))).exp() * UNIT_NS
                });
            }
        }
        recording.stretches
    }
}

/// A recording while it is filled.
struct Recording {
    seconds: f64,
    stretches: Vec<LogHistogram>,
}

impl Recording {
    fn new(seconds: usize) -> Recording {
        let stretches = vec![LogHistogram::new(); seconds.max(STRETCHES)];
        Recording { seconds: seconds as f64, stretches }
    }

    /// Adds the time of an operation that ended then; none after the end.
    fn add(&mut self, at_s: f64, time_ns: f64) {
        let stretch = at_s / self.seconds * self.stretches.len() as f64;
        if let Some(hist) = self.stretches.get_mut(stretch as usize) {
            hist.record(time_ns as u64);
        }
    }

    /// Operations of a Poisson process, each with its time.
    fn fill(&mut self, rng: &mut Rng, mut time: impl FnMut(&mut Rng, f64) -> f64) {
        let mut now = exponential(rng) / PER_SECOND;
        while now < self.seconds {
            let time_ns = time(rng, now);
            self.add(now, time_ns);
            now += exponential(rng) / PER_SECOND;
        }
    }

    /// Jobs by when they are done. The queue is stationary from the start: work waits with the probability of the
    /// utilisation, and is exponential then.
    fn fill_by_queue(&mut self, rng: &mut Rng, utilisation: f64) {
        let arrivals = utilisation * PER_SECOND;
        let mut work = match rng.unit() < utilisation {
            true => exponential(rng) / (PER_SECOND - arrivals),
            false => 0.0,
        };
        let mut now = 0.0;
        while now < self.seconds {
            let between = exponential(rng) / arrivals;
            now += between;
            work = f64::max(work - between, 0.0) + exponential(rng) / PER_SECOND;
            self.add(now + work, work * 1e9);
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

/// The interval of a recording's percentile, at 95 %.
pub(super) fn interval_of(stretches: &[LogHistogram], q: f64) -> Interval {
    interval_at(stretches, q, 0.95)
}

/// The interval of any confidence.
pub(super) fn interval_at(stretches: &[LogHistogram], q: f64, confidence: f64) -> Interval {
    let mut known = LogHistogram::new();
    stretches.iter().for_each(|hist| known.merge(hist));
    let times = CensoredTimes::new(&known, &LogHistogram::new());
    let blocks = |q: f64| {
        let mut blocks = Blocks::new(times.influence(times.quantile(q).value()));
        let all = stretches.iter().enumerate();
        all.for_each(|(block, hist)| blocks.add_known(block, hist));
        blocks
    };
    percentile::interval(&times, q, &blocks(q), Some(&blocks(0.5)), confidence)
}
