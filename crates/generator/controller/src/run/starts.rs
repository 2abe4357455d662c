//! The numbers of users that the plan starts over time.

use plan::{Phase, Plan};
use record::schema::SeriesRow;

/// Users that the plan starts by `at_ns`, restarts aside.
pub(crate) fn due_by(plan: &Plan, at_ns: u64) -> f64 {
    let singles = plan.singles.iter().filter(|single| single.due_ns < at_ns);
    plan.users_by(at_ns) + singles.count() as f64
}

/// Users that the plan starts between two moments, in whole numbers whose sum over a run is right; restarts aside.
pub(crate) fn due_between(plan: &Plan, from_ns: u64, until_ns: u64) -> u64 {
    let due = |at_ns| due_by(plan, at_ns).round() as u64;
    due(until_ns) - due(from_ns)
}

/// Users that were due in an interval, sessions restarted included. After `stopped_ns`, when the run was stopped, nobody
/// is due, whatever the plan has; each loop stops at its next look, so they know how many were due until then.
pub(crate) fn due_in(plan: &Plan, row: &SeriesRow, stopped_ns: Option<u64>) -> u64 {
    let planned = due_between(plan, row.start_ns, row.end_ns);
    let due = match stopped_ns {
        Some(stopped_ns) if row.end_ns > stopped_ns => planned.min(row.users_fell_due),
        Some(_) | None => planned,
    };
    due + row.users_repeated
}

/// True if a phase has begun by `at_ns`. Phases that would have begun after `stopped_ns`, when the run was stopped, never do.
pub(crate) fn has_begun(phase: &Phase, at_ns: u64, stopped_ns: Option<u64>) -> bool {
    phase.start_ns <= at_ns && stopped_ns.is_none_or(|stopped_ns| phase.start_ns < stopped_ns)
}

/// The sessions that the users of the last phase have begun so far.
#[derive(Debug, Default)]
pub(crate) struct LastSessions {
    /// Users that started, each as often as it began a session.
    started: u64,
    /// The users that began a further session.
    repeated: u64,
}

impl LastSessions {
    /// Adds an interval, if it is one of the last phase.
    pub(crate) fn add(&mut self, plan: &Plan, row: &SeriesRow) {
        if plan.phases.last().is_some_and(|last| row.start_ns >= last.start_ns) {
            self.started += row.users_started;
            self.repeated += row.users_repeated;
        }
    }

    /// True if a number of sessions was to begin, and no further one will: all have begun by the end of this interval, or
    /// their users have left. Such a run ends by itself.
    pub(crate) fn are_over(&self, plan: &Plan, row: &SeriesRow) -> bool {
        let last = plan.phases.last().filter(|_| plan.populations.is_empty());
        let Some((last, planned)) = last.and_then(|last| Some((last, last.sessions_planned()?)))
        else {
            return false;
        };
        // Single users that start meanwhile are none of its own.
        let first = self.started.saturating_sub(self.repeated).min(last.users_planned() as u64);
        let have_left = self.started > 0 && row.users == 0;
        have_left || first + self.repeated >= planned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        let text = "target: http://127.0.0.1:1\nsessions: { one: [ { get: / } ] }\n\
                    arrivals: [ { constant: 10/s, for: 2s }, { hold: 1s } ]\n";
        crate::testing::plan(text)
    }

    #[test]
    fn each_user_is_due_once() {
        let plan = plan();
        assert_eq!(due_by(&plan, 1_000_000_000), 10.0);
        assert_eq!(due_by(&plan, 9_000_000_000), 20.0);
    }

    #[test]
    fn nobody_is_due_once_a_run_was_stopped() {
        const MS: u64 = 1_000_000;
        let plan = plan();
        let row = |start_ms, end_ms, users_fell_due| SeriesRow {
            start_ns: start_ms * MS,
            end_ns: end_ms * MS,
            users_fell_due,
            users_repeated: 1,
            ..SeriesRow::default()
        };
        let due = |row, stopped_ms: Option<u64>| due_in(&plan, &row, stopped_ms.map(|ms| ms * MS));
        assert_eq!(due(row(0, 1_000, 8), None), 11);
        // Somebody presses Ctrl-C at 1.4 s; one loop stops at once, the other one 50 ms later.
        assert_eq!(due(row(0, 1_000, 8), Some(1_400)), 11);
        assert_eq!(due(row(1_000, 1_450, 4), Some(1_400)), 5);
        // Or operations in flight take longer.
        assert_eq!(due(row(1_000, 2_000, 4), Some(1_400)), 5);
        assert_eq!(due(row(1_500, 2_000, 0), Some(1_400)), 1);
    }

    #[test]
    fn sessions_are_over_when_all_have_begun_or_their_users_have_left() {
        const S: u64 = 1_000_000_000;
        let text = "target: http://127.0.0.1:1\nsessions: { one: [ { get: / } ] }\n\
                    arrivals: [ { hold: 1s }, { users: 3, iterations: 10, for: 9s } ]\n";
        let plan = crate::testing::plan(text);
        let row = |second: u64, users_started, users_repeated, users| SeriesRow {
            start_ns: second * S,
            end_ns: (second + 1) * S,
            users_started,
            users_repeated,
            users,
            ..SeriesRow::default()
        };
        let is_over = |rows: &[SeriesRow]| {
            let mut sessions = LastSessions::default();
            rows.iter().for_each(|row| sessions.add(&plan, row));
            sessions.are_over(&plan, &rows[rows.len() - 1])
        };
        // A user with a time of its own is there before.
        assert!(!is_over(&[row(0, 1, 0, 0)]));
        let begun = [row(0, 1, 0, 1), row(1, 6, 3, 3), row(2, 3, 3, 3)];
        assert!(!is_over(&begun));
        assert!(is_over(&[&begun[..], &[row(3, 1, 1, 3)]].concat()));
        assert!(is_over(&[&begun[..], &[row(3, 0, 0, 0)]].concat()));
        // Without a number of sessions, none is the last.
        let plan = self::plan();
        assert!(!LastSessions::default().are_over(&plan, &row(3, 0, 0, 0)));
    }

    #[test]
    fn phases_after_a_stop_never_begin() {
        const S: u64 = 1_000_000_000;
        let plan = plan();
        let begun = |at_ns: u64, stopped_ns: Option<u64>| {
            let phases = plan.phases.iter();
            phases.filter(|phase| has_begun(phase, at_ns, stopped_ns)).count()
        };
        assert_eq!([0, S, 2 * S, 3 * S].map(|at_ns| begun(at_ns, None)), [1, 1, 2, 2]);
        assert_eq!(begun(3 * S, Some(2 * S)), 1);
        assert_eq!(begun(3 * S, Some(2 * S + 1)), 2);
    }

    #[test]
    fn a_population_is_due_in_its_first_second() {
        let mut plan = plan();
        plan.phases[1].kind = plan::PhaseKind::Closed(plan::Population::fixed(7));
        assert_eq!(due_by(&plan, 2_000_000_000), 20.0);
        assert_eq!(due_by(&plan, 2_000_000_001), 27.0);
    }

    #[test]
    fn a_ramp_of_users_is_due_as_it_rises() {
        let mut plan = plan();
        plan.phases[1].kind = plan::PhaseKind::Closed(plan::Population {
            kept_count: 0,
            from_count: 2,
            to_count: 12,
        });
        assert_eq!(due_by(&plan, 2_500_000_000), 27.0);
        assert_eq!(due_by(&plan, 3_000_000_000), 32.0);
    }
}
