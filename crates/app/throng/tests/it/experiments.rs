//! Experiments: run, killed, resumed, refused, analysed.

use std::path::{Path, PathBuf};

use record::Run;
use serde_json::Value;

use crate::support::{Ended, Running, Space, golden, root, throng};

/// A market whose answers take as long as a factor says, and a crowd of a moment.
const SCENARIO: &str = r#"
target: { market: { games: 1 } }
params: { rate: 20/s }
options: { lag_max: 10s }
sessions:
  fan:
    - ws: /v1/stream
    - send: { op: games }
      reply: { when: { /re: games }, as: request }
arrivals: [ { constant: "${rate}", for: 300ms }, { hold: 100ms } ]
"#;

const EXPERIMENT: &str = "\
scenario: scenario.yaml
factors:
  delay: { set: target.market.delay, levels: [1ms, 30ms] }
  rate: [20/s, 40/s]
responses: [min(request), count(request)]
repetitions: 2
pause: 0
";

/// The experiment's file in a place of its own, with its text changed.
fn written(space: &Space, change: impl Fn(String) -> String) -> PathBuf {
    space.file("scenario.yaml", SCENARIO);
    space.file("it.yaml", &change(EXPERIMENT.to_owned()))
}

/// Each combination once.
fn once(mut text: String) -> String {
    text = text.replace("repetitions: 2", "repetitions: 1");
    text
}

fn as_it_is(text: String) -> String {
    text
}

/// `throng experiment` of this file, its directory made beside it.
fn experiment(space: &Space, file: &Path, args: &[&str]) -> std::process::Command {
    let mut command = throng(["experiment", "--dir"]);
    command.arg(space.path("out")).arg(file).args(args);
    command
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The stages of all runs, and the directories of those that are done.
fn stages(space: &Space) -> (Vec<String>, Vec<String>) {
    let state = json(&space.path("out/experiment.json"));
    let text = |run: &Value, key: &str| run[key].as_str().map(str::to_owned);
    let runs = state["runs"].as_array().unwrap();
    (
        runs.iter().filter_map(|run| text(run, "stage")).collect(),
        runs.iter().filter_map(|run| text(run, "directory")).collect(),
    )
}

/// Terminal, JSON and CSV say the same of what was published of the first response.
fn published_is_shown(ended: &Ended, response: &Value, tables: &Path) {
    ended.stdout_contains("of 2 published claims: ");
    assert_eq!(response["bars"]["groups"][1]["bars"][0]["published"], 4e6);
    let table = |name: &str| std::fs::read_to_string(tables.join(name)).unwrap();
    let means = table("means.csv");
    // Two responses in four combinations.
    assert_eq!(means.lines().count(), 1 + 8);
    let slow = means.lines();
    let slow = slow.filter(|line| line.starts_with("min(request),ns,30ms,40/s,2,"));
    let ends: Vec<bool> = slow.map(|line| line.ends_with(",false,34000000")).collect();
    assert_eq!(ends, [true], "{means}");
    let place = &response["published"]["claims"][0]["places"][1];
    let verdict = place["verdict"].as_str().unwrap().replace('-', " ");
    ended.stdout_contains(&format!("rate=40/s: {verdict}: 30ms "));
    let row = format!("min(request),30ms > 1ms,30ms > 1ms,elsewhere,,40/s,{verdict},");
    let claims = table("claims.csv");
    assert!(claims.contains(&row), "{claims}");
    assert_eq!(claims.lines().count(), 1 + 2 + 1);
}

#[test]
fn an_experiment_runs_and_is_analysed() {
    let space = Space::new();
    let response = "{ figure: min(request), published: { source: elsewhere, \
        values: [2ms, 32ms, 4ms, 34ms], claims: [{ order: [30ms, 1ms] }, { order: [1ms, 30ms], at: { rate: 40/s } }] } }";
    let file = written(&space, |text| text.replace("min(request)", response));
    let tables = space.path("tables");
    let csv = ["--csv", tables.to_str().unwrap()];
    let ended = Ended::of(&mut experiment(&space, &file, &csv)).with(0);
    ended.stderr_contains("run 8 of 8");
    ended.stdout_contains("A (delay) explains");
    // Half of the way from 2 and 4 ms to 32 and 34 ms; 15² of 15² + 1² is explained by it.
    let line = ended.out.lines().find(|line| line.contains("  A delay") && line.contains('%'));
    let words: Vec<&str> = line.unwrap().split_whitespace().collect();
    assert_eq!(words[words.len() - 4..], ["15.00", "ms", "99.5575", "%"]);
    let (stages, directories) = stages(&space);
    assert_eq!(stages, ["done"; 8]);
    let analysis = json(&space.path("out/analysis.json"));
    let response = &analysis["responses"][0];
    published_is_shown(&ended, response, &tables);
    assert_eq!((&response["name"], &response["unit"]), (&"min(request)".into(), &"ns".into()));
    // From 1 to 30 ms, whatever the machine adds to either.
    let q = response["fit"]["terms"][0]["effect"]["value"].as_f64().unwrap();
    assert!(q > 10e6, "{q}");
    assert_eq!(analysis["responses"][1]["fit"]["terms"][1]["name"], "B");
    // The experiment and each of its runs have a page.
    for of in directories.iter().map(String::as_str).chain([""]) {
        assert!(space.path("out").join(of).join("report.html").exists(), "{of}");
    }
    // Each run is another crowd of the same kind.
    let seeds =
        directories.iter().map(|d| Run::open(&space.path("out").join(d)).unwrap().info().seed);
    let mut seeds: Vec<u64> = seeds.collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 8);
    // Again: nothing is left to run, and the same comes out.
    let again = Ended::of(&mut experiment(&space, &file, &["--json"])).with(0);
    assert_eq!(serde_json::from_str::<Value>(&again.out).unwrap(), analysis);
    let out = space.path("out");
    let mut analyze = throng(["experiment", "--json", "--analyze"]);
    let repeated = Ended::of(analyze.arg(&out)).with(0);
    assert_eq!(repeated.out, again.out);
}

