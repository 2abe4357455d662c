//! Duets: two targets in pairs of runs, decided, recorded, analysed again.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::{Ended, Space, throng};

/// A market that delays its answers, and a crowd of a moment.
const SCENARIO: &str = r#"
target: { market: { games: 1, delay: 2ms } }
options: { lag_max: 10s }
sessions:
  fan:
    - ws: /v1/stream
    - send: { op: games }
      reply: { when: { /re: games }, as: request }
arrivals: [ { constant: 100/s, for: 300ms }, { hold: 100ms } ]
"#;

/// `throng duet` of two files, its directory made beside them.
fn duet(space: &Space, delays: [&str; 2], args: &[&str]) -> Command {
    let mut command = throng(["duet", "--json", "--pause", "0s", "--self-pairs", "1", "--dir"]);
    command.arg(space.path("out"));
    for (name, delay) in ["old.yaml", "new.yaml"].into_iter().zip(delays) {
        let text = SCENARIO.replace("delay: 2ms", &format!("delay: {delay}"));
        command.arg(space.file(name, &text));
    }
    command.args(args);
    command
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn step<'a>(result: &'a Value, name: &str) -> &'a Value {
    let steps = result["steps"].as_array().unwrap();
    steps.iter().find(|step| step["name"] == name).unwrap()
}

/// The new target takes 40 ms instead of 2 ms: nobody needs more pairs than the rule does.
#[test]
fn a_slower_target_is_found_and_the_record_says_so_again() {
    let space = Space::new();
    let ended = Ended::of(&mut duet(&space, ["2ms", "40ms"], &["--interleave", "ab"])).with(1);
    let result = json(&ended.out);
    assert_eq!(result["verdict"], "slower", "{}", ended.out);
    let request = step(&result, "request");
    // A step may be decided before its interval has two bounds.
    assert!(request["interval"][0].as_f64().is_none_or(|low| low > 0.0), "{request}");
    let pairs = result["pairs"].as_u64().unwrap();
    assert!((6..=20).contains(&pairs), "{pairs}");
    assert_eq!(result["self_check"]["pairs"], 1);
    // Two runs of each pair, and those of the old target with itself.
    assert_eq!(result["runs"].as_array().unwrap().len() as u64, 2 * pairs + 2);
    let again = Ended::of(throng(["duet", "--json", "--analyze"]).arg(space.path("out"))).with(1);
    assert_eq!(again.out, ended.out);
    members_share_their_users(&space.path("out"));
    let text = Ended::of(throng(["duet", "--analyze"]).arg(space.path("out"))).with(1);
    text.stdout_contains("SLOWER request is slower by ");
}

/// Both runs of a pair have one seed, and each pair another one.
fn members_share_their_users(directory: &Path) {
    let state = json(&std::fs::read_to_string(directory.join("duet.json")).unwrap());
    let mut seeds = Vec::new();
    for block in state["blocks"].as_array().unwrap() {
        let run = directory.join(block["directory"].as_str().unwrap()).join("run.json");
        let run = json(&std::fs::read_to_string(run).unwrap());
        seeds.push((block["role"].as_str().unwrap().contains("self"), run["seed"].clone()));
    }
    let pairs: Vec<_> = seeds.chunks(2).collect();
    assert!(pairs.iter().all(|pair| pair[0] == pair[1]), "{seeds:?}");
    assert!(pairs.windows(2).all(|next| next[0] != next[1]), "{seeds:?}");
}

