//! One long run as an ensemble of its windows.

use std::path::Path;

use compare::{CompareError, Options, compare};
use record::Run;
use testkit::runs::SECOND;
use testkit::runs::made::Made;

/// A run of a minute that answers 20 a second in 10 ms, and from `slow_from_s` on in 30.
fn run(root: &Path, id: &str, slow_from_s: f64) -> Run {
    let made = Made::answering(60, |s| if s < slow_from_s { 10.0 } else { 30.0 });
    made.write_into(root, |info| info.id = id.to_owned())
}

fn windows(seconds: u64) -> Options {
    Options { window_ns: Some(seconds * SECOND), force: true, ..Options::default() }
}

#[test]
fn windows_of_one_run_are_compared_as_runs_are() {
    let root = tempfile::tempdir().unwrap();
    let long = run(root.path(), "long", 30.0);
    assert!(matches!(compare(&[long], &[], &Options::default()), Err(CompareError::Single)));
    let long = run(root.path(), "longer", 30.0);
    let found = compare(&[long], &[], &windows(10)).unwrap();
    assert_eq!(found.runs.len(), 6);
    assert!(found.runs.iter().all(|run| run.id == "longer" && run.seconds == 10.0));
    let starts: Vec<u64> =
        found.runs.iter().map(|run| run.started_unix_ns - found.runs[0].started_unix_ns).collect();
    assert_eq!(starts, [0, 10, 20, 30, 40, 50].map(|s| s * SECOND));
    let measure = &found.measures[0];
    assert!(measure.runs.iter().all(|run| run.count == 200), "{:?}", measure.runs);
    let means = measure.runs.iter().map(|run| run.mean_ns.unwrap());
    let slow: Vec<bool> = means.map(|mean| mean > 20e6).collect();
    assert_eq!(slow, [false, false, false, true, true, true]);
    let finding = found.findings.iter().find(|one| one.code == "windows-for-runs").unwrap();
    assert!(
        finding.text.starts_with("compared are 6 windows of 10 s of 1 run"),
        "{}",
        finding.text
    );
}

#[test]
fn windows_of_both_sides_are_permuted() {
    let root = tempfile::tempdir().unwrap();
    let before = run(root.path(), "before", 60.0);
    let after = run(root.path(), "after", 0.0);
    let found = compare(&[after], &[before], &windows(10)).unwrap();
    let labels: Vec<&str> = found.runs.iter().map(|run| run.label.as_str()).collect();
    assert_eq!(labels, ["B1", "B2", "B3", "B4", "B5", "B6", "C1", "C2", "C3", "C4", "C5", "C6"]);
    assert_eq!(found.rule, Some(compare::Rule::Permutation));
    assert!(found.measures[0].changes.iter().any(|change| change.counts), "{found:?}");
}

#[test]
fn windows_that_are_too_many_are_not_listed() {
    let root = tempfile::tempdir().unwrap();
    let long = run(root.path(), "long", 60.0);
    let tiny = Options { window_ns: Some(1), ..windows(1) };
    let error = compare(&[long], &[], &tiny).unwrap_err();
    assert!(matches!(error, CompareError::TooMany(count) if count > 100), "{error}");
}

#[test]
fn a_run_that_is_shorter_than_a_window_is_an_error() {
    let root = tempfile::tempdir().unwrap();
    let short = run(root.path(), "short", 60.0);
    let error = compare(&[short], &[], &windows(61)).unwrap_err();
    assert!(error.to_string().contains("shorter than a window"), "{error}");
    let single = run(root.path(), "single", 60.0);
    assert!(matches!(compare(&[single], &[], &windows(40)), Err(CompareError::Single)));
}