#[test]
fn a_killed_experiment_resumes() {
    let space = Space::new();
    let file = written(&space, as_it_is);
    let mut running = Running::start(&mut experiment(&space, &file, &[]));
    while !running.progress().starts_with("run 4 of 8") {}
    running.kill();
    drop(running);
    let (killed, made) = stages(&space);
    let done = killed.iter().filter(|stage| *stage == "done").count();
    assert_eq!((done, made.len()), (3, 3));
    let mut resume = throng(["experiment", "--resume"]);
    let ended = Ended::of(resume.arg(space.path("out"))).with(0);
    ended.stderr_contains("goes on in");
    ended.stderr_contains("run 4 of 8");
    assert!(!ended.err.contains("run 3 of 8"), "{}", ended.err);
    let (stages, directories) = stages(&space);
    assert_eq!(stages, ["done"; 8]);
    assert_eq!(directories[..3], made);
    assert_eq!(json(&space.path("out/analysis.json"))["observations"], 8);
}

#[test]
fn a_judged_run_missing_from_the_state_is_kept() {
    let space = Space::new();
    let file = written(&space, as_it_is);
    Ended::of(&mut experiment(&space, &file, &["--quiet"])).with(0);
    // As if the process had been killed between the last run's verdict and its note.
    let path = space.path("out/experiment.json");
    let mut state = json(&path);
    let run = &mut state["runs"][7];
    run["stage"] = "pending".into();
    let directory = run.as_object_mut().unwrap().remove("directory").unwrap();
    std::fs::write(&path, state.to_string()).unwrap();
    let ended = Ended::of(&mut experiment(&space, &file, &[])).with(0);
    assert!(!ended.err.contains("run 8 of 8"), "{}", ended.err);
    assert_eq!(json(&path)["runs"][7]["directory"], directory);
}

#[test]
fn older_runs_in_a_new_experiments_directory_do_not_count() {
    let space = Space::new();
    let file = written(&space, once);
    Ended::of(&mut experiment(&space, &file, &["--quiet"])).with(0);
    let (_, strangers) = stages(&space);
    // Seeds follow from the experiment, so each of these runs has one of the new experiment's.
    std::fs::remove_file(space.path("out/experiment.json")).unwrap();
    space.file("scenario.yaml", &SCENARIO.replace("300ms", "400ms"));
    let ended = Ended::of(&mut experiment(&space, &file, &[])).with(0);
    ended.stderr_contains("4 of 4 runs to make");
    ended.stderr_contains("run 4 of 4");
    let (stages, directories) = stages(&space);
    assert_eq!(stages, ["done"; 4]);
    assert!(directories.iter().all(|own| !strangers.contains(own)));
    // Nor do they after that.
    let path = space.path("out/experiment.json");
    assert_eq!(json(&path)["discarded"].as_array().unwrap().len(), 4);
    let ended = Ended::of(&mut experiment(&space, &file, &[])).with(0);
    ended.stderr_contains("0 of 4 runs to make");
}

