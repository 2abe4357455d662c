//! A crowd that is known, its log, and the model that comes of it: found again, held against, sent elsewhere.

use std::path::Path;
use std::process::Command;

use convert::{Leniency, tsung};
use serde_json::Value;
use testkit::needs::{shared_data, skip};

use crate::support::{Ended, Space, plain, root, throng};

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// What the ad network's log is modelled with.
const CLASSES: [&str; 14] = [
    "--key",
    "user",
    "--segment",
    "field:publisher",
    "--class",
    "ad=^GET /publishers/",
    "--class",
    "impression=/impression[.]gif",
    "--class",
    "redeem=^POST",
    "--class",
    "click=/claim/",
    "--class",
    "convert=/convert[.]gif",
];

#[track_caller]
fn against(model: &Path, table: &Path, more: &[&str]) -> Ended {
    let mut command = throng(["model", "check"]);
    command.arg(model).arg("--against").arg(table);
    command.args(["--share", "session_probability", "--rate", "200/s"]);
    command.args(["--path", "ad,impression,redeem,click,convert"]);
    Ended::of(command.args(more))
}

/// The published crowd in six seconds: a short form of `examples/ads/round-trip.sh`.
#[test]
fn the_published_crowd_is_found_in_the_log_that_it_leaves() {
    let Some(table) = shared_data("adnet/publishers.csv") else {
        return;
    };
    let text = std::fs::read_to_string(&table).unwrap();
    let space = Space::new();
    let log = space.path("access.log");
    let mut run = space.run(&[]);
    run.arg(root().join("examples/ads/network.yaml"));
    let set = format!("target.ads.access-log={}", log.display());
    for set in [
        "length=6s",
        "rate=400/s",
        "think=10ms",
        "arrivals=[{ poisson: \"${rate}\", for: \"${length}\" }, { hold: 1m, until: done }]",
        "target.ads.long-list=50",
        "target.ads.log-format=json",
        &set,
    ] {
        run.args(["--set", set]);
    }
    Ended::of(&mut run).with(0);
    let model = space.path("model");
    let mut command = throng(["model", "--quiet", "--gap", "1m"]);
    command.arg(&log).arg("-o").arg(&model).args(CLASSES);
    Ended::of(&mut command).with(0);
    // One probability of the table is none.
    against(&model, &table, &[])
        .with(65)
        .stderr_contains("line 24, column impression: 3.375000 is above 1");
    let taken = ["--above-one", "take-as-one", "--speed", "2"];
    let found = against(&model, &table, &taken).with(0);
    for part in ["AGREES", "the probability 3.375000 is read as 1", "2 times as fast"] {
        assert!(found.out.contains(part), "{part}: {}", found.out);
    }
    let found = json(&model.join("against.json"));
    assert_eq!(found["figures"].as_array().unwrap().len(), 32 * 5);
    assert_eq!(found["holds"], true);
    // The largest publisher's users are said to see every second ad.
    let wrong = text.replace("0.345028,0.247673", "0.345028,0.5");
    let wrong = space.file("wrong.csv", &wrong);
    let rejected = against(&model, &wrong, &taken).with(1);
    assert!(rejected.out.contains("DISAGREES"), "{}", rejected.out);
    // As fast as it was, the crowd is twice as large as said.
    let slow = against(&model, &table, &["--above-one", "take-as-one"]).with(1);
    assert!(slow.out.contains("rejected"), "{}", slow.out);
}

/// 400 visits that read until they have had enough.
fn log() -> String {
    let mut rng = stats::rng::Rng::new(5, 0, stats::rng::Purpose::Arrivals);
    let mut exponential = |mean: f64| -mean * (1.0 - rng.unit()).ln();
    let mut lines = Vec::new();
    let mut begin = 0.0;
    for visit in 0..400 {
        begin += exponential(9.0);
        let mut at = begin;
        let mut path = "/".to_owned();
        loop {
            lines.push((at, visit, path));
            // An exponential time is below this once in three times.
            if exponential(1.0) < 0.405 {
                break;
            }
            path = format!("/items/{visit}");
            at += exponential(8.0);
        }
    }
    lines.sort_by(|a, b| a.0.total_cmp(&b.0));
    let line = |(at, visit, path): &(f64, u32, String)| {
        let minute = *at as u64 / 60;
        let second = *at as u64 % 60;
        let hour = 10 + minute / 60;
        let minute = minute % 60;
        format!(
            "10.0.{}.{} - - [17/May/2015:{hour:02}:{minute:02}:{second:02} +0200] \"GET {path} HTTP/1.1\" 200 9 \"-\" \"x\"\n",
            visit / 200,
            visit % 200
        )
    };
    lines.iter().map(line).collect()
}

#[track_caller]
fn modelled(log: &Path, out: &Path, more: &[&str]) {
    let mut command = throng(["model", "--quiet"]);
    command.arg(log).arg("-o").arg(out).args(more);
    Ended::of(&mut command).with(0);
}

fn checked(model: &Path, seed: &str) -> Ended {
    let mut command = throng(["model", "check"]);
    Ended::of(command.arg(model).args(["--sessions", "1000", "--seed", seed]))
}

