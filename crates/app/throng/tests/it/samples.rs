//! Samples of another tool: imported, shown, exported and compared.

use std::fmt::Write as _;
use std::fs;

use record::Run;
use record::schema::Summary;
use serde_json::Value;

use crate::support::{Ended, Space, root, throng};

/// Samples in milliseconds, and their figures by NumPy.
fn cases() -> Vec<Value> {
    let text = fs::read_to_string(root().join("testdata/golden/samples.json")).unwrap();
    let golden: Value = serde_json::from_str(&text).unwrap();
    golden["cases"].as_array().unwrap().clone()
}

fn numbers(case: &Value) -> Vec<f64> {
    let samples = case["samples_ms"].as_array().unwrap().iter();
    samples.map(|sample| sample.as_f64().unwrap()).collect()
}

/// A file with the samples of each case, one a line.
fn write_files(space: &Space) -> Vec<String> {
    let write = |case: &Value| {
        let name = format!("{}.txt", case["name"].as_str().unwrap());
        let lines = numbers(case).iter().fold(String::new(), |mut text, ms| {
            writeln!(text, "{ms}").unwrap();
            text
        });
        fs::write(space.path(&name), lines).unwrap();
        name
    };
    cases().iter().map(write).collect()
}

fn import(space: &Space, files: &[&str], args: &[&str]) -> Ended {
    let mut command = throng(["import"]);
    command.args(files).args(args).current_dir(space.path(""));
    Ended::of(&mut command)
}

const PLAIN: &[&str] = &["--measure", "checkout", "--unit", "ms"];

/// The run directories whose names contain `part`, in order, relative to the space.
fn runs(space: &Space, part: &str) -> Vec<String> {
    let entries = fs::read_dir(space.path("runs")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.contains(part)).collect();
    names.sort();
    names.iter().map(|name| format!("runs/{name}")).collect()
}

fn in_space(space: &Space, args: &[&str], runs: &[String]) -> Ended {
    let mut command = throng(args);
    command.args(runs).current_dir(space.path(""));
    Ended::of(&mut command)
}

#[test]
fn figures_of_imported_samples_are_those_of_numpy() {
    let space = Space::new();
    let files = write_files(&space);
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    import(&space, &files, PLAIN)
        .with(0)
        .stdout_contains("IMPORTED samples")
        .stdout_contains("another generator measured these results")
        .stdout_contains("checkout");
    for case in cases() {
        let name = case["name"].as_str().unwrap();
        let [run] = &runs(&space, name)[..] else { panic!("{name} is not one run") };
        let shown = in_space(&space, &["show", "--json"], std::slice::from_ref(run)).with(0);
        let summary: Summary = serde_json::from_str(&shown.out).unwrap();
        let measure = &summary.measures[0];
        assert_eq!((measure.name.as_str(), measure.count, measure.errors), ("checkout", 600, 0));
        assert_eq!((&measure.service, &measure.lag), (&None, &None));
        let found = measure.response.as_ref().unwrap();
        for (figure, ns, precision) in [
            ("mean_ms", found.mean_ns, 5e-4),
            ("min_ms", found.min_ns as f64, 5e-4),
            ("p50_ms", found.p50_ns as f64, 1e-3),
            ("p90_ms", found.p90_ns as f64, 1e-3),
            ("p99_ms", found.p99_ns as f64, 1e-3),
            ("max_ms", found.max_ns as f64, 0.0),
        ] {
            let expected = case[figure].as_f64().unwrap() * 1e6;
            let apart = (ns - expected).abs();
            assert!(apart <= expected * precision + 0.5, "{name} {figure}: {ns} and {expected}");
        }
        let opened = Run::open(&space.path(run)).unwrap();
        assert!(opened.is_complete(), "{:?}", opened.missing());
        let shown = in_space(&space, &["show"], std::slice::from_ref(run)).with(0);
        assert!(shown.out.starts_with("IMPORTED") && !shown.out.contains("over time"));
        in_space(&space, &["export", "--csv", "csv"], std::slice::from_ref(run)).with(0);
        let measures = fs::read_to_string(space.path("csv/measures.csv")).unwrap();
        assert!(measures.contains("checkout"), "{measures}");
    }
}

