//! Users behind mobile links: as far away as written, and each with a link of its own.

use super::Lab;

const ACCESS: &str = "access: { mobile-4g: near }\n";

/// Twenty users at once, of whom half are on phones; each response is small.
const SCENARIO: &str = "
name: mobile
target: http://web-near.lab/
regions: { near: 1, near-mobile-4g: 1 }
options: { lag_max: 5s }
sessions: { one: [ { get: /, as: page }, { loop: 5, steps: [ { think: 200ms }, { get: /, as: again } ] } ] }
arrivals: [ { constant: 20/s, for: 2s }, { hold: 20s, until: done } ]
";

#[test]
fn mobile_users_are_behind_their_access_link() {
    let Some(lab) = Lab::new("mobile", ACCESS) else {
        return;
    };
    lab.up();
    assert_eq!(lab.resolve("crowd-near-mobile-4g", "nearest.lab"), "198.18.0.1");
    let scenario = lab.space.file("mobile.yaml", SCENARIO);
    let run = lab.records_inside(&scenario);
    let summary = run.summary().unwrap().unwrap();
    let of = |region: &str| {
        let tag = summary.tags.iter().find(|tag| tag.value == region).unwrap();
        let response = tag.figures.response.as_ref().unwrap();
        (response.min_ns, response.p50_ns)
    };
    // 35 ms there and back, and jitter that only makes them later; the other way is none.
    let wired = of("near");
    let phone = of("near-mobile-4g");
    assert!(phone.0 >= 70_000_000 * 99 / 100, "{phone:?}");
    assert!(phone.1 < 800_000_000, "{phone:?}");
    assert!(wired.1 < phone.1, "{wired:?} {phone:?}");
    // A mobile network that is away: nobody behind it connects, the others do.
    lab.does(&["fault", "partition: near-mobile-4g"]);
    let fetch = "curl -s -m 2 http://web-near.lab/";
    assert_eq!(lab.exec("crowd-near-mobile-4g", fetch).out, "");
    assert_eq!(lab.exec("crowd-near", fetch).out, "ok\n");
    lab.does(&["repair", "1"]);
    let fetch = "curl -s -m 20 --retry 3 http://web-near.lab/";
    assert_eq!(lab.exec("crowd-near-mobile-4g", fetch).out, "ok\n");
}
