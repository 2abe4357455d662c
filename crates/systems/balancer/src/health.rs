//! Which backends are up: active checks, ejection of those that fail requests, and the slow start of those that
//! come back. A state machine with the time as an argument.

mod rates;

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::fleet::Fleet;
use rates::{Counts, outliers};

/// In how many steps a weight rises in a slow start.
const STEPS: f64 = 10.0;
/// Longest ejection, as a multiple of the first.
const EJECTION_MAX: u32 = 10;
/// Times that may be given.
const TIMES: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_secs(3600);

/// How backends are checked and ejected.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HealthOptions {
    /// Path that active checks request; `None`, the default: there are none.
    pub path: Option<String>,
    /// Time between checks.
    pub every: Duration,
    /// After which a check has failed.
    pub timeout: Duration,
    /// Checks that succeed one after the other until a backend is up, 1 or more.
    pub rise: u32,
    /// Checks that fail one after the other until it is down, 1 or more.
    pub fall: u32,
    /// Requests that fail one after the other until a backend is ejected; 0: it never is, for whatever.
    pub eject_after: u32,
    /// Over how long failures are counted beside that; zero: they are not.
    pub eject_window: Duration,
    /// The share of a window's requests that a backend must fail to be ejected, above 0 to 1. One that fails much more than
    /// the others is ejected in any case.
    pub eject_share: f64,
    /// How long the first time. Each further ejection is longer by as much, up to ten times; it is shorter again by as much for
    /// each window without one.
    pub eject_for: Duration,
    /// The share of backends that may be ejected at once, 0 to 1.
    pub eject_max: f64,
    /// Time in which the weight of a backend that came back rises to its value; zero, the default: at once.
    pub slow_start: Duration,
}

impl Default for HealthOptions {
    fn default() -> Self {
        Self {
            path: None,
            every: Duration::from_secs(2),
            timeout: Duration::from_secs(1),
            rise: 2,
            fall: 3,
            eject_after: 5,
            eject_window: Duration::from_secs(10),
            eject_share: 0.5,
            eject_for: Duration::from_secs(10),
            eject_max: 0.5,
            slow_start: Duration::ZERO,
        }
    }
}

impl HealthOptions {
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let path_is_one = |path: &String| {
            path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic())
        };
        let rules = [
            (
                self.path.as_ref().is_none_or(path_is_one),
                "health-path must be a path such as /healthz",
            ),
            (
                [self.every, self.timeout, self.eject_for].iter().all(|time| TIMES.contains(time)),
                "times of health checks and ejections must be 10 ms to 1 h",
            ),
            (self.rise >= 1 && self.fall >= 1, "rise and fall must be 1 or more"),
            (
                self.eject_window.is_zero() || TIMES.contains(&self.eject_window),
                "eject-window must be 0, or 10 ms to 1 h",
            ),
            (
                self.eject_share > 0.0 && self.eject_share <= 1.0,
                "eject-share must be above 0 and at most 100%",
            ),
            ((0.0..=1.0).contains(&self.eject_max), "eject-max must be 0 to 100%"),
        ];
        let broken = rules.into_iter().find(|(holds, _)| !holds);
        broken.map_or(Ok(()), |(_, rule)| Err(rule))
    }
}

/// Sign of a backend's health, from a request or a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// It answered.
    Good,
    /// It could not be reached, broke off, took too long, or answered 500, 502 or 504.
    Bad,
}

/// The state of one backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Backend {
    /// Active checks say that it is down.
    down: bool,
    /// Checks in a row that said otherwise.
    contrary: u32,
    /// Requests that failed in a row.
    failed: u32,
    /// Results in the present window.
    window: Counts,
    ejected_until_ns: Option<u64>,
    /// Ejections that lengthen the next one.
    ejections: u32,
    /// Since when its weight rises.
    rising_since_ns: Option<u64>,
}