#[test]
fn a_model_makes_logs_like_its_own_and_a_wrong_one_does_not() {
    let space = Space::new();
    let log = space.file("access.log", &log());
    let first = space.path("first");
    modelled(&log, &first, &[]);
    checked(&first, "3").with(0);
    // A log of the model's own making is modelled, and that model checked: once in twenty it is refused.
    let own = space.path("own");
    let simulated = first.join("simulated.log");
    modelled(&simulated, &own, &["--key", "user", "--gap", "30m"]);
    let seeds = ["1", "2", "3", "4", "5", "6"];
    let refused = seeds.iter().filter(|seed| checked(&own, seed).code != Some(0));
    assert!(refused.count() <= 1);
    // Sessions end twice as soon as they did.
    let scenario = own.join("scenario.yaml");
    let text = std::fs::read_to_string(&scenario).unwrap();
    std::fs::write(&scenario, text.replace("  length: 1\n", "  length: 0.5\n")).unwrap();
    let wrong = checked(&own, "1").with(1);
    assert!(wrong.out.contains("DIFFERS"), "{}", wrong.out);
    let tests = json(&own.join("check.json"));
    let worst = &tests["tests"][0];
    assert_eq!((&worst["quantity"], &worst["rejected"]), (&"transitions".into(), &true.into()));
}

/// What Tsung's import makes of a file, and what its users then request: how many began, and how often
/// another request followed one.
fn simulated_from_tsung(text: &str) -> (u64, u64) {
    let none = |_: &str| Err("there are no files".to_owned());
    let settings = tsung::Settings { leniency: Leniency::Strict, files: &none };
    let source = scenario::Source { name: "model.xml", text };
    let (converted, diagnostics) = tsung::convert(source, &settings);
    let converted = converted.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let header = format!("options.headers.{}", controller::simulate::USER_HEADER);
    let settings = scenario::Settings {
        overrides: &[(header, "${user}".to_owned())],
        env: &|_| None,
        files: &none,
    };
    let source = scenario::Source { name: "model.yaml", text: &converted.text };
    let plan = scenario::compile(source, &settings).0.unwrap();
    let requests_sent = controller::simulate::simulate(&plan).unwrap();
    let users: std::collections::HashSet<u64> = requests_sent.iter().map(|one| one.user).collect();
    (users.len() as u64, requests_sent.len() as u64)
}

#[test]
fn a_model_goes_to_tsung_and_comes_back() {
    let space = Space::new();
    let log = space.file("access.log", &log());
    let out = space.path("model");
    let xml = space.path("tsung.xml");
    modelled(&log, &out, &["--tsung", xml.to_str().unwrap()]);
    let text = std::fs::read_to_string(&xml).unwrap();
    let model = json(&out.join("model.json"));
    let segment = &model["segments"][0];
    let sessions = segment["sessions"].as_u64().unwrap();
    let requests = segment["requests"].as_u64().unwrap();
    let (users, requests_sent) = simulated_from_tsung(&text);
    // Poisson, about as many; and of all requests as many are followed by another.
    assert!(users.abs_diff(sessions) < 80, "{users} instead of {sessions}");
    let rows = ([sessions, requests - sessions], [users, requests_sent - users]);
    let same = stats::counts::two_rows(&rows.0, &rows.1).unwrap();
    assert!(same.p > 0.01, "{rows:?}");
    // The same from the command line.
    let made = space.path("back.yaml");
    let mut import = throng(["import"]);
    Ended::of(import.arg(&xml).arg("-o").arg(&made)).with(0);
    Ended::of(throng(["check"]).arg(&made)).with(0);
    taken_by_tsung(&space, &xml);
}

/// Where Tsung itself is there: its controller reads the file and validates it by its document type.
fn taken_by_tsung(space: &Space, xml: &Path) {
    const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/tsung";
    let Some(path) = std::env::var_os("PATH") else {
        return;
    };
    let is_there = std::env::split_paths(&path).any(|folder| folder.join("erl").exists());
    if !is_there || !Path::new(LIBRARY).exists() {
        return skip("Tsung is not there to read what was written for it");
    }
    let log = space.path("tsung-log");
    std::fs::create_dir(&log).unwrap();
    let library = |name: &str| {
        let mut folders = std::fs::read_dir(LIBRARY).unwrap().map(|entry| entry.unwrap().path());
        let found = folders.find(|folder| folder.to_string_lossy().contains(name));
        found.unwrap().join("ebin")
    };
    let read = format!(
        "[begin application:load(A), [application:set_env(stdlib, K, V) || {{K, V}} <- application:get_all_env(A)] \
         end || A <- [tsung, tsung_controller]], {{ok, _}} = ts_config:read({xml:?}, {log:?}), \
         io:format(\"taken~n\"), halt()."
    );
    let mut erl = plain(Command::new("erl"));
    erl.env("HOME", space.path(""));
    erl.arg("-noshell").arg("-pa").arg(library("tsung-")).arg(library("tsung_controller-"));
    let ended = Ended::of(erl.args(["-eval", &read]));
    assert!(ended.out.contains("taken"), "{}{}", ended.out, ended.err);
}
