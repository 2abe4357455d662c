//! What goes wrong, each with what is said of it and the exit code.

mod abort;
mod interrupt;
mod peers;
mod preflight;
mod system;
mod target;
mod tls;
mod until;

use record::schema::{EventKind, Summary};

use crate::support::{Ended, Space, root, throng};

/// Checks a scenario that is wrong: `testdata/scenarios/bad/NAME.yaml`.
fn checked(name: &str) -> Ended {
    let path = root().join("testdata/scenarios/bad").join(name);
    let checked = Ended::of(throng(["check"]).arg(&path)).with(65);
    // A run of it does not begin.
    let runs = Space::new().path("runs");
    let run = Ended::of(throng(["run", "--runs"]).args([&runs, &path])).with(65);
    assert_eq!(run.err, checked.err);
    assert!(!runs.exists());
    checked
}

#[test]
fn malformed_yaml() {
    checked("malformed-yaml.yaml").stderr_contains("yaml");
}

#[test]
fn an_unknown_key() {
    checked("unknown-key.yaml")
        .stderr_contains("unknown key")
        .stderr_contains("help: did you mean");
}

#[test]
fn a_wrong_unit() {
    checked("wrong-unit.yaml").stderr_contains("has no unit");
}

#[test]
fn an_undefined_variable() {
    checked("undefined-variable.yaml").stderr_contains("is not defined");
}

/// Loads the URL for a moment; every user must fail in this one way, and with `errors == 0` so
/// must the run.
#[track_caller]
fn fails_as(kind: &str, url: &str, sets: &[&str]) {
    let space = Space::new();
    let mut run = space.load(url, "20/s", "500ms");
    run.args(["--set", "thresholds=[errors == 0]"]);
    run.args(sets.iter().flat_map(|set| ["--set", set]));
    Ended::of(&mut run).with(1).stdout_contains(kind);
    all_of(&space.summary(), kind);
    event_has_detail(&space, kind);
}

/// All ten users met this error, and no other.
#[track_caller]
fn all_of(summary: &Summary, kind: &str) {
    let errors = summary.measures.iter().flat_map(|m| &m.errors_by_kind);
    let errors: Vec<_> = errors.map(|(kind, n)| (kind.as_str(), *n)).collect();
    let (kinds, counts): (Vec<_>, Vec<_>) = errors.iter().copied().unzip();
    assert!(kinds.iter().all(|found| *found == kind) && counts.contains(&10), "{errors:?}");
}

/// `events.jsonl` has examples of the error, in words.
#[track_caller]
fn event_has_detail(space: &Space, kind: &str) {
    let reported = space.only().events().unwrap().into_iter().any(|event| match event.what {
        EventKind::Error { outcome, detail, .. } => outcome == kind && !detail.is_empty(),
        _ => false,
    });
    assert!(reported, "no event reports {kind}");
}
