//! Runs of a simulated server, and the windows that are found in them.

use std::ops::Range;

use rand_distr::{Distribution, Exp1};
use stats::rng::{Purpose, Rng};
use stats::scan::{self, Count, Level, Rules};

/// Four tests of a run share 5 %.
const ALPHA: f64 = 0.05 / 4.0;
/// Least relevant differences, as `judge::limits` has them.
const TIMES_MIN: f64 = 1.25;
const SHARE_MIN: f64 = 0.01;
/// Seconds to each side over which the load is averaged.
const NEAR: usize = 4;
/// Time constant of a warm-up, and how much longer the first requests take.
const WARM_UP_S: f64 = 1.5;
const WARM_UP_TIMES: f64 = 3.0;
/// A window with less healthy time before it is a warm-up.
const WARM_UP_BEFORE: usize = 3;
/// Places of the server.
const PLACES: usize = 4;

/// How the load changes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Load {
    Even,
    Ramp,
    Phases,
}

/// A run: load, server, and what is planted.
#[derive(Debug, Clone)]
pub(super) struct Run {
    per_s: f64,
    utilisation: f64,
    load: Load,
    is_warming: bool,
    failures: f64,
    slow: Range<usize>,
    slow_times: f64,
    failing: Range<usize>,
    failing_share: f64,
}

/// The windows of a run, in seconds.
#[derive(Debug, Clone, Default)]
pub(super) struct Windows {
    pub(super) levels: Vec<Range<usize>>,
    pub(super) counts: Vec<Range<usize>>,
}

/// What ended in a second.
#[derive(Debug, Clone, Copy, Default)]
struct Second {
    succeeded: f64,
    ln: f64,
    failed: f64,
}

impl Run {
    pub(super) const fn even(per_s: f64, utilisation: f64) -> Run {
        Run {
            per_s,
            utilisation,
            load: Load::Even,
            is_warming: false,
            failures: 0.0,
            slow: 0..0,
            slow_times: 1.0,
            failing: 0..0,
            failing_share: 0.0,
        }
    }

    pub(super) const fn with_ramp(mut self) -> Run {
        self.load = Load::Ramp;
        self
    }

    pub(super) const fn with_phases(mut self) -> Run {
        self.load = Load::Phases;
        self
    }

    pub(super) const fn with_warm_up(mut self) -> Run {
        self.is_warming = true;
        self
    }

    pub(super) const fn with_failures(mut self, share: f64) -> Run {
        self.failures = share;
        self
    }

    pub(super) const fn with_slow(mut self, seconds: Range<usize>, times: f64) -> Run {
        self.slow = seconds;
        self.slow_times = times;
        self
    }

    pub(super) const fn with_failing(mut self, seconds: Range<usize>, share: f64) -> Run {
        self.failing = seconds;
        self.failing_share = share;
        self
    }

    /// The windows of the run of this number.
    pub(super) fn windows(&self, seconds: usize, number: u64) -> Windows {
        let ended = self.seconds(seconds, number);
        let levels: Vec<Level> = ended.iter().map(Second::level).collect();
        let load: Vec<f64> = (0..seconds).map(|second| load_near(&ended, second)).collect();
        let explained = scan::explained_by_load(&levels, &load);
        let pairs = levels.iter().zip(explained);
        let levels: Vec<Level> =
            pairs.map(|(level, of)| Level { value: level.value - of, ..*level }).collect();
        let counts: Vec<Count> = ended.iter().map(Second::count).collect();
        let slow = Rules { alpha: ALPHA, least: TIMES_MIN.ln(), shortest: 1 };
        let failed = Rules { alpha: ALPHA, least: SHARE_MIN, shortest: 1 };
        let of_levels = scan::levels(&levels, &slow).into_iter().map(|window| window.seconds);
        let of_counts = scan::counts(&counts, &failed).into_iter().map(|window| window.seconds);
        Windows {
            levels: of_levels.filter(|window| window.start >= WARM_UP_BEFORE).collect(),
            counts: of_counts.collect(),
        }
    }

    fn seconds(&self, seconds: usize, number: u64) -> Vec<Second> {
        let mut rng = Rng::new(20_041_015, number, Purpose::Service);
        let mut ended = vec![Second::default(); seconds];
        let mut free = [0.0_f64; PLACES];
        let mut now = 0.0;
        loop {
            now += exponential(&mut rng) / self.per_s_at(now, seconds as f64);
            if now >= seconds as f64 {
                return ended;
            }
            let place =
                (1..PLACES).fold(0, |least, at| if free[at] < free[least] { at } else { least });
            free[place] = free[place].max(now) + exponential(&mut rng) * self.mean_s_at(now);
            let share = match self.failing.contains(&(now as usize)) {
                true => self.failing_share,
                false => self.failures,
            };
            let has_failed = rng.unit() < share;
            if let Some(second) = ended.get_mut(free[place] as usize) {
                match has_failed {
                    true => second.failed += 1.0,
                    false => {
                        second.succeeded += 1.0;
                        second.ln += (free[place] - now).ln();
                    }
                }
            }
        }
    }

    fn per_s_at(&self, now: f64, end: f64) -> f64 {
        let share = match self.load {
            Load::Even => 1.0,
            Load::Ramp => (now / end).max(0.02),
            Load::Phases if now < 15.0 => 0.3 / 0.7,
            Load::Phases if now < 45.0 => 1.0,
            Load::Phases => 0.4 / 0.7,
        };
        share * self.per_s
    }

    /// The mean time of a request in a place.
    fn mean_s_at(&self, now: f64) -> f64 {
        let usual = self.utilisation * PLACES as f64 / self.per_s;
        let slow = if self.slow.contains(&(now as usize)) { self.slow_times } else { 1.0 };
        let cold = match self.is_warming {
            true => 1.0 + (WARM_UP_TIMES - 1.0) * (-now / WARM_UP_S).exp(),
            false => 1.0,
        };
        usual * slow * cold
    }
}

impl Second {
    fn level(&self) -> Level {
        match self.succeeded > 0.0 {
            true => Level { value: self.ln / self.succeeded, weight: self.succeeded },
            false => Level::default(),
        }
    }

    fn count(&self) -> Count {
        Count { hits: self.failed, of: self.failed + self.succeeded }
    }
}

fn load_near(ended: &[Second], second: usize) -> f64 {
    let near = &ended[second.saturating_sub(NEAR)..(second + NEAR + 1).min(ended.len())];
    near.iter().map(|second| second.succeeded + second.failed).sum::<f64>() / near.len() as f64
}

fn exponential(rng: &mut Rng) -> f64 {
    Exp1.sample(rng)
}
