//! Phases of the arrival process.

use plan::{Iterations, PhaseKind, Population, SessionId, Spacing};

use crate::{compile_with, plan, rendered, with_arrivals};

fn rate(from_per_s: f64, to_per_s: f64, spacing: Spacing) -> PhaseKind {
    PhaseKind::Rate { from_per_s, to_per_s, spacing }
}

#[test]
fn every_kind_of_phase() {
    let plan = plan(&with_arrivals(
        "
- { ramp: 0/s..120/s, for: 60s, spacing: poisson }
- { constant: 120/s, for: 200s, session: t }
- { hold: 10s }
- { poisson: 30/min, for: 30m, name: slow }
- { hold: 10s }
- { users: 64, for: 30s }
- { steps: [10/s, 20/s], each: 30s }
- { steps: { from: 1/s, to: 0.7/s, by: 0.1/s }, each: 1s, name: down }
",
    ));
    let names: Vec<&str> = plan.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "ramp", "constant", "hold", "slow", "hold-2", "users", "steps-1", "steps-2", "down-1",
            "down-2", "down-3", "down-4"
        ]
    );
    assert_eq!(plan.phases[0].kind, rate(0.0, 120.0, Spacing::Poisson));
    assert_eq!(plan.phases[0].users_planned(), 3600.0);
    assert_eq!(plan.phases[1].kind, rate(120.0, 120.0, Spacing::Even));
    assert_eq!(plan.phases[1].session, Some(SessionId(1)));
    assert_eq!(plan.phases[3].kind, rate(0.5, 0.5, Spacing::Poisson));
    assert_eq!(plan.phases[5].kind, PhaseKind::Closed(Population::fixed(64)));
    for pair in plan.phases.windows(2) {
        assert_eq!(pair[0].end_ns(), pair[1].start_ns);
    }
    assert_eq!(plan.end_ns(), (60 + 200 + 10 + 1800 + 10 + 30 + 60 + 4) * 1_000_000_000);
}

/// The closed phases' users: kept from the phase before, at the beginning and at the end; and those that start.
fn populations(phases: &str) -> Vec<(u64, u64, u64, f64)> {
    let plan = plan(&with_arrivals(phases));
    let found = plan.phases.iter().filter_map(|phase| match phase.kind {
        PhaseKind::Closed(Population { kept_count, from_count, to_count }) => {
            Some((kept_count, from_count, to_count, phase.users_planned()))
        }
        _ => None,
    });
    found.collect()
}

#[test]
fn a_ramp_makes_one_population_of_the_closed_phases_beside_it() {
    let stages = "
- { users: 0..500, for: 2m }
- { users: 500, for: 5m }
- { users: 500 .. 20, for: 1m }
- { users: 50, for: 1m }
- { users: 50, for: 1m }
";
    let expected = [
        (0, 0, 500, 500.0),
        (500, 500, 500, 0.0),
        (500, 500, 20, 0.0),
        (20, 50, 50, 30.0),
        (50, 50, 50, 0.0),
    ];
    assert_eq!(populations(stages), expected);
    // Fixed numbers, other sessions and other phases between them begin again.
    let fixed = "- { users: 4, for: 1s }\n- { users: 6..6, for: 1s }";
    assert_eq!(populations(fixed), [(0, 4, 4, 4.0), (0, 6, 6, 6.0)]);
    let others = "
- { users: 0..4, for: 1s, session: s }
- { users: 4, for: 1s, session: t }
- { hold: 1s }
- { users: 4..0, for: 1s, session: t }
";
    let expected = [(0, 0, 4, 4.0), (0, 4, 4, 4.0), (0, 4, 0, 4.0)];
    assert_eq!(populations(others), expected);
}

