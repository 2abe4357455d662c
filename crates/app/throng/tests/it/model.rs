//! `throng model`: from a log to a scenario that runs, and its errors.

use std::path::{Path, PathBuf};

use record::schema::Verdict;
use serde_json::Value;
use testkit::needs::shared_data;

use crate::support::{Ended, Served, Space, throng};

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
            let minute = second / 60;
            let second = second % 60;
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
    let mut command = space.run(&["--set", &target]);
    command.arg(out.join("scenario.yaml"));
    for set in sets {
        command.args(["--set", set]);
    }
    let ended = Ended::of(&mut command);
    assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
    assert_eq!(space.summary().verdict, Verdict::Measured, "{}", ended.out);
}

#[test]
fn log_becomes_a_scenario_that_runs_and_matches() {
    let space = Space::new();
    let log = space.file("access.log", &log());
    let out = space.path("model");
    let ended = model(&log, &out, &[]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{}", ended.out);
    assert!(ended.out.contains("900 requests, 300 sessions"), "{}", ended.out);
    let made = json(&out.join("model.json"));
    assert_eq!(made["segments"][0]["sessions"], 300);
    let report = std::fs::read_to_string(out.join("report.md")).unwrap();
    assert!(report.contains("## How users arrive") && report.contains("## What users do"));
    driven(&out, &["speed=100", "seconds=800"]);
    let ended = Ended::of(throng(["model", "check"]).arg(&out).args(["--sessions", "300"]));
    assert!(matches!(ended.code, Some(0 | 1)), "{}{}", ended.out, ended.err);
    let check = json(&out.join("check.json"));
    assert_eq!(check["holds"], ended.code == Some(0));
    let tests = check["tests"].as_array().unwrap();
    let of = |what: &str| {
        tests.iter().find(|test| test["quantity"] == what).unwrap_or_else(|| panic!("{tests:?}"))
    };
    assert_eq!(of("transitions")["rejected"], false);
    assert_eq!(of("thinks")["rejected"], false);
    // A second model takes the first one's place.
    let ended = model(&log, &out, &["--behaviour", "sequences", "--quiet"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), ""), "{}", ended.err);
    driven(&out, &["speed=100", "seconds=800"]);
}