#[test]
fn a_run_whose_hook_failed_is_rerun() {
    let space = Space::new();
    let repaired = space.path("repaired");
    let after = format!("after: test -e {}\n", repaired.display());
    let file = written(&space, |text| once(text) + &after);
    Ended::of(&mut experiment(&space, &file, &[]))
        .with(69)
        .stderr_contains("3 consecutive runs failed");
    std::fs::write(&repaired, "").unwrap();
    let (_, failed) = stages(&space);
    assert_eq!(failed.len(), 3);
    let ended = Ended::of(&mut experiment(&space, &file, &["--retry"])).with(0);
    ended.stderr_contains("run 1 of 4");
    let (stages, directories) = stages(&space);
    assert_eq!(stages, ["done"; 4]);
    assert!(directories.iter().all(|own| !failed.contains(own)));
}

#[test]
fn a_directory_is_locked_by_one_process() {
    let space = Space::new();
    let file =
        written(&space, |text| text + "set: { arrivals.1.hold: 20s, options.drain: 300ms }\n");
    let mut running = Running::start(&mut experiment(&space, &file, &[]));
    while !running.progress().starts_with("run 1 of 8") {}
    Ended::of(&mut experiment(&space, &file, &[])).with(69).stderr_contains("already runs in");
    // To look is no harm.
    Ended::of(&mut experiment(&space, &file, &["--plan"])).with(0);
    running.interrupt();
    running.end().with(2);
}

#[test]
fn a_damaged_state_file_is_an_error() {
    let space = Space::new();
    let file = written(&space, once);
    Ended::of(&mut experiment(&space, &file, &["--quiet"])).with(0);
    let path = space.path("out/experiment.json");
    let whole = json(&path);
    for (key, damaged) in [
        ("cell", serde_json::json!([9, 0])),
        ("cell", serde_json::json!([0])),
        ("levels", serde_json::json!([])),
    ] {
        let mut state = whole.clone();
        state["runs"][0][key] = damaged;
        state["runs"][0]["stage"] = "pending".into();
        std::fs::write(&path, state.to_string()).unwrap();
        Ended::of(&mut experiment(&space, &file, &[])).with(65).stderr_contains("do not fit");
        Ended::of(throng(["experiment", "--analyze"]).arg(space.path("out")))
            .with(65)
            .stderr_contains("do not fit");
    }
}

#[test]
fn ctrl_c_leaves_a_resumable_search() {
    let space = Space::new();
    let file =
        written(&space, |text| text + "set: { arrivals.1.hold: 20s, options.drain: 300ms }\n");
    let mut running = Running::start(&mut experiment(&space, &file, &[]));
    while !running.progress().starts_with("run 1 of 8") {}
    running.interrupt();
    let ended = running.end().with(2);
    ended.stderr_contains("8 of 8 runs are missing");
    ended.stdout_contains("8 of 8 planned runs are missing");
    assert_eq!(stages(&space).0, ["pending"; 8]);
}

/// Two files of one name have one directory by default.
#[test]
fn a_plan_is_shown_where_another_experiment_stands() {
    let space = Space::new();
    let file = written(&space, once);
    Ended::of(&mut experiment(&space, &file, &["--quiet"])).with(0);
    let other = space.file("other.yaml", &EXPERIMENT.replace("30ms", "40ms"));
    let ended = Ended::of(&mut experiment(&space, &other, &["--plan"])).with(0);
    ended.stdout_contains("delay=40ms");
    ended.stdout_contains("4 of its 4 runs made: give --dir for this one");
    assert!(!ended.out.contains("  done"), "{}", ended.out);
    Ended::of(&mut experiment(&space, &other, &[]))
        .with(65)
        .stderr_contains("begin another with --dir");
}