#[test]
fn users_who_never_leave_are_warned_of_in_a_falling_ramp() {
    let scenario = |steps: &str, phases: &str| {
        format!("target: http://h/\nsessions: {{ s: [ {steps} ] }}\narrivals: [ {phases} ]\n")
    };
    let said = |steps: &str, phases: &str| {
        let (plan, diagnostics) = compile_with(&scenario(steps, phases), &[]);
        assert!(plan.is_some(), "{steps} {phases}");
        let messages = diagnostics.into_iter().map(|found| found.message);
        messages.collect::<Vec<_>>()
    };
    let forever = "{ forever: [ { get: / } ] }";
    let found = said(forever, "{ users: 5..0, for: 1s, name: down }");
    let expected = "the number of users falls in phase `down`, but users of session `s` leave only when it ends";
    assert!(found.len() == 1 && found[0].starts_with(expected), "{found:?}");
    let once = "{ loop: 3, steps: [ { get: / } ] }";
    assert_eq!(said(forever, "{ users: 0..5, for: 1s }"), [""; 0]);
    assert_eq!(said(once, "{ users: 5..0, for: 1s }"), [""; 0]);
}

#[test]
fn what_cannot_be_planned_is_refused() {
    for (phases, expected) in [
        (
            "- { ramp: 120/s, for: 60s }",
            "write 0/s..120/s to start from zero, or `constant: 120/s`",
        ),
        ("- { constant: 0/s, for: 60s }", "write `hold`"),
        ("- { constant: 10000/s, for: 10d }", "these phases start 8640000000 users"),
        ("- { users: 60000000, for: 1s }", "these phases start 60000000 users"),
        ("- { users: 0, for: 1s }", "a population needs at least one user"),
        ("- { users: 0..0, for: 1s }", "a population needs at least one user"),
        ("- { users: 0..9.5, for: 1s }", "`9.5` is not a whole number"),
        ("- { users: 9.., for: 1s }", "`9..` lacks a number"),
        (
            "- { users: 0/s..9/s, for: 1s }",
            "for a rate write `constant: 10/s` or `ramp: 0/s..10/s`",
        ),
        ("- { ramp: 0..9, for: 1s }", "for a number of users write `users: 0..9`"),
        ("- { hold: 300d }\n- { hold: 300d }", "longer than 366 days"),
        ("- { hold: 0s }", "`0s` is out of range"),
        ("- { hold: 1s, session: s }", "unknown key `session` in a `hold` phase"),
        ("- { constant: 1/s, for: 1s, session: q }", "there is no session `q`"),
        ("- { hold: 1s, name: a }\n- { hold: 1s, name: a }", "two phases are named `a`"),
        ("- { ram: 1/s, for: 1s }", "did you mean `ramp`?"),
        ("- { steps: { from: 1/s, to: 9/s, by: 0/s }, each: 1s }", "`by` must be above 0"),
        ("- { steps: { from: 1/s, to: 9999/s, by: 1/s }, each: 1s }", "more than 1000 steps"),
        ("- hold", "expected a phase"),
        ("- { together: [] }", "expected a list of phases"),
        (
            "- { together: [ { users: 3, for: 1s } ] }",
            "a closed population cannot run concurrently with other phases",
        ),
        (
            "- { together: [ { constant: 1/s, for: 1s, name: a } ] }",
            "write `name` next to `together`",
        ),
        ("- { together: [ { constant: 1/s, for: 1s, session: q } ] }", "there is no session `q`"),
        (
            "- together: [ { constant: 90000/s, for: 400s }, { constant: 90000/s, for: 400s } ]",
            "these phases start 72000000 users",
        ),
    ] {
        let said = rendered(&with_arrivals(phases), &[]);
        assert!(said.contains(expected), "{phases}: {said}");
    }
}

