//! `throng compare` as people use it: what it says, finds, and refuses.

pub(crate) mod recorded;

use std::path::Path;

use record::Outcome;
use record::schema::Verdict;
use serde_json::Value;

use crate::support::{Ended, Served, Space, golden, throng};
use recorded::Recorded;

/// This number of runs of one scenario, in a folder of this name; they differ in their seeds.
fn ensemble(space: &Space, folder: &str, seeds: std::ops::Range<u64>, one: &Recorded) {
    for seed in seeds {
        let run = Recorded { seed, ..one.clone() };
        run.write(&space.path(folder));
    }
}

/// The runs in this folder as they are given on the command line, relative to the space.
fn runs(space: &Space, folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(space.path(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.map(|name| format!("{folder}/{name}")).collect();
    names.sort();
    names
}

/// `throng compare` of the runs in these folders; no baseline where its folder is empty.
fn compare(space: &Space, candidate: &str, baseline: &str, args: &[&str]) -> Ended {
    let mut command = throng(["compare"]);
    command.args(runs(space, candidate));
    if !baseline.is_empty() {
        command.arg("--baseline").args(runs(space, baseline));
    }
    Ended::of(command.args(args).current_dir(space.path("")))
}

fn planted() -> Recorded {
    Recorded { extra_ns: 3e6, ..Recorded::new(0) }
}

#[test]
fn a_planted_delay_is_found_and_reported_in_every_format() {
    let space = Space::new();
    ensemble(&space, "old", 1..6, &Recorded::new(0));
    ensemble(&space, "new", 11..16, &planted());
    let files = ["--junit", "report.xml", "--markdown", "report.md"];
    let ended = compare(&space, "new", "old", &files).with(1);
    golden("compare-slower", &ended.out);
    golden("compare-slower-full", &compare(&space, "new", "old", &["--full"]).with(1).out);
    let read = |name: &str| std::fs::read_to_string(space.path(name)).unwrap();
    golden("compare-slower-junit", &read("report.xml"));
    golden("compare-slower-markdown", &read("report.md"));
    assert!(!space.path("report.md.tmp").exists());
    let through = ["--quiet", "--markdown", "/dev/stdout"];
    let printed = compare(&space, "new", "old", &through).with(1);
    assert_eq!(printed.out, read("report.md"));

    let ended = compare(&space, "new", "old", &["--json"]).with(1);
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(json["verdict"], "slower");
    assert_eq!(json["rule"], "permutation");
    assert_eq!(json["measures"][0]["verdict"], "no_difference");
    assert_eq!(json["measures"][1]["verdict"], "slower");
    assert_eq!(json["measures"][1]["source"], "rows");
    let changes = json["measures"][1]["changes"].as_array().unwrap();
    let p95 = changes.iter().find(|c| c["figure"] == "p95").unwrap();
    assert!(p95["counts"] == true && p95["difference"].as_f64().unwrap() > 1e6);
    let rate = changes.iter().find(|c| c["figure"] == "rate").unwrap();
    assert_eq!(rate["label"], "completed/s");
    // What changed is said first, by places in the lists.
    assert_eq!(json["sentence"].as_str().unwrap().split(" is ").next(), Some("GET /"));
    assert_eq!(
        (&json["changed"][0]["measure"], json["changed"].as_array().unwrap().len()),
        (&Value::from(1), 1)
    );
    assert_eq!(changes[json["changed"][0]["change"].as_u64().unwrap() as usize]["figure"], "p95");
    let quiet = compare(&space, "new", "old", &["--quiet"]).with(1);
    assert_eq!(quiet.out, "");
    // What got better is no failure.
    compare(&space, "old", "new", &[]).with(0).stdout_contains("FASTER");
}

#[test]
fn equal_ensembles_show_no_difference() {
    let space = Space::new();
    ensemble(&space, "old", 1..6, &Recorded::new(0));
    ensemble(&space, "new", 11..16, &Recorded::new(0));
    let ended = compare(&space, "new", "old", &[]).with(0);
    golden("compare-alike", &ended.out);
    assert!(!ended.out.contains("equal"));
}

#[test]
fn runs_without_a_baseline_are_grouped() {
    let space = Space::new();
    let steady = Recorded { drift: 0.0, ..Recorded::new(0) };
    ensemble(&space, "runs", 1..4, &steady);
    let slow = Recorded { median_ns: 3e6, ..steady };
    ensemble(&space, "runs", 4..6, &slow);
    let ended = compare(&space, "runs", "", &["--junit", "report.xml"]).with(1);
    golden("compare-groups", &ended.out);
    ended.stdout_contains("{R1 R2 R3} {R4 R5}");
    let junit = std::fs::read_to_string(space.path("report.xml")).unwrap();
    assert!(junit.contains("failures=\"1\""), "{junit}");
}

#[test]
fn histograms_are_compared_if_rows_exceed_the_memory() {
    let space = Space::new();
    ensemble(&space, "old", 1..6, &Recorded::new(0));
    ensemble(&space, "new", 11..16, &planted());
    let ended = compare(&space, "new", "old", &["--memory", "1B", "--full"]).with(1);
    ended
        .stdout_contains(
            "computed from histograms, with times accurate to 0.0488 %: connect, GET /",
        )
        .stdout_contains("SLOWER");
    let exact = compare(&space, "new", "old", &["--json"]);
    let binned = compare(&space, "new", "old", &["--json", "--memory", "1B"]);
    let mean = |ended: &Ended| {
        let json: Value = serde_json::from_str(&ended.out).unwrap();
        let mean = json["measures"][1]["changes"][0]["candidate"].as_f64();
        mean.unwrap()
    };
    let exact = mean(&exact);
    let binned = mean(&binned);
    assert!((binned / exact - 1.0).abs() < 1.0 / 2048.0, "{exact} {binned}");
}

#[test]
fn errors_are_compared() {
    let space = Space::new();
    let failing = |fail_one_in| Recorded { fail_one_in, ..Recorded::new(0) };
    ensemble(&space, "old", 1..6, &failing(400));
    ensemble(&space, "new", 11..16, &failing(10));
    let ended = compare(&space, "new", "old", &[]).with(1);
    ended.stdout_contains("MORE ERRORS").stdout_contains("GET / has more errors:");
    compare(&space, "new", "old", &["--memory", "1B"]).with(1).stdout_contains("MORE ERRORS");
}

#[test]
fn errors_are_compared_by_what_they_were() {
    let space = Space::new();
    let failing = |fail_one_in, detail| Recorded {
        fail_one_in,
        detail: Some(detail),
        outcome: Outcome::Status,
        ..Recorded::new(0)
    };
    ensemble(&space, "old", 1..6, &failing(100, "404"));
    ensemble(&space, "new", 11..16, &failing(20, "503"));
    let files = ["--markdown", "report.md"];
    let ended = compare(&space, "new", "old", &files).with(1);
    golden("compare-errors", &ended.out);
    let markdown = std::fs::read_to_string(space.path("report.md")).unwrap();
    assert!(markdown.contains("| status 503 at GET / | 0 → "), "{markdown}");
    let ended = compare(&space, "new", "old", &["--json"]).with(1);
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    let errors = json["errors"].as_array().unwrap();
    let of = |detail: &str| errors.iter().find(|error| error["detail"] == detail).unwrap();
    assert_eq!((&of("503")["trend"], &of("503")["counts"]), (&"new".into(), &true.into()));
    assert_eq!(of("404")["trend"], "gone");
    // The target answered all of them: as many were completed.
    let rate = json["measures"][1]["runs"][5]["rate"].as_f64().unwrap();
    assert!((rate - 20.0).abs() < 0.1, "{rate}");
    // A part of a phase has no failures by what they were.
    let ended = compare(&space, "new", "old", &["--json", "--skip", "5s"]);
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(json["errors"], Value::Array(Vec::new()));
}

/// Runs `new` take half as long as `old`, and one answer in twenty is 503: as many are completed.
fn faster_with_failures(space: &Space) {
    let failing = Recorded {
        median_ns: 1e6,
        fail_one_in: 20,
        detail: Some("503"),
        outcome: Outcome::Status,
        ..Recorded::new(0)
    };
    ensemble(space, "old", 1..6, &Recorded::new(0));
    ensemble(space, "new", 11..16, &failing);
}

#[test]
fn an_improvement_with_more_failures_says_both_first() {
    let space = Space::new();
    faster_with_failures(&space);
    let ended = compare(&space, "new", "old", &[]).with(1);
    ended.stdout_contains("status 503 at GET /");
    // The first line may be wrapped.
    let words: Vec<&str> = ended.out.split_whitespace().collect();
    let text = words.join(" ");
    assert!(text.starts_with("MORE ERRORS GET / is faster by "), "{text}");
    assert!(text.contains("but with more errors: 0 % to "), "{text}");
}

/// Half as many that end well, and those in a tenth of the time: nobody would call that faster.
#[test]
fn more_errors_fail_even_if_latency_improves() {
    let space = Space::new();
    let failing = Recorded { median_ns: 2e5, fail_one_in: 2, ..Recorded::new(0) };
    ensemble(&space, "old", 1..6, &Recorded::new(0));
    ensemble(&space, "new", 11..16, &failing);
    let ended = compare(&space, "new", "old", &["--json"]).with(1);
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(json["verdict"], "more_errors");
    assert_eq!(json["measures"][1]["verdict"], "more_errors");
    let changes = json["measures"][1]["changes"].as_array().unwrap();
    let rate = changes.iter().find(|c| c["figure"] == "rate").unwrap();
    let relative = rate["relative"].as_f64().unwrap();
    assert!((-0.6..-0.4).contains(&relative), "{rate}");
    // The other way round it is the times that got worse, whatever ends well now.
    compare(&space, "old", "new", &[]).with(1).stdout_contains("SLOWER");
}

#[test]
fn errors_that_are_allowed_decide_nothing() {
    let space = Space::new();
    faster_with_failures(&space);
    compare(&space, "new", "old", &[]).with(1).stdout_contains("MORE ERRORS");
    let allowed = compare(&space, "new", "old", &["--allow-errors"]).with(0);
    allowed.stdout_contains("FASTER").stdout_contains("more errors, which are allowed: 0 % to ");
}

/// Every second run takes 47 % longer: chance alone may explain the difference of means, and the scatter of runs says more.
#[test]
fn runs_of_two_kinds_against_runs_of_one_are_modes() {
    let space = Space::new();
    ensemble(&space, "old", 1..9, &Recorded::new(0));
    ensemble(&space, "new", 11..15, &Recorded::new(0));
    ensemble(&space, "new", 15..19, &Recorded { median_ns: 1.47 * 2e6, ..Recorded::new(0) });
    let ended = compare(&space, "new", "old", &["--json"]).with(1);
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    let text = json["sentence"].as_str().unwrap();
    assert!(["modes_differ", "slower"].contains(&json["verdict"].as_str().unwrap()), "{text}");
    assert!(text.contains("runs of the candidate lie "), "{text}");
    let changes = json["measures"][1]["changes"].as_array().unwrap();
    let spread = changes.iter().find(|change| change["figure"] == "spread").unwrap();
    assert!(spread["counts"] == true && spread["candidate"].as_f64().unwrap() > 0.1, "{spread}");
}

#[test]
fn a_busier_machine_is_said_before_the_verdict() {
    let space = Space::new();
    let on = |busy| Recorded { busy: Some(busy), ..Recorded::new(0) };
    ensemble(&space, "old", 1..6, &on(40.0));
    ensemble(&space, "new", 11..16, &on(75.0));
    ensemble(&space, "alike", 21..26, &on(40.0));
    let ended = compare(&space, "new", "old", &["--markdown", "report.md"]).with(0);
    let words: Vec<&str> = ended.out.split_whitespace().collect();
    let text = words.join(" ");
    let caution = "! warning: the machine was busier for the candidate: cores of servers were busy 76.3 % of the time \
                   instead of 40.3 %;";
    assert!(text.starts_with(caution), "{text}");
    assert_eq!(text.matches("the machine was busier").count(), 1, "{text}");
    let markdown = std::fs::read_to_string(space.path("report.md")).unwrap();
    assert!(markdown.starts_with("> ⚠️ The machine was busier for the candidate"), "{markdown}");
    let ended = compare(&space, "alike", "old", &["--json"]).with(0);
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(json["caution"], Value::Null);
}

/// A target that answers nothing is not one that is no slower.
#[test]
fn a_measure_that_only_fails_fails_the_run() {
    let space = Space::new();
    let failing = Recorded { fail_one_in: 1, ..Recorded::new(0) };
    ensemble(&space, "old", 1..6, &Recorded::new(0));
    ensemble(&space, "new", 11..16, &failing);
    compare(&space, "new", "old", &[]).with(2).stdout_contains(
        "fatal: GET /: inconclusive: no operation succeeded in C1, C2, C3, C4, C5",
    );
}

#[test]
fn differences_within_the_tolerance_do_not_fail() {
    let space = Space::new();
    let steady =
        |median_ns| Recorded { median_ns, scatter: 0.002, drift: 0.0003, ..Recorded::new(0) };
    ensemble(&space, "old", 1..6, &steady(2e6));
    ensemble(&space, "new", 11..16, &steady(2.012e6));
    compare(&space, "new", "old", &["--full"])
        .with(0)
        .stdout_contains("GET /: differences within the tolerance do not affect the verdict:")
        .stdout_contains("no difference seen beyond the tolerance");
    compare(&space, "new", "old", &["--tolerance", "0%"]).with(1);
}

#[test]
fn single_runs_are_compared_by_their_windows_unless_strict() {
    let space = Space::new();
    ensemble(&space, "old", 1..2, &Recorded::new(0));
    ensemble(&space, "new", 11..12, &planted());
    compare(&space, "new", "old", &["--full"])
        .with(1)
        .stdout_contains("each side has a single run")
        .stdout_contains("paired windows of single runs");
    compare(&space, "new", "old", &["--strict", "--junit", "report.xml"])
        .with(2)
        .stdout_contains("INCONCLUSIVE")
        .stdout_contains("fatal: one side has a single run");
    let junit = std::fs::read_to_string(space.path("report.xml")).unwrap();
    assert!(junit.contains("<error message=\"inconclusive\""), "{junit}");
}

#[test]
fn single_runs_show_figures_of_their_own_and_name_those_of_windows() {
    let space = Space::new();
    let failing = |one: Recorded| Recorded { fail_one_in: 20, ..one };
    ensemble(&space, "old", 1..2, &Recorded::new(0));
    ensemble(&space, "whole", 11..12, &planted());
    compare(&space, "whole", "old", &[])
        .with(1)
        .stdout_contains("SLOWER")
        .stdout_contains(" of windows (");
    ensemble(&space, "new", 11..12, &failing(planted()));
    let ended = compare(&space, "new", "old", &["--markdown", "report.md", "--full"]).with(1);
    ended
        .stdout_contains("windows differ by")
        .stdout_contains("baseline and candidate are figures of the complete runs")
        .stdout_contains("all of C1");
    let markdown = std::fs::read_to_string(space.path("report.md")).unwrap();
    assert!(markdown.contains("| windows differ by |"), "{markdown}");
    assert!(markdown.contains("figures of the complete runs"), "{markdown}");
    assert!(ended.out.lines().all(|line| line.chars().count() <= 120));
    let ended = compare(&space, "new", "old", &["--json"]).with(1);
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    let measure = &json["measures"][1];
    let number = |value: &Value| value.as_f64().unwrap();
    for (place, q) in [(0, "p50"), (1, "p90"), (2, "p95")] {
        let changes = measure["changes"].as_array().unwrap();
        let change = changes.iter().find(|c| c["figure"] == q);
        let Some(change) = change else { continue };
        let own = |run: usize| number(&measure["runs"][run]["quantiles_ns"][place]);
        assert_eq!(number(&change["baseline"]), own(0), "{q}");
        assert_eq!(number(&change["candidate"]), own(1), "{q}");
        let windows = &change["windows"];
        let apart = number(&windows["candidate"]) - number(&windows["baseline"]);
        assert!((number(&change["difference"]) - apart).abs() < 1e-3, "{q}");
        assert_ne!(number(&windows["baseline"]), own(0), "{q}");
    }
    // As in the verdict of a run, failures count as well, and what was given up on is a bound.
    assert!(measure["runs"][0]["all"].is_null());
    let all = &measure["runs"][1]["all"];
    assert_eq!(number(&all["count"]), 400.0);
    assert!(number(&all["unanswered"]) > 0.0);
    let with = |args: &[&str]| {
        let ended = compare(&space, "new", "old", &[args, &["--json"]].concat());
        let json: Value = serde_json::from_str(&ended.out).unwrap();
        json["measures"][1]["runs"][1]["all"].clone()
    };
    assert_eq!(with(&["--memory", "1B"]), *all);
    assert!(with(&["--time", "service"]).is_null());
}

#[test]
fn three_runs_per_side_are_decided_by_students_t() {
    let space = Space::new();
    ensemble(&space, "old", 1..4, &Recorded::new(0));
    let slow = Recorded { median_ns: 4e6, ..Recorded::new(0) };
    ensemble(&space, "new", 11..14, &slow);
    compare(&space, "new", "old", &["--full"])
        .with(1)
        .stdout_contains("3 and 3 runs are too few for a permutation test to reach 5 %");
}

#[test]
fn constant_latencies_are_compared() {
    let space = Space::new();
    let constant = |median_ns| Recorded { median_ns, scatter: 0.0, drift: 0.0, ..Recorded::new(0) };
    ensemble(&space, "old", 1..6, &constant(2e6));
    ensemble(&space, "same", 11..16, &constant(2e6));
    ensemble(&space, "slow", 21..26, &constant(3e6));
    let ended = compare(&space, "same", "old", &[]).with(0);
    assert!(!ended.out.contains("NaN") && !ended.out.contains("inf"), "{}", ended.out);
    let ended = compare(&space, "slow", "old", &["--json"]).with(1);
    assert!(serde_json::from_str::<Value>(&ended.out).is_ok());
    compare(&space, "same", "", &[]).with(0);
}

#[test]
fn a_phase_or_the_rest_of_a_run_is_compared_on_request() {
    let space = Space::new();
    ensemble(&space, "old", 1..6, &Recorded::new(0));
    ensemble(&space, "new", 11..16, &planted());
    compare(&space, "new", "old", &["--phase", "steady", "--skip", "10s", "--full"])
        .with(1)
        .stdout_contains("phase steady, without the first 10 s")
        .stdout_contains("10 s of http://127.0.0.1:8080");
    compare(&space, "new", "old", &["--phase", "warm"])
        .with(65)
        .stderr_contains("it has no phase \"warm\", but steady");
    compare(&space, "new", "old", &["--skip", "1h"])
        .with(65)
        .stderr_contains("all of it is skipped");
}

#[test]
fn ambiguous_results_are_refused() {
    let space = Space::new();
    let other = Recorded { name: "other", request: "GET /b", ..Recorded::new(0) };
    ensemble(&space, "old", 1..6, &Recorded::new(0));
    ensemble(&space, "new", 11..16, &other);
    compare(&space, "new", "old", &[])
        .with(65)
        .stderr_contains("the scenarios are \"recorded\" and \"other\"")
        .stderr_contains("not all runs measure GET / (request), GET /b (request)");
    compare(&space, "new", "old", &["--force"])
        .with(0)
        .stdout_contains("warning: the runs differ in their conditions")
        .stdout_contains("no difference seen in 6 figures");
}

#[test]
fn untrusted_runs_are_not_compared() {
    let space = Space::new();
    let untrusted = Recorded { verdict: Verdict::Untrusted, ..planted() };
    ensemble(&space, "old", 1..6, &Recorded::new(0));
    ensemble(&space, "new", 11..16, &untrusted);
    compare(&space, "new", "old", &[])
        .with(2)
        .stdout_contains("fatal: C1, C2, C3, C4, C5 are untrusted");
    compare(&space, "new", "old", &["--force"]).with(1);
}

#[test]
fn nothing_in_a_record_steers_the_terminal() {
    let space = Space::new();
    let evil = Recorded { name: "evil\u{1b}]0;title\u{7}\u{9b}2J", ..Recorded::new(0) };
    ensemble(&space, "old", 1..3, &evil);
    ensemble(&space, "new", 11..13, &evil);
    let is_plain = |text: &str| !text.chars().any(|c| c.is_control() && c != '\n');
    let run = space.path(&runs(&space, "new")[0]);
    let shown = Ended::of(throng(["show"]).arg(&run)).with(0);
    shown.stdout_contains("evil");
    let compared = compare(&space, "new", "old", &[]);
    std::fs::write(run.join("run.json"), "{").unwrap();
    let refused = Ended::of(throng(["show"]).arg(&run)).with(66);
    refused.stderr_contains("is damaged");
    for text in [&shown.out, &compared.out, &refused.err] {
        assert!(is_plain(text), "{text:?}");
    }
}

#[test]
fn bad_input_is_reported_and_never_filled_in() {
    let space = Space::new();
    ensemble(&space, "old", 1..3, &Recorded::new(0));
    let [first, second] = [0, 1].map(|place| runs(&space, "old")[place].clone());
    let refused = |args: &[&str], code: i32, text: &str| {
        let mut command = throng(["compare"]);
        Ended::of(command.args(args).current_dir(space.path(""))).with(code).stderr_contains(text);
    };
    refused(&[], 64, "RUN");
    refused(&[&first], 64, "a comparison needs at least two runs");
    refused(&[&first, &first], 64, "was given twice");
    refused(&[&first, "nowhere"], 66, "not a run directory: it contains no run.json");
    refused(&[&first, &second, "--quantiles", "50,100"], 64, "percentages between 0 and 100");
    refused(&[&first, &second, "--alpha", "2"], 64, "a probability from 0.000001 to 0.5");
    refused(&[&first, &second, "--strict"], 64, "--baseline");
    refused(&[&first, &second, "--junit", "no/such/place.xml"], 74, "place.xml");

    let nothing = Recorded { measured: false, ..Recorded::new(50) };
    nothing.write(&space.path("none"));
    let none = runs(&space, "none")[0].clone();
    let mut command = throng(["compare", &none, "--baseline", &first, &second]);
    Ended::of(command.current_dir(space.path("")))
        .with(2)
        .stdout_contains("inconclusive: no operation succeeded in C1");
}

#[test]
fn damaged_and_killed_runs_are_listed_as_such() {
    let space = Space::new();
    ensemble(&space, "old", 1..6, &Recorded::new(0));
    ensemble(&space, "new", 11..16, &planted());
    let run = space.path(&runs(&space, "new")[0]);
    let remove = |name: &str| std::fs::remove_file(run.join(name)).unwrap();
    // Without rows, the histograms of all serve.
    remove("requests.parquet");
    compare(&space, "new", "old", &["--full"]).with(1).stdout_contains("from histograms");
    // Without a verdict, it is judged now: it is incomplete.
    remove("summary.json");
    compare(&space, "new", "old", &[]).with(2).stdout_contains("C1 is untrusted");
    let cut = |name: &str| {
        let bytes = std::fs::read(run.join(name)).unwrap();
        std::fs::write(run.join(name), &bytes[..bytes.len() / 2]).unwrap();
    };
    cut("series.parquet");
    compare(&space, "new", "old", &[]).with(66).stderr_contains("series.parquet is damaged");
    cut("run.json");
    compare(&space, "new", "old", &[]).with(66).stderr_contains("run.json is damaged");
}

/// Real runs, taking turns. The delay is so long that a busy machine does not hide it.
#[test]
fn real_runs_are_compared() {
    let space = Space::new();
    let served = ["1ms", "300ms"].map(|delay| {
        Served::start(&["stall", "--delay", delay, "--stall", "1ms", "--every", "1h"])
    });
    for _ in 0..4 {
        for (served, folder) in served.iter().zip(["old", "new"]) {
            let root = space.path(folder);
            let root = root.to_str().unwrap();
            let load = ["run", "--quiet", &served.url, "--rate", "100/s", "--duration", "500ms"];
            let place = ["--runs", root, "--set", "options.lag_max=5s"];
            Ended::of(&mut throng(load.iter().chain(&place)));
        }
    }
    let ended = compare(&space, "new", "old", &["--json", "--force"]);
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    let measures = json["measures"].as_array().unwrap();
    let request = measures.iter().find(|m| m["kind"] == "request").unwrap();
    assert_eq!(request["verdict"], "slower", "{}", ended.out);
    assert_eq!(ended.code, Some(1));
    assert!(Path::new(json["runs"][0]["directory"].as_str().unwrap()).starts_with("old"));
}
