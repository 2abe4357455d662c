//! When the next user starts: a pure function of the plan and the seed.
//!
//! Every shard walks the whole process and keeps its share, so the users of a run are the same
//! whatever the number of shards. If a user's start time follows from its number, the users of other
//! shards are skipped at once: with a hundred loops, visiting them would cost more than the own ones.

use plan::Plan;
use plan::{Iterations, Phase, PhaseKind, START_SLACK, SessionId, Spacing, Trace, closed_until_ns};
use stats::rng::{Purpose, Rng};

use crate::schedule::share::Share;

/// One planned start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    pub due_ns: u64,
    /// Users are numbered through the whole run: single ones from 0, then those of the phases, each
    /// in the order they are due.
    pub user: u64,
    pub session: SessionId,
    /// Until when a user of a closed population restarts its session whenever it ends.
    pub repeats_until_ns: Option<u64>,
    /// The sessions that it brings, if there is a number of them.
    pub sessions: Option<SessionsPart>,
}

/// The part of a user in the sessions that the users of a closed phase begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionsPart {
    /// At least 1: its first.
    pub count: u64,
    /// The phase with whose other users it shares them; `None`: they are its own.
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

/// The starts of one shard's users, in the order they are due.
#[derive(Debug)]
pub struct Arrivals<'p> {
    plan: &'p Plan,
    share: Share,
    walk: Walk<'p>,
    /// The phases side by side, if a phase has such.
    streams: Vec<Stream<'p>>,
    user: u64,
    /// The next of [`Plan::singles`]; they have the first numbers, in the order of their times.
    single: usize,
    /// The phases' next start, if it is known.
    phased: Option<Arrival>,
    phases_over: bool,
}

impl<'p> Arrivals<'p> {
    pub fn new(plan: &'p Plan, share: Share) -> Arrivals<'p> {
        let rng = Rng::new(plan.seed, 0, Purpose::Arrivals);
        Arrivals {
            plan,
            share,
            walk: Walk::new(&plan.phases, rng),
            streams: Vec::new(),
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
            session: single.session,
            repeats_until_ns: None,
            sessions: None,
        })
    }

    /// Skips users of other shards, up to the end of the phase.
    fn skip_others(&mut self, phase: &Phase) {
        let Some(count) = count_by_number(phase) else {
            return;
        };
        let left = count.saturating_sub(self.walk.started_count);
        let others = self.share.gap(self.user, left);
        self.user += others;
        self.walk.started_count += others;
    }

    /// The next start of phases side by side: the earliest of theirs, of two at once that of the first.
    fn next_of_streams(&mut self, streams: &'p [Vec<Phase>]) -> Option<(u64, &'p Phase)> {
        if self.streams.is_empty() {
            let seed = self.plan.seed;
            let phase = self.walk.phase as u64 + 1;
            let begun = streams.iter().enumerate().map(|(number, phases)| {
                let rng = Rng::new(seed, phase << 32 | number as u64, Purpose::Arrivals);
                let mut walk = Walk::new(phases, rng);
                let next = walk.next();
                Stream { walk, next }
            });
            self.streams.extend(begun);
        }
        let due_ns = |stream: &Stream<'p>| stream.next.map_or(u64::MAX, |next| next.0);
        let earliest = self.streams.iter_mut().min_by_key(|stream| due_ns(stream))?;
        let next = earliest.walk.next();
        std::mem::replace(&mut earliest.next, next)
    }
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
    /// Until when the user that was started last repeats its session, if it is of a closed phase.
    fn repeats_until_ns(&self, phase: &Phase) -> Option<u64> {
        let PhaseKind::Closed(population) = phase.kind else {
            return None;
        };
        let place = population.place(self.walk.started_count - 1);
        closed_until_ns(&self.plan.phases[self.walk.phase..], place)
    }

    /// The sessions that the user brings that was started last.
    fn sessions_part(&self, phase: &Phase) -> Option<SessionsPart> {
        let PhaseKind::Closed(population) = &phase.kind else {
            return None;
        };
        let iterations = phase.iterations?;
        let number = self.walk.started_count - 1;
        let is_shared = matches!(iterations, Iterations::Shared(_));
        Some(SessionsPart {
            count: iterations.part(number, population.starts()),
            phase: is_shared.then_some(self.walk.phase),
        })
    }

    /// The next start of the phases.
    fn next_of_phases(&mut self) -> Option<Arrival> {
        loop {
            let phase = self.plan.phases.get(self.walk.phase)?;
            self.skip_others(phase);
            let next = match &phase.kind {
                PhaseKind::Together(streams) => self.next_of_streams(streams),
                _ => self.walk.next_due_ns(phase).map(|due_ns| (due_ns, phase)),
            };
            let Some((due_ns, phase)) = next else {
                self.walk.next_phase();
                self.streams.clear();
                continue;
            };
            let user = self.user;
            self.user += 1;
            self.walk.started_count += 1;
            if self.share.takes(user) {
                return Some(Arrival {
                    due_ns,
                    user,
                    session: phase.session.unwrap_or_else(|| draw_session(self.plan, phase, user)),
                    repeats_until_ns: self.repeats_until_ns(phase),
                    sessions: self.sessions_part(phase),
                });
            }
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
    plan.phases.iter().map(|p| p.users_planned().ceil() as u64).sum::<u64>()
        + plan.singles.len() as u64
}
