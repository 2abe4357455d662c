//! On/off sources: the starts of all of them.
//!
//! A source is on and off in turn, each for a Pareto-distributed time; while it is on, users start
//! at its rate. With heavy tails the sum of many sources is self-similar (Willinger, Taqqu, Sherman
//! and Wilson 1997). The starts are drawn when the scenario is read: so everybody knows how many
//! there are, and loops need not walk by the sources of others.
//!
//! Sources begin in equilibrium: a source is on with the share of time that it is on, and its first
//! period is the rest of one that began before. So the mean rate is the same from the first second
//! on, which a start at the beginning of a period would not give.

use crate::keys::{PARETO, SOURCES};
use plan::{PhaseKind, Series};
use stats::rng::{Purpose, Rng};

use super::Piece;
use crate::check::Checker;
use crate::check::fields::Fields;
use crate::document::node::Node;

/// Most sources of a phase.
const SOURCES_MAX: u64 = 100_000;
/// Most users that a phase's sources may be expected to start, and most periods that they may go
/// through: both are drawn beforehand, and 8 bytes are kept of each start.
const DRAWS_MAX: f64 = 10_000_000.0;

/// All sources of a phase.
#[derive(Debug, Clone, Copy)]
struct Sources {
    count: u32,
    /// Rate of one source while it is on.
    rate_per_s: f64,
    on: Periods,
    off: Periods,
}

impl Checker<'_> {
    /// `phase`: a number of its own, lest two phases have the same sources.
    pub(super) fn on_off(
        &mut self,
        node: &Node,
        fields: &Fields<'_>,
        phase: usize,
    ) -> Option<Vec<Piece>> {
        let duration_ns = fields.get("for").and_then(|node| self.duration_ns(node));
        let inner = self.fields(node, &SOURCES, "`on_off`")?;
        let count = inner.get("sources").and_then(|node| self.count_within(node, 1..=SOURCES_MAX));
        let rate = inner.get("rate").and_then(|node| self.rate(node));
        let mut periods = |key| inner.get(key).and_then(|node| self.periods(node));
        let on = periods("on");
        let off = periods("off");
        let sources = Sources { count: count? as u32, rate_per_s: rate?, on: on?, off: off? };
        let duration_ns = duration_ns?;
        if sources.rate_per_s == 0.0 {
            let message = "no user would start at this rate";
            self.diagnostics.error("bad-rate", &node.place, message);
            return None;
        }
        let end_s = duration_ns as f64 / 1e9;
        let periods = f64::from(sources.count) * end_s / (sources.on.mean() + sources.off.mean());
        if sources.mean_rate_per_s() * end_s > DRAWS_MAX || periods > DRAWS_MAX {
            let message =
                "these sources would start users, or switch on, more than 10 million times";
            self.diagnostics
                .error("too-many-users", &node.place, message)
                .hint("lower the rate or the number of sources, or use longer periods");
            return None;
        }
        let starts = sources.starts(self.seed, phase as u64, end_s);
        let kind = PhaseKind::Starts(Series::new(starts));
        Some(vec![Piece::new(kind, duration_ns)])
    }

    fn periods(&mut self, node: &Node) -> Option<Periods> {
        let (scale, shape) = self.scale_and_shape(node, &PARETO)?;
        if shape > 1.0 {
            return Some(Periods { scale, shape });
        }
        let message = "the shape must be above 1, else the mean is infinite";
        self.diagnostics
            .error("bad-distribution", &node.place, message)
            .hint("1.1 to 2 gives heavy tails, above 2 light ones");
        None
    }
}

impl Sources {
    /// The mean rate of all of them together.
    fn mean_rate_per_s(&self) -> f64 {
        f64::from(self.count) * self.rate_per_s * self.share_on()
    }

    /// The part of the time that a source is on.
    fn share_on(&self) -> f64 {
        self.on.mean() / (self.on.mean() + self.off.mean())
    }

    /// All starts before `end_s`, in order. Each source has a stream of its own.
    fn starts(&self, seed: u64, phase: u64, end_s: f64) -> Vec<f64> {
        let mut starts = Vec::new();
        for number in 0..self.count {
            let rng = Rng::new(seed, phase << 32 | u64::from(number), Purpose::Source);
            self.starts_of_one(rng, end_s, &mut starts);
        }
        starts.sort_unstable_by(f64::total_cmp);
        starts
    }

    fn starts_of_one(&self, mut rng: Rng, end_s: f64, starts: &mut Vec<f64>) {
        let mut is_on = rng.unit() < self.share_on();
        let mut begin_s = 0.0;
        let first = if is_on { self.on } else { self.off };
        let mut period_end_s = first.rest_quantile(rng.unit());
        while begin_s < end_s {
            if is_on {
                // Anywhere in the first interval, so that as many are expected as the rate and the
                // period's length say.
                let mut start_s = begin_s + rng.unit() / self.rate_per_s;
                while start_s < period_end_s.min(end_s) {
                    starts.push(start_s);
                    start_s += 1.0 / self.rate_per_s;
                }
            }
            is_on = !is_on;
            begin_s = period_end_s;
            let periods = if is_on { self.on } else { self.off };
            period_end_s += periods.quantile(rng.unit());
        }
    }
}

