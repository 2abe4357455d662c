//! The arrival process: phases, one after the other, and how many users each is expected to start.

mod population;

use std::fmt;
use std::sync::Arc;

pub use population::{Iterations, Population, closed_until_ns};

use serde::{Serialize, Serializer};

use crate::hash::fnv1a;
use crate::ids::SessionId;

/// Highest rate, per second.
pub const RATE_MAX_PER_S: f64 = 1e7;
/// Sums of decimal rates miss whole numbers by a rounding error; it must not add a user.
pub const START_SLACK: f64 = 1e-6;

/// How many of evenly spaced users are due before their number reaches `users`: the first is due at 0.
fn started(users: f64) -> f64 {
    (users - START_SLACK).ceil().max(0.0)
}

/// One stretch of the arrival process.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Phase {
    /// Unique in the plan; given, or made from the kind (`ramp`, `hold`, `hold-2`).
    pub name: String,
    pub kind: PhaseKind,
    /// Start of the phase, since the run's start.
    pub start_ns: u64,
    pub duration_ns: u64,
    /// The session its users run; `None`: drawn by weight.
    pub session: Option<SessionId>,
    /// The phase's own weights of all sessions; `None`: those of the sessions.
    pub weights: Option<Vec<f64>>,
    /// It starts at most this number of users.
    pub users_max: Option<u64>,
    /// How many sessions its users begin; `None`: as many as there is time for. Of closed phases whose number of users
    /// is fixed.
    pub iterations: Option<Iterations>,
    /// A last phase that is over as soon as no user is present.
    pub until_done: bool,
}

/// One user that starts at a time of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Single {
    /// Time at which it is due, since the run's start.
    pub due_ns: u64,
    /// The session it runs.
    pub session: SessionId,
}

/// How sessions start during a phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum PhaseKind {
    /// Open: the rate goes linearly from one value to the other (equal: a constant rate).
    Rate { from_per_s: f64, to_per_s: f64, spacing: Spacing },
    /// Open: the rate of a recording, constant in each of its bins.
    Trace(Trace),
    /// Open: known starts, in seconds since the phase's start, in order.
    Starts(Series),
    /// Open: streams side by side, each of phases one after the other, the first of which begins with
    /// this one.
    Together(Vec<Vec<Phase>>),
    /// No new sessions; those that are there go on.
    Hold,
    /// Closed: users that each restart their session when it ends.
    Closed(Population),
}

/// How arrivals of a given rate lie in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Spacing {
    /// Evenly.
    Even,
    /// As a Poisson process.
    Poisson,
}

impl Spacing {
    /// How many users are expected before the integral of the rate reaches `users`.
    fn users_due(self, users: f64) -> f64 {
        match self {
            Spacing::Even => started(users),
            Spacing::Poisson => users,
        }
    }
}

/// Many numbers that are shared. Its `Debug` says how many and a hash of their bits: a plan's text
/// distinguishes plans without being as long as a recording.
#[derive(Clone, PartialEq)]
pub struct Series(Arc<[f64]>);

impl Series {
    pub fn new(values: Vec<f64>) -> Series {
        Series(values.into())
    }

    pub fn values(&self) -> &[f64] {
        &self.0
    }

    fn hash(&self) -> u64 {
        let bits = self.0.iter().map(|value| value.to_bits());
        fnv1a(bits.flat_map(u64::to_le_bytes))
    }
}

/// How many values there are and a hash of them.
impl Serialize for Series {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.0.len(), self.hash()).serialize(serializer)
    }
}

impl fmt::Debug for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Series({}, {:016x})", self.0.len(), self.hash())
    }
}

/// How many users start in each of a row of equally long bins.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trace {
    /// Length of a bin, in seconds.
    pub bin_s: f64,
    /// Users that have started by each bin's end.
    pub by_end: Series,
    pub spacing: Spacing,
}

impl Trace {
    /// `counts`: users in each bin, not below 0.
    pub fn new(bin_s: f64, counts: &[f64], spacing: Spacing) -> Trace {
        let mut sum = 0.0;
        let by_end = counts.iter().map(|count| {
            sum += count;
            sum
        });
        Trace { bin_s, by_end: Series::new(by_end.collect()), spacing }
    }

    /// Users that have started when `bin` begins.
    fn before(&self, bin: usize) -> f64 {
        let earlier = bin.checked_sub(1);
        earlier.map_or(0.0, |earlier| self.by_end.values()[earlier])
    }

