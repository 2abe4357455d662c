//! Populations side by side: their sessions, tags and phases, and what is wrong with them.

use plan::{Figure, PhaseKind, Plan, Population, SessionId, Stat};

use crate::{plan, rendered};

const SHOP: &str = "
target: http://h/
sessions:
  read: { weight: 3, tags: { area: front }, steps: [ { get: / }, { think: 1s } ] }
  buy: [ { get: / }, { post: /buy }, { think: 1s } ]
  never: { weight: 0, steps: [ { get: /never } ] }
populations:
  browsers:
    tags: { kind: human }
    arrivals: [ { users: 0..20, for: 20s, name: rise }, { users: 20, for: 40s, name: peak } ]
  robots:
    session: read
    arrivals: [ { hold: 30s }, { poisson: 2/s, for: 60s } ]
  clerks:
    arrivals: [ { users: 5, for: 10s, session: buy }, { at: 3s, session: buy } ]
thresholds: THRESHOLDS
";

fn shop(thresholds: &str) -> Plan {
    plan(&SHOP.replace("THRESHOLDS", thresholds))
}

fn session_names(plan: &Plan) -> Vec<&str> {
    plan.sessions.iter().map(|session| session.name.as_str()).collect()
}

#[test]
fn each_population_has_its_own_sessions_and_tags() {
    let plan = shop("[]");
    // Browsers may draw any.
    let names = ["read (browsers)", "read (robots)", "buy (browsers)", "buy (clerks)", "never"];
    assert_eq!(session_names(&plan), names);
    let measures: Vec<&str> = plan.measures.iter().map(|one| one.name.as_str()).collect();
    let expected = [
        "connect",
        "GET / (area=front, kind=human, population=browsers)",
        "GET / (area=front, population=robots)",
        "GET / (kind=human, population=browsers)",
        "POST /buy (kind=human, population=browsers)",
        "GET / (population=clerks)",
        "POST /buy (population=clerks)",
        "GET /never",
        "redirects",
    ];
    assert_eq!(measures, expected);
    assert_eq!(plan.singles[0].session, SessionId(3));
    let populations = &plan.populations;
    let names: Vec<&str> = populations.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["browsers", "robots", "clerks"]);
    let singles: Vec<u64> = populations.iter().map(|one| one.singles_count).collect();
    assert_eq!(singles, [0, 0, 1]);
    assert_eq!(populations[0].phases[0].weights, Some(vec![3.0, 0.0, 1.0, 0.0, 0.0]));
    assert_eq!(populations[1].phases[1].session, Some(SessionId(1)));
    assert_eq!(populations[2].phases[0].session, Some(SessionId(3)));
}

#[test]
fn the_phases_of_a_run_are_those_of_the_first_population() {
    let plan = shop("[]");
    let phases: Vec<(&str, u64)> = plan
        .phases
        .iter()
        .map(|phase| (phase.name.as_str(), phase.end_ns() / 1_000_000_000))
        .collect();
    assert_eq!(phases, [("rise", 20), ("peak", 60), ("hold", 90)]);
    assert_eq!(plan.end_ns(), 90_000_000_000);
    // 20 browsers and 5 clerks, then a robot every half second.
    let planned: Vec<f64> = plan.phases.iter().map(|phase| plan.users_planned_in(phase)).collect();
    assert_eq!(planned, [25.0, 60.0, 60.0]);
    assert_eq!(plan.users_planned(), 146.0);
    let ramp = Population { kept_count: 0, from_count: 0, to_count: 20 };
    assert_eq!(plan.populations[0].phases[0].kind, PhaseKind::Closed(ramp));
    // Users stay from phase to phase.
    let stay = Population { kept_count: 20, from_count: 20, to_count: 20 };
    assert_eq!(plan.populations[0].phases[1].kind, PhaseKind::Closed(stay));
}

