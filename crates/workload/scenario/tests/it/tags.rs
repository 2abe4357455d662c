//! Tags and groups divide measures, and thresholds name them.

use plan::{Basis, Figure, MeasureId, MeasureKind, Plan, Stat};

use crate::{plan, rendered};

const SHOP: &str = "
target: http://h/
sessions:
  visitor:
    tags: { who: visitor }
    steps:
      - get: /
      - { get: /items, tags: { area: browse } }
  buyer:
    tags: { who: buyer }
    steps:
      - get: /
      - group: buy
        tags: { area: checkout }
        steps:
          - { post: /cart, tags: { area: cart } }
          - group: pay
            steps:
              - post: /pay
              - check: user >= 0
arrivals: [ { hold: 1s } ]
thresholds: THRESHOLDS
";

fn shop(thresholds: &str) -> String {
    SHOP.replace("THRESHOLDS", thresholds)
}

/// Names, with their tags as text.
fn measures(plan: &Plan) -> Vec<(String, String)> {
    let measures = plan.measures.iter().map(|measure| {
        let tags = measure.tags.iter();
        let tags: Vec<String> = tags.map(|(key, value)| format!("{key}={value}")).collect();
        (measure.name.clone(), tags.join(" "))
    });
    measures.collect()
}

#[test]
fn steps_inherit_the_tags_of_their_session_and_groups() {
    let plan = plan(&shop("[]"));
    let expected = [
        ("connect", ""),
        ("GET / (who=visitor)", "who=visitor"),
        ("GET /items", "area=browse who=visitor"),
        ("GET / (who=buyer)", "who=buyer"),
        ("buy", "area=checkout group=buy who=buyer"),
        ("POST /cart", "area=cart group=buy who=buyer"),
        ("buy/pay", "area=checkout group=buy/pay who=buyer"),
        ("POST /pay", "area=checkout group=buy/pay who=buyer"),
        ("check", "area=checkout group=buy/pay who=buyer"),
        ("redirects", ""),
    ];
    let expected = expected.map(|(name, tags)| (name.to_owned(), tags.to_owned()));
    assert_eq!(measures(&plan), expected);
    assert_eq!(plan.measures[1].shared_name.as_deref(), Some("GET /"));
    assert_eq!(plan.measures[2].shared_name, None);
    assert_eq!(plan.measures[6].kind, MeasureKind::Transaction);
    let instructions: Vec<_> = plan.sessions[1].transactions.iter().collect();
    assert_eq!(instructions[0].instructions, 2..8);
    assert_eq!(instructions[1].instructions, 4..7);
}

#[test]
fn a_measure_without_the_tags_of_others_of_its_name_is_called_other() {
    let text = "
target: http://h/
sessions:
  s:
    - get: /
    - { get: /, tags: { a: x, b: z } }
    - { get: /, tags: { a: y, b: z } }
arrivals: [ { hold: 1s } ]
";
    let names: Vec<String> = measures(&plan(text)).into_iter().map(|m| m.0).collect();
    let expected =
        ["connect", "GET / (other)", "GET / (a=x, b=z)", "GET / (a=y, b=z)", "redirects"];
    assert_eq!(names, expected);
}

#[test]
fn thresholds_speak_of_all_requests_with_a_tag() {
    for (figure, measures) in [
        ("who=buyer", vec![3, 5, 7]),
        ("area=checkout", vec![7]),
        ("group=buy", vec![5, 7]),
        ("group=buy/pay", vec![7]),
        ("who = buyer, area = cart", vec![5]),
        ("who=\"buyer\"", vec![3, 5, 7]),
        ("GET /", vec![1, 3]),
    ] {
        for (suffix, basis) in [("", Basis::Response), (".service", Basis::Service)] {
            let text = shop(&format!("[ 'p95({figure}{suffix}) < 1s' ]"));
            let expected = Figure::Measures {
                stat: Stat::Quantile(0.95),
                measures: measures.iter().copied().map(MeasureId).collect(),
                basis,
                phase: None,
            };
            assert_eq!(plan(&text).thresholds[0].figure, expected, "{figure}{suffix}");
        }
    }
    let rate = plan(&shop("[ 'error_rate(group=buy) == 1% in hold' ]"));
    let Figure::Measures { stat, phase, .. } = &rate.thresholds[0].figure else {
        panic!("{:?}", rate.thresholds[0])
    };
    assert_eq!((stat, phase), (&Stat::ErrorRate, &Some(0)));
    // One of several of a name, and a group as a whole.
    for (name, measure) in [("GET / (who=buyer)", 3), ("buy/pay", 6)] {
        let plan = plan(&shop(&format!("[ 'p95({name}) < 1s' ]")));
        let Figure::Measure { measure: found, .. } = plan.thresholds[0].figure else {
            panic!("{:?}", plan.thresholds[0])
        };
        assert_eq!(found, Some(MeasureId(measure)));
    }
}

#[test]
fn the_number_of_tags_is_bounded() {
    let steps: String =
        (0..201).map(|n| format!("    - {{ get: /, tags: {{ n: v{n} }} }}\n")).collect();
    let text = format!("target: http://h/\nsessions:\n  s:\n{steps}arrivals: [ {{ hold: 1s }} ]\n");
    let said = rendered(&text, &[]);
    assert!(said.contains("a scenario has at most 200 different tags"), "{said}");
    assert_eq!(said.matches("error:").count(), 1, "{said}");
}
