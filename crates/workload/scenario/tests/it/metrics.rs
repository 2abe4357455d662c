//! Metrics of the scenario's own.

use plan::{Figure, Metric, MetricId, Op};
use stats::metrics::{MetricKind, MetricStat};

use crate::{plan, rendered};

fn scenario(metrics: &str, step: &str, threshold: &str) -> String {
    format!(
        "target: http://h/\nmetrics: {metrics}\nsessions:\n  s:\n    - get: /\n      save: {{ total: /total }}\n    - {step}\n\
         arrivals: [ {{ constant: 1/s, for: 1s }} ]\nthresholds: [ '{threshold}' ]\n"
    )
}

#[test]
fn metrics_have_kinds_and_units() {
    let metrics = "{ basket: { kind: quantity, unit: € }, orders: counter, cheap: share, depth: { kind: gauge } }";
    let plan = plan(&scenario(metrics, "{ measure: total, as: basket }", "p95(basket) < 40 €"));
    let metric = |name: &str, kind, unit: &str| Metric {
        name: name.to_owned(),
        kind,
        unit: unit.to_owned(),
    };
    assert_eq!(
        plan.metrics,
        [
            metric("basket", MetricKind::Quantity, "€"),
            metric("orders", MetricKind::Counter, ""),
            metric("cheap", MetricKind::Share, ""),
            metric("depth", MetricKind::Gauge, ""),
        ]
    );
    let recorded = plan.sessions[0].ops.iter().filter_map(|op| match op {
        Op::Record { metric, .. } => Some(*metric),
        _ => None,
    });
    assert_eq!(recorded.collect::<Vec<_>>(), [MetricId(0)]);
    // It is no measure.
    assert!(plan.measures.iter().all(|measure| measure.name != "basket"));
    let threshold = &plan.thresholds[0];
    let stat = MetricStat::Quantile(0.95);
    assert_eq!(threshold.figure, Figure::Metric { stat, metric: MetricId(0), phase: None });
    assert_eq!(threshold.limit, 40.0);
}

/// The expression's own name may be that of a metric.
#[test]
fn a_step_without_a_name_records_the_metric_of_its_expression() {
    let plan = plan(&scenario("{ total: counter }", "{ measure: \"${total}\" }", "sum(total) > 3"));
    assert!(matches!(plan.sessions[0].ops[1], Op::Record { metric: MetricId(0), .. }));
}

#[test]
fn mistakes_are_reported_with_what_to_write() {
    let step = "{ measure: total, as: basket }";
    let basket = "{ basket: quantity }";
    let long = format!("{{ basket: {{ kind: quantity, unit: {} }} }}", "x".repeat(17));
    for (metrics, step, threshold, message) in [
        ("{ basket: trend }", step, "errors == 0", "`trend` is not known here"),
        ("{ basket: { unit: € } }", step, "errors == 0", "`kind` is missing in a metric"),
        (long.as_str(), step, "errors == 0", "a unit has 1 to 16 characters without digits"),
        (
            "{ basket: { kind: share, unit: € } }",
            step,
            "errors == 0",
            "a share has no unit: it is a part of all",
        ),
        ("{ connect: counter }", step, "errors == 0", "`connect` is already the name of a measure"),
        (
            basket,
            "{ get: /, as: basket }",
            "errors == 0",
            "`basket` is already the name of a metric",
        ),
        (
            basket,
            "{ measure: total, as: basket, unit: ms }",
            "errors == 0",
            "a metric has the unit that `metrics` gives it",
        ),
        (
            basket,
            "{ measure: total, as: size, unit: bytes }",
            "errors == 0",
            "write `metrics: { size: { kind: quantity, unit: bytes } }` beside `sessions`",
        ),
        (basket, step, "p95(basket) < 300ms", "`300ms` is no limit for this figure"),
        (basket, step, "rate(basket) > 3", "`basket` is a quantity, and has no `rate`"),
    ] {
        let found = rendered(&scenario(metrics, step, threshold), &[]);
        assert!(found.contains(message), "{metrics} {step} {threshold}: {found}");
    }
    let many: Vec<String> = (0..65).map(|n| format!("m{n}: counter")).collect();
    let many = format!("{{ {} }}", many.join(", "));
    let found = rendered(&scenario(&many, step, "errors == 0"), &[]);
    assert!(found.contains("there are more than 64 metrics"), "{found}");
    let setup = scenario(basket, step, "errors == 0") + "setup: [ { measure: 3, as: basket } ]\n";
    let found = rendered(&setup, &[]);
    assert!(found.contains("a metric cannot be recorded in `setup`"), "{found}");
}