#[test]
fn phases_side_by_side_are_one_phase() {
    let plan = plan(&with_arrivals(
        "
- { hold: 10s }
- together:
    - { poisson: 2/s, for: 30s, session: s }
    - { steps: [1/s, 3/s], each: 20s, session: t }
  name: crowds
- { hold: 1s }
",
    ));
    let crowds = &plan.phases[1];
    assert_eq!((crowds.name.as_str(), crowds.start_ns), ("crowds", 10_000_000_000));
    assert_eq!(crowds.end_ns(), plan.phases[2].start_ns);
    assert_eq!(crowds.duration_ns, 40_000_000_000);
    assert_eq!(crowds.users_planned(), 60.0 + 20.0 + 60.0);
    assert_eq!(crowds.users_by(20_000_000_000), 20.0 + 10.0);
    assert_eq!(crowds.rate_max_per_s(), 5.0);
    assert!(crowds.is_open());
    let sessions: Vec<_> = crowds.parts().map(|part| part.session).collect();
    assert_eq!(sessions, [0, 1, 1].map(|id| Some(SessionId(id))));
    assert_eq!(plan.users_planned(), 140.0);
}

#[test]
fn sessions_without_weight_may_stand_side_by_side() {
    let text = "target: http://h/\nsessions: { s: { weight: 0, steps: [ { get: / } ] } }\n\
                arrivals: [ { together: [ { constant: 1/s, for: 9s, session: s } ] } ]\n";
    assert_eq!(plan(text).users_planned(), 9.0);
}

#[test]
fn a_closed_population_must_wait_somewhere() {
    let scenario = |steps: &str, phase: &str| {
        format!(
            "target: http://h/\nsessions: {{ s: [ {steps} ], t: [ {{ get: / }} ] }}\narrivals: [ {phase} ]\n"
        )
    };
    let spinning = "{ set: { n: 1 } }";
    let said = rendered(&scenario(spinning, "{ users: 2, for: 1s }"), &[]);
    assert!(said.contains("session `s` never waits"), "{said}");
    plan(&scenario(spinning, "{ users: 2, for: 1s, session: t }"));
    plan(&scenario(spinning, "{ constant: 2/s, for: 1s }"));
}

#[test]
fn a_population_may_begin_a_number_of_sessions() {
    let phases = |text: &str| plan(&with_arrivals(text)).phases;
    let found = phases(
        "
- { users: 10, iterations: 1_000, for: 10m }
- { users: 10, iterations: 100 each, for: 10m }
",
    );
    let iterations: Vec<_> = found.iter().map(|phase| phase.iterations).collect();
    assert_eq!(iterations, [Some(Iterations::Shared(1000)), Some(Iterations::Each(100))]);
    assert_eq!(
        found.iter().map(plan::Phase::sessions_planned).collect::<Vec<_>>(),
        [Some(1000); 2]
    );
    // The last phase is over with them.
    assert_eq!(found.iter().map(|phase| phase.until_done).collect::<Vec<_>>(), [false, true]);
    let done = phases("- { users: 10, for: 10m, until: done }");
    assert_eq!((done[0].until_done, done[0].sessions_planned()), (true, None));
    // Such a phase is no part of a population with a ramp.
    let apart = phases(
        "
- { users: 0..10, for: 1m }
- { users: 10, iterations: 50, for: 1m }
",
    );
    assert_eq!(apart[1].kind, PhaseKind::Closed(Population::fixed(10)));
}

#[test]
fn a_number_of_sessions_that_cannot_be_is_refused() {
    for (phase, message) in [
        ("{ users: 10, iterations: 9, for: 1m }", "9 sessions are too few for 10 users"),
        ("{ users: 10, iterations: 0 each, for: 1m }", "0 sessions are too few for 10 users"),
        ("{ users: 0..10, iterations: 100, for: 1m }", "a population that grows or shrinks has no"),
        ("{ users: 10, iterations: many, for: 1m }", "`many` is not a"),
        ("{ users: 10, iterations: 10 }", "`for` is missing"),
        ("{ constant: 10/s, iterations: 10, for: 1s }", "unknown key `iterations`"),
    ] {
        let found = rendered(&with_arrivals(&format!("- {phase}")), &[]);
        assert!(found.contains(message), "{phase}: {found}");
    }
}
