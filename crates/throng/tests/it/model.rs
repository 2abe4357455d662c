//! `throng model`: from a log to a crowd that runs, and what is told where it does not come to that.

use std::path::{Path, PathBuf};

use record::schema::Verdict;
use serde_json::Value;

use crate::support::{Ended, Served, Space, root, skip, throng};

/// A shop's log: 300 visits, each of two to four requests, by users of their own.
fn log() -> String {
    let mut text = String::new();
    for visit in 0..300_u64 {
        let begin = 7 * visit + visit % 5;
        for request in 0..2 + visit % 3 {
            let second = begin + request * (1 + visit % 4);
            let path = match request {
                0 => "/".to_owned(),
                1 => format!("/items/{}", visit % 9),
                _ => "/cart?step=2".to_owned(),
            };
            let (minute, second) = (second / 60, second % 60);
            text += &format!(
                "10.0.{}.{} - - [17/May/2015:10:{minute:02}:{second:02} +0000] \"GET {path} HTTP/1.1\" 200 9 \"-\" \"x\"\n",
                visit / 200,
                visit % 200
            );
        }
    }
    text
}

fn model(log: &Path, out: &Path, more: &[&str]) -> Ended {
    Ended::of(throng(["model"]).arg(log).arg("-o").arg(out).args(more))
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Drives a model's scenario for about ten seconds against a server that answers everything.
fn driven(out: &Path, sets: &[&str]) {
    let space = Space::new();
    let server = Served::start(&["hello"]);
    let target = format!("target={}", server.url);
    let mut command = throng(["run"]);
    command
        .arg(out.join("scenario.yaml"))
        .arg("--set")
        .arg(target);
    for set in sets {
        command.args(["--set", set]);
    }
    let ended = Ended::of(command.arg("--runs").arg(space.path("runs")));
    assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
    assert_eq!(space.summary().verdict, Verdict::Passed, "{}", ended.out);
}

#[test]
fn a_log_becomes_a_crowd_that_runs_and_is_like_it() {
    let space = Space::new();
    let log = space.file("access.log", &log());
    let out = space.path("model");
    let ended = model(&log, &out, &[]);
    assert_eq!(
        (ended.code, ended.err.as_str()),
        (Some(0), ""),
        "{}",
        ended.out
    );
    assert!(
        ended.out.contains("900 requests, 300 sessions"),
        "{}",
        ended.out
    );
    let made = json(&out.join("model.json"));
    assert_eq!(made["segments"][0]["sessions"], 300);
    let report = std::fs::read_to_string(out.join("report.md")).unwrap();
    assert!(report.contains("## How users arrive") && report.contains("## What users do"));
    driven(&out, &["speed=100", "seconds=800"]);
    let ended = Ended::of(
        throng(["model", "check"])
            .arg(&out)
            .args(["--sessions", "300"]),
    );
    assert!(
        matches!(ended.code, Some(0 | 1)),
        "{}{}",
        ended.out,
        ended.err
    );
    let check = json(&out.join("check.json"));
    assert_eq!(check["holds"], ended.code == Some(0));
    let tests = check["tests"].as_array().unwrap();
    let of = |what: &str| {
        tests
            .iter()
            .find(|test| test["of"] == what)
            .unwrap_or_else(|| panic!("{tests:?}"))
    };
    assert_eq!(of("transitions")["refused"], false);
    assert_eq!(of("thinks")["refused"], false);
    // A second model takes the first one's place.
    let ended = model(&log, &out, &["--behaviour", "sequences", "--quiet"]);
    assert_eq!(
        (ended.code, ended.out.as_str()),
        (Some(0), ""),
        "{}",
        ended.err
    );
    driven(&out, &["speed=100", "seconds=800"]);
}

#[test]
fn what_comes_to_no_model_is_told() {
    let space = Space::new();
    let log = space.file("access.log", &log());
    let told = |ended: Ended, code: i32, parts: &[&str]| {
        let ended = ended.with(code);
        for part in parts {
            ended.told(part);
        }
    };
    told(
        model(&space.path("none.log"), &space.path("a"), &[]),
        66,
        &["none.log"],
    );
    let prose = space.file("prose.txt", "once upon\na time\n");
    told(
        model(&prose, &space.path("b"), &[]),
        65,
        &["none of the formats", "--log-format"],
    );
    let half = std::fs::read_to_string(&log).unwrap() + &"rubbish\n".repeat(100);
    let half = space.file("half.log", &half);
    told(
        model(&half, &space.path("c"), &[]),
        65,
        &["100 of 1000 lines", "half.log:901", "--bad-max"],
    );
    let used = space.path("used");
    std::fs::create_dir(&used).unwrap();
    std::fs::write(used.join("thesis.txt"), "mine").unwrap();
    told(model(&log, &used, &[]), 73, &["no model"]);
    assert_eq!(
        std::fs::read_dir(&used).unwrap().count(),
        1,
        "nothing was added"
    );
    told(
        model(&log, &space.path("d"), &["--key", "adress"]),
        64,
        &["address"],
    );
    told(
        Ended::of(throng(["model", "check"]).arg(space.path("e"))),
        66,
        &["model.json"],
    );
    told(Ended::of(throng(["model"]).arg(&log)), 64, &["--out"]);
}

#[test]
fn a_run_of_our_own_is_a_log_too() {
    let space = Space::new();
    let server = Served::start(&["hello"]);
    let text = format!(
        "target: {}\nsessions:\n  buyer: [ {{ get: /, as: home }}, {{ think: 50ms }}, {{ get: /cart, as: cart }} ]\n  \
         looker: [ {{ get: /, as: home }} ]\narrivals: [ {{ constant: 100/s, for: 2s }} ]\n",
        server.url
    );
    let scenario = space.file("scenario.yaml", &text);
    let ended = Ended::of(
        throng(["run", "--quiet"])
            .arg(scenario)
            .arg("--runs")
            .arg(space.path("runs")),
    );
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let run = std::fs::read_dir(space.path("runs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let out = space.path("model");
    let ended = model(&run, &out, &["--gap", "5s"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let made = json(&out.join("model.json"));
    assert_eq!(made["segments"].as_array().unwrap().len(), 2);
    let sessions = made["segments"].as_array().unwrap().iter();
    assert_eq!(
        sessions
            .map(|segment| segment["sessions"].as_u64().unwrap())
            .sum::<u64>(),
        200
    );
    assert_eq!(made["classes"][0]["name"], "home");
}

/// The real log's first lines, at twenty times their speed.
#[test]
fn a_real_log_is_driven_at_twenty_times_its_speed() {
    let data = std::env::var_os("THRONG_DATA").map_or(root().join("../shared/data"), PathBuf::from);
    let path = data.join("logs/apache-combined-10k.log");
    let Ok(text) = std::fs::read_to_string(&path) else {
        return skip(&format!(
            "{} is not there: no real log is modelled",
            path.display()
        ));
    };
    let space = Space::new();
    let lines: Vec<&str> = text.lines().take(1_500).collect();
    let log = space.file("access.log", &(lines.join("\n") + "\n"));
    let out = space.path("model");
    let ended = model(&log, &out, &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    driven(&out, &["speed=20", "seconds=160"]);
}
