//! Runs of a simulated server, and the windows that are found in them.

use std::ops::Range;

use rand_distr::{Distribution, Exp1};
use stats::order::median;
use stats::rng::{Purpose, Rng};
use stats::scan::{self, Count, Level, Rules};

/// Four tests of a run share 5 %.
const ALPHA: f64 = 0.05 / 4.0;
/// Least relevant differences, as `judge::limits` has them.
const TIMES_MIN: f64 = 1.25;
/// … and of less than two seconds.
const SHORT_TIMES_MIN: f64 = 2.0;
const SHARE_MIN: f64 = 0.01;
const SHORTFALL_MIN: f64 = 0.25;
/// Shortest shortfall.
const SHORTFALL_SECONDS: usize = 2;
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
    UpAndDown,
    Phases,
    Thirds,
}

/// A run: load, server, and what is planted.
#[derive(Debug, Clone)]
pub(super) struct Run {
    seconds: usize,
    per_s: f64,
    utilisation: f64,
    load: Load,
    is_warming: bool,
    failures: f64,
    slow: Range<usize>,
    slow_times: f64,
    failing: Range<usize>,
    failing_share: f64,
    silences: f64,
    silent: Range<usize>,
    silent_share: f64,
    paused: Range<usize>,
}

/// The windows of a run, in seconds.
#[derive(Debug, Clone, Default)]
pub(super) struct Windows {
    pub(super) levels: Vec<Range<usize>>,
    pub(super) counts: Vec<Range<usize>>,
    pub(super) silences: Vec<Range<usize>>,
    pub(super) shortfalls: Vec<Range<usize>>,
}

/// What was due, and what ended, in a second.
#[derive(Debug, Clone, Copy, Default)]
struct Second {
    due: f64,
    /// Due in it, and never answered.
    unanswered: f64,
    succeeded: f64,
    ln: f64,
    failed: f64,
}

impl Run {
    pub(super) const fn even(per_s: f64, utilisation: f64) -> Run {
        Run {
            seconds: 60,
            per_s,
            utilisation,
            load: Load::Even,
            is_warming: false,
            failures: 0.0,
            slow: 0..0,
            slow_times: 1.0,
            failing: 0..0,
            failing_share: 0.0,
            silences: 0.0,
            silent: 0..0,
            silent_share: 0.0,
            paused: 0..0,
        }
    }

    pub(super) const fn with_ramp(mut self) -> Run {
        self.load = Load::Ramp;
        self
    }

    pub(super) const fn with_ramp_up_and_down(mut self) -> Run {
        self.load = Load::UpAndDown;
        self
    }

    /// Phases at 2/9, 5/9 and all of the load.
    pub(super) const fn with_thirds(mut self) -> Run {
        self.load = Load::Thirds;
        self
    }