#[test]
fn thresholds_name_populations_by_their_tag() {
    let plan = shop(
        "[ 'p95(GET /, population=browsers) < 1s in peak', 'errors(population=clerks) == 0' ]",
    );
    let figures: Vec<(Option<usize>, usize)> = plan
        .thresholds
        .iter()
        .map(|threshold| match &threshold.figure {
            Figure::Measures { measures, phase, .. } => (*phase, measures.len()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(figures, [(Some(1), 2), (None, 2)]);
    let Figure::Measures { stat, .. } = plan.thresholds[0].figure else { unreachable!() };
    assert_eq!(stat, Stat::Quantile(0.95));
}

#[test]
fn the_arrivals_of_a_scenario_are_a_population_without_a_name() {
    let both = plan(
        "
target: http://h/
sessions: { s: [ { get: / }, { think: 1s } ], t: [ { get: /t }, { think: 1s } ] }
arrivals: [ { constant: 2/s, for: 10s, session: s, name: main } ]
populations: { others: { sessions: { s: 1, t: 1 }, arrivals: [ { users: 3, for: 8s } ] } }
",
    );
    assert_eq!(session_names(&both), ["s", "s (others)", "t"]);
    let measures: Vec<&str> = both.measures.iter().map(|one| one.name.as_str()).collect();
    let expected = ["connect", "GET / (other)", "GET / (population=others)", "GET /t", "redirects"];
    assert_eq!(measures, expected);
    assert_eq!(both.phases.len(), 1);
    assert_eq!((both.populations[0].name.as_str(), both.populations.len()), ("", 2));
    assert_eq!(both.populations[1].phases[0].weights, Some(vec![0.0, 1.0, 1.0]));
    assert_eq!(both.users_planned_in(&both.phases[0]), 23.0);
}

/// One population with a name is a scenario whose steps have its tag.
#[test]
fn one_population_is_a_scenario_with_a_tag() {
    let of = |arrivals: &str, tags: &str| {
        plan(&format!(
            "target: http://h/\nsessions: {{ s: {{ {tags}steps: [ {{ get: / }} ] }} }}\n{arrivals}\n"
        ))
    };
    let named = of("populations: { all: { arrivals: [ { poisson: 2/s, for: 10s } ] } }", "");
    let plain = of("arrivals: [ { poisson: 2/s, for: 10s } ]", "tags: { population: all }, ");
    assert_eq!(named.measures, plain.measures);
    assert_eq!(named.users_planned(), plain.users_planned());
    assert_eq!(named.end_ns(), plain.end_ns());
    assert_eq!((named.done_from_ns(), plain.done_from_ns()), (None, None));
}

#[test]
fn a_run_is_over_when_all_its_populations_are() {
    let of = |populations: &str| {
        plan(&format!(
            "target: http://h/\nsessions: {{ s: [ {{ get: / }} ] }}\npopulations:\n  {}\n",
            populations.replace('\n', "\n  ")
        ))
    };
    let counted = "a: { arrivals: [ { users: 2, iterations: 9, for: 60s } ] }";
    let late = "b: { arrivals: [ { hold: 20s }, { users: 2, iterations: 9, for: 60s } ] }";
    let open = "c: { arrivals: [ { constant: 1/s, for: 30s } ] }";
    let s = 1_000_000_000;
    for (populations, done_from_ns, end_ns) in [
        (counted.to_owned(), Some(0), 60 * s),
        (format!("{counted}\n{late}"), Some(20 * s), 80 * s),
        (format!("{late}\n{open}"), Some(30 * s), 80 * s),
        (open.to_owned(), None, 30 * s),
        (format!("{open}\nd: {{ arrivals: [ {{ hold: 50s }} ] }}"), None, 50 * s),
    ] {
        let plan = of(&populations);
        assert_eq!((plan.done_from_ns(), plan.end_ns()), (done_from_ns, end_ns), "{populations}");
    }
}

#[test]
fn what_is_wrong_is_said_once() {
    let with = |populations: &str| {
        format!(
            "target: http://h/\nsessions:\n  s: [ {{ get: / }}, {{ think: 1 }} ]\n  t: [ {{ get: / }} ]\n{populations}\n"
        )
    };
    let sound = "arrivals: [ { users: 2, for: 9s, session: t } ]";
    for (populations, expected) in [
        (
            "populations: { a: { arrivals: [ { users: 2, for: 9s } ] }, b: { arrivals: [ { users: 2, for: 9s } ] } }",
            "`1` has no unit",
        ),
        (
            format!("populations: {{ a: {{ {sound}, session: q }} }}").as_str(),
            "there is no session `q`",
        ),
        ("populations: { a: { session: s } }", "`arrivals` is missing in population `a`"),
        ("populations: {}", "there is no population"),
        ("populations: [ a ]", "expected a mapping of populations"),
        (
            format!("populations: {{ a: {{ {sound}, sessions: {{ s: 1 }}, session: t }} }}")
                .as_str(),
            "either `session` or",
        ),
        (
            format!("populations: {{ 'a=b': {{ {sound} }} }}").as_str(),
            "cannot be the name of a population",
        ),
        (
            format!("populations: {{ a: {{ {sound}, tags: {{ population: x }} }} }}").as_str(),
            "`populations` set the tag",
        ),
        (
            format!("populations: {{ a: {{ {sound}, think: 1s }} }}").as_str(),
            "unknown key `think` in population `a`",
        ),
        (
            "populations: { a: { session: t, arrivals: [ { constant: 90000/s, for: 400s } ] }, \
             b: { session: t, arrivals: [ { constant: 90000/s, for: 400s } ] } }",
            "all populations together start 72000000 users",
        ),
        ("thresholds: []", "`arrivals` is missing in the scenario"),
    ] {
        let said = rendered(&with(populations), &[]);
        assert!(said.contains(expected), "{said}");
        // A session is compiled for each population that runs it.
        assert_eq!(said.matches("has no unit").count(), 1, "{said}");
    }
    let other = SHOP.replace("THRESHOLDS", "[ 'p95(population=robots) < 1s in poisson' ]");
    let hint = "those of its first population (rise, peak, hold)";
    assert!(rendered(&other, &[]).contains(hint), "{}", rendered(&other, &[]));
    let unknown = SHOP.replace("THRESHOLDS", "[ 'p95(population=buyers) < 1s' ]");
    assert!(rendered(&unknown, &[]).contains("population=buyers"));
}
