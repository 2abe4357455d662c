//! The index of directories that are made by hand.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use record::RunDir;
use record::schema::RunStatus;

use super::{Entry, Index, Kind, Listing, State, trend};
use crate::sample;

fn run(root: &Path, id: &str, started_s: u64) -> RunDir {
    let mut info = sample::info();
    info.id = id.to_owned();
    info.started_unix_ns = started_s * sample::SECOND;
    RunDir::create(root, &info, "name: sample\n").unwrap()
}

fn judged(root: &Path, id: &str, started_s: u64) -> PathBuf {
    let dir = run(root, id, started_s);
    let mut figures = sample::figures();
    sample::fail(&mut figures, sample::REQUEST, record::Outcome::Timeout, 60);
    dir.write_summary(&sample::judged(&figures)).unwrap();
    dir.path().to_owned()
}

/// Long after all runs.
const LATER_MS: u64 = u64::MAX;

fn list(root: &Path) -> Listing {
    Index::new(root).list(LATER_MS).unwrap()
}

fn named<'a>(listing: &'a Listing, path: &str) -> &'a Entry {
    let found = listing.entries.iter().find(|entry| entry.path == path);
    found.unwrap_or_else(|| panic!("no {path} in {listing:?}"))
}

#[test]
fn imported_samples_can_be_compared_and_have_no_users() {
    let space = tempfile::tempdir().unwrap();
    let samples = record::samples::Samples {
        column: None,
        times_ns: (1..=100).map(|ms| ms * 1_000_000).collect(),
        starts_ns: Vec::new(),
        ends: Vec::new(),
    };
    let imported = record::samples::SampleImport {
        results: &samples.results("checkout").unwrap(),
        source: "old.txt",
        name: "samples",
        label: "old",
        started_unix_ns: None,
        throng: "0.0.0",
    };
    let dir = imported.write(space.path()).unwrap();
    let run = record::Run::open(dir.path()).unwrap();
    let summary = judge::judge_again(&run, false).unwrap();
    let codes: Vec<&str> = summary.findings.iter().map(|f| f.code.as_str()).collect();
    let lack = "samples-lack";
    assert_eq!(codes, ["generator-unknown", lack, lack, lack]);
    let measure = &summary.measures[0];
    assert_eq!((measure.count, measure.rate_per_s), (100, 0.0));
    dir.write_summary(&summary).unwrap();
    let listing = list(space.path());
    let entry = &listing.entries[0];
    assert_eq!((entry.state, entry.comparable), (State::Imported, true));
    assert_eq!((entry.users, entry.step.as_deref()), (None, Some("checkout")));
    assert!(entry.rate_per_s.is_none() && entry.p99_ns.is_some());
}

#[test]
fn runs_are_listed_newest_first_with_their_figures() {
    let space = tempfile::tempdir().unwrap();
    judged(space.path(), "a", 100);
    judged(&space.path().join("deep/down"), "b", 200);
    let listing = list(space.path());
    let paths: Vec<&str> = listing.entries.iter().map(|i| i.path.as_str()).collect();
    assert_eq!(paths, ["deep/down/b", "a"]);
    let a = named(&listing, "a");
    assert_eq!((a.kind, a.name.as_str()), (Kind::Run, "sample"));
    assert_eq!(a.state, State::Measured);
    assert_eq!(a.started_unix_ms, Some(100_000));
    assert_eq!(a.seconds.map(|s| s.0), Some(60.0));
    assert_eq!(a.step.as_deref(), Some("request"));
    assert!(a.users.is_some() && a.p50_ns.is_some() && a.rate_per_s.is_some());
    let share = a.error_share.unwrap().0;
    assert!(share > 0.0 && share < 0.1, "{share}");
    assert!(a.comparable && listing.omitted.is_empty());
    // An id follows from the path alone.
    assert_eq!(list(space.path()).entries[0].id, listing.entries[0].id);
    assert_ne!(listing.entries[0].id, listing.entries[1].id);
    assert!(a.id.len() == 16 && a.id.bytes().all(|b| b.is_ascii_hexdigit()));
}

#[test]
fn paths_that_look_alike_have_different_ids() {
    let space = tempfile::tempdir().unwrap();
    for name in [&b"run \xff"[..], b"run \xfe"] {
        let path = space.path().join(OsStr::from_bytes(name));
        fs::rename(judged(space.path(), "a", 100), path).unwrap();
    }
    let listing = list(space.path());
    let [one, other] = &listing.entries[..] else {
        panic!("{listing:?}");
    };
    assert_eq!(one.path, other.path);
    assert_ne!(one.id, other.id);
}