    pub(super) const fn lasting(mut self, seconds: usize) -> Run {
        self.seconds = seconds;
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

    pub(super) const fn with_silences(mut self, share: f64) -> Run {
        self.silences = share;
        self
    }

    pub(super) const fn with_silent(mut self, seconds: Range<usize>, share: f64) -> Run {
        self.silent = seconds;
        self.silent_share = share;
        self
    }

    /// The server begins nothing in these seconds.
    pub(super) const fn with_pause(mut self, seconds: Range<usize>) -> Run {
        self.paused = seconds;
        self
    }

    /// The windows of the run of this number.
    pub(super) fn windows(&self, number: u64) -> Windows {
        let ended = self.seconds(number);
        let levels: Vec<Level> = ended.iter().map(Second::level).collect();
        let load: Vec<f64> = (0..ended.len()).map(|second| load_near(&ended, second)).collect();
        let explained = scan::explained_by_load(&levels, &load);
        let numbers = (2 * NEAR + 1) as f64;
        let load = scan::Load { by_second: &load, numbers };
        let slow = Rules { alpha: ALPHA, least: TIMES_MIN.ln(), shortest: 1 };
        let mut of_levels = scan::levels_under_load(&levels, &explained, &load, &slow);
        let least = SHORT_TIMES_MIN.ln();
        of_levels
            .retain(|window| window.seconds.len() > 1 || window.inside - window.outside >= least);
        let failed = Rules { alpha: ALPHA, least: SHARE_MIN, shortest: 1 };
        let of_counts = |count: fn(&Second) -> Count| {
            let counts: Vec<Count> = ended.iter().map(count).collect();
            seconds_of(scan::counts(&counts, &failed))
        };
        let least = SHORTFALL_MIN;
        let short = Rules { alpha: ALPHA, least, shortest: SHORTFALL_SECONDS };
        let late = |seconds: &Range<usize>| seconds.start >= WARM_UP_BEFORE;
        let none = vec![0.0; ended.len()];
        let of_shortfalls = scan::levels_under_load(&shortfalls(&ended), &none, &load, &short);
        Windows {
            levels: seconds_of(of_levels).into_iter().filter(late).collect(),
            counts: of_counts(Second::failures),
            silences: of_counts(Second::silences),
            shortfalls: seconds_of(of_shortfalls),
        }
    }

    fn seconds(&self, number: u64) -> Vec<Second> {
        let mut rng = Rng::new(20_041_015, number, Purpose::Service);
        let mut ended = vec![Second::default(); self.seconds];
        let end = self.seconds as f64;
        let mut free = [0.0_f64; PLACES];
        let mut now = 0.0;
        loop {
            now += exponential(&mut rng) / self.per_s_at(now, end);
            if now >= end {
                return ended;
            }
            let place =
                (1..PLACES).fold(0, |least, at| if free[at] < free[least] { at } else { least });
            ended[now as usize].due += 1.0;
            let begun = self.begun_at(free[place].max(now));
            free[place] = begun + exponential(&mut rng) * self.mean_s_at(now);
            if self.is_silent(now, &mut rng) {
                ended[now as usize].unanswered += 1.0;
                continue;
            }
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

    /// Whether a request that is due now is never answered.
    fn is_silent(&self, now: f64, rng: &mut Rng) -> bool {
        let share = match self.silent.contains(&(now as usize)) {
            true => self.silent_share,
            false => self.silences,
        };
        share > 0.0 && rng.unit() < share
    }

    /// When the server begins with what it could begin with now.
    fn begun_at(&self, now: f64) -> f64 {
        match self.paused.contains(&(now as usize)) {
            true => self.paused.end as f64,
            false => now,
        }
    }

    fn per_s_at(&self, now: f64, end: f64) -> f64 {
        let share = match self.load {
            Load::Even => 1.0,
            Load::Ramp => (now / end).max(0.02),
            Load::UpAndDown => (1.0 - (2.0 * now / end - 1.0).abs()).max(0.02),
            Load::Thirds if now < end / 3.0 => 2.0 / 9.0,
            Load::Thirds if now < 2.0 * end / 3.0 => 5.0 / 9.0,
            Load::Thirds => 1.0,
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

    /// As the judge counts them: what is never answered has failed.
    fn failures(&self) -> Count {
        let failed = self.failed + self.unanswered;
        Count { hits: failed, of: failed + self.succeeded }
    }

    fn silences(&self) -> Count {
        Count { hits: self.unanswered, of: self.due }
    }

    fn ended(&self) -> f64 {
        self.succeeded + self.failed
    }
}

fn load_near(ended: &[Second], second: usize) -> f64 {
    let near = &ended[second.saturating_sub(NEAR)..(second + NEAR + 1).min(ended.len())];
    near.iter().map(|second| second.due).sum::<f64>() / near.len() as f64
}

/// By how many fewer requests ended than were due, in parts of those that are usually due, as the judge has them. Those that
/// are never answered are none of them here: they are found as silences.
fn shortfalls(seconds: &[Second]) -> Vec<Level> {
    let due: Vec<f64> = seconds.iter().map(|second| second.due).collect();
    let usual = median(&due).unwrap_or(1.0);
    let inner = 1..seconds.len().saturating_sub(1);
    let level = |(number, second): (usize, &Second)| match inner.contains(&number) {
        true => {
            let missing = second.due - second.unanswered - second.ended();
            // What is made up for scatters no more than this.
            let share = missing / usual.max(second.due);
            Level { value: share.max(-SHORTFALL_MIN), weight: 1.0 }
        }
        false => Level::default(),
    };
    seconds.iter().enumerate().map(level).collect()
}

fn seconds_of(windows: Vec<scan::Window>) -> Vec<Range<usize>> {
    windows.into_iter().map(|window| window.seconds).collect()
}

fn exponential(rng: &mut Rng) -> f64 {
    Exp1.sample(rng)
}