/// The states of all backends.
#[derive(Debug, Clone)]
pub struct Health {
    options: HealthOptions,
    backends: Vec<Backend>,
    /// Ejections that ever were.
    ejections: u64,
    /// When the window ends in which requests are counted, once there was one.
    window_end_ns: Option<u64>,
    /// Backends whose state changes as time passes.
    timed: bool,
}

impl Health {
    /// All are up.
    #[must_use]
    pub fn new(options: HealthOptions, count: usize) -> Self {
        Self {
            options,
            backends: vec![Backend::default(); count],
            ejections: 0,
            window_end_ns: None,
            timed: false,
        }
    }

    /// Ejections that ever were.
    #[must_use]
    pub fn ejections(&self) -> u64 {
        self.ejections
    }

    /// Whether a backend is ejected.
    #[must_use]
    pub fn is_ejected(&self, at: usize) -> bool {
        self.backends[at].ejected_until_ns.is_some()
    }

    /// Takes over the counts that belong to another list of backends.
    pub fn follow(&mut self, other: &Health) {
        self.ejections = other.ejections;
        self.window_end_ns = other.window_end_ns;
    }

    /// The state that a backend has in another list of backends is taken over.
    pub fn take_over(&mut self, at: usize, other: &Health, there: usize) {
        self.backends[at] = other.backends[there];
        self.timed = true;
    }

    /// Takes the sign of a request.
    pub fn requested(&mut self, fleet: &mut Fleet, at: usize, sign: Sign, now_ns: u64) {
        let counts_windows = !self.options.eject_window.is_zero();
        let backend = &mut self.backends[at];
        if sign == Sign::Good {
            backend.failed = 0;
            backend.window.good += 1;
            // It has served since it came back.
            if backend.ejected_until_ns.is_none() && !counts_windows {
                backend.ejections = 0;
            }
            return;
        }
        backend.failed = backend.failed.saturating_add(1);
        backend.window.bad += 1;
        let due = self.options.eject_after;
        if due > 0 && backend.failed >= due {
            self.eject(fleet, at, now_ns);
        }
    }

    /// Ejects a backend, unless it is ejected or too many are.
    fn eject(&mut self, fleet: &mut Fleet, at: usize, now_ns: u64) {
        let ejected = (0..self.backends.len()).filter(|other| self.is_ejected(*other));
        let most = (self.backends.len() as f64 * self.options.eject_max).floor();
        if self.is_ejected(at) || (ejected.count() + 1) as f64 > most {
            return;
        }
        let backend = &mut self.backends[at];
        backend.ejections = (backend.ejections + 1).min(EJECTION_MAX);
        backend.failed = 0;
        let time = self.options.eject_for * backend.ejections;
        // Durations are at most ten hours.
        backend.ejected_until_ns = Some(now_ns + time.as_nanos() as u64);
        self.ejections += 1;
        self.timed = true;
        self.apply(fleet, at, now_ns);
    }

    /// Ends a window that is over: who failed too much in it is ejected.
    fn end_window(&mut self, fleet: &mut Fleet, now_ns: u64) {
        let window_ns = self.options.eject_window.as_nanos() as u64;
        if window_ns == 0 || self.options.eject_after == 0 {
            return;
        }
        let end_ns = *self.window_end_ns.get_or_insert(now_ns + window_ns);
        if now_ns < end_ns {
            return;
        }
        self.window_end_ns = Some(now_ns + window_ns);
        let counts: Vec<Counts> = self.backends.iter().map(|one| one.window).collect();
        for at in outliers(&counts, self.options.eject_share) {
            self.eject(fleet, at, now_ns);
        }
        for backend in &mut self.backends {
            backend.window = Counts::default();
            if backend.ejected_until_ns.is_none() {
                backend.ejections = backend.ejections.saturating_sub(1);
            }
        }
    }

    /// Takes the sign of an active check.
    pub fn checked(&mut self, fleet: &mut Fleet, at: usize, sign: Sign, now_ns: u64) {
        let backend = &mut self.backends[at];
        if (sign == Sign::Bad) == backend.down {
            backend.contrary = 0;
            return;
        }
        backend.contrary += 1;
        let needed = match backend.down {
            true => self.options.rise,
            false => self.options.fall,
        };
        if backend.contrary >= needed {
            backend.contrary = 0;
            backend.down = !backend.down;
            self.apply(fleet, at, now_ns);
        }
    }