/// 3,000 sessions with 15,000 requests, twice as many as a scenario has room for. They go from page to page, and end
/// after each with one probability.
#[test]
fn model_of_recorded_sessions_passes_its_check() {
    let space = Space::new();
    let mut lines = Vec::new();
    let mut state = 7_u64;
    let mut draw = |below: u64| {
        // Knuth's constants (1997, section 3.3.4).
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for visit in 0..3_000_u64 {
        let mut second = 2 * visit + draw(3);
        let mut page = 0;
        loop {
            lines.push((second, visit, page));
            if draw(5) == 0 {
                break;
            }
            second += 1 + draw(20);
            page = (page + 1 + draw(2)) % 4;
        }
    }
    lines.sort_unstable();
    let line = |&(second, visit, page): &(u64, u64, u64)| {
        let hour = 10 + second / 3_600;
        let minute = second / 60 % 60;
        let second = second % 60;
        format!(
            "10.0.{}.{} - - [17/May/2015:{hour}:{minute:02}:{second:02} +0000] \"GET /page{page} HTTP/1.1\" 200 9 \"-\" \"x\"\n",
            visit / 200,
            visit % 200
        )
    };
    let log = space.file("access.log", &lines.iter().map(line).collect::<String>());
    let out = space.path("model");
    let options = ["--behaviour", "sequences", "--gap", "30m", "--quiet"];
    model(&log, &out, &options).with(0);
    let kept = |out: &Path| {
        let model = json(&out.join("model.json"));
        model["segments"][0]["behaviour"]["sequences"].as_array().unwrap().len()
    };
    assert!((1_300..2_000).contains(&kept(&out)), "{}", kept(&out));
    let ended = Ended::of(throng(["model", "check"]).arg(&out));
    assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
    let few = space.path("few");
    model(&log, &few, &[&options[..], &["--sequences", "80"]].concat()).with(0);
    assert_eq!(kept(&few), 80);
}

#[test]
fn new_model_replaces_all_files_of_the_old_one() {
    let space = Space::new();
    let log = space.file("access.log", &log());
    let out = space.path("model");
    model(&log, &out, &["--quiet"]).with(0);
    let stale =
        ["check.json", "simulated.log", "against.json", "arrivals-shop.txt", "report.md.tmp"];
    for name in stale {
        std::fs::write(out.join(name), "old").unwrap();
    }
    std::fs::write(out.join("notes.txt"), "mine").unwrap();
    // No model, no change.
    let prose = space.file("prose.txt", "once upon\na time\n");
    model(&prose, &out, &["--quiet"]).with(65);
    assert!(out.join("model.json").exists() && out.join("check.json").exists());
    let ended = model(&log, &out, &["--quiet", "--seed", "2"]).with(0);
    assert_eq!(ended.err, "", "the scenario was as written");
    for name in stale {
        assert!(!out.join(name).exists(), "{name}");
    }
    assert!(out.join("notes.txt").exists());
    // What somebody changed is kept.
    let scenario = out.join("scenario.yaml");
    let changed = std::fs::read_to_string(&scenario).unwrap() + "# mine\n";
    std::fs::write(&scenario, &changed).unwrap();
    let ended = model(&log, &out, &["--quiet"]).with(0);
    ended.stderr_contains("scenario.kept-1.yaml");
    let kept = std::fs::read_to_string(out.join("scenario.kept-1.yaml")).unwrap();
    assert_eq!(kept, changed);
    assert!(!std::fs::read_to_string(&scenario).unwrap().contains("# mine"));
}

#[test]
fn paths_with_empty_segments_make_a_model_that_checks() {
    let space = Space::new();
    let line = |path: &str| {
        format!("10.0.0.1 - - [10/Oct/2025:13:55:36 +0000] \"GET {path} HTTP/1.1\" 200 5\n")
    };
    let paths = ["/a", "//a", "//wp-login.php", "/a/", "/a//", "//", "/?", "/./"];
    for count in [2, paths.len()] {
        let log: String = paths[..count].iter().map(|path| line(path)).collect();
        let out = space.path(&format!("model-{count}"));
        let log = space.file("access.log", &log);
        model(&log, &out, &["--quiet"]).with(0);
        let classes = json(&out.join("model.json"))["classes"].as_array().unwrap().len();
        assert_eq!(classes, count);
        Ended::of(throng(["check"]).arg(out.join("scenario.yaml"))).with(0);
    }
}

#[test]
fn a_model_that_was_interrupted_does_not_block_its_directory() {
    let space = Space::new();
    let log = space.file("access.log", &log());
    let out = space.path("model");
    // No process has the first number.
    let dead = out.join(".sorting-4194305");
    let alive = out.join(format!(".sorting-{}", std::process::id()));
    for scratch in [&dead, &alive] {
        std::fs::create_dir_all(scratch).unwrap();
        std::fs::write(scratch.join("hits-0"), "half").unwrap();
    }
    model(&log, &out, &["--quiet"]).with(0);
    assert!(!dead.exists() && alive.exists());
    // It ended when model.json was about to be written.
    std::fs::remove_file(out.join("model.json")).unwrap();
    std::fs::write(out.join("model.json.tmp"), "{").unwrap();
    model(&log, &out, &["--quiet"]).with(0);
    assert!(out.join("model.json").exists() && !out.join("model.json.tmp").exists());
    // A scenario of somebody's own is no model.
    let own = space.path("own");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(own.join("scenario.yaml"), "name: mine\n").unwrap();
    model(&log, &own, &["--quiet"]).with(73);
}

#[test]
fn errors_name_the_cause_and_the_option() {
    let space = Space::new();
    let log = space.file("access.log", &log());
    let check_output = |ended: Ended, code: i32, parts: &[&str]| {
        let ended = ended.with(code);
        for part in parts {
            ended.stderr_contains(part);
        }
    };
    check_output(model(&space.path("none.log"), &space.path("a"), &[]), 66, &["none.log"]);
    let prose = space.file("prose.txt", "once upon\na time\n");
    check_output(model(&prose, &space.path("b"), &[]), 65, &["unknown format", "--log-format"]);
    let table = space.file("publishers.csv", "publisher,share\nshop,0.3\n");
    check_output(
        model(&table, &space.path("b"), &[]),
        65,
        &["the columns are publisher, share", "--field time=NAME"],
    );
    let half = std::fs::read_to_string(&log).unwrap() + &"rubbish\n".repeat(100);
    let half = space.file("half.log", &half);
    check_output(
        model(&half, &space.path("c"), &[]),
        65,
        &["100 of 1000 lines", "half.log:901", "--bad-max"],
    );
    let used = space.path("used");
    std::fs::create_dir(&used).unwrap();
    std::fs::write(used.join("thesis.txt"), "mine").unwrap();
    check_output(model(&log, &used, &[]), 73, &["not of a model"]);
    assert_eq!(std::fs::read_dir(&used).unwrap().count(), 1, "nothing was added");
    check_output(model(&log, &space.path("d"), &["--key", "adress"]), 64, &["address"]);
    check_output(Ended::of(throng(["model", "check"]).arg(space.path("e"))), 66, &["model.json"]);
    check_output(Ended::of(throng(["model"]).arg(&log)), 64, &["--out"]);
    let counts = space.file("counts.txt", "1 2 3\n");
    for bin in ["500ms", "1500ms"] {
        check_output(
            model(&counts, &space.path("g"), &["--as", "counts", "--bin", bin]),
            64,
            &["not a whole number of seconds"],
        );
    }
    // A model whose numbers cannot be is refused, not believed.
    let out = space.path("f");
    model(&log, &out, &["--quiet"]).with(0);
    let mut made = json(&out.join("model.json"));
    made["segments"][0]["behaviour"]["transitions"][0]["to"] = 99.into();
    std::fs::write(out.join("model.json"), made.to_string()).unwrap();
    check_output(Ended::of(throng(["model", "check"]).arg(&out)), 66, &["model.json", "class 99"]);
}

#[test]
fn tsung_file_replaces_no_input_and_no_model_file() {
    let space = Space::new();
    let text = log();
    let log = space.file("access.log", &text);
    let out = space.path("model");
    let link = space.path("link.log");
    std::fs::hard_link(&log, &link).unwrap();
    let named = |path: &Path| path.to_str().unwrap().to_owned();
    let dotted = format!("{}/../{}/access.log", named(&out), "x");
    std::fs::create_dir(space.path("x")).unwrap();
    std::fs::rename(&log, space.path("x").join("access.log")).unwrap();
    let log = space.path("x").join("access.log");
    for tsung in [named(&log), named(&link), named(&out.join("model.json"))] {
        let ended = model(&log, &out, &["--quiet", "--tsung", &tsung]).with(64);
        ended.stderr_contains("--tsung");
        assert!(!out.exists(), "nothing is begun");
    }
    model(&log, &out, &["--quiet"]).with(0);
    let made = std::fs::read(out.join("model.json")).unwrap();
    let ours = ["model.json", "scenario.yaml", "arrivals.txt", "report.md.tmp"];
    let ours = ours.map(|name| named(&out.join(name)));
    for tsung in ours.into_iter().chain([dotted]) {
        model(&log, &out, &["--quiet", "--tsung", &tsung]).with(64);
    }
    assert_eq!(std::fs::read(out.join("model.json")).unwrap(), made);
    assert_eq!(std::fs::read_to_string(&log).unwrap(), text);
    // Nor is anything of a run that is read.
    let run = space.path("run");
    std::fs::create_dir(&run).unwrap();
    let inside = named(&run.join("summary.json"));
    model(&run, &out, &["--tsung", &inside]).with(64).stderr_contains("which is an input");
    // Its own name, beside the model's files, is free.
    let free = named(&out.join("tsung.xml"));
    model(&log, &out, &["--quiet", "--tsung", &free]).with(0);
    assert!(out.join("tsung.xml").exists());
}

/// A line a user, at these seconds after the 1st of November 2015.
fn begins(seconds: impl Iterator<Item = u64>) -> String {
    let line = |(user, at): (usize, u64)| {
        let day = 1 + at / 86_400;
        let hour = at / 3600 % 24;
        format!(
            "10.0.{}.{} - - [{day:02}/Nov/2015:{hour:02}:{:02}:{:02} +0000] \"GET /a HTTP/1.1\" 200 9 \"-\" \"x\"\n",
            user / 200,
            user % 200,
            at / 60 % 60,
            at % 60
        )
    };
    seconds.enumerate().map(line).collect()
}

fn checked(space: &Space, text: &str, more: &[&str]) -> (Option<i32>, Value) {
    let log = space.file("access.log", text);
    let out = space.path("model");
    model(&log, &out, &[&["--quiet"], more].concat()).with(0);
    let sessions = ["--sessions", "2000"];
    let ended = Ended::of(throng(["model", "check"]).arg(&out).args(sessions));
    assert!(matches!(ended.code, Some(0 | 1)), "{}", ended.err);
    (ended.code, json(&out.join("check.json")))
}

/// The log of a monitor that sends requests at set times.
#[test]
fn identical_days_make_a_model_that_loads() {
    let of_day = |day: u64| {
        let hours = (0..24).flat_map(|hour| (0..5 + hour * 7 % 11).map(move |k| (hour, k)));
        hours.map(move |(hour, k)| day * 86_400 + hour * 3_600 + k * 200)
    };
    let begins_at = (0..4).flat_map(of_day).chain([4 * 86_400]);
    checked(&Space::new(), &begins(begins_at), &[]);
}

#[test]
fn requested_poisson_arrivals_fail_the_check_of_a_rising_log() {
    // Within an hour, the later the more.
    let rising = (0..900_u64).map(|user| (3_500.0 * (user as f64 / 900.0).sqrt()) as u64);
    let text = begins(rising);
    let (code, check) = checked(&Space::new(), &text, &["--arrivals", "poisson"]);
    assert_eq!(code, Some(1), "{check:#}");
    assert_eq!(check["tests"][0]["what"], "over the time of the log");
    let (code, check) = checked(&Space::new(), &text, &["--arrivals", "trace"]);
    assert_eq!(code, Some(0), "{check:#}");
}

/// A run of this scenario's sessions and arrivals; its directory.
fn run(space: &Space, name: &str, text: &str) -> PathBuf {
    let server = Served::start(&["hello"]);
    let text = format!("target: {}\n{text}", server.url);
    let scenario = space.file(&format!("{name}.yaml"), &text);
    let runs = space.path(name);
    Ended::of(
        throng(["run", "--quiet"])
            .arg(scenario)
            .args(["--set", "first=7", "--set", "options.lag_max=5s"])
            .arg("--runs")
            .arg(&runs),
    )
    .with(0);
    let mut runs = std::fs::read_dir(runs).unwrap();
    runs.next().unwrap().unwrap().path()
}

#[test]
fn recorded_run_is_modelled() {
    let space = Space::new();
    let run = run(
        &space,
        "shop",
        "params: { first: 1 }\nsessions:\n  \
         buyer: [ { get: /, as: home }, { think: 50ms }, { post: \"/items/${first}\", as: item } ]\n  \
         looker: [ { get: /, as: home }, { get: \"/of/${user}\", as: own } ]\n\
         arrivals: [ { constant: 100/s, for: 2s } ]\n",
    );
    let out = space.path("model");
    model(&run, &out, &["--gap", "5s"]).with(0);
    let made = json(&out.join("model.json"));
    assert_eq!(made["segments"].as_array().unwrap().len(), 2);
    let sessions = made["segments"].as_array().unwrap().iter();
    assert_eq!(sessions.map(|segment| segment["sessions"].as_u64().unwrap()).sum::<u64>(), 200);
    // What the scenario defines is requested again, and what it omits is reported.
    let targets: Vec<(&str, String)> = made["classes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|class| {
            let target = &class["targets"][0];
            let line = format!(
                "{} {}",
                target["method"].as_str().unwrap(),
                target["target"].as_str().unwrap()
            );
            (class["name"].as_str().unwrap(), line)
        })
        .collect();
    let expected = [("home", "GET /"), ("own", "GET /own"), ("item", "POST /items/7")];
    for (name, line) in expected {
        assert!(targets.contains(&(name, line.to_owned())), "{targets:?}");
    }
    let findings = made["findings"].as_array().unwrap();
    let of = |code: &str| findings.iter().find(|finding| finding["code"] == code);
    let check_output = of("targets-made-up").unwrap();
    assert!(check_output["text"].as_str().unwrap().contains("has none for own:"));
    assert!(of("targets-alike").is_none());
    assert_eq!(made["key"], "user");
    let ended = Ended::of(throng(["model", "check"]).arg(&out).args(["--sessions", "200"]));
    let check = json(&out.join("check.json"));
    for test in check["tests"].as_array().unwrap() {
        let is_of_classes = ["starts", "transitions"].contains(&test["quantity"].as_str().unwrap());
        assert!(!is_of_classes || test["rejected"] == false, "{}", ended.out);
    }
}