#[test]
fn a_changed_experiment_is_refused() {
    let space = Space::new();
    let file = written(&space, |text| text.replace("repetitions: 2", "repetitions: 1"));
    Ended::of(&mut experiment(&space, &file, &["--quiet"])).with(0);
    space.file("scenario.yaml", &SCENARIO.replace("300ms", "400ms"));
    let ended = Ended::of(&mut experiment(&space, &file, &[])).with(65);
    ended.stderr_contains("has changed since the experiment in");
    ended.stderr_contains("4 of its 4 runs were made as it was");
}

/// Also where only a level names the file.
#[test]
fn a_changed_file_is_refused_whichever_level_names_it() {
    let space = Space::new();
    let data = "data: { names: { file: a.csv } }\nsessions:";
    let scenario = SCENARIO.replace("sessions:", data);
    let file = written(&space, |text| {
        once(text).replace("rate: [20/s, 40/s]", "data.names.file: [a.csv, b.csv]")
    });
    space.file("scenario.yaml", &scenario);
    space.file("a.csv", "name\nanna\n");
    space.file("b.csv", "name\nbert\n");
    Ended::of(&mut experiment(&space, &file, &["--quiet"])).with(0);
    space.file("b.csv", "name\nbodo\n");
    Ended::of(&mut experiment(&space, &file, &[]))
        .with(65)
        .stderr_contains("has changed since the experiment in");
}

