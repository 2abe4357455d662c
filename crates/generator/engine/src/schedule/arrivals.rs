//! When the next user starts: a pure function of the plan and the seed.
//!
//! Every shard walks the whole process and keeps its share, so the users of a run are the same
//! whatever the number of shards. If a user's start time follows from its number, the users of other
//! shards are skipped at once: with a hundred loops, visiting them would cost more than the own ones.
//!
//! Populations side by side start their users independently of each other. Users are numbered in the order in which all
//! of them come.

use plan::Plan;
use plan::{Iterations, Phase, PhaseKind, START_SLACK, SessionId, Spacing, Trace, closed_until_ns};
use stats::rng::{Purpose, Rng};

use crate::schedule::share::Share;

/// One planned start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    pub due_ns: u64,
    /// Users are numbered through the whole run: single ones from 0, then those of the populations, each
    /// in the order they are due.
    pub user: u64,
    pub source: Source,
    pub session: SessionId,
    /// Until when a user of a closed population restarts its session whenever it ends.
    pub repeats_until_ns: Option<u64>,
    /// The sessions that it brings, if there is a number of them.
    pub sessions: Option<SessionsPart>,
}

/// Whose user starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A user with a start of its own.
    Single,
    /// A population's user.
    Population {
        /// Number of the population.
        population: usize,
        /// The user's number among those of the population, from 0.
        number: u64,
    },
}

/// The part of a user in the sessions that the users of a closed phase begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionsPart {
    /// At least 1: its first.
    pub count: u64,
    /// The phase with whose other users it shares them, by its number among those of all populations; `None`: they are
    /// its own.
    pub phase: Option<usize>,
}

/// A walk through phases one after the other, from start to start.
#[derive(Debug)]
struct Walk<'p> {
    phases: &'p [Phase],
    rng: Rng,
    phase: usize,
    /// Starts of the current phase so far.
    started_count: u64,
    /// Poisson only: the sum of unit exponentials so far, the arrival's place on the integrated
    /// rate (time-change of a unit-rate process; Çinlar 1975, §4.7).
    place: f64,
    /// The current position in a recorded rate.
    bin: usize,
}

/// One of several walks side by side, and its next start with the phase that it is of.
#[derive(Debug)]
struct Stream<'p> {
    walk: Walk<'p>,
    next: Option<(u64, &'p Phase)>,
}

/// A start of a population, of any share.
#[derive(Debug, Clone, Copy)]
struct Start<'p> {
    due_ns: u64,
    /// The phase that it is of; of phases side by side the one among them.
    phase: &'p Phase,
    /// The number of the population's phase.
    phase_number: usize,
    /// The number of the start among those of that phase.
    number_in_phase: u64,
    /// The number of the start among those of the population.
    number: u64,
}

/// The starts of one population.
#[derive(Debug)]
struct Course<'p> {
    /// The population's number.
    population: usize,
    /// How many phases the populations before it have.
    phases_before: usize,
    phases: &'p [Phase],
    seed: u64,
    walk: Walk<'p>,
    /// The phases side by side, if the current phase has such.
    streams: Vec<Stream<'p>>,
    /// Starts so far.
    started_count: u64,
}

/// The starts of one shard's users, in the order they are due.
#[derive(Debug)]
pub struct Arrivals<'p> {
    plan: &'p Plan,
    share: Share,
    /// The course of each population.
    courses: Vec<Course<'p>>,
    /// The next start of each of several populations; empty: none was looked for.
    upcoming: Vec<Option<Start<'p>>>,
    user: u64,
    /// The next of [`Plan::singles`]; they have the first numbers, in the order of their times.
    single: usize,
    /// The populations' next start, if it is known.
    phased: Option<Arrival>,
    phases_over: bool,
}

