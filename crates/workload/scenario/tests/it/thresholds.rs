//! Conditions on a run.

use plan::{Basis, Comparison, Figure, MeasureId, Stat, Threshold};

use crate::{compile_with, plan, rendered};

fn scenario(threshold: &str) -> String {
    format!(
        "target: http://h/\nsessions: {{ s: [ {{ get: /hello }}, {{ get: /x, as: request }} ] }}\n\
         arrivals: [ {{ constant: 1/s, for: 1s, name: peak load }}, {{ hold: 1s }} ]\n\
         thresholds: [ '{threshold}' ]\n"
    )
}

#[track_caller]
fn threshold(text: &str) -> Threshold {
    plan(&scenario(text)).thresholds.remove(0)
}

fn figure(stat: Stat, measure: Option<u16>, basis: Basis, phase: Option<usize>) -> Figure {
    Figure::Measure { stat, measure: measure.map(MeasureId), basis, phase }
}

fn sessions(stat: Stat, basis: Basis, phase: Option<usize>) -> Figure {
    Figure::Sessions { stat, basis, phase }
}

#[test]
fn sessions_are_those_of_users_unless_a_step_is_called_so() {
    let named = scenario("p95(sessions) < 1s").replace("as: request", "as: sessions");
    let found = &plan(&named).thresholds[0].figure;
    assert_eq!(*found, figure(Stat::Quantile(0.95), Some(2), Basis::Response, None));
    assert!(!plan(&named).times_sessions());
    // How long sessions take is measured for those that need it.
    assert!(plan(&scenario("p95(sessions) < 1s")).times_sessions());
    assert!(!plan(&scenario("failed(sessions) < 1")).times_sessions());
    for (text, message) in [
        ("p95(sessions.lag) < 1s", "only operations have `.service` and `.lag`"),
        ("failed(request) < 1", "there is no figure `failed`"),
    ] {
        let found = rendered(&scenario(text), &[]);
        assert!(found.contains(message), "{text}: {found}");
    }
}

#[test]
fn figures_of_every_kind() {
    let near = |threshold: &Threshold, limit: f64| (threshold.limit - limit).abs() < 1e-9 * limit;
    for (text, figure, comparison, limit) in [
        ("connected >= 99.9%", Figure::Connected, Comparison::GreaterEqual, 0.999),
        ("users == 24_000", Figure::Users, Comparison::Equal, 24_000.0),
        ("refused<1", Figure::Refused, Comparison::Less, 1.0),
        (
            "p98(request) < 250ms",
            figure(Stat::Quantile(0.98), Some(2), Basis::Response, None),
            Comparison::Less,
            250e6,
        ),
        (
            "p99.9(request.service) <= 1s in hold",
            figure(Stat::Quantile(99.9 / 100.0), Some(2), Basis::Service, Some(1)),
            Comparison::LessEqual,
            1e9,
        ),
        (
            "max(\"GET /hello\".lag) < 1ms in peak load",
            figure(Stat::Max, Some(1), Basis::Lag, Some(0)),
            Comparison::Less,
            1e6,
        ),
        (
            "mean(GET /hello) > 1us",
            figure(Stat::Mean, Some(1), Basis::Response, None),
            Comparison::Greater,
            1e3,
        ),
        ("errors == 1", figure(Stat::Errors, None, Basis::Response, None), Comparison::Equal, 1.0),
        (
            "error_rate(connect) < 1%",
            figure(Stat::ErrorRate, Some(0), Basis::Response, None),
            Comparison::Less,
            0.01,
        ),
        (
            "p95 < 300ms",
            figure(Stat::Quantile(0.95), None, Basis::Response, None),
            Comparison::Less,
            300e6,
        ),
        (
            "p99.9.succeeded <= 1s in hold",
            figure(Stat::Quantile(99.9 / 100.0), None, Basis::Succeeded, Some(1)),
            Comparison::LessEqual,
            1e9,
        ),
        (
            "mean.service < 1ms",
            figure(Stat::Mean, None, Basis::Service, None),
            Comparison::Less,
            1e6,
        ),
        ("max.lag != 5us", figure(Stat::Max, None, Basis::Lag, None), Comparison::NotEqual, 5e3),
        (
            "rate > 30/min in hold",
            figure(Stat::Rate, None, Basis::Response, Some(1)),
            Comparison::Greater,
            0.5,
        ),
        (
            "rate.succeeded > 30/s",
            figure(Stat::Rate, None, Basis::Succeeded, None),
            Comparison::Greater,
            30.0,
        ),
        (
            "count(request.succeeded) > 5",
            figure(Stat::Count, Some(2), Basis::Succeeded, None),
            Comparison::Greater,
            5.0,
        ),
        (
            "failed(sessions) <= 1",
            sessions(Stat::Errors, Basis::Response, None),
            Comparison::LessEqual,
            1.0,
        ),
        (
            "error_rate(sessions) < 1% in hold",
            sessions(Stat::ErrorRate, Basis::Response, Some(1)),
            Comparison::Less,
            0.01,
        ),
        (
            "p95( sessions.succeeded ) < 3s",
            sessions(Stat::Quantile(0.95), Basis::Succeeded, None),
            Comparison::Less,
            3e9,
        ),
        (
            "count(request) != 5",
            figure(Stat::Count, Some(2), Basis::Response, None),
            Comparison::NotEqual,
            5.0,
        ),
    ] {
        let found = threshold(text);
        assert_eq!(found.text, text);
        assert_eq!(found.figure, figure, "{text}");
        assert_eq!(found.comparison, comparison, "{text}");
        assert!(near(&found, limit), "{text}: {}", found.limit);
    }
}