#[test]
fn options_without_effect_are_rejected() {
    let space = Space::new();
    let run = space.path("run");
    std::fs::create_dir(&run).unwrap();
    for option in [
        ["--key", "user"],
        ["--segment", "path"],
        ["--without", "agent=bot"],
        ["--class", "a=b"],
        ["--as", "json"],
        ["--classes-max", "1"],
        ["--bad-max", "5%"],
        ["--bin", "5s"],
        ["--begin", "1995-07-01T00:00:00"],
    ] {
        let ended = model(&run, &space.path("a"), &option).with(64);
        ended.stderr_contains(&format!("{} has no effect for a run", option[0]));
    }
    let counts = space.file("counts.txt", "1 2 3\n");
    for option in [["--gap", "5s"], ["--behaviour", "chain"]] {
        let options = [&["--as", "counts"][..], &option].concat();
        model(&counts, &space.path("b"), &options)
            .with(64)
            .stderr_contains(&format!("{} has no effect for counts", option[0]));
    }
    let log = space.file("access.log", &log());
    model(&log, &space.path("c"), &["--sequences", "50"])
        .with(64)
        .stderr_contains("--sequences has no effect for a chain");
    for option in [["--begin", "1995-07-01T00:00:00"], ["--bin", "5s"]] {
        model(&log, &space.path("c"), &option)
            .with(64)
            .stderr_contains(&format!("{} has no effect for lines", option[0]));
    }
    for out in ["a", "b", "c"] {
        assert!(!space.path(out).exists(), "nothing was made");
    }
    // Only its lines show the format.
    model(&log, &space.path("d"), &["--field", "target=zzz"])
        .with(64)
        .stderr_contains("--field has no effect for combined or common log");
}

/// The hint names the options that fix the problem.
#[test]
fn errors_of_bad_lines_name_the_fix() {
    let space = Space::new();
    let json = "{\"time\":1431857103,\"request\":\"/a\"}\n".repeat(9);
    let log = space.file("paths.log", &json);
    let out = space.path("a");
    model(&log, &out, &[]).with(65).stderr_contains("--field method=NAME");
    let fixed = ["--field", "target=request", "--key", "user"];
    model(&log, &out, &fixed).with(65).stderr_contains("--key address");
    let nope = ["--field", "method=nope"];
    let ended = model(&log, &out, &nope).with(65);
    ended.stderr_contains("\"nope\" for the method; the first lines have request, time");
}

/// The real log's first lines, at twenty times their speed.
#[test]
fn real_log_runs_at_twenty_times_its_speed() {
    let Some(path) = shared_data("logs/apache-combined-10k.log") else {
        return;
    };
    let text = std::fs::read_to_string(&path).unwrap();
    let space = Space::new();
    let lines: Vec<&str> = text.lines().take(1_500).collect();
    let log = space.file("access.log", &(lines.join("\n") + "\n"));
    let out = space.path("model");
    let ended = model(&log, &out, &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    driven(&out, &["speed=20", "seconds=160"]);
}