impl<'p> Arrivals<'p> {
    pub fn new(plan: &'p Plan, share: Share) -> Arrivals<'p> {
        let mut phases_before = 0;
        let courses = plan.arrivals().enumerate().map(|(population, phases)| {
            let course = Course::new(plan.seed, population, phases_before, phases);
            phases_before += phases.len();
            course
        });
        Arrivals {
            plan,
            share,
            courses: courses.collect(),
            upcoming: Vec::new(),
            user: plan.singles.len() as u64,
            single: 0,
            phased: None,
            phases_over: false,
        }
    }

    pub fn share(&self) -> Share {
        self.share
    }

    /// This shard's next single user.
    fn next_single(&mut self) -> Option<Arrival> {
        while !self.share.takes(self.single as u64) {
            self.single += 1;
        }
        let single = self.plan.singles.get(self.single)?;
        Some(Arrival {
            due_ns: single.due_ns,
            user: self.single as u64,
            source: Source::Single,
            session: single.session,
            repeats_until_ns: None,
            sessions: None,
        })
    }

    /// The next start of the populations, with the number of its own; of any share, but for those of other shards that
    /// can be skipped.
    fn next_start(&mut self) -> Option<(usize, Start<'p>)> {
        let [only] = &mut self.courses[..] else {
            return self.next_of_several();
        };
        loop {
            let phase = only.phase()?;
            self.user += only.skip_others(phase, self.share, self.user);
            if let Some(start) = only.next_in(phase) {
                return Some((0, start));
            }
            only.next_phase();
        }
    }

    /// The earliest start of several populations, of two at once that of the first. Whose number a user has depends on
    /// all of them, so none is skipped.
    fn next_of_several(&mut self) -> Option<(usize, Start<'p>)> {
        if self.upcoming.is_empty() {
            self.upcoming = self.courses.iter_mut().map(Course::next).collect();
        }
        let due_ns = |next: &Option<Start<'_>>| next.map_or(u64::MAX, |start| start.due_ns);
        let upcoming = self.upcoming.iter().enumerate();
        let (population, _) = upcoming.min_by_key(|(_, next)| due_ns(next))?;
        let next = self.courses[population].next();
        let start = std::mem::replace(&mut self.upcoming[population], next)?;
        Some((population, start))
    }
}

impl<'p> Course<'p> {
    fn new(seed: u64, population: usize, phases_before: usize, phases: &'p [Phase]) -> Course<'p> {
        let rng = Rng::new(seed, stream_number(population, 0, 0), Purpose::Arrivals);
        Course {
            population,
            phases_before,
            phases,
            seed,
            walk: Walk::new(phases, rng),
            streams: Vec::new(),
            started_count: 0,
        }
    }

    /// The current phase; `None`: all are over.
    fn phase(&self) -> Option<&'p Phase> {
        self.phases.get(self.walk.phase)
    }

    fn next_phase(&mut self) {
        self.walk.next_phase();
        self.streams.clear();
    }

    /// The next start of any share.
    fn next(&mut self) -> Option<Start<'p>> {
        loop {
            let next = self.next_in(self.phase()?);
            if next.is_some() {
                return next;
            }
            self.next_phase();
        }
    }