#[test]
fn a_shift_between_imported_samples_is_found_and_equal_ones_do_not_differ() {
    let space = Space::new();
    let files = write_files(&space);
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    import(&space, &files, &[PLAIN, &["--quiet"]].concat()).with(0);
    let old = runs(&space, "old");
    let new = runs(&space, "new");
    let compare = |candidate: &str, baseline: &str| {
        in_space(&space, &["compare", candidate, "--json", "--baseline", baseline], &[])
    };
    let ended = compare(&new[0], &old[0]).with(1);
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(json["verdict"], "slower", "{}", ended.out);
    let measure = &json["measures"][0];
    assert_eq!(measure["source"], "rows");
    assert!(measure["runs"][0]["rate"].is_null(), "nobody knows the rate");
    let changes = measure["changes"].as_array().unwrap();
    assert!(changes.iter().all(|change| change["figure"] != "rate"));
    // Rows are exact: figures are NumPy's to the nanosecond.
    let cases = cases();
    for (run, case) in [(0, &cases[0]), (1, &cases[2])] {
        let found = &measure["runs"][run];
        for (place, figure) in [(0, "p50_ms"), (1, "p90_ms"), (3, "p99_ms")] {
            let ns = found["quantiles_ns"][place].as_f64().unwrap();
            assert!((ns - case[figure].as_f64().unwrap() * 1e6).abs() < 1.0, "{figure} {ns}");
        }
        let mean = found["mean_ns"].as_f64().unwrap();
        assert!((mean / (case["mean_ms"].as_f64().unwrap() * 1e6) - 1.0).abs() < 1e-9);
    }
    let alike = compare(&old[1], &old[0]).with(0);
    assert!(alike.out.contains("\"no_difference\""), "{}", alike.out);
    // Two runs a side, as text, and from histograms.
    let sides = [&["compare"], &[new[0].as_str(), &new[1], "--baseline", &old[0], &old[1]][..]];
    in_space(&space, &sides.concat(), &[]).with(1).stdout_contains("SLOWER");
    in_space(&space, &[&sides.concat()[..], &["--memory", "1B", "--full"]].concat(), &[])
        .with(1)
        .stdout_contains("computed from histograms");
}

#[test]
fn columns_become_runs_and_start_times_give_rates() {
    let space = Space::new();
    let before = numbers(&cases()[0]);
    let after = numbers(&cases()[2]);
    let mut text = "timeStamp,label,before,after\n".to_owned();
    // Two in each second.
    for (place, (before, after)) in before.iter().zip(&after).enumerate() {
        let at = 1_766_000_000_000 + place as u64 * 500;
        writeln!(text, "{at},\"GET /, cached\",{before},{after}").unwrap();
    }
    fs::write(space.path("both.csv"), text).unwrap();
    let columns = ["--column", "before", "--column", "after"];
    let start = ["--start-column", "timeStamp", "--start-unit", "ms"];
    let args = [PLAIN, &columns, &start, &["--name", "shop"]].concat();
    import(&space, &["both.csv"], &args).with(0).stdout_contains("2.00/s");
    let made = runs(&space, "shop-both");
    assert_eq!(made.len(), 2);
    for run in &made {
        assert!(run.starts_with("runs/20251217T193320-shop-both-"), "{run}");
    }
    let series = Run::open(&space.path(&made[0])).unwrap().series().unwrap();
    assert_eq!(series.iter().map(|row| row.done).sum::<u64>(), 600);
    let compare = ["compare", &made[0], "--json", "--baseline", &made[1]];
    let ended = in_space(&space, &compare, &[]).with(1);
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(json["verdict"], "slower");
    let rate = json["measures"][0]["runs"][0]["rate"].as_f64().unwrap();
    assert!((rate - 2.0).abs() < 0.01, "{rate}");
    // The same samples again are no other run.
    import(&space, &["both.csv"], &args).with(73).stderr_contains("already been imported");
}

