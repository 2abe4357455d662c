//! Closed populations: a fixed number of users or a ramp, and until when each of them stays.

use serde::Serialize;

use super::{Phase, PhaseKind};

/// How many users of a closed phase are present: their number goes linearly from one value to the other, rounded
/// up. Its places are numbered from 0: place k is taken while the number is above k, so that those who came last
/// leave first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Population {
    /// Users of the closed phase before that stay, at most `from_count`.
    pub kept_count: u64,
    pub from_count: u64,
    /// Equal to `from_count`: a fixed number.
    pub to_count: u64,
}

impl Population {
    /// A fixed number of users, none of whom is of the phase before.
    pub fn fixed(users_count: u64) -> Population {
        Population { kept_count: 0, from_count: users_count, to_count: users_count }
    }

    /// True if their number changes within the phase.
    pub fn is_ramp(self) -> bool {
        self.from_count != self.to_count
    }

    /// The largest number at once.
    pub fn most(self) -> u64 {
        self.from_count.max(self.to_count)
    }

    /// Users that start in the phase.
    pub fn starts(self) -> u64 {
        self.at_once() + self.to_count.saturating_sub(self.from_count)
    }

    /// The users that start at the beginning of the phase.
    fn at_once(self) -> u64 {
        self.from_count.saturating_sub(self.kept_count)
    }

    /// The place that the phase's user of this number takes.
    pub fn place(self, number: u64) -> u64 {
        self.kept_count + number
    }

    /// When the phase's user of this number starts, as a share of the phase.
    pub fn start(self, number: u64) -> f64 {
        match number.checked_sub(self.at_once()) {
            Some(risen) if self.to_count > self.from_count => {
                risen as f64 / (self.to_count - self.from_count) as f64
            }
            _ => 0.0,
        }
    }

    /// When the user in this place, who is there when the phase begins, is to leave, as a share of the phase;
    /// `None` if it stays to its end.
    fn leaves(self, place: u64) -> Option<f64> {
        if place >= self.kept_count {
            return Some(0.0);
        }
        let fallen = self.from_count.saturating_sub(place);
        (place >= self.to_count && place < self.from_count)
            .then(|| fallen as f64 / (self.from_count - self.to_count) as f64)
    }

    /// Users that have started after this share of the phase, above 0.
    pub(super) fn started_by(self, share: f64) -> f64 {
        let risen = self.to_count.saturating_sub(self.from_count);
        self.at_once() as f64 + super::started(risen as f64 * share)
    }
}

/// How many sessions the users of a closed phase begin, unless its time is over before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Iterations {
    /// All users together, each one at least.
    Shared(u64),
    /// Each user.
    Each(u64),
}

impl Iterations {
    /// The sessions of this number of users together.
    pub fn total(self, users_count: u64) -> u64 {
        match self {
            Iterations::Shared(sessions) => sessions,
            Iterations::Each(sessions) => sessions.saturating_mul(users_count),
        }
    }

    /// The part of the user of this number, from 0, among all users; the parts of all are the total.
    pub fn part(self, number: u64, users_count: u64) -> u64 {
        match self {
            Iterations::Shared(sessions) => {
                let users_count = users_count.max(1);
                sessions / users_count + u64::from(number < sessions % users_count)
            }
            Iterations::Each(sessions) => sessions,
        }
    }
}

/// When the user in this place of the closed phase that `phases` begin with restarts its session no more: when the
/// phases that keep it fall to its place, or the last of them ends. It starts at this share of the first.
pub fn closed_until_ns(phases: &[Phase], place: u64) -> Option<u64> {
    let (first, later) = phases.split_first()?;
    let PhaseKind::Closed(population) = first.kind else {
        return None;
    };
    // Who starts with a phase that falls leaves in it, as those do that it kept.
    let own = Population { kept_count: population.most(), ..population };
    if let Some(share) = own.leaves(place) {
        return Some(first.at(share));
    }
    let mut end_ns = first.end_ns();
    for phase in later {
        let PhaseKind::Closed(population) = phase.kind else {
            break;
        };
        if let Some(share) = population.leaves(place) {
            return Some(phase.at(share));
        }
        end_ns = phase.end_ns();
    }
    Some(end_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(start_s: u64, kept_count: u64, from_count: u64, to_count: u64) -> Phase {
        let population = Population { kept_count, from_count, to_count };
        Phase {
            name: String::new(),
            kind: PhaseKind::Closed(population),
            start_ns: start_s * 1_000_000_000,
            duration_ns: 10_000_000_000,
            session: None,
            weights: None,
            users_max: None,
            iterations: None,
            until_done: false,
        }
    }

    #[test]
    fn places_of_a_ramp_are_taken_and_left_as_its_line_says() {
        // 0 to 5, 5, 5 to 1, 3.
        let phases =
            [closed(0, 0, 0, 5), closed(10, 5, 5, 5), closed(20, 5, 5, 1), closed(30, 1, 3, 3)];
        let starts: Vec<f64> = phases.iter().map(Phase::users_planned).collect();
        assert_eq!(starts, [5.0, 0.0, 0.0, 2.0]);
        // Those of 0, 2 and 4 s.
        assert_eq!(phases[0].users_by(5_000_000_000), 3.0);
        let until = |at: usize, place| closed_until_ns(&phases[at..], place).unwrap() as f64 / 1e9;
        let left: Vec<f64> = (0..5).map(|place| until(0, place)).collect();
        assert_eq!(left, [40.0, 30.0, 27.5, 25.0, 22.5]);
        assert_eq!([until(3, 1), until(3, 2)], [40.0, 40.0]);
        let ramp = Population { kept_count: 2, from_count: 4, to_count: 8 };
        let starts: Vec<_> = (0..6).map(|n| (ramp.place(n), ramp.start(n))).collect();
        let expected = [(2, 0.0), (3, 0.0), (4, 0.0), (5, 0.25), (6, 0.5), (7, 0.75)];
        assert_eq!(starts, expected);
    }

    #[test]
    fn the_parts_of_all_users_are_all_iterations() {
        for (sessions, users) in [(1000, 10), (1003, 10), (7, 7), (8, 3)] {
            let parts: Vec<u64> =
                (0..users).map(|user| Iterations::Shared(sessions).part(user, users)).collect();
            assert_eq!(parts.iter().sum::<u64>(), sessions);
            assert!(parts.iter().max().unwrap() - parts.iter().min().unwrap() <= 1, "{parts:?}");
        }
        assert_eq!(Iterations::Each(5).part(3, 10), 5);
        assert_eq!([Iterations::Each(5), Iterations::Shared(5)].map(|i| i.total(4)), [20, 5]);
    }

    #[test]
    fn a_population_that_is_not_continued_ends_with_its_phase() {
        let phases = [closed(0, 0, 4, 4), closed(10, 0, 6, 6)];
        assert_eq!(closed_until_ns(&phases, 3), Some(10_000_000_000));
        let falling = [closed(0, 0, 4, 0)];
        assert_eq!(closed_until_ns(&falling, 3), Some(2_500_000_000));
        assert_eq!(closed_until_ns(&falling, 0), Some(10_000_000_000));
    }
}
