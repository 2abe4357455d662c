//! The speed of a worker over time, and when a piece of work that begins now is done.
//!
//! Work is measured in seconds at speed 1. The speed is a product of factors, each constant or linear between the
//! times at which something begins or ends, so the end of a piece of work follows from an integral that is
//! solved on paper.

use std::time::Duration;

use super::switches::Switches;

/// Least and greatest speed, and factor of a slow-down.
const SPEEDS: std::ops::RangeInclusive<f64> = 1e-3..=1e3;

/// How long a fault of a signal lasts at most, while it is not known when it ends: some thirty years.
const FOR_EVER: Duration = Duration::from_secs(1_000_000_000);

/// How the speed changes; all times are since the start.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Pace {
    /// The speed of a healthy, warm worker, 0.001 to 1,000.
    pub speed: f64,
    /// Time from which the worker is slow.
    pub slow_from: Option<Duration>,
    /// A slow worker takes this many times as long, 0.001 to 1,000.
    pub slow_factor: f64,
    /// From then on it is frozen: no work proceeds and nothing is answered.
    pub freeze_from: Option<Duration>,
    /// For how long.
    pub freeze_for: Duration,
    /// The speed rises over this time, in proportion to it; zero: it starts warm.
    pub warm_up: Duration,
    /// The share of its speed with which a cold worker begins, above 0 to 1.
    pub cold_speed: f64,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            speed: 1.0,
            slow_from: None,
            slow_factor: 1.0,
            freeze_from: None,
            freeze_for: Duration::ZERO,
            warm_up: Duration::ZERO,
            cold_speed: 0.1,
        }
    }
}

impl Pace {
    pub(super) fn check(&self) -> Result<(), &'static str> {
        let rules = [
            (SPEEDS.contains(&self.speed), "speed must be 0.001 to 1,000"),
            (SPEEDS.contains(&self.slow_factor), "slow-factor must be 0.001 to 1,000"),
            (
                self.cold_speed > 0.0 && self.cold_speed <= 1.0,
                "cold-speed must be above 0 and at most 100%",
            ),
        ];
        let broken = rules.into_iter().find(|(holds, _)| !holds);
        broken.map_or(Ok(()), |(_, rule)| Err(rule))
    }

    /// The pace while these faults are in force.
    pub(super) fn switched(mut self, switches: Switches) -> Self {
        if switches.slow {
            self.slow_from = Some(Duration::ZERO);
        }
        if switches.frozen {
            (self.freeze_from, self.freeze_for) = (Some(Duration::ZERO), FOR_EVER);
        }
        self
    }

    /// The speed `at` seconds after the start; 0 while it is frozen.
    pub(super) fn speed_at(&self, at: f64) -> f64 {
        if self.thaw(at).is_some() {
            return 0.0;
        }
        let slow = match self.slow_from {
            Some(from) if at >= from.as_secs_f64() => self.slow_factor,
            _ => 1.0,
        };
        let warm_up = self.warm_up.as_secs_f64();
        let warm = match at < warm_up {
            true => self.cold_speed + (1.0 - self.cold_speed) * at / warm_up,
            false => 1.0,
        };
        self.speed * warm / slow
    }

    /// When it thaws, if it is frozen `at` seconds after the start.
    pub(super) fn thaw(&self, at: f64) -> Option<f64> {
        let from = self.freeze_from?.as_secs_f64();
        let to = from + self.freeze_for.as_secs_f64();
        (from <= at && at < to).then_some(to)
    }

    /// When the speed changes, in order; infinity: never.
    fn changes(&self) -> [f64; 4] {
        let freeze = self.freeze_from.map(|from| [from, from + self.freeze_for]);
        let mut changes = [f64::INFINITY; 4];
        let times = [self.slow_from, Some(self.warm_up)]
            .into_iter()
            .chain(freeze.map_or([None; 2], |times| times.map(Some)));
        for (change, time) in changes.iter_mut().zip(times.flatten()) {
            *change = time.as_secs_f64();
        }
        changes.sort_by(f64::total_cmp);
        changes
    }

    /// When `work` seconds of work that begin `at` seconds after the start are done.
    pub(super) fn finish(&self, at: f64, work: f64) -> f64 {
        let mut at = at;
        let mut left = work.max(0.0);
        for until in self.changes() {
            if until <= at {
                continue;
            }
            let (first, slope) = self.segment(at);
            if until < f64::INFINITY {
                let span = until - at;
                let done = span * (first + slope * span / 2.0);
                if done < left {
                    (at, left) = (until, left - done);
                    continue;
                }
            }
            return at + time_for(left, first, slope);
        }
        let (first, slope) = self.segment(at);
        at + time_for(left, first, slope)
    }

    /// The work that is done between two times.
    pub(super) fn done(&self, from: f64, to: f64) -> f64 {
        let mut at = from;
        let mut done = 0.0;
        for until in self.changes().into_iter().chain([to]) {
            let until = until.min(to);
            if until > at {
                let ((first, slope), span) = (self.segment(at), until - at);
                done += span * (first + slope * span / 2.0);
                at = until;
            }
        }
        done
    }

    /// The speed `at` this time, and how it changes a second until the next change.
    fn segment(&self, at: f64) -> (f64, f64) {
        let speed = self.speed_at(at);
        let warm_up = self.warm_up.as_secs_f64();
        if at >= warm_up || speed == 0.0 {
            return (speed, 0.0);
        }
        let share = self.cold_speed + (1.0 - self.cold_speed) * at / warm_up;
        (speed, speed / share * (1.0 - self.cold_speed) / warm_up)
    }
}

