//! Figures that end a run as soon as they are known.

use plan::{Plan, Precision, Until};

use crate::{compile_with, plan, rendered};

fn scenario(until: &str) -> String {
    format!(
        "target: http://h/\nsessions: {{ s: [ {{ get: /, as: visit }} ] }}\n\
         arrivals: [ {{ constant: 1/s, for: 10m, name: warm }}, {{ constant: 1/s, for: 20m, name: hold }} ]\n\
         until: {until}\n"
    )
}

#[track_caller]
fn until(text: &str) -> Until {
    let Plan { until, .. } = plan(&scenario(text));
    until.expect("the scenario says it")
}

#[test]
fn figures_and_the_longest_time_are_a_text_or_a_list() {
    let one = until("p95(visit) ± 2%, at most 25m");
    assert_eq!(one.at_most_ns, 1_500_000_000_000);
    assert_eq!(one.figures[0].text, "p95(visit) ± 2%");
    assert_eq!(one.figures[0].precision, Precision::Relative(0.02));
    let rest = until("p95(visit) ± 2%");
    assert_eq!(rest.at_most_ns, 1_800_000_000_000, "the end of the load");
    let several = until("[ p95(visit) ± 2%, p50 ± 5ms in hold, at most 20m ]");
    assert_eq!(several.figures.len(), 2);
    assert_eq!(several.figures[1].precision, Precision::Absolute(5e6));
    assert_eq!(several.figures[1].figure.phase(), Some(1));
    assert_eq!(several.at_most_ns, 1_200_000_000_000);
    assert!(plan(&scenario("").replace("until: \n", "")).until.is_none());
}

#[test]
fn mistakes_are_reported_with_what_to_write() {
    for (text, message) in [
        ("error_rate ± 1%", "`error_rate` has no interval"),
        ("p95(visit)", "this does not say how precise a figure is to be"),
        ("p95(visit) ± 2%, at most soon", "`soon` is not a time that a run can last"),
        ("p95(visti) ± 2%", "did you mean `visit`?"),
        ("at most 10m", "`until` has no figure"),
        ("[ p95(visit) ± 2% in warm, p50 ± 2% in hold ]", "there is no time at which all"),
        ("p95(visit) ± 2% in hold, at most 5m", "there is no time at which all"),
    ] {
        let found = rendered(&scenario(text), &[]);
        assert!(found.contains(message), "{text}: {found}");
    }
    let warned = |text: &str| {
        let (plan, diagnostics) = compile_with(&scenario(text), &[]);
        assert!(plan.is_some());
        diagnostics.into_iter().map(|one| one.message).collect::<Vec<String>>()
    };
    assert_eq!(warned("p95(visit) ± 2%, at most 1h"), ["the load ends before that, after 30 min"]);
    assert_eq!(
        warned("p95(visit) ± 2%, at most 20s"),
        ["this is over before the first look, which is after 30 s"]
    );
}

#[test]
fn a_run_ends_between_the_first_look_and_the_longest_time() {
    // Some of them are over before the first look, which is a warning.
    let planned = |text: &str| compile_with(text, &[]).0.expect("a plan");
    let ends = |until: &str| {
        let plan = planned(&scenario(until));
        [plan.least_end_ns(), plan.most_end_ns()].map(|ns| ns / 1_000_000_000)
    };
    assert_eq!(ends("p95(visit) ± 2%"), [30, 1800]);
    assert_eq!(ends("p95(visit) ± 2%, at most 25m"), [30, 1500]);
    assert_eq!(ends("p95(visit) ± 2%, at most 20s"), [20, 20]);
    assert_eq!(ends("[ p95(visit) ± 2% in hold, p50 ± 2%, at most 25m ]"), [630, 1500]);
    assert_eq!(ends("null"), [1800, 1800]);
    let first_look_s = |until: &str| {
        let plan = planned(&scenario(until).replace("for: 10m", "for: 10s"));
        plan.least_end_ns() / 1_000_000_000
    };
    assert_eq!(first_look_s("p95(visit) ± 2% in warm"), 10);
    assert_eq!(first_look_s("[ p95(visit) ± 2% in warm, p50 ± 2% ]"), 30);
}