#[test]
fn a_number_of_pairs_is_made_even_if_nothing_is_decided() {
    let space = Space::new();
    let args = ["--until", "2", "--interleave", "abba", "--self-pairs", "0"];
    let mut command = throng(["duet", "--pause", "0s", "--dir"]);
    command.arg(space.path("out")).args(args);
    command.arg(space.file("one.yaml", SCENARIO)).arg(space.file("two.yaml", SCENARIO));
    let markdown = space.path("report.md");
    command.arg("--markdown").arg(&markdown);
    let ended = Ended::of(&mut command).with(2);
    ended.stdout_contains("UNDECIDED undecided after 2 pairs: ").stdout_contains("8 runs in ");
    let mut more = throng(["duet", "--pause", "0s", "--until", "3", "--resume"]);
    let more = Ended::of(more.arg(space.path("out"))).with(2);
    more.stdout_contains("undecided after 3 pairs: ").stdout_contains("12 runs in ");
    space.file("two.yaml", &SCENARIO.replace("100/s", "101/s"));
    let mut changed = throng(["duet", "--resume"]);
    Ended::of(changed.arg(space.path("out")))
        .with(65)
        .stderr_contains("a scenario or what it reads has changed");
    let text = std::fs::read_to_string(markdown).unwrap();
    assert!(text.starts_with("## ⚠️ undecided\n"), "{text}");
}

/// The texts of both scenarios are what they were.
#[test]
fn a_duet_is_not_resumed_once_a_file_that_it_reads_has_changed() {
    let space = Space::new();
    let users = space.file("users.csv", "name\nann\n");
    let scenario = format!("{SCENARIO}data: {{ users: {{ file: users.csv, order: random }} }}\n")
        .replace("    - ws:", "    - feed: users\n    - ws:");
    let mut command = throng(["duet", "--pause", "0s", "--until", "1", "--interleave", "ab"]);
    command.args(["--self-pairs", "0", "--dir"]).arg(space.path("out"));
    command.arg(space.file("one.yaml", &scenario)).arg(space.file("two.yaml", &scenario));
    Ended::of(&mut command).with(2);
    std::fs::write(&users, "name\nben\n").unwrap();
    let mut more = throng(["duet", "--pause", "0s", "--until", "2", "--resume"]);
    let more = Ended::of(more.arg(space.path("out"))).with(65);
    more.stderr_contains("a scenario or what it reads has changed");
}

/// Each in a process of its own, with its target.
#[test]
fn both_targets_run_at_once() {
    if std::thread::available_parallelism().map_or(1, std::num::NonZero::get) < 2 {
        return;
    }
    let space = Space::new();
    let args = ["--until", "1", "--interleave", "simultaneous"];
    let ended = Ended::of(&mut duet(&space, ["2ms", "2ms"], &args)).with(2);
    let result = json(&ended.out);
    assert_eq!(
        (result["pairs"].as_u64(), result["verdict"].as_str()),
        (Some(1), Some("undecided"))
    );
    let sides: Vec<&str> = result["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["side"].as_str().unwrap())
        .collect();
    assert_eq!(sides.iter().filter(|side| **side == "self_check").count(), 2, "{sides:?}");
    assert_eq!(sides.iter().filter(|side| **side == "alone").count(), 1, "{sides:?}");
    assert_eq!(sides.len(), 5);
}

#[test]
fn what_cannot_be_a_duet_is_refused_before_a_run() {
    let space = Space::new();
    let one = space.file("one.yaml", SCENARIO);
    let refused = |args: &[&str], code: i32, text: &str| {
        let mut command = throng(["duet"]);
        command.arg(&one).args(args);
        Ended::of(&mut command).with(code).stderr_contains(text);
    };
    refused(&[], 64, "one file has one target");
    refused(&["--target", "http://127.0.0.1:1"], 64, "one file has one target");
    let both = ["--target", "http://127.0.0.1:1", "--target", "http://127.0.0.1:2"];
    refused(&[&both[..], &["--set", "seed=3"]].concat(), 64, "a seed of its own");
    refused(&[&both[..], &["--budget", "1s"]].concat(), 65, "a pair takes ");
    let mut nothing = throng(["duet", "--analyze"]);
    nothing.arg(space.path("nowhere"));
    Ended::of(&mut nothing).with(66).stderr_contains("holds no duet.json");
    assert!(!space.path("duets").exists());
}
