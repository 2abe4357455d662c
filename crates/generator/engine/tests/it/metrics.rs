//! Metrics of the scenario's own: what users record, over any number of loops.

use engine::sim::{self, Link};
use plan::Plan;
use record::Outcome;
use stats::metrics::{MetricStat, MetricValues};

use crate::peers::{HttpPeer, ok};
use crate::support::{MS, plan, run};

/// User n has a basket of (n − 3) · 0.25, orders n twice, and is cheap below 5.
const TEXT: &str = "
name: metrics
target: http://target.test/
metrics:
  basket: { kind: quantity, unit: EUR }
  orders: counter
  cheap: share
  newest: gauge
  never: counter
sessions:
  main:
    - get: /
    - measure: (user - 3) * 0.25
      as: basket
    - loop: 2
      steps: [ { measure: user, as: orders }, { think: 10ms } ]
    - measure: user < 5
      as: cheap
    - measure: ${user}
      as: newest
arrivals:
  - { constant: 10/s, for: 2s }
";

/// What a run with this number of loops recorded, in the order of the plan's metrics.
fn recorded(plan: &Plan, loops: u32) -> Vec<MetricValues> {
    let mut peer = HttpPeer::new(|_| 5 * MS, |_| ok("{}"));
    let run = sim::run(plan, loops, &mut peer, Link::new(0)).expect("the plan can be run");
    let kinds = plan.metrics.iter().map(|metric| metric.kind);
    let mut sums: Vec<MetricValues> = kinds.map(MetricValues::new).collect();
    for metric in run.deltas.iter().flat_map(|delta| &delta.metrics) {
        sums[metric.metric.index()].merge(&metric.values);
    }
    sums
}

#[test]
fn metrics_are_exact_over_any_number_of_loops() {
    let plan = plan(TEXT);
    let one = recorded(&plan, 1);
    for loops in [2, 7] {
        assert_eq!(recorded(&plan, loops), one, "{loops} loops");
    }
    let value = |metric: usize, stat| one[metric].value(stat, 2.0);
    let users = 0..20;
    let baskets: Vec<f64> = users.clone().map(|n| (f64::from(n) - 3.0) * 0.25).collect();
    assert_eq!(value(0, MetricStat::Sum), Some(baskets.iter().sum()));
    assert_eq!(value(0, MetricStat::Min), Some(-0.75));
    assert_eq!(value(0, MetricStat::Max), Some(4.0));
    // The tenth of twenty.
    let median = value(0, MetricStat::Quantile(0.5)).unwrap();
    assert!((median - baskets[9]).abs() < 0.002, "{median}");
    assert_eq!(value(1, MetricStat::Sum), Some(f64::from(2 * users.sum::<i32>())));
    assert_eq!(value(1, MetricStat::Count), Some(40.0));
    assert_eq!(value(1, MetricStat::Rate), Some(190.0));
    assert_eq!(value(2, MetricStat::Share), Some(0.25));
    assert_eq!(value(3, MetricStat::Last), Some(19.0));
    assert_eq!(value(3, MetricStat::Min), Some(0.0));
    assert_eq!(value(4, MetricStat::Sum), Some(0.0));
}

/// No measure has any of them: a quantity is no time.
#[test]
fn what_cannot_be_recorded_is_an_error_and_the_user_continues() {
    let text = "
name: metrics
target: http://target.test/
metrics: { orders: counter, size: { kind: quantity, unit: bytes } }
sessions:
  main:
    - get: /
      save: { n: /n }
    - measure: n - 10
      as: orders
    - measure: n * 1000000000000
      as: size
    - measure: n
      as: size
arrivals:
  - { constant: 1/s, for: 1s }
";
    let ran = run(text, &mut HttpPeer::new(|_| MS, |_| ok(r#"{"n": 3}"#)));
    assert_eq!(ran.counted("steps", Outcome::Step), 2);
    let details = ran.details();
    assert!(details[0].contains("-7 cannot be added to the counter `orders`: it is below 0"));
    assert!(details.iter().any(|text| text.contains("is no number of `size`")), "{details:?}");
    let metrics: Vec<_> = ran.run.deltas.iter().flat_map(|delta| &delta.metrics).collect();
    assert_eq!(metrics.len(), 1);
    assert_eq!(metrics[0].values.value(MetricStat::Sum, 1.0), Some(3.0));
    assert_eq!(ran.total(|counts| counts.users_finished), 1);
}
