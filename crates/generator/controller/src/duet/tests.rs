use std::sync::Arc;

use compare::disturbed::MachineShares;
use compare::duet::DuetSettings;
use compare::{Options, Primary, Time};
use record::Durability;
use testkit::runs::made::Made;

use super::BlockRole::{New, Old, SelfFirst, SelfSecond};
use super::*;

fn target(file: &str) -> DuetTarget {
    let overrides = vec![("target".to_owned(), format!("http://{file}"))];
    DuetTarget { file: file.to_owned(), overrides }
}

fn state(interleave: Interleave) -> DuetState {
    let how = Options {
        alpha: 0.01,
        primary: Primary::Quantile(0.95),
        quantiles: vec![0.95],
        time: Time::Service,
        phase: Some("hot".to_owned()),
        skip_ns: 5,
        allow_errors: true,
        ..Options::default()
    };
    let settings = DuetSettings { difference: 0.02, interleave, how };
    DuetState::new([target("old"), target("new")], ["a", "b"], 7, &settings, "0.0.0")
}

fn block(pair: u64, role: BlockRole) -> BlockRecord {
    let directory = format!("runs/{pair}-{}", role.name());
    BlockRecord { pair, role, directory, shares: MachineShares::default() }
}

#[test]
fn a_duet_that_is_read_again_decides_the_same_way() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(DuetState::read(folder.path()).unwrap(), None);
    let mut written = state(Interleave::Ab);
    written.blocks = vec![block(1, New), block(1, Old)];
    written.write(folder.path()).unwrap();
    let read = DuetState::read(folder.path()).unwrap().unwrap();
    assert_eq!(read, written);
    assert!(read.fits(["a", "b"]) && !read.fits(["a", "c"]) && !read.fits(["ab", ""]));
    assert_eq!(read.settings(), state(Interleave::Ab).settings());
    let how = read.settings().how;
    assert_eq!((how.alpha, how.primary, how.skip_ns), (0.01, Primary::Quantile(0.95), 5));
    assert_eq!((how.time, how.allow_errors), (Time::Service, true));
    let later = DuetState { format: 2, ..written };
    later.write(folder.path()).unwrap();
    assert!(DuetState::read(folder.path()).is_err());
}

#[test]
fn blocks_belong_to_pairs_and_checks_are_counted_by_themselves() {
    let mut state = state(Interleave::Abba);
    let roles = [
        (1, [SelfFirst, SelfSecond, SelfSecond, SelfFirst]),
        (1, [New, Old, Old, New]),
        (2, [Old, New, New, Old]),
    ];
    state.blocks =
        roles.iter().flat_map(|(pair, roles)| roles.map(|role| block(*pair, role))).collect();
    let sizes: Vec<usize> = state.pairs().map(<[BlockRecord]>::len).collect();
    assert_eq!(sizes, [4, 4, 4]);
    assert_eq!((state.count(Old), state.count(SelfFirst)), (2, 1));
    assert_eq!((state.last_pair(New), state.last_pair(SelfSecond)), (2, 1));
    assert_eq!(state.last_pair(BlockRole::Alone), 0);
    // Runs of a pair that failed may be there under its number.
    state.failed.push(3);
    assert_eq!((state.last_pair(Old), state.last_pair(SelfFirst)), (3, 1));
    assert_eq!(state.count(Old), 2);
    assert_eq!(state.target(New).file, "new");
    assert_eq!(state.target(SelfSecond).file, "old", "the place of the new target, not itself");
}

/// The blocks of a pair, in the first of which tasks waited for a core for this share of the time.
fn under_pressure(number: u64, pressure: f64) -> [BlockRecord; 2] {
    let shares = |pressure: f64| MachineShares { pressure: Some(pressure), steal: None };
    let [mut old, mut new] = [block(number, Old), block(number, New)];
    old.shares = shares(pressure);
    new.shares = shares(0.2);
    [old, new]
}

