//! Users' own data, recorded arrivals and secrets, from the files to the record.

use std::collections::BTreeMap;
use std::io::Write;

use record::schema::Verdict;

use crate::support::{Ended, Served, Space, holding, throng};

const PEOPLE: &str = r#"
name: people
seed: 9
target: "${to}"
params: { to: http://127.0.0.1:1/, word: none }
options: { loops: 3, cookies: true }
data:
  accounts: { file: accounts.csv, order: random }
sessions:
  visitor:
    - feed: accounts
    - { get: "/in/${name}", as: in, auth: { basic: { user: "${name}", password: "${word}" } } }
    - { get: /again, as: again, auth: { bearer: "${env('TOKEN')}" } }
arrivals:
  - { trace: counts.txt.gz, speed: 10, name: recorded }
  - { replay: times.txt, for: 1s, name: replayed }
"#;

fn space() -> Space {
    let space = Space::new();
    space.file("accounts.csv", "name,age\nann,7\nbob,8\ncy,9\n");
    space.file("times.txt", "0.1\n0.3\n0.2\n0.9\n5\n");
    let file = std::fs::File::create(space.path("counts.txt.gz")).unwrap();
    let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::default());
    packed.write_all(b"3 0 1 9 2 5 0 0 7 13").unwrap();
    packed.finish().unwrap();
    space
}

/// When each user was due, and how often it did what.
fn planned(space: &Space) -> BTreeMap<u64, (u64, BTreeMap<u16, u64>)> {
    let mut users = BTreeMap::new();
    let read = space.only().requests(|rows| {
        for row in rows {
            let user = users.entry(row.user).or_insert((u64::MAX, BTreeMap::new()));
            user.0 = user.0.min(row.due_ns);
            *user.1.entry(row.measure).or_default() += u64::from(row.weight);
        }
    });
    read.unwrap();
    users
}

#[test]
fn files_reach_workers_and_secrets_do_not_reach_the_record() {
    let server = Served::start(&["stall", "--stall", "0"]);
    let target = format!("to={}", server.url);
    let runs = ["0", "2"].map(|workers| {
        let space = space();
        let args = ["--workers", workers, "--set", &target, "--set", "word=hush-hush"];
        let mut command = space.run_text(PEOPLE, &args);
        command.env("TOKEN", "token-of-the-test");
        Ended::of(&mut command).with(0);
        let summary = space.summary();
        assert_eq!(summary.verdict, Verdict::Measured);
        assert_eq!(summary.users.started, 44);
        let directory = space.only();
        for secret in ["hush-hush", "token-of-the-test"] {
            let found = holding(directory.path(), secret);
            assert_eq!(found, [] as [String; 0]);
        }
        let overrides = &directory.info().overrides;
        assert!(
            overrides.ends_with(&[target.clone(), "word=(secret)".to_owned()]),
            "{overrides:?}"
        );
        planned(&space)
    });
    assert_eq!(runs[0].len(), 44);
    assert_eq!(runs[0], runs[1]);
}

#[test]
fn errors_in_a_file_have_positions() {
    let space = space();
    space.file("accounts.csv", "name,age\nann,7\nbob,\"8\n");
    let scenario = space.file("people.yaml", PEOPLE);
    let mut check = throng(["check"]);
    check.arg(&scenario).env("TOKEN", "t");
    Ended::of(&mut check)
        .with(65)
        .stderr_contains("`accounts.csv`, line 3, column 5: this quote is never closed");
}

#[test]
fn check_states_the_number_of_users() {
    let space = space();
    let scenario = space.file("people.yaml", PEOPLE);
    let mut check = throng(["check"]);
    check.arg(&scenario).env("TOKEN", "t");
    Ended::of(&mut check)
        .with(0)
        .stdout_contains("phase recorded: 1 s, 40 users")
        .stdout_contains("phase replayed: 1 s, 4 users");
}

/// A search and an experiment keep their settings, so that they can be resumed.
#[test]
fn experiments_and_searches_refuse_secrets() {
    let space = space();
    let scenario =
        space.file("people.yaml", &format!("{PEOPLE}thresholds: [ \"p99(in) < 1s\" ]\n"));
    let mut search = throng(["capacity", "--set", "word=hush-hush"]);
    search.arg(&scenario).env("TOKEN", "t").current_dir(space.path(""));
    Ended::of(&mut search).with(65).stderr_contains("sets a secret");
    let experiment = space.file(
        "words.yaml",
        "scenario: people.yaml\ndesign: 2^k\nfactors: { word: { set: word, levels: [ one, two ] } }\n\
         responses: [ p99(in) ]\n",
    );
    let mut run = throng(["experiment"]);
    run.arg(&experiment).env("TOKEN", "t").current_dir(space.path(""));
    Ended::of(&mut run).with(65).stderr_contains("sets a secret");
}
