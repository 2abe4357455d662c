//! Analysing runs of a target that freezes on a schedule.

use serde_json::Value;

use crate::support::{Ended, Served, Space, throng};

/// The target freezes for the last 3 s of every 8. A run of 24 s meets three freezes, or the ends of
/// two more; each leaves at least two whole seconds without an answer.
#[test]
fn freezes_are_outages_of_known_length() {
    let space = Space::new();
    let stall = Served::start(&["stall", "--stall", "3s", "--every", "8s"]);
    Ended::of(&mut space.load(&stall.url, "50/s", "24s")).with(0);
    let directory = &space.directories()[0];
    let ended = Ended::of(throng(["analyze", "--json"]).arg(directory)).with(0);
    let analysis: Value = serde_json::from_str(&ended.out).unwrap();
    let found = &analysis["availability"];
    let failures = found["failures"].as_u64().unwrap();
    assert!((2..=4).contains(&failures), "{found}");
    for outage in found["outages"].as_array().unwrap() {
        let [start_ns, end_ns] = ["start_ns", "end_ns"].map(|key| outage[key].as_u64().unwrap());
        assert!(end_ns - start_ns <= 4_000_000_000, "{outage}");
    }
    let observed = found["observed"].as_f64().unwrap();
    assert!((0.5..0.9).contains(&observed), "{observed}");

    let ended = Ended::of(throng(["analyze"]).arg(directory)).with(0);
    ended.stdout_contains("warning: down");
    ended.stdout_contains("MTBF");
    ended.stdout_contains("Little's law");
}

#[test]
fn runs_that_cannot_be_analysed_are_errors() {
    let space = Space::new();
    Ended::of(throng(["analyze"]).arg(space.path("none")))
        .with(66)
        .stderr_contains("not a run directory");
    let stall = Served::start(&["stall", "--stall", "0"]);
    Ended::of(&mut space.load(&stall.url, "50/s", "1s")).with(0);
    let directory = &space.directories()[0];
    Ended::of(throng(["analyze"]).arg(directory)).with(65).stderr_contains("the analysis needs 20");
    let ended = Ended::of(throng(["analyze", "--phase", "warm"]).arg(directory)).with(64);
    ended.stderr_contains("its phases are constant, hold");
    Ended::of(throng(["analyze", "--down", "0"]).arg(directory))
        .with(64)
        .stderr_contains("above 0");
}