    /// Ends windows and ejections whose time is over, and raises weights.
    pub fn tick(&mut self, fleet: &mut Fleet, now_ns: u64) {
        self.end_window(fleet, now_ns);
        if !self.timed {
            return;
        }
        self.timed = false;
        for at in 0..self.backends.len() {
            let backend = &mut self.backends[at];
            let over = |until: u64| until <= now_ns;
            if backend.ejected_until_ns.is_some_and(over) {
                backend.ejected_until_ns = None;
            }
            self.apply(fleet, at, now_ns);
            let backend = &self.backends[at];
            let changes = backend.ejected_until_ns.is_some() || backend.rising_since_ns.is_some();
            self.timed |= changes;
        }
    }

    /// Makes the fleet what this says.
    fn apply(&mut self, fleet: &mut Fleet, at: usize, now_ns: u64) {
        let slow_start_ns = self.options.slow_start.as_nanos() as u64;
        let backend = &mut self.backends[at];
        let up = !backend.down && backend.ejected_until_ns.is_none();
        if up && !fleet.is_up(at) && slow_start_ns > 0 {
            backend.rising_since_ns = Some(now_ns);
            self.timed = true;
        }
        if !up {
            backend.rising_since_ns = None;
        }
        fleet.set_up(at, up);
        let share = match backend.rising_since_ns {
            // Threads read the clock before they get the lock, so that a time may lie before the last one.
            Some(since) if now_ns.saturating_sub(since) < slow_start_ns => {
                let passed_ns = now_ns.saturating_sub(since);
                let step = passed_ns as f64 / slow_start_ns as f64 * STEPS;
                (step.floor() + 1.0) / STEPS
            }
            _ => {
                backend.rising_since_ns = None;
                1.0
            }
        };
        fleet.set_share(at, share);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::Member;

    const S: u64 = 1_000_000_000;

    fn four(options: HealthOptions) -> (Fleet, Health) {
        let members = ["a", "b", "c", "d"].map(Member::new);
        (Fleet::new(members.into()), Health::new(options, 4))
    }

    #[test]
    fn failures_in_a_row_eject_for_longer_each_time() {
        let (mut fleet, mut health) = four(HealthOptions::default());
        for _ in 0..4 {
            health.requested(&mut fleet, 1, Sign::Bad, 0);
        }
        health.requested(&mut fleet, 1, Sign::Good, 0);
        for _ in 0..4 {
            health.requested(&mut fleet, 1, Sign::Bad, 0);
        }
        assert!(fleet.is_up(1));
        health.requested(&mut fleet, 1, Sign::Bad, 0);
        assert!(!fleet.is_up(1));
        health.tick(&mut fleet, 10 * S - 1);
        assert!(!fleet.is_up(1));
        health.tick(&mut fleet, 10 * S);
        assert!(fleet.is_up(1));
        for _ in 0..5 {
            health.requested(&mut fleet, 1, Sign::Bad, 10 * S);
        }
        health.tick(&mut fleet, 29 * S);
        assert!(!fleet.is_up(1), "twice as long");
        health.tick(&mut fleet, 30 * S);
        assert!(fleet.is_up(1));
        assert_eq!(health.ejections(), 2);
    }

    #[test]
    fn a_backend_that_fails_now_and_then_is_ejected_for_longer_each_time() {
        let (mut fleet, mut health) =
            four(HealthOptions { eject_share: 0.25, ..HealthOptions::default() });
        let window = |fleet: &mut Fleet, health: &mut Health, begin: u64| {
            health.tick(fleet, begin * S);
            for number in 0..200 {
                // Every third request of the second fails, never two in a row.
                let sign = if number % 3 == 0 { Sign::Bad } else { Sign::Good };
                health.requested(fleet, 1, sign, begin * S);
                health.requested(fleet, 0, Sign::Good, begin * S);
            }
            assert!(fleet.is_up(1));
            health.tick(fleet, (begin + 10) * S);
        };
        window(&mut fleet, &mut health, 0);
        assert!(!fleet.is_up(1) && fleet.is_up(0));
        health.tick(&mut fleet, 20 * S);
        assert!(fleet.is_up(1));
        window(&mut fleet, &mut health, 20);
        health.tick(&mut fleet, 50 * S - 1);
        assert!(!fleet.is_up(1), "twice as long");
        health.tick(&mut fleet, 50 * S);
        assert!(fleet.is_up(1));
        assert_eq!(health.ejections(), 2);
        // Two windows without an ejection.
        health.tick(&mut fleet, 60 * S);
        health.tick(&mut fleet, 70 * S);
        window(&mut fleet, &mut health, 70);
        health.tick(&mut fleet, 90 * S);
        assert!(fleet.is_up(1), "as long as the first time");
    }

    #[test]
    fn nothing_is_ejected_if_ejection_is_off() {
        let (mut fleet, mut health) =
            four(HealthOptions { eject_after: 0, ..HealthOptions::default() });
        health.tick(&mut fleet, 0);
        (0..500).for_each(|_| health.requested(&mut fleet, 1, Sign::Bad, 0));
        health.tick(&mut fleet, 10 * S);
        assert!(fleet.is_up(1));
    }

    #[test]
    fn no_more_are_ejected_than_allowed() {
        let (mut fleet, mut health) = four(HealthOptions::default());
        for at in 0..4 {
            (0..9).for_each(|_| health.requested(&mut fleet, at, Sign::Bad, 0));
        }
        assert_eq!((0..4).filter(|at| fleet.is_up(*at)).count(), 2);
    }

    #[test]
    fn checks_take_down_and_up() {
        let (mut fleet, mut health) = four(HealthOptions::default());
        let signs = [
            (Sign::Bad, true),
            (Sign::Bad, true),
            (Sign::Good, true),
            (Sign::Bad, true),
            (Sign::Bad, true),
            (Sign::Bad, false),
            (Sign::Good, false),
            (Sign::Bad, false),
            (Sign::Good, false),
            (Sign::Good, true),
        ];
        for (number, (sign, up)) in signs.into_iter().enumerate() {
            health.checked(&mut fleet, 2, sign, 0);
            assert_eq!(fleet.is_up(2), up, "check {number}");
        }
    }

    #[test]
    fn weights_rise_in_a_slow_start() {
        let (mut fleet, mut health) =
            four(HealthOptions { slow_start: Duration::from_secs(10), ..HealthOptions::default() });
        (0..3).for_each(|_| health.checked(&mut fleet, 0, Sign::Bad, 0));
        (0..2).for_each(|_| health.checked(&mut fleet, 0, Sign::Good, 100 * S));
        assert!((fleet.weight(0) - 0.1).abs() < 1e-12);
        health.tick(&mut fleet, 105 * S);
        assert!((fleet.weight(0) - 0.6).abs() < 1e-12);
        health.tick(&mut fleet, 110 * S);
        assert!((fleet.weight(0) - 1.0).abs() < 1e-12);
        assert_eq!(fleet.weight(1), 1.0);
    }

    #[test]
    fn a_slow_start_accepts_a_time_before_its_beginning() {
        let (mut fleet, mut health) =
            four(HealthOptions { slow_start: Duration::from_secs(10), ..HealthOptions::default() });
        (0..3).for_each(|_| health.checked(&mut fleet, 0, Sign::Bad, 0));
        (0..2).for_each(|_| health.checked(&mut fleet, 0, Sign::Good, 100 * S));
        health.tick(&mut fleet, 100 * S - 1);
        assert!((fleet.weight(0) - 0.1).abs() < 1e-12);
        health.tick(&mut fleet, 105 * S);
        assert!((fleet.weight(0) - 0.6).abs() < 1e-12);
    }
}
