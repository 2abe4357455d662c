//! Closed populations: fixed numbers of users, ramps of them, and what continues whom.

use plan::{Iterations, Phase, PhaseKind, Population, Session};
use units::parse::{UnitError, count};

use super::super::Checker;
use super::{Piece, Timeline};
use crate::document::node::{Node, Place};

impl Checker<'_> {
    /// `64`, or `0..500`.
    pub(super) fn closed(&mut self, node: &Node) -> Option<PhaseKind> {
        let code = "bad-count";
        let what = "a number of users, or two (`0..500`)";
        let (from_count, to_count) = self.unit(node, code, what, |text| {
            let Some((from, to)) = text.split_once("..") else {
                return rate_is_no_count(text).map(|count| (count, count));
            };
            let from = from.trim();
            let to = to.trim();
            if from.is_empty() || to.is_empty() {
                return Err(UnitError {
                    message: format!("`{text}` lacks a number"),
                    hint: "write both numbers, such as 0..500".to_owned(),
                });
            }
            Ok((rate_is_no_count(from)?, rate_is_no_count(to)?))
        })?;
        if from_count.max(to_count) == 0 {
            self.diagnostics
                .error("bad-count", &node.place, "a population needs at least one user")
                .hint("write `hold` for a phase in which no user starts");
        }
        Some(PhaseKind::Closed(Population { kept_count: 0, from_count, to_count }))
    }

    /// `1000`, or `100 each`. `pieces`: the population whose sessions they are.
    pub(super) fn iterations(
        &mut self,
        node: &Node,
        pieces: Option<&[Piece]>,
    ) -> Option<Iterations> {
        let what = "a number of sessions, like 1000 or `100 each`";
        let iterations = self.unit(node, "bad-count", what, |text| {
            let each = text.strip_suffix("each").map(|number| count(number.trim()));
            match each {
                Some(number) => number.map(Iterations::Each),
                None => count(text).map(Iterations::Shared),
            }
        })?;
        let Some([Piece { kind: PhaseKind::Closed(population), .. }]) = pieces else {
            return None;
        };
        if population.is_ramp() {
            let message = "a population that grows or shrinks has no number of sessions";
            self.diagnostics
                .error("misplaced-key", &node.place, message)
                .hint("write a fixed number of users: `users: 10`");
            return None;
        }
        let users = population.most();
        let (least, sessions) = match iterations {
            Iterations::Shared(sessions) => (users, sessions),
            Iterations::Each(sessions) => (1, sessions),
        };
        if sessions < least {
            let message = format!(
                "{sessions} sessions are too few for {users} users, each of whom begins one at least"
            );
            self.diagnostics
                .error("bad-count", &node.place, message)
                .hint(format!("write at least {least}, or fewer users"));
            return None;
        }
        Some(iterations)
    }

    /// Warns of ramps whose users would not leave: those in a loop that never ends stay until the run ends.
    pub(super) fn leavable(&mut self, place: &Place, timeline: &Timeline<'_>) {
        let falls = |phase: &&Phase| match phase.kind {
            PhaseKind::Closed(population) => population.to_count < population.from_count,
            _ => false,
        };
        let phases = timeline.phases.iter().filter(falls);
        let found = phases
            .flat_map(|phase| timeline.sessions_of(phase).map(move |s| (phase, s)))
            .find(|(_, session)| session.has_endless_loop());
        if let Some((phase, session)) = found {
            let message = format!(
                "the number of users falls in phase `{}`, but users of session `{}` leave only when it ends, and its \
                 loop never does",
                phase.name, session.name
            );
            self.diagnostics
                .warning("never-leaves", place, message)
                .hint("remove the `forever`: a closed population starts its sessions again anyway");
        }
    }
}

/// A whole number; what is written as a rate is another kind of phase.
fn rate_is_no_count(text: &str) -> Result<u64, UnitError> {
    count(text).map_err(|error| match text.contains('/') {
        true => UnitError {
            hint: "users are a number, like 50 or 0..50; for a rate write `constant: 10/s` or \
                   `ramp: 0/s..10/s`"
                .to_owned(),
            ..error
        },
        false => error,
    })
}

impl<'s> Timeline<'s> {
    /// Closed phases one after the other, of the same sessions and with a ramp among them, are one population: the
    /// users of one stay in the next, as far as its number allows.
    pub(super) fn join_populations(&mut self) {
        let joined = |a: &Phase, b: &Phase| {
            let closed = |phase: &Phase| matches!(phase.kind, PhaseKind::Closed(_));
            let is_endless = a.iterations.is_none() && b.iterations.is_none();
            closed(a) && closed(b) && is_endless && a.session == b.session && a.weights == b.weights
        };
        for row in self.phases.chunk_by_mut(joined) {
            let ramps = row.iter().any(
                |phase| matches!(phase.kind, PhaseKind::Closed(population) if population.is_ramp()),
            );
            let mut before = 0;
            for phase in row.iter_mut().filter(|_| ramps) {
                if let PhaseKind::Closed(population) = &mut phase.kind {
                    population.kept_count = before.min(population.from_count);
                    before = population.to_count;
                }
            }
        }
    }

    /// A last phase with a number of sessions is over when they are.
    pub(super) fn end_with_iterations(&mut self) {
        if let Some(last) = self.phases.last_mut().filter(|last| last.iterations.is_some()) {
            last.until_done = true;
        }
    }

    /// The sessions that users of this phase may run.
    pub(in crate::check) fn sessions_of<'a>(
        &'a self,
        phase: &'a Phase,
    ) -> impl Iterator<Item = &'s Session> + use<'a, 's> {
        let sessions = self.cast.sessions.iter().enumerate();
        sessions
            .filter(|(at, session)| match (&phase.session, &phase.weights) {
                (Some(id), _) => id.index() == *at,
                (None, Some(weights)) => weights.get(*at).is_some_and(|weight| *weight > 0.0),
                (None, None) => session.weight > 0.0,
            })
            .map(|(_, session)| session)
    }
}