#[test]
fn files_of_a_built_in_target_are_relative_to_the_scenario_and_fixed() {
    let space = Space::new();
    let scenario = "\
target: { ads: { threads: 1, ads: 200, long-list: 100, publishers: table.csv } }
params: { rate: 20/s }
options: { lag_max: 10s }
sessions: { one: [ { get: /publishers/abc/api/, as: ad, status: 200 } ] }
arrivals: [ { constant: \"${rate}\", for: 300ms }, { hold: 100ms } ]
";
    let scenario = space.file("scenario.yaml", scenario);
    let text = "scenario: scenario.yaml\nfactors: { rate: [20/s, 40/s] }\n\
                responses: [min(ad)]\nrepetitions: 1\npause: 0\n";
    let file = space.file("it.yaml", text);
    let gone = "`table.csv` cannot be read";
    Ended::of(throng(["check"]).arg(&scenario)).with(65).stderr_contains(gone);
    let table = "publisher,session_probability,impression,redeem,click,convert\nabc,1,0,0,0,0\n";
    space.file("table.csv", table);
    Ended::of(throng(["check"]).arg(&scenario)).with(0);
    Ended::of(&mut experiment(&space, &file, &["--quiet"])).with(0);
    space.file("table.csv", &table.replace("abc", "abd"));
    Ended::of(&mut experiment(&space, &file, &[]))
        .with(65)
        .stderr_contains("has changed since the experiment in");
}

#[test]
fn runs_that_cannot_be_trusted_are_left_out() {
    let space = Space::new();
    let file = written(&space, |text| {
        text.replace("repetitions: 2", "repetitions: 1") + "set: { options.lag_max: 1ns }\n"
    });
    let ended = Ended::of(&mut experiment(&space, &file, &[])).with(2);
    ended.stdout_contains("untrusted");
    ended.stdout_contains("4 runs excluded");
    let analysis = json(&space.path("out/analysis.json"));
    assert_eq!(analysis["left_out"].as_array().unwrap().len(), 4);
    assert!(analysis["responses"][0]["fit"].is_null());
    // They exist, so nothing is run, unless they are to be run again.
    let again = Ended::of(&mut experiment(&space, &file, &[])).with(2);
    assert!(!again.err.contains("run 1 of 4"), "{}", again.err);
    let repeated = Ended::of(&mut experiment(&space, &file, &["--retry"])).with(2);
    repeated.stderr_contains("run 1 of 4");
    repeated.stderr_contains("run 4 of 4");
}

#[test]
fn hooks_run_around_each_run_and_may_fail() {
    let space = Space::new();
    let log = space.path("log").display().to_string();
    let file = written(&space, |text| {
        let before = format!(
            "before: 'echo $THRONG_RUN $THRONG_DELAY >> {log}'\nafter: 'echo after >> {log}'\n"
        );
        text.replace("repetitions: 2", "repetitions: 1") + &before
    });
    Ended::of(&mut experiment(&space, &file, &["--quiet"])).with(0);
    let said = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 8);
    assert!(lines[0].starts_with("1 ") && lines[0].ends_with("ms") && lines[1] == "after");

    let space = Space::new();
    let file = written(&space, |text| text + "before: exit 3\n");
    let ended = Ended::of(&mut experiment(&space, &file, &[])).with(69);
    ended.stderr_contains("3 consecutive runs failed");
    ended.stderr_contains("exit status: 3");
    assert_eq!(stages(&space).0[..4], ["failed", "failed", "failed", "pending"]);
    // Fixed, with the option to run them again.
    let file = written(&space, |text| text + "before: exit 3\n");
    let text = Ended::of(&mut experiment(&space, &file, &["--plan"])).with(0).out;
    assert!(text.contains("failed"), "{text}");
}

#[test]
fn factors_that_do_not_fit_the_scenario_have_positions() {
    let refused = |change: &dyn Fn(String) -> String, wanted: &[&str]| {
        let space = Space::new();
        let file = written(&space, change);
        let ended = Ended::of(&mut experiment(&space, &file, &[])).with(65);
        for wanted in wanted {
            ended.stderr_contains(wanted);
        }
        assert!(!space.path("out").exists());
    };
    refused(
        &|text| text.replace("20/s, 40/s", "20/s, forty"),
        &["`forty` is not a rate", "`forty` cannot be a level of `rate`", "it.yaml:4:16"],
    );
    refused(
        &|text| text.replace("rate: [", "rato: ["),
        &["there is no parameter and no key `rato`", "cannot be a level of `rato`"],
    );
    refused(
        &|text| text.replace("30ms", "30"),
        &["`30` cannot be a level of `delay`", "`30` has no unit"],
    );
    refused(
        &|text| text.replace("market.delay", "market.delays"),
        &[
            "`delays` is no setting of the market",
            "did you mean `delay`?",
            "cannot be a level of `delay`",
        ],
    );
    refused(
        &|text| text.replace("min(request)", "min(requests)"),
        &["the runs have no figure `min(requests)`", "did you mean `request`?"],
    );
    refused(&|text| text + "time_max: 3s\n", &["8 runs would take 3.2 s, and `time_max` is 3 s"]);
    refused(&|text| text.replace("scenario.yaml", "scenario.yaml\nset: { lod: 5 }"), &["`lod`"]);
}

#[test]
fn missing_files_are_named() {
    let space = Space::new();
    Ended::of(&mut throng(["experiment", "nowhere.yaml"])).with(66).stderr_contains("nowhere.yaml");
    let file = space.file("it.yaml", EXPERIMENT);
    Ended::of(&mut experiment(&space, &file, &[])).with(66).stderr_contains("scenario.yaml");
    Ended::of(throng(["experiment", "--resume"]).arg(space.path("")))
        .with(66)
        .stderr_contains("experiment.json");
    Ended::of(&mut throng(["experiment"])).with(64);
    Ended::of(&mut throng(["experiment", "--analyze", "nowhere.csv"])).with(66);
    let table = space.file("bad.csv", "a,b\n1,x\n");
    Ended::of(throng(["experiment", "--analyze"]).arg(table))
        .with(65)
        .stderr_contains("line 2: column \"b\": \"x\" is not a number");
}

#[test]
fn the_plan_lists_order_and_duration() {
    let mut command =
        throng(["experiment", "examples/experiments/market.yaml", "--plan", "--dir", "nowhere"]);
    let ended = Ended::of(command.current_dir(root())).with(0);
    golden("experiment-plan", &ended.out);
}

#[test]
fn tables_from_elsewhere_are_analysed() {
    for (name, args) in [
        ("queue-throughput", &["examples/experiments/queue-throughput.csv"][..]),
        ("sweep", &["testdata/cli/sweep.csv"]),
        ("fraction", &["testdata/cli/fraction.csv", "--multiplicative", "--confidence", "90%"]),
    ] {
        let mut command = throng(["experiment", "--analyze"]);
        let ended = Ended::of(command.args(args).current_dir(root())).with(0);
        golden(&format!("experiment-{name}"), &ended.out);
    }
}

#[test]
fn the_lessons_of_the_market_are_planned() {
    let mut command = throng(["experiment", "examples/market/lessons-experiment.yaml", "--plan"]);
    let ended = Ended::of(command.current_dir(root())).with(0);
    ended.stdout_contains("48 runs");
    let experiment = "examples/market/distributions-experiment.yaml";
    let mut command = throng(["experiment", experiment, "--plan"]);
    Ended::of(command.current_dir(root())).with(0).stdout_contains("24 runs");
}

#[test]
fn the_experiments_on_the_queue_are_planned() {
    for (example, runs) in [
        ("examples/queue/database.yaml", "90 runs"),
        ("examples/queue/echo.yaml", "24 runs"),
        ("examples/queue/maximum.yaml", "24 runs"),
        ("examples/queue/choices.yaml", "48 runs"),
        ("examples/queue/factorial.yaml", "24 runs"),
        ("examples/queue/scalability.yaml", "18 runs"),
        ("examples/queue/alone.yaml", "63 runs"),
        ("examples/queue/waits.yaml", "9 runs"),
        ("examples/queue/indexes.yaml", "36 runs"),
    ] {
        let mut command = throng(["experiment", example, "--plan"]);
        command.env("QUEUE_STORE", "postgres://me@127.0.0.1:5432/queue");
        command.env("QUEUE_DATABASE", "tcp://127.0.0.1:5432").env("QUEUE_PASSWORD", "secret");
        let ended = Ended::of(command.current_dir(root())).with(0);
        ended.stdout_contains(runs);
        assert!(!ended.err.contains("is never used"), "{}", ended.err);
    }
}

#[test]
fn the_experiments_on_balancers_are_planned() {
    for (example, runs) in [
        // A run ends when its users are done, within five minutes.
        ("examples/balancer/s4.yaml", "144 runs, 3 min 36 s to 12 h 3 min with pauses"),
        ("examples/balancer/situations.yaml", "594 runs"),
        ("examples/balancer/machines.yaml", "30 runs"),
    ] {
        let mut command = throng(["experiment", example, "--plan"]);
        let ended = Ended::of(command.current_dir(root())).with(0);
        ended.stdout_contains(runs);
    }
}

/// The example, each of its runs cut to a moment and made once.
#[test]
fn the_example_runs() {
    let space = Space::new();
    let text = std::fs::read_to_string(root().join("examples/experiments/market.yaml")).unwrap();
    let scenario = root().join("examples/football-quick.yaml");
    let text = text
        .replace("../football-quick.yaml", &scenario.display().to_string())
        .replace("arrivals.0.for: 5s", "arrivals.0.for: 300ms")
        .replace("hold: 15s", "hold: 300ms")
        .replace("options.lag_max: 250ms", "options.lag_max: 10s")
        .replace("levels: [100/s, 400/s]", "levels: [20/s, 40/s]")
        .replace("repetitions: 3", "repetitions: 1")
        .replace("pause: 2s", "pause: 0");
    let file = space.file("market.yaml", &text);
    let ended = Ended::of(&mut experiment(&space, &file, &[])).with(0);
    ended.stderr_contains("run 8 of 8");
    assert_eq!(stages(&space).0, ["done"; 8]);
}

/// The chat's transports, cut to a moment.
#[test]
fn the_transports_run() {
    let space = Space::new();
    let text = std::fs::read_to_string(root().join("examples/chat/transports.yaml")).unwrap();
    let scenario = root().join("examples/chat/two-clients.yaml");
    let text = text
        .replace("two-clients.yaml", &scenario.display().to_string())
        .replace("design: full", "design: full\nset: { stay: 200ms }\npause: 0");
    let file = space.file("transports.yaml", &text);
    let ended = Ended::of(&mut experiment(&space, &file, &[])).with(0);
    ended.stderr_contains("run 10 of 10");
    assert_eq!(stages(&space).0, ["done"; 10]);
}

/// The published ensemble, of a second each: five scenarios, the runs of each in groups.
#[test]
fn an_ensemble_runs_and_its_modes_are_reported() {
    let space = Space::new();
    let example = root().join("examples/ads/ensemble.yaml");
    let text = std::fs::read_to_string(&example).unwrap();
    let scenario = root().join("examples/ads/network.yaml");
    let text = text
        .replace("network.yaml", &scenario.display().to_string())
        .replace("baseline: {}", "baseline: { length: 1s, think: 100ms }")
        .replace("largest: 0.690056", "largest: 0.690056, length: 1s, think: 100ms")
        .replace("think: 60s", "think: 200ms, length: 1s")
        .replace("length: 90s", "length: 1500ms, think: 100ms")
        .replace("servers: 4", "servers: 4, length: 1s, think: 100ms")
        .replace("repetitions: 5", "repetitions: 3\nset: { options.lag_max: 10s }\npause: 0");
    let file = space.file("it.yaml", &text);
    let ended = Ended::of(&mut experiment(&space, &file, &[])).with(0);
    ended.stderr_contains("run 15 of 15");
    ended.stdout_contains("ENSEMBLES ad");
    let analysis = json(&space.path("out/analysis.json"));
    let ensembles = analysis["ensembles"].as_array().unwrap();
    let levels: Vec<&str> = ensembles.iter().map(|e| e["levels"][0].as_str().unwrap()).collect();
    let named =
        ["baseline", "largest source doubled", "longer sessions", "longer run", "all doubled"];
    assert_eq!(levels, named);
    for ensemble in ensembles {
        assert_eq!(ensemble["runs"].as_array().unwrap().len(), 3, "{ensemble}");
        let measure = &ensemble["measures"][0];
        assert_eq!(measure["name"], "ad");
        assert_eq!(measure["direct"]["pairs"].as_array().unwrap().len(), 3);
        let counts = measure["counts"].as_array().unwrap().iter();
        let counts: Vec<u64> = counts.map(|count| count.as_u64().unwrap()).collect();
        let edges = measure["edges_ns"].as_array().unwrap().len();
        let runs = ensemble["runs"].as_array().unwrap().iter();
        let numbers: Vec<u64> = runs.map(|run| run["number"].as_u64().unwrap()).collect();
        for tested in measure["tested"].as_array().unwrap() {
            let modes = tested["modes"].as_array().unwrap();
            // Every run is in some mode, and a mode has all operations of its runs.
            for number in &numbers {
                let is_in =
                    |mode: &Value| mode["runs"].as_array().unwrap().iter().any(|n| n == number);
                assert!(modes.iter().any(is_in), "{tested}");
            }
            for mode in modes {
                let of_run = |number: &Value| {
                    let at = numbers.iter().position(|n| number == n).unwrap();
                    counts[at]
                };
                let of_runs: u64 = mode["runs"].as_array().unwrap().iter().map(of_run).sum();
                let bins = mode["histogram"]["counts"].as_array().unwrap();
                let binned: u64 = bins.iter().map(|count| count.as_u64().unwrap()).sum();
                assert_eq!(mode["count"], of_runs);
                assert_eq!((binned, bins.len() + 1), (of_runs, edges));
            }
        }
    }
    // In full it is another experiment.
    let ended = Ended::of(&mut experiment(&space, &file, &["--full"])).with(65);
    ended.stderr_contains("has changed");
}

#[test]
fn a_run_whose_target_dies_does_not_count() {
    let space = Space::new();
    let scenario = SCENARIO.replace("hold: 100ms", "hold: \"${hold}\"");
    let scenario = scenario.replace("params: {", "params: { hold: 100ms,");
    space.file("scenario.yaml", &scenario);
    let text = "scenario: scenario.yaml\nfactors: { hold: [100ms, 100s] }\n\
                responses: [min(request)]\nrepetitions: 1\npause: 0\n";
    let file = space.file("it.yaml", text);
    let mut running = Running::start(&mut experiment(&space, &file, &[]));
    let line = loop {
        let line = running.progress();
        if line.starts_with("run ") && line.contains("100s") {
            break line;
        }
    };
    let number: usize = line.split(' ').nth(1).unwrap().parse().unwrap();
    let begun = || {
        let runs = std::fs::read_dir(space.path("out/runs"));
        let runs = runs.into_iter().flatten().flatten();
        runs.filter(|run| run.path().join("events.jsonl").exists()).count()
    };
    while begun() < number {
        std::thread::yield_now();
    }
    running.kill_child();
    let ended = running.end().with(2);
    ended.stderr_contains("the target market exited during the run");
    let (stages, directories) = stages(&space);
    assert!(stages.contains(&"failed".to_owned()), "{stages:?}");
    assert_eq!(directories.len(), 2, "what was made of it is named");
    let analysis = json(&space.path("out/analysis.json"));
    assert_eq!(analysis["left_out"].as_array().unwrap().len(), 1);
}

#[test]
fn runs_without_measures_cannot_be_compared() {
    let space = Space::new();
    let file = written(&space, |text| text + "compare: { measures: [request, nothing] }\n");
    let ended = Ended::of(&mut experiment(&space, &file, &["--plan"])).with(65);
    ended.stderr_contains("the runs have no measure `nothing`");
}

#[test]
fn an_unusable_experiment_is_refused_before_any_run() {
    let refused = |change: &dyn Fn(String) -> String, wanted: &str| {
        let space = Space::new();
        let file = written(&space, change);
        Ended::of(&mut experiment(&space, &file, &["--plan"])).with(65).stderr_contains(wanted);
    };
    let compare = "compare: { measures: request }\n";
    refused(
        &|text| text.replace("repetitions: 2", "repetitions: 101") + compare,
        "`compare` accepts at most 100 runs per combination, and `repetitions` is 101",
    );
    refused(&|text| text + &compare.replace(" }", ", skip: 10m }"), "`compare` skips 10 min");
}

/// The first factor takes 1 or 40 ms, the second one nothing of that: as few repetitions as the rule needs.
#[test]
fn an_experiment_ends_once_its_effects_are_decided() {
    let space = Space::new();
    let file = written(&space, |text| {
        text.replace("30ms", "40ms")
            .replace("  rate: [20/s, 40/s]\n", "")
            .replace("responses: [min(request), count(request)]", "responses: [mean(request)]")
    });
    let until = ["--until", "decided", "--difference", "50%"];
    let begun = [&until[..], &["--budget", "1ms"]].concat();
    let refused = Ended::of(&mut experiment(&space, &file, &begun)).with(65);
    refused.stderr_contains("a repetition takes ").stderr_contains(", and the budget is ");
    let ended = Ended::of(&mut experiment(&space, &file, &until)).with(0);
    ended.stderr_contains("run 3 (repetition 2): ").stdout_contains("decided after ");
    let state = json(&space.path("out/experiment.json"));
    assert_eq!(state["until"]["difference"], 0.5);
    let runs = state["runs"].as_array().unwrap();
    let analysis = json(&space.path("out/analysis.json"));
    let decision = &analysis["decision"];
    let counted = decision["repetitions"].as_u64().unwrap();
    let repeated = state["disturbed"].as_array().map_or(0, Vec::len) as u64;
    // More than the file counts, and no run after the decision.
    assert!((6..=20).contains(&counted), "{counted}");
    assert!(runs.len() as u64 <= 2 * (counted + repeated), "{state}");
    let effect = &decision["effects"][0];
    assert_eq!((&effect["factor"], &effect["verdict"]), (&"delay".into(), &"higher".into()));
    assert!(decision["repetitions_expected"].as_u64().unwrap() > 0);

    // It is decided: the same command makes no further run, and one that ends otherwise is refused.
    let again = Ended::of(&mut experiment(&space, &file, &until)).with(0);
    assert!(!again.err.contains("(repetition"), "{}", again.err);
    Ended::of(&mut experiment(&space, &file, &[])).with(65).stderr_contains("--until decided");
    let mut resumed = throng(["experiment", "--resume"]);
    Ended::of(resumed.arg(space.path("out"))).with(0).stdout_contains("decided after ");
    let mut analyzed = throng(["experiment", "--analyze"]);
    Ended::of(analyzed.arg(space.path("out"))).with(0).stdout_contains("decided after ");
}

/// The budget ends it, and more of it continues it.
#[test]
fn an_experiment_that_is_undecided_continues_with_another_budget() {
    let space = Space::new();
    let file = written(&space, |text| {
        text.replace("[1ms, 30ms]", "[2ms, 3ms]")
            .replace("  rate: [20/s, 40/s]\n", "")
            .replace("responses: [min(request), count(request)]", "responses: [mean(request)]")
    });
    let until = ["--until", "decided", "--difference", "0.01%", "--budget", "3s"];
    Ended::of(&mut experiment(&space, &file, &until)).with(2).stdout_contains("undecided after ");
    let runs = |space: &Space| {
        let state = json(&space.path("out/experiment.json"));
        state["runs"].as_array().unwrap().len()
    };
    let before = runs(&space);
    let mut resumed = throng(["experiment", "--budget", "3s", "--resume"]);
    let resumed = Ended::of(resumed.arg(space.path("out")));
    assert!(matches!(resumed.code, Some(0 | 2)), "{}", resumed.err);
    assert!(runs(&space) > before);
}
