//! The numbers of users that the plan starts over time.

use plan::Plan;

/// Users that the plan starts by `at_ns`, restarts aside.
pub(crate) fn due_by(plan: &Plan, at_ns: u64) -> f64 {
    let phases = plan.phases.iter().map(|phase| phase.users_by(at_ns));
    let singles = plan.singles.iter().filter(|single| single.due_ns < at_ns);
    phases.sum::<f64>() + singles.count() as f64
}

/// Users that the plan starts between two moments, in whole numbers whose sum over a run is right; restarts aside.
pub(crate) fn due_between(plan: &Plan, from_ns: u64, until_ns: u64) -> u64 {
    let due = |at_ns| due_by(plan, at_ns).round() as u64;
    due(until_ns) - due(from_ns)
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
