//! Directories made by hand, and what the list says of them.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use record::RunDir;
use record::schema::RunStatus;

use super::{Item, Kind, Listing, Shelf, State};
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

fn list(root: &Path) -> Listing {
    Shelf::new(root).list().unwrap()
}

fn named<'a>(listing: &'a Listing, place: &str) -> &'a Item {
    let found = listing.items.iter().find(|item| item.place == place);
    found.unwrap_or_else(|| panic!("no {place} in {listing:?}"))
}

#[test]
fn runs_are_listed_newest_first_with_their_figures() {
    let space = tempfile::tempdir().unwrap();
    judged(space.path(), "a", 100);
    judged(&space.path().join("deep/down"), "b", 200);
    let listing = list(space.path());
    let places: Vec<&str> = listing.items.iter().map(|i| i.place.as_str()).collect();
    assert_eq!(places, ["deep/down/b", "a"]);
    let a = named(&listing, "a");
    assert_eq!((a.kind, a.name.as_str()), (Kind::Run, "sample"));
    assert_eq!(a.state, State::Passed);
    assert_eq!(a.started_unix_ms, Some(100_000));
    assert_eq!(a.seconds.map(|s| s.0), Some(60.0));
    assert_eq!(a.step.as_deref(), Some("request"));
    assert!(a.users.is_some() && a.p50_ns.is_some() && a.rate_per_s.is_some());
    let share = a.error_share.unwrap().0;
    assert!(share > 0.0 && share < 0.1, "{share}");
    assert!(a.comparable && listing.left_out.is_empty());
    // An id follows from the place alone.
    assert_eq!(list(space.path()).items[0].id, listing.items[0].id);
    assert_ne!(listing.items[0].id, listing.items[1].id);
    assert!(a.id.len() == 16 && a.id.bytes().all(|b| b.is_ascii_hexdigit()));
}

#[test]
fn places_that_read_alike_have_ids_of_their_own() {
    let space = tempfile::tempdir().unwrap();
    for name in [&b"run \xff"[..], b"run \xfe"] {
        let place = space.path().join(OsStr::from_bytes(name));
        fs::rename(judged(space.path(), "a", 100), place).unwrap();
    }
    let listing = list(space.path());
    let [one, other] = &listing.items[..] else {
        panic!("{listing:?}");
    };
    assert_eq!(one.place, other.place);
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
    let item = named(&listing, "killed");
    assert_eq!(item.state, State::Unfinished);
    assert!(
        item.told.contains("still going on or was killed"),
        "{item:?}"
    );
    assert!(!item.comparable);
}

#[test]
fn each_kind_of_damage_is_told() {
    let space = tempfile::tempdir().unwrap();
    let root = space.path();
    fs::write(judged(root, "cut", 2).join("summary.json"), "{").unwrap();
    fs::write(judged(root, "empty", 3).join("run.json"), "").unwrap();
    let newer = judged(root, "newer", 4).join("run.json");
    let text = fs::read_to_string(&newer).unwrap();
    fs::write(&newer, text.replacen("\"format\": 1", "\"format\": 99", 1)).unwrap();
    let no_file = judged(root, "no-file", 5).join("run.json");
    fs::remove_file(&no_file).unwrap();
    fs::create_dir(&no_file).unwrap();
    for name in ["experiment", "search", "model"] {
        fs::create_dir(root.join(name)).unwrap();
        fs::write(root.join(name).join(format!("{name}.json")), "[1,2").unwrap();
    }
    let listing = list(root);
    assert_eq!(listing.items.len(), 7);
    for (place, told) in [
        ("cut", "summary.json"),
        ("empty", "run.json"),
        ("newer", "99"),
        ("no-file", "run.json is no file"),
        ("experiment", "experiment.json is damaged"),
        ("search", "search.json is damaged"),
        ("model", "model.json is damaged"),
    ] {
        let item = named(&listing, place);
        assert_eq!(item.state, State::Damaged, "{item:?}");
        assert!(item.told.contains(told) && !item.comparable, "{item:?}");
    }
}