#[test]
fn wrong_thresholds_say_what_they_lack() {
    for (text, expected) in [
        ("p98(requst) < 250ms", "did you mean `request`?"),
        ("p98(request) < 250", "write 250s or 250ms"),
        ("connected >= 99", "write 99%"),
        ("error_rate < 0.01", "write 1%, which k6 and other tools write as 0.01"),
        ("rate < 0.01", "the share of failed operations is error_rate < 1%"),
        ("rate < 5", "write 5/s"),
        ("p(95) < 200ms", "write `p95 < 200ms`"),
        ("http_req_duration < 500", "write `p95 < 500ms`"),
        ("p95(http_req_duration) < 500", "write `p95 < 500ms`"),
        ("http_req_failed: rate<0.01", "write `error_rate < 1%`"),
        ("avg<200", "write `mean < 200ms`"),
        ("p95() < 200ms", "write p95(request), or p95 for all requests together"),
        ("errors < 1%", "`1%` is not a whole number"),
        ("p98 < 250", "write 250s or 250ms"),
        ("p98.sucess < 1s", "write p98.succeeded, p98.service or p98.lag"),
        ("p0.lag < 1s", "`p0` is not a percentile"),
        ("errors.lag == 0", "only durations have `.service` and `.lag`"),
        ("errors.succeeded == 0", "only durations, `count` and `rate` have `.succeeded`"),
        ("p98.succeeded(request) < 1s", "write it like p98(request.succeeded)"),
        ("p0(request) < 1s", "`p0` is not a percentile"),
        ("p98(request) < 1s in hodl", "did you mean `hold`?"),
        ("connected >= 99% in hold", "is a figure of the whole run"),
        ("count(request.lag) > 1", "only durations have `.service` and `.lag`"),
        ("erors == 0", "did you mean `errors`?"),
        ("errors = 0", "write =="),
        ("errors", "this is not a comparison"),
        ("p98(request < 1s", "the closing ) is missing"),
        ("< 1s", "there is no figure ``"),
        ("errors ==", "is not a whole number"),
    ] {
        let said = rendered(&scenario(text), &[]);
        assert!(said.contains(expected), "{text}: {said}");
    }
}