/// Pareto-distributed lengths of time, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Periods {
    /// The least, above 0.
    scale: f64,
    /// The tail's exponent, above 1, so that there is a mean.
    shape: f64,
}

impl Periods {
    fn mean(&self) -> f64 {
        self.scale * self.shape / (self.shape - 1.0)
    }

    /// The length below which a share of `unit` of periods lies (inverse of the distribution).
    fn quantile(&self, unit: f64) -> f64 {
        self.scale * (1.0 - unit).powf(-1.0 / self.shape)
    }

    /// The quantile of the rest of a period that is met at any moment. Its density is (1 − F(x)) /
    /// mean (Cox 1962, §5.4): even up to the scale, a Pareto tail with an exponent one lower above
    /// it.
    fn rest_quantile(&self, unit: f64) -> f64 {
        let below_scale = (self.shape - 1.0) / self.shape;
        if unit < below_scale {
            return unit * self.mean();
        }
        self.scale * (self.shape * (1.0 - unit)).powf(-1.0 / (self.shape - 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rest's distribution function worked out by hand for scale 1, shape 2 (mean 2):
    /// x/2 up to 1, then 1 − 1/(2x).
    #[test]
    fn the_rest_of_a_period_has_the_equilibrium_distribution() {
        let periods = Periods { scale: 1.0, shape: 2.0 };
        assert_eq!(periods.mean(), 2.0);
        assert_eq!(periods.rest_quantile(0.25), 0.5);
        assert_eq!(periods.rest_quantile(0.75), 2.0);
        assert_eq!(periods.quantile(0.75), 2.0);
    }

    fn sources(shape: f64) -> Sources {
        let periods = Periods { scale: 1.0, shape };
        Sources { count: 200, rate_per_s: 5.0, on: periods, off: periods }
    }

    /// Counts of windows of `width` seconds.
    fn counts(starts: &[f64], width: f64, end_s: f64) -> Vec<f64> {
        let mut counts = vec![0.0; (end_s / width) as usize];
        for start in starts {
            if let Some(count) = counts.get_mut((start / width) as usize) {
                *count += 1.0;
            }
        }
        counts
    }

    /// Variance over mean.
    fn dispersion(counts: &[f64]) -> f64 {
        let n = counts.len() as f64;
        let mean = counts.iter().sum::<f64>() / n;
        let squares: f64 = counts.iter().map(|count| (count - mean).powi(2)).sum();
        squares / (n - 1.0) / mean
    }

    /// Light tails (the variance of a period exists): 500 a second are expected, in each part of
    /// the phase alike, its first second included.
    #[test]
    fn the_mean_rate_is_the_same_from_the_first_second_on() {
        let sources = sources(4.0);
        assert_eq!(sources.mean_rate_per_s(), 500.0);
        let mut first = 0.0;
        let mut all = 0.0;
        for seed in 0..40 {
            let starts = sources.starts(seed, 0, 100.0);
            first += starts.iter().filter(|start| **start < 1.0).count() as f64;
            all += starts.len() as f64;
        }
        // 200 sources that are on or off for a second: a standard deviation of at most
        // 5·sqrt(200)/2 = 35 each, so 5.6 of the mean of 40.
        assert!((first / 40.0 - 500.0).abs() < 4.0 * 5.6, "{}", first / 40.0);
        assert!((all / 4000.0 - 500.0).abs() < 2.0, "{}", all / 4000.0);
    }

    /// With a tail of exponent a the variance of counts grows as the width to the 3 − a, so the
    /// index of dispersion as the width to the 2 − a: 2^(0.6·5) = 8 from 4 s to 128 s. Light tails
    /// level off, since their correlation ends.
    #[test]
    fn heavy_tails_are_bursty_at_every_scale() {
        let grown = |shape| {
            let mut ratios = 0.0;
            let few = Sources { count: 20, ..sources(shape) };
            for seed in 0..8 {
                let starts = few.starts(seed, 0, 8192.0);
                let at = |width| dispersion(&counts(&starts, width, 8192.0));
                ratios += at(128.0) / at(4.0);
            }
            ratios / 8.0
        };
        let heavy = grown(1.4);
        let light = grown(4.0);
        assert!((4.0..16.0).contains(&heavy), "{heavy}");
        assert!(light < 2.0, "{light}");
    }

    #[test]
    fn phases_and_seeds_have_sources_of_their_own() {
        let starts = |seed, phase| sources(1.5).starts(seed, phase, 10.0);
        assert_eq!(starts(1, 0), starts(1, 0));
        assert_ne!(starts(1, 0), starts(2, 0));
        assert_ne!(starts(1, 0), starts(1, 1));
        assert!(starts(1, 0).is_sorted());
    }
}