#[test]
fn experiments_and_searches_have_their_runs() {
    let space = tempfile::tempdir().unwrap();
    let root = space.path();
    judged(&root.join("sweep/runs"), "a", 500);
    judged(&root.join("sweep/runs"), "b", 400);
    let told =
        r#"{"name":"sweep","runs":[{"stage":"done"},{"stage":"failed"},{"stage":"pending"}]}"#;
    fs::write(root.join("sweep/experiment.json"), told).unwrap();
    fs::write(root.join("sweep/report.html"), page("experiment", "sweep")).unwrap();
    judged(&root.join("knee/runs"), "c", 300);
    let told = r#"{"scenario":"shop.yaml","of":"rate","unit":"/s","trials":[{},{}]}"#;
    fs::write(root.join("knee/search.json"), told).unwrap();
    let listing = list(root);
    let sweep = named(&listing, "sweep");
    assert_eq!(
        (sweep.kind, sweep.state),
        (Kind::Experiment, State::Unfinished)
    );
    assert_eq!(sweep.told, "1 of 3 runs, 1 could not be made");
    assert_eq!(
        sweep.started_unix_ms,
        Some(400_000),
        "that of its first run"
    );
    let a = named(&listing, "sweep/runs/a");
    assert_eq!(a.within.as_ref(), Some(&sweep.id));
    let knee = named(&listing, "knee");
    assert_eq!(
        (knee.name.as_str(), knee.state),
        ("shop.yaml", State::Unfinished)
    );
    let told = r#"{"exit_code":0,"holds":120.0,"breaks":126.0}"#;
    fs::write(root.join("knee/capacity.json"), told).unwrap();
    let listing = list(root);
    let knee = named(&listing, "knee");
    assert_eq!(knee.state, State::Done);
    assert_eq!(
        knee.told,
        "of rate, 2 runs, holds 120.0/s, breaks at 126.0/s"
    );
    assert_eq!(listing.items.len(), 5, "a report is no item of its own");
}

fn page(kind: &str, title: &str) -> String {
    format!(
        "<!doctype html><title>{title} · Throng</title>\
         <script type=\"application/json\" id=\"document\">{{\"format\":1,\"kind\":\"{kind}\"}}</script>"
    )
}

#[test]
fn pages_are_known_by_their_document() {
    let space = tempfile::tempdir().unwrap();
    let root = space.path();
    fs::write(
        root.join("a.html"),
        page("comparison", "a &lt;b&gt; &amp;lt;"),
    )
    .unwrap();
    fs::write(root.join("b.html"), "<title>Something else</title>").unwrap();
    let listing = list(root);
    let [item] = &listing.items[..] else {
        panic!("{listing:?}")
    };
    assert_eq!((item.kind, item.told.as_str()), (Kind::Page, "comparison"));
    assert_eq!(item.name, "a <b> &lt;");
}

#[test]
fn nothing_outside_of_the_root_is_listed() {
    let space = tempfile::tempdir().unwrap();
    let (root, outside) = (space.path().join("root"), space.path().join("outside"));
    judged(&root, "a", 1);
    let foreign = judged(&outside, "b", 2);
    symlink(&outside, root.join("link")).unwrap();
    symlink(&foreign, root.join("b")).unwrap();
    symlink(outside.join("x.html"), root.join("x.html")).unwrap();
    // A run whose files lead elsewhere is none.
    let linked = root.join("linked");
    fs::create_dir(&linked).unwrap();
    symlink(foreign.join("run.json"), linked.join("run.json")).unwrap();
    judged(&root.join(".hidden"), "c", 3);
    let listing = list(&root);
    let states: Vec<_> = listing
        .items
        .iter()
        .map(|i| (i.place.as_str(), i.state))
        .collect();
    assert_eq!(states, [("a", State::Passed), ("linked", State::Damaged)]);
    assert_eq!(listing.left_out, ["3 symbolic links were not followed"]);
}

#[test]
fn what_changed_is_read_again() {
    let space = tempfile::tempdir().unwrap();
    let mut shelf = Shelf::new(space.path());
    assert!(shelf.list().unwrap().items.is_empty());
    let dir = run(space.path(), "a", 1);
    assert_eq!(shelf.list().unwrap().items[0].state, State::Unfinished);
    dir.write_summary(&sample::judged(&sample::figures()))
        .unwrap();
    assert_eq!(shelf.list().unwrap().items[0].state, State::Passed);
    fs::remove_dir_all(dir.path()).unwrap();
    assert!(shelf.list().unwrap().items.is_empty());
    fs::remove_dir(space.path()).unwrap();
    assert!(shelf.list().is_err());
}