    /// The next start in the current phase; `None`: it has no more.
    fn next_in(&mut self, phase: &'p Phase) -> Option<Start<'p>> {
        let (due_ns, part) = match &phase.kind {
            PhaseKind::Together(streams) => self.next_of_streams(streams)?,
            _ => (self.walk.next_due_ns(phase)?, phase),
        };
        let start = Start {
            due_ns,
            phase: part,
            phase_number: self.walk.phase,
            number_in_phase: self.walk.started_count,
            number: self.started_count,
        };
        self.walk.started_count += 1;
        self.started_count += 1;
        Some(start)
    }

    /// Skips users of other shards than this share's, up to the end of the current phase; returns how many. `user`: the
    /// number of the next one.
    fn skip_others(&mut self, phase: &Phase, share: Share, user: u64) -> u64 {
        let Some(count) = count_by_number(phase) else {
            return 0;
        };
        let left = count.saturating_sub(self.walk.started_count);
        let others = share.gap(user, left);
        self.walk.started_count += others;
        self.started_count += others;
        others
    }

    /// The next start of phases side by side: the earliest of theirs, of two at once that of the first.
    fn next_of_streams(&mut self, streams: &'p [Vec<Phase>]) -> Option<(u64, &'p Phase)> {
        if self.streams.is_empty() {
            let begun = streams.iter().enumerate().map(|(number, phases)| {
                let number = stream_number(self.population, self.walk.phase + 1, number);
                let rng = Rng::new(self.seed, number, Purpose::Arrivals);
                let mut walk = Walk::new(phases, rng);
                let next = walk.next();
                Stream { walk, next }
            });
            self.streams = begun.collect();
        }
        let due_ns = |stream: &Stream<'p>| stream.next.map_or(u64::MAX, |next| next.0);
        let earliest = self.streams.iter_mut().min_by_key(|stream| due_ns(stream))?;
        let next = earliest.walk.next();
        std::mem::replace(&mut earliest.next, next)
    }

    /// Until when the user of this start repeats its session, if it is of a closed phase.
    fn repeats_until_ns(&self, start: &Start<'_>) -> Option<u64> {
        let PhaseKind::Closed(population) = start.phase.kind else {
            return None;
        };
        let place = population.place(start.number_in_phase);
        closed_until_ns(&self.phases[start.phase_number..], place)
    }

    /// The sessions that the user of this start brings.
    fn sessions_part(&self, start: &Start<'_>) -> Option<SessionsPart> {
        let PhaseKind::Closed(population) = &start.phase.kind else {
            return None;
        };
        let iterations = start.phase.iterations?;
        let is_shared = matches!(iterations, Iterations::Shared(_));
        Some(SessionsPart {
            count: iterations.part(start.number_in_phase, population.starts()),
            phase: is_shared.then_some(self.phases_before + start.phase_number),
        })
    }
}

/// The number of a stream of random draws: that of a population, or of one of several phases side by side in its phase of
/// this number, counted from 1.
fn stream_number(population: usize, phase: usize, number: usize) -> u64 {
    (population as u64) << 56 | (phase as u64) << 32 | number as u64
}

impl<'p> Walk<'p> {
    fn new(phases: &'p [Phase], rng: Rng) -> Walk<'p> {
        Walk { phases, rng, phase: 0, started_count: 0, place: 0.0, bin: 0 }
    }

    /// The next start of any, with its phase.
    fn next(&mut self) -> Option<(u64, &'p Phase)> {
        loop {
            let phase = self.phases.get(self.phase)?;
            if let Some(due_ns) = self.next_due_ns(phase) {
                self.started_count += 1;
                return Some((due_ns, phase));
            }
            self.next_phase();
        }
    }

    fn next_phase(&mut self) {
        self.phase += 1;
        self.started_count = 0;
        self.place = 0.0;
        self.bin = 0;
    }

    /// When the current phase's next user is due, or `None` if the phase has no more.
    fn next_due_ns(&mut self, phase: &Phase) -> Option<u64> {
        if phase.users_max.is_some_and(|max| self.started_count >= max) {
            return None;
        }
        let seconds = phase.duration_ns as f64 / 1e9;
        let offset_s = match &phase.kind {
            // The streams of those side by side are walks of their own.
            PhaseKind::Hold | PhaseKind::Together(_) => return None,
            PhaseKind::Closed(population) => (self.started_count < population.starts())
                .then(|| population.start(self.started_count) * seconds),
            PhaseKind::Rate { from_per_s, to_per_s, spacing } => {
                let place = self.next_place(*spacing);
                time_of_place(place, *from_per_s, *to_per_s, seconds)
            }
            PhaseKind::Trace(trace) => {
                let place = self.next_place(trace.spacing);
                let is_in = place + START_SLACK < phase.users_planned();
                is_in.then(|| trace.time_of(place, &mut self.bin)).flatten()
            }
            PhaseKind::Starts(times) => {
                let at = usize::try_from(self.started_count).unwrap_or(usize::MAX);
                times.values().get(at).copied()
            }
        };
        let offset_ns = (offset_s? * 1e9).round() as u64;
        Some(phase.start_ns + offset_ns.min(phase.duration_ns.saturating_sub(1)))
    }

    /// The next arrival's place on the integrated rate.
    fn next_place(&mut self, spacing: Spacing) -> f64 {
        match spacing {
            Spacing::Even => self.started_count as f64,
            Spacing::Poisson => {
                self.place -= (1.0 - self.rng.unit()).ln();
                self.place
            }
        }
    }
}

impl Iterator for Arrivals<'_> {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        if self.plan.singles.is_empty() {
            return self.next_of_phases();
        }
        if self.phased.is_none() && !self.phases_over {
            self.phased = self.next_of_phases();
            self.phases_over = self.phased.is_none();
        }
        let single = self.next_single();
        let phased_ns = self.phased.map_or(u64::MAX, |arrival| arrival.due_ns);
        if single.is_some_and(|single| single.due_ns <= phased_ns) {
            self.single += 1;
            return single;
        }
        self.phased.take()
    }
}