#[test]
fn a_run_that_was_killed_is_unfinished() {
    let space = tempfile::tempdir().unwrap();
    let killed = run(space.path(), "killed", 1);
    let mut info = sample::info();
    info.status = RunStatus::Running;
    killed.update_info(&info).unwrap();
    let listing = list(space.path());
    let entry = named(&listing, "killed");
    assert_eq!(entry.state, State::Unfinished);
    assert!(entry.detail.contains("in progress or was killed"), "{entry:?}");
    assert!(!entry.comparable);
}

#[test]
fn a_run_whose_record_grows_is_in_progress() {
    let space = tempfile::tempdir().unwrap();
    let dir = run(space.path(), "now", 1);
    let mut info = sample::info();
    info.status = RunStatus::Running;
    dir.update_info(&info).unwrap();
    let events = dir.path().join("events.jsonl");
    fs::write(&events, "").unwrap();
    let changed_ms = record::index::Stamp::read(&events).unix_ms().unwrap();
    let mut index = Index::new(space.path());
    let mut at = |later_ms: u64| index.list(changed_ms + later_ms).unwrap().entries.remove(0);
    let entry = at(3_000);
    assert_eq!((entry.state, entry.detail.as_str()), (State::Running, ""));
    assert!(!entry.comparable);
    assert_eq!(at(60_000).state, State::Unfinished, "nothing has been written for a minute");
}

#[test]
fn each_kind_of_damage_is_named() {
    let space = tempfile::tempdir().unwrap();
    let root = space.path();
    fs::write(judged(root, "cut", 2).join("summary.json"), "{").unwrap();
    fs::write(judged(root, "empty", 3).join("run.json"), "").unwrap();
    let newer = judged(root, "newer", 4).join("run.json");
    let text = fs::read_to_string(&newer).unwrap();
    fs::write(&newer, text.replacen("\"format\": 2", "\"format\": 99", 1)).unwrap();
    let no_file = judged(root, "no-file", 5).join("run.json");
    fs::remove_file(&no_file).unwrap();
    fs::create_dir(&no_file).unwrap();
    for name in ["experiment", "search", "model"] {
        fs::create_dir(root.join(name)).unwrap();
        fs::write(root.join(name).join(format!("{name}.json")), "[1,2").unwrap();
    }
    let listing = list(root);
    assert_eq!(listing.entries.len(), 7);
    for (path, note) in [
        ("cut", "summary.json"),
        ("empty", "run.json"),
        ("newer", "99"),
        ("no-file", "run.json is not a regular file"),
        ("experiment", "experiment.json is damaged"),
        ("search", "search.json is damaged"),
        ("model", "model.json is damaged"),
    ] {
        let entry = named(&listing, path);
        assert_eq!(entry.state, State::Damaged, "{entry:?}");
        assert!(entry.detail.contains(note) && !entry.comparable, "{entry:?}");
    }
}

#[test]
fn runs_belong_to_their_experiment_or_search() {
    let space = tempfile::tempdir().unwrap();
    let root = space.path();
    judged(&root.join("sweep/runs"), "a", 500);
    judged(&root.join("sweep/runs"), "b", 400);
    let text =
        r#"{"name":"sweep","runs":[{"stage":"done"},{"stage":"failed"},{"stage":"pending"}]}"#;
    fs::write(root.join("sweep/experiment.json"), text).unwrap();
    fs::write(root.join("sweep/report.html"), page("experiment", "sweep")).unwrap();
    judged(&root.join("knee/runs"), "c", 300);
    let text = r#"{"scenario":"shop.yaml","of":"rate","unit":"/s","trials":[{},{}]}"#;
    fs::write(root.join("knee/search.json"), text).unwrap();
    let listing = list(root);
    let sweep = named(&listing, "sweep");
    assert_eq!((sweep.kind, sweep.state), (Kind::Experiment, State::Unfinished));
    assert_eq!(sweep.detail, "1 of 3 runs, 1 failed");
    assert_eq!(sweep.started_unix_ms, Some(400_000), "that of its first run");
    let a = named(&listing, "sweep/runs/a");
    assert_eq!(a.parent.as_ref(), Some(&sweep.id));
    let knee = named(&listing, "knee");
    assert_eq!((knee.name.as_str(), knee.state), ("shop.yaml", State::Unfinished));
    let text = r#"{"ending":"found","holds":120.0,"breaks":126.0}"#;
    fs::write(root.join("knee/capacity.json"), text).unwrap();
    let listing = list(root);
    let knee = named(&listing, "knee");
    assert_eq!(knee.state, State::Done);
    assert_eq!(knee.detail, "rate, 2 runs, holds 120.0/s, breaks at 126.0/s");
    assert_eq!(listing.entries.len(), 5, "a report is not a separate entry");
    let text = r#"{"ending":"found","best":{"value":16.0}}"#;
    fs::write(root.join("knee/capacity.json"), text).unwrap();
    let listing = list(root);
    assert_eq!(named(&listing, "knee").detail, "rate, 2 runs, best 16.00/s");
}