/// A scenario with one item of the list of thresholds.
fn with_item(item: &str) -> String {
    scenario("errors == 0").replace("[ 'errors == 0' ]", &format!("[ {item} ]"))
}

#[test]
fn a_threshold_may_end_the_run() {
    let abort = |item: &str| {
        let mut plan = plan(&with_item(item));
        assert_eq!(plan.thresholds[0], plan.aborts[0].threshold);
        plan.aborts.remove(0)
    };
    let long = |item: &str| abort(item).over_ns.map(|ns| ns / 1_000_000);
    assert_eq!(long("{ abort: error_rate < 20% }"), None);
    assert_eq!(long("{ abort: 'p95(request) < 1s in hold', after: 500ms }"), None);
    assert_eq!(long("{ abort: errors == 0, over: 1s }"), Some(1000));
    // Not before there is all that it is of.
    let after = |item: &str| abort(item).after_ns / 1_000_000;
    assert_eq!(after("{ abort: error_rate < 20%, over: 1s }"), 1000);
    assert_eq!(after("{ abort: error_rate < 20%, over: 1s, after: 1500ms }"), 1500);
    assert_eq!(after("{ abort: error_rate < 20% }"), 0);
    assert!(plan(&scenario("errors == 0")).aborts.is_empty());
}

#[test]
fn a_metric_may_end_the_run_where_its_figure_holds_at_first() {
    let metrics =
        "metrics: { orders: counter, depth: gauge, basket: { kind: quantity, unit: EUR } }\n";
    let with = |item: &str| with_item(item) + metrics;
    for item in [
        "{ abort: sum(orders) < 500 }",
        "{ abort: rate(orders) > 1.5/s, over: 1s }",
        "{ abort: last(depth) <= 7 in hold }",
        "{ abort: mean(basket) > 5 EUR, after: 1s }",
        "{ abort: sum(basket) == 0 }",
    ] {
        let plan = plan(&with(item));
        assert!(matches!(plan.aborts[0].threshold.figure, Figure::Metric { .. }), "{item}");
    }
    for item in ["{ abort: sum(orders) > 500 }", "{ abort: count(depth) >= 1 }"] {
        let found = rendered(&with(item), &[]);
        assert!(found.contains("this does not hold before the run has begun"), "{item}: {found}");
    }
}

#[test]
fn what_cannot_end_a_run_is_reported() {
    for (item, message) in [
        ("{ abort: connected > 99% }", "this figure is known only when the run is over"),
        ("{ abort: offered(request) > 5/s }", "this figure is known only when the run is over"),
        ("{ abort: count(request) > 5 }", "this does not hold before the run has begun"),
        ("{ abort: errors == 5 }", "this does not hold before the run has begun"),
        ("{ abort: errors < 5, over: 1500ms }", "`over` is a number of whole seconds, up to 1m"),
        ("{ abort: errors < 5, over: 2m }", "`over` is a number of whole seconds, up to 1m"),
        ("{ over: 1s }", "`abort` is missing in a threshold that ends the run"),
        ("{ abort: errors < 5, for: 3s }", "unknown key `for` in a threshold that ends the run"),
    ] {
        let found = rendered(&with_item(item), &[]);
        assert!(found.contains(message), "{item}: {found}");
    }
}

#[test]
fn a_threshold_that_is_looked_at_too_late_is_a_warning() {
    for (item, message) in [
        ("{ abort: errors < 5, after: 3s }", "the run is over before this is first looked at"),
        ("{ abort: errors < 5 in hold, after: 1s }", "its phase is over before this is first"),
    ] {
        let (plan, diagnostics) = compile_with(&with_item(item), &[]);
        assert!(plan.is_some(), "{item}");
        assert!(diagnostics.iter().any(|d| d.message.contains(message)), "{diagnostics:?}");
    }
}