impl Arrivals<'_> {
    /// The next start of the populations.
    fn next_of_phases(&mut self) -> Option<Arrival> {
        loop {
            let (population, start) = self.next_start()?;
            let user = self.user;
            self.user += 1;
            if !self.share.takes(user) {
                continue;
            }
            let phase = start.phase;
            let course = &self.courses[population];
            return Some(Arrival {
                due_ns: start.due_ns,
                user,
                source: Source::Population { population, number: start.number },
                session: phase.session.unwrap_or_else(|| draw_session(self.plan, phase, user)),
                repeats_until_ns: course.repeats_until_ns(&start),
                sessions: course.sessions_part(&start),
            });
        }
    }
}

/// How many users a phase starts, if each one's time follows from its number alone.
fn count_by_number(phase: &Phase) -> Option<u64> {
    match &phase.kind {
        PhaseKind::Closed(population) => Some(population.starts()),
        PhaseKind::Starts(_)
        | PhaseKind::Rate { spacing: Spacing::Even, .. }
        | PhaseKind::Trace(Trace { spacing: Spacing::Even, .. }) => {
            Some(phase.users_planned() as u64)
        }
        PhaseKind::Rate { .. } | PhaseKind::Trace(_) | PhaseKind::Together(_) | PhaseKind::Hold => {
            None
        }
    }
}

/// When the integrated rate of a linear ramp reaches `place`: the inverse of
/// `Λ(t) = a·t + (b − a)·t² / 2T`. `None` if that is not before the ramp's end.
fn time_of_place(place: f64, from_per_s: f64, to_per_s: f64, seconds: f64) -> Option<f64> {
    let total = (from_per_s + to_per_s) / 2.0 * seconds;
    if place + START_SLACK >= total {
        return None;
    }
    let slope = (to_per_s - from_per_s) / seconds;
    let time = if slope == 0.0 {
        place / from_per_s
    } else {
        // The root in a form that does not cancel if the slope is small.
        2.0 * place / (from_per_s + (from_per_s * from_per_s + 2.0 * slope * place).max(0.0).sqrt())
    };
    Some(if place == 0.0 { 0.0 } else { time })
}

/// Which session a user runs: by weight, from the user's own draw.
fn draw_session(plan: &Plan, phase: &Phase, user: u64) -> SessionId {
    if plan.sessions.len() == 1 {
        return SessionId(0);
    }
    let share = Rng::new(plan.seed, user, Purpose::Session).unit();
    let drawn = match &phase.weights {
        Some(weights) => by_weight(share, weights.iter().copied()),
        None => by_weight(share, plan.sessions.iter().map(|s| s.weight)),
    };
    SessionId(drawn as u16)
}

/// Which of the weighted things a draw from 0 to 1 means.
pub fn by_weight(
    share: f64,
    weights: impl DoubleEndedIterator<Item = f64> + ExactSizeIterator + Clone,
) -> usize {
    let mut left = share * weights.clone().sum::<f64>();
    for (at, weight) in weights.clone().enumerate() {
        left -= weight;
        if left < 0.0 {
            return at;
        }
    }
    // Rounding left a hair: the last that has any weight.
    weights.into_iter().rposition(|weight| weight > 0.0).unwrap_or(0)
}

/// An upper estimate of how many users are present at once: all that ever start, per shard.
pub fn users_max(plan: &Plan) -> u64 {
    let planned = plan.arrivals().flatten().map(|phase| phase.users_planned().ceil() as u64);
    planned.sum::<u64>() + plan.singles.len() as u64
}