    /// Users of the whole recording.
    pub fn total(&self) -> f64 {
        self.by_end.values().last().copied().unwrap_or(0.0)
    }

    /// How many users have started after this number of seconds.
    pub fn users_by(&self, seconds: f64) -> f64 {
        let bins = self.by_end.values();
        let place = (seconds / self.bin_s).max(0.0);
        let bin = place as usize;
        let Some(end) = bins.get(bin) else {
            return self.total();
        };
        let before = self.before(bin);
        before + (end - before) * (place - bin as f64)
    }

    /// When the number of started users reaches `users`, in seconds: the inverse of
    /// [`Trace::users_by`]. `None` where it never does. `bin` is a bin that is not behind the one
    /// that is looked for; it moves there, so that a walk does not restart each time.
    pub fn time_of(&self, users: f64, bin: &mut usize) -> Option<f64> {
        let bins = self.by_end.values();
        *bin += gallop(bins.get(*bin..)?, users);
        let end = bins.get(*bin)?;
        let before = self.before(*bin);
        let part = ((users - before) / (end - before)).clamp(0.0, 1.0);
        Some((*bin as f64 + part) * self.bin_s)
    }

    fn rate_max_per_s(&self) -> f64 {
        let bins = 0..self.by_end.values().len();
        let counts = bins.map(|bin| self.by_end.values()[bin] - self.before(bin));
        counts.fold(0.0, f64::max) / self.bin_s
    }
}

/// How many of the ascending `values` are not above `wanted`: doubling steps first, since the
/// answer is most often near the beginning.
fn gallop(values: &[f64], wanted: f64) -> usize {
    let mut reach = 1;
    while values.get(reach - 1).is_some_and(|value| *value <= wanted) {
        reach *= 2;
    }
    let low = reach / 2;
    let high = (reach - 1).min(values.len());
    low + values[low..high.max(low)].partition_point(|value| *value <= wanted)
}

impl Phase {
    /// The first nanosecond after the phase.
    pub fn end_ns(&self) -> u64 {
        self.start_ns + self.duration_ns
    }

    /// The moment at this share of the phase.
    pub fn at(&self, share: f64) -> u64 {
        self.start_ns + (self.duration_ns as f64 * share).round() as u64
    }

    /// How many users the phase is expected to start, which is how many it starts unless chance decides; of a closed
    /// population each counts once.
    pub fn users_planned(&self) -> f64 {
        self.users_by(self.end_ns())
    }

    /// How many sessions its users begin, if that is fixed.
    pub fn sessions_planned(&self) -> Option<u64> {
        self.iterations.map(|iterations| iterations.total(self.users_planned() as u64))
    }

    /// How many of them until `at_ns` of the run.
    pub fn users_by(&self, at_ns: u64) -> f64 {
        let at_ns = at_ns.min(self.end_ns());
        // A fixed population is due at the phase's start: before it, nobody.
        let Some(into_ns) = at_ns.checked_sub(self.start_ns).filter(|&ns| ns > 0) else {
            return 0.0;
        };
        let t = into_ns as f64 / 1e9;
        let users = match &self.kind {
            PhaseKind::Rate { from_per_s, to_per_s, spacing } => {
                let length = self.duration_ns as f64 / 1e9;
                let users = from_per_s * t + (to_per_s - from_per_s) * t * t / (2.0 * length);
                spacing.users_due(users)
            }
            PhaseKind::Trace(trace) => trace.spacing.users_due(trace.users_by(t)),
            PhaseKind::Starts(times) => times.values().partition_point(|time| *time < t) as f64,
            PhaseKind::Together(streams) => {
                let phases = streams.iter().flatten();
                phases.map(|phase| phase.users_by(at_ns)).sum()
            }
            PhaseKind::Hold => 0.0,
            PhaseKind::Closed(population) => {
                population.started_by(t / (self.duration_ns as f64 / 1e9))
            }
        };
        self.users_max.map_or(users, |max| users.min(max as f64))
    }

    /// The phases whose users come: those side by side, or the phase itself.
    pub fn parts(&self) -> impl Iterator<Item = &Phase> {
        let (streams, own) = match &self.kind {
            PhaseKind::Together(streams) => (&streams[..], None),
            _ => (&[][..], Some(self)),
        };
        streams.iter().flatten().chain(own)
    }

