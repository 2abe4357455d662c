//! Regions divide users, and what thresholds say of them.

use plan::{Basis, Figure, MeasureId, Stat};

use crate::plan;

const SHOP: &str = "
target: http://h/
regions: { ireland: 65, sydney: 0.5 }
messages: { said: { when: { regex: hi } } }
sessions:
  visitor:
    - { get: /, tags: { area: front } }
    - { get: /, tags: { area: back } }
    - { post: /buy, tags: { area: back } }
arrivals: [ { hold: 1s } ]
thresholds: THRESHOLDS
";

fn shop(thresholds: &str) -> String {
    SHOP.replace("THRESHOLDS", thresholds)
}

#[test]
fn shares_are_kept_as_written() {
    let plan = plan(&shop("[]"));
    let regions = plan.regions.iter().map(|region| (region.name.as_str(), region.share));
    assert_eq!(regions.collect::<Vec<_>>(), [("ireland", 65.0), ("sydney", 0.5)]);
    assert_eq!(plan.measures.len(), 6, "users measure what the scenario says, and redirects");
    let recorded = plan.recorded().measures;
    let names: Vec<&str> = recorded.iter().map(|m| m.name.as_str()).collect();
    let expected = [
        "connect (region=ireland)",
        "connect (region=sydney)",
        "said (region=ireland)",
        "said (region=sydney)",
        "GET / (area=front, region=ireland)",
        "GET / (area=front, region=sydney)",
        "GET / (area=back, region=ireland)",
        "GET / (area=back, region=sydney)",
        "POST /buy (region=ireland)",
        "POST /buy (region=sydney)",
        "redirects (region=ireland)",
        "redirects (region=sydney)",
    ];
    assert_eq!(names, expected);
}

/// The places among the names above.
fn places(threshold: &str) -> Vec<u16> {
    let plan = plan(&shop(&format!("[ '{threshold}' ]")));
    let Figure::Measures { stat: Stat::Quantile(0.98), ref measures, basis, phase: None } =
        plan.thresholds[0].figure
    else {
        panic!("{:?}", plan.thresholds[0]);
    };
    assert_eq!(
        basis,
        if threshold.contains(".service") { Basis::Service } else { Basis::Response }
    );
    measures.iter().map(|&MeasureId(place)| place).collect()
}

#[test]
fn thresholds_name_regions_alone_with_other_tags_and_with_names() {
    for (threshold, expected) in [
        ("p98(region=sydney) < 1s", &[5, 7, 9][..]),
        ("p98(area=back, region=ireland) < 1s", &[6, 8]),
        ("p98(\"GET /\", region=sydney) < 1s", &[5, 7]),
        ("p98(GET /, region=sydney, area=front) < 1s", &[5]),
        ("p98(\"GET /\", area=back) < 1s", &[6, 7]),
        ("p98(\"POST /buy\", region=\"ireland\".service) < 1s", &[8]),
        ("p98(said, region=sydney) < 1s", &[3]),
        ("p98(connect) < 1s", &[0, 1]),
    ] {
        assert_eq!(places(threshold), expected, "{threshold}");
    }
}

#[test]
fn without_regions_the_tag_is_free() {
    let text = "target: http://h/\nsessions: { s: [ { get: /, tags: { region: home } } ] }\n\
                arrivals: [ { hold: 1s } ]\nthresholds: [ p98(region=home) < 1s ]\n";
    assert_eq!(plan(text).thresholds.len(), 1);
}