#[test]
fn disturbed_pairs_are_made_again_within_a_bound() {
    let mut state = state(Interleave::Ab);
    for number in 1..=4 {
        let pair = under_pressure(number, 0.2);
        state.note_disturbance(&pair);
        state.blocks.extend(pair);
    }
    assert!(state.disturbed.is_empty());
    for number in 5..=8 {
        let pair = under_pressure(number, 0.9);
        state.note_disturbance(&pair);
        state.blocks.extend(pair);
    }
    let repeated: Vec<(u64, bool)> =
        state.disturbed.iter().map(|one| (one.block, one.repeated)).collect();
    // Three may be repeated of four that count; the fourth counts.
    assert_eq!(repeated, [(5, true), (6, true), (7, true), (8, false)]);
    assert_eq!((state.count(Old), state.last_pair(Old)), (5, 8));
    assert!(state.disturbed[0].why.contains("90 %"), "{}", state.disturbed[0].why);
    // What is read again is the same, and an older record says nothing of the machine.
    let folder = tempfile::tempdir().unwrap();
    state.write(folder.path()).unwrap();
    assert_eq!(DuetState::read(folder.path()).unwrap().unwrap(), state);
    let old: BlockRecord =
        serde_json::from_str(r#"{"pair":1,"role":"old","directory":"runs/1"}"#).unwrap();
    assert_eq!(old.shares, MachineShares::default());
}

/// The conductor of a duet whose scenario never compiles, and why it failed.
fn conducted(
    folder: &Path,
    compile: &CompileTarget<'_>,
) -> (Result<DuetResult, DuetError>, Vec<String>) {
    let request = DuetRequest {
        directory: folder,
        series: SeriesSettings {
            program: Path::new("nowhere"),
            version: "0.0.0",
            force: false,
            durability: Durability::Process,
            lab: None,
            interrupt: Arc::default(),
        },
        self_pairs: 0,
        until_decided: true,
        pairs_max: 100,
        budget: Duration::MAX,
        pause: Duration::ZERO,
    };
    let mut seen = Vec::new();
    let result = conduct_duet(&request, &mut state(Interleave::Abba), compile, &mut |progress| {
        if let DuetProgress::Failed { why } = progress {
            seen.push(why.to_owned());
        }
    });
    (result, seen)
}

#[test]
fn a_scenario_that_has_changed_ends_the_duet_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (result, seen) = conducted(folder.path(), &|_, _| {
        Err(CompileError::Changed { what: "the file \"users.csv\"".to_owned() })
    });
    let message = result.unwrap_err().to_string();
    assert_eq!(message, "the file \"users.csv\" has changed since the duet was begun");
    // The pair may be made once the change is undone.
    assert!(seen.is_empty() && DuetState::read(folder.path()).unwrap().unwrap().failed.is_empty());
}

#[test]
fn pairs_that_fail_end_the_duet_and_members_share_their_seed() {
    let folder = tempfile::tempdir().unwrap();
    let (result, seen) = conducted(folder.path(), &|_, overrides| {
        Err(CompileError::Failed { why: format!("no scenario: {overrides:?}") })
    });
    assert!(matches!(result, Err(DuetError::Failing { .. })), "{result:?}");
    assert_eq!(seen.len(), FAILURES_MAX as usize);
    // The first pair's users follow from the duet's seed, the next ones' from the next numbers.
    for (why, seed) in seen.iter().zip(["\"8\"", "\"9\"", "\"10\""]) {
        assert!(why.contains(seed), "{why}");
    }
    // They are said where the record is analysed.
    let state = DuetState::read(folder.path()).unwrap().unwrap();
    assert_eq!(state.failed, [1, 2, 3]);
    let result = analyze_duet(&state, folder.path()).unwrap();
    let finding = &result.findings[0];
    assert_eq!(finding.code, "pairs-failed");
    assert!(finding.text.starts_with("3 pairs could not be made"), "{}", finding.text);
}

#[test]
fn an_order_is_drawn_for_each_pair() {
    let reversed = (0..200_u64).filter(|&seed| Rng::new(seed, 0, Purpose::Choice).below(2) == 1);
    // 99.9 % of binomials with (200, 1/2) are between.
    assert!((77..=123).contains(&reversed.count()));
}

/// A block in a process of its own may be ended by the scenario's `until`, as one in this process may.
#[test]
fn a_block_is_made_by_a_run_that_came_to_its_end() {
    for (status, is_made) in [
        ("complete", true),
        ("until", true),
        ("interrupted", false),
        ("aborted", false),
        ("failed", false),
    ] {
        let made = Made::answering(1, |_| 1.0);
        let file = made.write(|_| ()).path().join("run.json");
        let text = std::fs::read_to_string(&file).unwrap();
        let changed = text.replace("\"complete\"", &format!("\"{status}\""));
        assert_eq!(changed == text, status == "complete");
        std::fs::write(&file, changed).unwrap();
        assert_eq!(blocks::ended_run(made.root.path()).is_some(), is_made, "{status}");
    }
}