#[test]
fn a_duet_has_its_verdict_and_its_runs_are_in_no_trend() {
    let space = tempfile::tempdir().unwrap();
    let root = space.path();
    judged(&root.join("shop-1/runs"), "a", 500);
    let block = judged(&root.join("shop-1/runs/2-old"), "b", 400);
    assert!(block.exists());
    fs::write(root.join("shop-1/duet.json"), "{}").unwrap();
    let found = list(root);
    let duet = named(&found, "shop-1");
    assert_eq!((duet.kind, duet.state), (Kind::Duet, State::Unfinished));
    for run in ["shop-1/runs/a", "shop-1/runs/2-old/b"] {
        let run = named(&found, run);
        assert_eq!(run.parent.as_ref(), Some(&duet.id));
        assert!(trend(&found.entries, &run.id).is_none());
    }
    for (verdict, state) in [
        ("slower", State::Failed),
        ("no_difference", State::Done),
        ("undecided", State::Unfinished),
    ] {
        let text = format!(r#"{{"verdict":"{verdict}","sentence":"so it is","pairs":9}}"#);
        fs::write(root.join("shop-1/result.json"), text).unwrap();
        let found = list(root);
        let duet = named(&found, "shop-1");
        assert_eq!((duet.state, duet.detail.as_str()), (state, "so it is"), "{verdict}");
    }
}

fn page(kind: &str, title: &str) -> String {
    format!(
        "<!doctype html><title>{title} · Throng</title>\
         <script type=\"application/json\" \
             id=\"document\">{{\"format\":1,\"kind\":\"{kind}\"}}</script>"
    )
}

#[test]
fn pages_are_recognised_by_their_document() {
    let space = tempfile::tempdir().unwrap();
    let root = space.path();
    fs::write(root.join("a.html"), page("comparison", "a &lt;b&gt; &amp;lt;")).unwrap();
    fs::write(root.join("b.html"), "<title>Something else</title>").unwrap();
    let listing = list(root);
    let [entry] = &listing.entries[..] else { panic!("{listing:?}") };
    assert_eq!((entry.kind, entry.detail.as_str()), (Kind::Page, "comparison"));
    assert_eq!(entry.name, "a <b> &lt;");
}

#[test]
fn nothing_outside_the_root_is_listed() {
    let space = tempfile::tempdir().unwrap();
    let root = space.path().join("root");
    let outside = space.path().join("outside");
    judged(&root, "a", 1);
    let outside_run = judged(&outside, "b", 2);
    symlink(&outside, root.join("link")).unwrap();
    symlink(&outside_run, root.join("b")).unwrap();
    symlink(outside.join("x.html"), root.join("x.html")).unwrap();
    // A directory whose run.json is a link is damaged.
    let linked = root.join("linked");
    fs::create_dir(&linked).unwrap();
    symlink(outside_run.join("run.json"), linked.join("run.json")).unwrap();
    judged(&root.join(".hidden"), "c", 3);
    let listing = list(&root);
    let states: Vec<_> = listing.entries.iter().map(|i| (i.path.as_str(), i.state)).collect();
    assert_eq!(states, [("a", State::Measured), ("linked", State::Damaged)]);
    assert_eq!(listing.omitted, ["3 symbolic links were not followed"]);
}

#[test]
fn changed_results_are_read_again() {
    let space = tempfile::tempdir().unwrap();
    let mut index = Index::new(space.path());
    assert!(index.list(LATER_MS).unwrap().entries.is_empty());
    let dir = run(space.path(), "a", 1);
    assert_eq!(index.list(LATER_MS).unwrap().entries[0].state, State::Unfinished);
    dir.write_summary(&sample::judged(&sample::figures())).unwrap();
    assert_eq!(index.list(LATER_MS).unwrap().entries[0].state, State::Measured);
    fs::remove_dir_all(dir.path()).unwrap();
    assert!(index.list(LATER_MS).unwrap().entries.is_empty());
    fs::remove_dir(space.path()).unwrap();
    assert!(index.list(LATER_MS).is_err());
}