#[test]
fn bad_samples_are_refused_with_their_place_and_leave_nothing() {
    let space = Space::new();
    for (text, args, code, expected) in [
        ("1\nx\n", &[][..], 65, "bad.csv, line 2: \"x\" is not a number; expected a time in ms"),
        ("1\n-2\n", &[], 65, "bad.csv, line 2: -2 is negative"),
        ("inf\n", &[], 65, "bad.csv, line 1: inf is not finite"),
        ("", &[], 65, "bad.csv, there are no samples"),
        ("a,b\n1,2\n", &["--column", "c"], 65, "line 1 has no column \"c\", but \"a\", \"b\""),
        ("a\n1\n", &["--column", "a", "--column", "a"], 64, "column \"a\" is given twice"),
        ("1\n", &["--as", "thesis"], 64, "--as does not apply"),
        ("1\n", &["--output", "x"], 64, "--output does not apply"),
    ] {
        fs::write(space.path("bad.csv"), text).unwrap();
        let ended = import(&space, &["bad.csv"], &[PLAIN, args].concat()).with(code);
        // Lines are wrapped.
        let words = |text: &str| {
            let text = text.replace(['\u{2502}', '|'], " ");
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert!(words(&ended.err).contains(expected), "{expected}: {}", ended.err);
        assert!(!space.path("runs").exists(), "{text:?}");
    }
    // A good file before a bad one is not imported either.
    fs::write(space.path("bad.csv"), "1\nx\n").unwrap();
    fs::write(space.path("good.csv"), "1\n").unwrap();
    import(&space, &["good.csv", "bad.csv"], PLAIN).with(65);
    assert!(!space.path("runs").exists());
    for (args, expected) in [
        (&["--measure", "x"][..], "--unit is missing"),
        (&["--unit", "ms"], "--measure is missing"),
    ] {
        import(&space, &["good.csv"], args).with(64).stderr_contains(expected);
    }
    import(&space, &["good.csv", "bad.csv"], &[])
        .with(64)
        .stderr_contains("one is imported at a time");
}

/// JMeter's results of four runs a side. All answers of the old ones take about 200 ms; half of those of the new ones are
/// failures that take 5 ms.
fn write_fast_failures(space: &Space) -> Vec<String> {
    let mut files = Vec::new();
    for side in ["old", "new"] {
        for run in 0..4_u64 {
            let mut text = "timeStamp,elapsed,label,responseCode,success\n".to_owned();
            for k in 0..400_u64 {
                let at = 1_675_412_206_000 + 10 * k;
                let is_bad = side == "new" && (k + run) % 2 == 0;
                let elapsed = if is_bad { 5 } else { 185 + k * (7 + run) % 31 };
                let status = if is_bad { 503 } else { 200 };
                writeln!(text, "{at},{elapsed},Test,{status},{}", !is_bad).unwrap();
            }
            let name = format!("{side}{run}.csv");
            fs::write(space.path(&name), text).unwrap();
            files.push(name);
        }
    }
    files
}

#[test]
fn fast_failures_of_another_tool_are_failures() {
    let columns = ["--column", "elapsed", "--start-column", "timeStamp", "--start-unit", "ms"];
    let by_columns = [PLAIN, &columns];
    for args in [Vec::new(), by_columns.concat()] {
        let space = Space::new();
        let files = write_fast_failures(&space);
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        import(&space, &files, &[&args[..], &["--quiet"]].concat()).with(0);
        let new = runs(&space, "-new");
        let old = runs(&space, "-old");
        assert_eq!((new.len(), old.len()), (4, 4));
        let sides = [&new[..], &["--baseline".to_owned()], &old[..]].concat();
        let ended = in_space(&space, &["compare", "--json"], &sides).with(1);
        let json: Value = serde_json::from_str(&ended.out).unwrap();
        assert_eq!(json["verdict"], "more_errors", "{}", ended.out);
        let failure = &json["errors"][0];
        assert_eq!(
            (failure["kind"].as_str(), failure["detail"].as_str()),
            (Some("status"), Some("503"))
        );
        let shown = in_space(&space, &["show", "--json"], &new[..1]).with(0);
        let summary: Summary = serde_json::from_str(&shown.out).unwrap();
        assert_eq!((summary.measures[0].count, summary.measures[0].errors), (400, 200));
        assert_eq!(
            (summary.errors[0].step.as_str(), summary.errors[0].count),
            (summary.measures[0].name.as_str(), 200)
        );
    }
}

#[test]
fn results_are_recognised_and_reports_are_refused_with_what_they_lack() {
    let space = Space::new();
    for (name, text, expected) in [
        (
            "simulation.log",
            "RUN\ta.Sim\tsim\t1675412206000\t \t3.9.5\n\
             REQUEST\t\tpay\t1675412206263\t1675412206476\tOK\t \n",
            "(Gatling, text log)",
        ),
        (
            "raw.csv",
            "group,function,value,throughput_num,throughput_type,sample_measured_value,unit,iteration_count\n\
             algo,f,,,,5332271.0,ns,4\n",
            "algo/f",
        ),
        ("h2load.tsv", "1675412206263000\t200\t213\n", "h2load, log"),
    ] {
        fs::write(space.path(name), text).unwrap();
        import(&space, &[name], &[]).with(0).stdout_contains(expected);
    }
    let report = "Running 30s test @ http://x/\n  2 threads and 10 connections\n";
    fs::write(space.path("wrk.txt"), report).unwrap();
    import(&space, &["wrk.txt"], &[]).with(65).stderr_contains("percentiles of all requests");
    import(&space, &["raw.csv"], &["--unit", "ms"]).with(65).stderr_contains("leave out --unit");
    import(&space, &["raw.csv"], &["--output", "x"]).with(64).stderr_contains("--output");
}
