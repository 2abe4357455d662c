use compare::disturbed::MachineShares;
use compare::experiment::UntilDecided;
use record::schema::Verdict;
use scenario::{Settings, Source};

use super::*;

fn experiment(text: &str) -> Experiment {
    let settings = Settings { overrides: &[], env: &|_| None, files: &|_| Err(String::new()) };
    let source = Source { name: "it.yaml", text };
    scenario::experiment(source, &settings, false).0.expect("it is right")
}

const TWO_BY_THREE: &str = "scenario: s.yaml\nfactors: { a: [1, 2], b: [x, y, z] }\n\
                            responses: [errors]\nrepetitions: 4\nseed: 7\n";

#[test]
fn each_block_has_all_combinations_in_an_order_of_its_own() {
    let experiment = experiment(TWO_BY_THREE);
    let runs = order(&experiment);
    assert_eq!(runs.len(), 24);
    let blocks: Vec<Vec<_>> =
        runs.chunks(6).map(|block| block.iter().map(|r| r.cell.clone()).collect()).collect();
    for (number, block) in blocks.iter().enumerate() {
        let mut cells = block.clone();
        cells.sort_by_key(|cell| (cell[1], cell[0]));
        assert_eq!(cells, experiment.cells());
        assert!(runs[number * 6..][..6].iter().all(|r| r.repetition == number as u32 + 1));
    }
    assert!(blocks.windows(2).any(|pair| pair[0] != pair[1]));
    // The same seed plans the same; another does not.
    assert_eq!(order(&experiment), runs);
    let other = Experiment { seed: 8, ..experiment };
    assert_ne!(order(&other), runs);
    // Every run has a seed of its own.
    let mut seeds: Vec<_> = runs.iter().map(|run| run.seed.unwrap()).collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 24);
}

#[test]
fn a_seed_that_is_set_stays() {
    let text = TWO_BY_THREE.to_owned() + "set: { seed: 5 }\n";
    let runs = order(&experiment(&text));
    assert!(runs.iter().all(|run| run.seed.is_none()));
}

#[test]
fn time_is_that_of_runs_and_pauses() {
    let text = TWO_BY_THREE.to_owned() + "pause: 2s\nwarm_up: 1\n";
    let experiment = experiment(&text);
    let runs = order(&experiment);
    let found = time_ns(&experiment, &runs, |_| 10_000_000_000);
    assert_eq!(found, (25 * 10 + 24 * 2) * 1_000_000_000);
}

#[test]
fn states_are_whole_and_later_ones_are_refused() {
    let experiment = experiment(TWO_BY_THREE);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new");
    assert_eq!(ExperimentState::read(&path).unwrap(), None);
    let mut state =
        ExperimentState::new(&experiment, &order(&experiment), "it.yaml", "0", &["a", "b"]);
    state.runs[0].end("runs/x".to_owned(), Verdict::Untrusted);
    state.runs[1].fail("no target", None);
    state.write(&path).unwrap();
    assert_eq!(ExperimentState::read(&path).unwrap().unwrap(), state);
    assert_eq!((state.pending(), state.count(RunStage::Failed)), (Some(2), 1));
    state.retry();
    assert_eq!(state.discarded, ["runs/x"]);
    assert_eq!((state.pending(), state.runs[1].why.as_ref()), (Some(0), None));
    let other = ExperimentState::new(&experiment, &[], "it.yaml", "0", &["ab", ""]);
    assert_ne!(other.digest, state.digest);
    let later = ExperimentState { format: 2, ..state };
    later.write(&path).unwrap();
    assert!(matches!(ExperimentState::read(&path), Err(RecordError::Format { .. })));
}

#[test]
fn overrides_are_those_of_all_then_the_factors_then_the_seed() {
    let text = TWO_BY_THREE.to_owned() + "set: { hold: 2s }\n";
    let experiment = experiment(&text);
    let state = ExperimentState::new(&experiment, &order(&experiment), "it.yaml", "0", &[]);
    let run = &state.runs[0];
    let written = written(&run.overrides(&experiment));
    let levels = &run.levels;
    let seed = run.seed.unwrap();
    let expected = [
        "hold=2s".to_owned(),
        format!("a={}", levels[0]),
        format!("b={}", levels[1]),
        format!("seed={seed}"),
    ];
    assert_eq!(written, expected);
}

#[test]
fn an_experiment_until_it_is_decided_grows_by_the_repetitions_that_are_planned() {
    let experiment = experiment(TWO_BY_THREE);
    let planned = order(&experiment);
    let fresh = ExperimentState::new(&experiment, &planned, "it.yaml", "0.0.0", &["a"]);
    let mut state = fresh.clone().until_decided(UntilDecided { difference: 0.05 });
    assert_eq!((state.runs.len(), state.repetitions()), (6, 1));
    for _ in 1..experiment.repetitions {
        state.add_repetition(&experiment);
    }
    assert_eq!(state.runs, fresh.runs);
    // It is resumed as it was begun.
    let folder = tempfile::tempdir().unwrap();
    state.write(folder.path()).unwrap();
    let read = ExperimentState::read(folder.path()).unwrap().unwrap();
    assert_eq!((&read, read.until), (&state, Some(UntilDecided { difference: 0.05 })));
}

#[test]
fn a_disturbed_repetition_does_not_count() {
    let experiment = experiment(TWO_BY_THREE);
    let fresh = ExperimentState::new(&experiment, &order(&experiment), "it.yaml", "0.0.0", &["a"]);
    let mut state = fresh.until_decided(UntilDecided { difference: 0.05 });
    for pressure in [0.1, 0.1, 0.1, 0.1, 0.7, 0.1] {
        let last = state.runs.len() - 1;
        state.runs[last].shares = MachineShares { pressure: Some(pressure), steal: None };
        state.note_disturbance();
        // A look at the same repetition says nothing new.
        state.note_disturbance();
        state.add_repetition(&experiment);
    }
    let disturbed: Vec<(u64, bool)> =
        state.disturbed.iter().map(|one| (one.block, one.repeated)).collect();
    assert_eq!(disturbed, [(5, true)]);
    assert!(state.is_repeated(5) && !state.is_repeated(4));
    // The seventh was begun.
    assert_eq!((state.repetitions(), state.repetitions_counted()), (7, 6));
}