    /// True where users come by the clock, whether or not those before them were answered.
    pub fn is_open(&self) -> bool {
        !matches!(self.kind, PhaseKind::Hold | PhaseKind::Closed(_))
    }

    /// The highest rate of an open phase, per second; of known starts that of the busiest second.
    pub fn rate_max_per_s(&self) -> f64 {
        match &self.kind {
            PhaseKind::Rate { from_per_s, to_per_s, .. } => from_per_s.max(*to_per_s),
            PhaseKind::Trace(trace) => trace.rate_max_per_s(),
            PhaseKind::Starts(times) => busiest_second(times.values()) as f64,
            PhaseKind::Together(streams) => streams.iter().map(|stream| highest(stream)).sum(),
            PhaseKind::Hold | PhaseKind::Closed(_) => 0.0,
        }
    }
}

/// The highest rate of phases one after the other.
fn highest(phases: &[Phase]) -> f64 {
    phases.iter().map(Phase::rate_max_per_s).fold(0.0, f64::max)
}

/// How many of these ascending times lie within one second, at most.
fn busiest_second(times: &[f64]) -> usize {
    let mut first = 0;
    let counts = times.iter().enumerate().map(|(at, time)| {
        while times[first] <= time - 1.0 {
            first += 1;
        }
        at + 1 - first
    });
    counts.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_user_is_the_inverse_of_the_count() {
        let trace = Trace::new(2.0, &[4.0, 0.0, 1.0], Spacing::Even);
        assert_eq!(trace.users_by(1.0), 2.0);
        assert_eq!(trace.users_by(3.0), 4.0);
        assert_eq!(trace.users_by(5.0), 4.5);
        assert_eq!(trace.users_by(9.0), 5.0);
        let mut bin = 0;
        let times: Vec<_> = (0..6).map(|user| trace.time_of(f64::from(user), &mut bin)).collect();
        let expected = [Some(0.0), Some(0.5), Some(1.0), Some(1.5), Some(4.0), None];
        assert_eq!(times, expected);
    }

    #[test]
    fn galloping_finds_what_a_plain_search_finds() {
        let values: Vec<f64> = (0..40).map(|n| f64::from(n / 3)).collect();
        for start in 0..values.len() {
            for wanted in -1..15 {
                let wanted = f64::from(wanted) + 0.5;
                let plain = values[start..].partition_point(|value| *value <= wanted);
                assert_eq!(gallop(&values[start..], wanted), plain, "{start} {wanted}");
            }
        }
        assert_eq!(gallop(&[], 1.0), 0);
    }

    fn phase(from_per_s: f64, to_per_s: f64, spacing: Spacing) -> Phase {
        Phase {
            name: String::new(),
            kind: PhaseKind::Rate { from_per_s, to_per_s, spacing },
            start_ns: 0,
            duration_ns: 3_000_000_000,
            session: None,
            weights: None,
            users_max: None,
            iterations: None,
            until_done: false,
        }
    }

    /// The area of 0/s to 7/s over 3 s is 10.5; users 0 to 10 are due within it.
    #[test]
    fn an_even_phase_plans_whole_users() {
        let ramp = phase(0.0, 7.0, Spacing::Even);
        assert_eq!(ramp.users_planned(), 11.0);
        assert_eq!(Phase { users_max: Some(4), ..ramp.clone() }.users_planned(), 4.0);
        assert_eq!(phase(0.0, 7.0, Spacing::Poisson).users_planned(), 10.5);
        // After half a second the area is 7/24, after a second 7/6.
        assert_eq!([0.5, 1.0].map(|s| ramp.users_by((s * 1e9) as u64)), [1.0, 2.0]);
        // At 3.3/s user 3 is due after 0.909 s; sums of such rates are not exact.
        let steady = phase(3.3, 3.3, Spacing::Even);
        assert_eq!([0.9, 0.91].map(|s| steady.users_by((s * 1e9) as u64)), [3.0, 4.0]);
        assert_eq!(phase(0.1, 0.1, Spacing::Even).users_planned(), 1.0);
        let bins = Trace::new(0.1, &[0.35; 30], Spacing::Even);
        let trace = Phase { kind: PhaseKind::Trace(bins), ..steady };
        assert_eq!(trace.users_planned(), 11.0);
    }

    #[test]
    fn the_busiest_second_is_found_wherever_it_begins() {
        assert_eq!(busiest_second(&[0.0, 0.9, 1.2, 1.8, 5.0]), 3);
        assert_eq!(busiest_second(&[]), 0);
    }
}
