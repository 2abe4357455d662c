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