/// How long `work` takes at a speed that begins at `first` and grows by `slope` a second: the positive root of
/// `first·t + slope·t²/2 = work`, in the form that does not cancel.
fn time_for(work: f64, first: f64, slope: f64) -> f64 {
    if work == 0.0 {
        return 0.0;
    }
    2.0 * work / (first + (first * first + 2.0 * slope * work).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    fn near(left: f64, right: f64) {
        assert!((left - right).abs() < 1e-9, "{left} is not {right}");
    }

    #[test]
    fn ends_of_work_on_paper() {
        let plain = Pace { speed: 2.0, ..Pace::default() };
        near(plain.finish(3.0, 1.0), 3.5);
        near(plain.finish(3.0, -1.0), 3.0);
        let slow = Pace { slow_from: Some(S(10)), slow_factor: 4.0, ..Pace::default() };
        near(slow.finish(8.0, 1.0), 9.0);
        // Two seconds at full speed, and one that takes four.
        near(slow.finish(8.0, 3.0), 14.0);
        near(slow.finish(20.0, 1.0), 24.0);
        let frozen = Pace { freeze_from: Some(S(10)), freeze_for: S(5), ..Pace::default() };
        near(frozen.finish(9.5, 1.0), 15.5);
        near(frozen.finish(12.0, 1.0), 16.0);
        near(frozen.finish(15.0, 1.0), 16.0);
        assert_eq!(frozen.thaw(10.0), Some(15.0));
        assert_eq!(frozen.thaw(15.0), None);
    }

    #[test]
    fn a_cold_worker_catches_up() {
        let cold = Pace { warm_up: S(10), cold_speed: 0.5, ..Pace::default() };
        // 0.5·t + 0.025·t² = 7.5 at the end of the warm-up.
        near(cold.finish(0.0, 7.5), 10.0);
        near(cold.finish(0.0, 8.5), 11.0);
        near(cold.finish(0.0, 3.125), 5.0);
        near(cold.speed_at(5.0), 0.75);
        near(cold.finish(12.0, 1.0), 13.0);
    }

    #[test]
    fn signals_make_it_slow_or_frozen_at_any_time() {
        let pace = Pace { slow_factor: 4.0, ..Pace::default() };
        let slow = Switches { slow: true, ..Switches::default() };
        near(pace.switched(slow).finish(3.0, 1.0), 7.0);
        let frozen = Switches { frozen: true, ..Switches::default() };
        assert!(pace.switched(frozen).thaw(1e6).is_some());
        assert_eq!(pace.switched(frozen).done(1.0, 2.0), 0.0);
        assert_eq!(pace.switched(Switches::default()), pace);
    }

    #[test]
    fn faults_that_overlap_multiply() {
        let pace = Pace {
            speed: 2.0,
            slow_from: Some(S(2)),
            slow_factor: 2.0,
            freeze_from: Some(S(3)),
            freeze_for: S(1),
            warm_up: S(4),
            cold_speed: 0.5,
        };
        // The integral of the speed, by small steps.
        let mut at = 0.0;
        let mut done = 0.0;
        assert_eq!(pace.done(3.2, 3.8), 0.0);
        while at < 6.0 {
            done += 1e-4 * pace.speed_at(at + 5e-5);
            at += 1e-4;
        }
        assert!((pace.finish(0.0, done) - 6.0).abs() < 1e-3);
        assert!((pace.done(0.0, 6.0) - done).abs() < 1e-3);
        near(pace.done(0.0, 2.5) + pace.done(2.5, 6.0), pace.done(0.0, 6.0));
    }
}
