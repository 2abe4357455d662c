//! The ad network from the command line: publishers by a file, the published workload, the log that
//! it leaves.

mod disk;

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;
use testkit::needs::shared_data;

use crate::support::{Ended, Served, Space, root, throng};

const PUBLISHERS: &str = "\
publisher,session_probability,impression,redeem,click,convert
one,0.5,0.1,0.2,0.3,0.4
two,0.5,3.375,0.2,0.3,0.4
";

#[test]
fn a_probability_above_one_is_refused_or_taken_as_one() {
    let space = Space::new();
    let file = space.file("publishers.csv", PUBLISHERS);
    let mut refused = throng(["serve", "ads", "--publishers"]);
    let ended = Ended::of(refused.arg(&file)).with(65);
    ended.stderr_contains("line 3: impression is 3.375, and a probability is at most 1");
    let path = file.to_str().unwrap();
    Served::start(&["ads", "--publishers", path, "--above-one", "take-as-one"]);
    let mut missing = throng(["serve", "ads", "--publishers", "/nowhere.csv"]);
    Ended::of(&mut missing).with(66).stderr_contains("cannot read /nowhere.csv");
    // It has no length, and no end.
    let mut endless = throng(["serve", "ads", "--publishers", "/dev/zero"]);
    Ended::of(&mut endless).with(66).stderr_contains("it is not a regular file");
}

#[test]
fn invalid_settings_are_refused() {
    let mut wrong = throng(["serve", "ads", "--ads", "10", "--long-list", "20"]);
    Ended::of(&mut wrong).with(64).stderr_contains("the short list needs at least 1 ad");
    let mut wrong = throng(["serve", "ads", "--log-format", "xml"]);
    Ended::of(&mut wrong).with(64);
    // Of these SQLite would keep nothing.
    for store in ["", ":memory:", "file:ads?mode=memory"] {
        let mut wrong = throng(["serve", "ads", "--store", store]);
        Ended::of(&mut wrong).with(64).stderr_contains("is not a supported store");
    }
    for option in ["--store", "--cache"] {
        let mut wrong = throng(["serve", "ads", option, "env:ADDRESS"]);
        Ended::of(wrong.env("ADDRESS", ""))
            .with(64)
            .stderr_contains("env:ADDRESS: environment variable is empty");
    }
}

/// A publisher's share, and the chances of going on.
type Row = (f64, [f64; 4]);

fn table(path: &Path) -> Option<HashMap<String, Row>> {
    let text = std::fs::read_to_string(path).ok()?;
    let rows = text.lines().skip(1).map(|line| {
        let mut cells = line.split(',');
        let key = cells.next().unwrap().to_owned();
        let n: Vec<f64> = cells.map(|cell| cell.parse().unwrap()).collect();
        (key, (n[0], [n[1].min(1.0), n[2], n[3], n[4]]))
    });
    Some(rows.collect())
}

/// The example's row for a publisher.
fn publisher_row(text: &str, key: &str) -> Option<Row> {
    let (_, rest) = text.split_once(&format!("  \"{key}\":\n"))?;
    let word = |after: &str| -> Option<&str> {
        let (_, rest) = rest.split_once(after)?;
        rest.split(['\n', ',', ' ', '}']).find(|word| !word.is_empty())
    };
    let weight = match word("weight:")? {
        "\"${largest" => text.split_once("largest: ")?.1.split(' ').next()?,
        weight => weight,
    };
    let chance = |name: &str| word(&format!("{name}: "))?.parse::<f64>().ok();
    let names = ["impression", "redeem", "click", "convert"];
    let chances: Option<Vec<f64>> = names.iter().map(|name| chance(name)).collect();
    let chances: [f64; 4] = chances?.try_into().ok()?;
    Some((weight.parse().ok()?, chances.map(|n| n / 1e6)))
}

#[test]
fn the_example_is_the_published_table() {
    let Some(path) = shared_data("adnet/publishers.csv") else {
        return;
    };
    let table = table(&path).unwrap();
    let text = std::fs::read_to_string(root().join("examples/ads/network.yaml")).unwrap();
    assert_eq!(table.len(), 32);
    assert_eq!(text.matches("    weight: ").count(), 32);
    for (key, row) in table {
        assert_eq!(publisher_row(&text, &key), Some(row), "{key}");
    }
}

#[test]
fn each_request_of_a_run_is_in_the_log_under_its_publisher() {
    let space = Space::new();
    let log = space.path("access.log");
    let mut run = space.run(&[]);
    run.arg(root().join("examples/ads/network.yaml"));
    let set = format!("target.ads.access-log={}", log.display());
    for set in [
        "length=2s",
        "rate=200/s",
        "think=10ms",
        "target.ads.long-list=50",
        "target.ads.log-format=json",
        &set,
    ] {
        run.args(["--set", set]);
    }
    Ended::of(&mut run).with(0);
    let text = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let summary = space.summary();
    let count = |name: &str| -> u64 {
        let found = summary.measures.iter().find(|m| m.name == name);
        found.map_or(0, |measure| measure.count)
    };
    let logged = |part: &str, status: u64| -> u64 {
        let is_one = |line: &&Value| {
            line["uri"].as_str().unwrap().contains(part) && line["status"] == status
        };
        lines.iter().filter(is_one).count() as u64
    };
    let text = std::fs::read_to_string(root().join("examples/ads/network.yaml")).unwrap();
    for (name, part, status) in [
        ("ad", "/api/", 200),
        ("impression", "/impression.gif", 200),
        ("redeem", "/redeem/", 302),
        ("click", "/claim/", 302),
        ("convert", "/convert.gif", 200),
    ] {
        assert_eq!(count(name), logged(part, status), "{name}");
    }
    assert!(count("ad") > 300 && count("impression") > 20, "{summary:?}");
    let mut users = HashMap::new();
    for line in &lines {
        let publisher = line["publisher"].as_str();
        let user = line["user"].as_str();
        let publisher = publisher.unwrap();
        let user = user.unwrap();
        assert!(text.contains(publisher), "{line}");
        // A user is one publisher's.
        assert_eq!(users.entry(user).or_insert(publisher), &publisher);
    }
    assert_eq!(users.len() as u64, count("ad"));
}
