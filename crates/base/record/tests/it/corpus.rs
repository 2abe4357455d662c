//! The fuzzers' bodies on their kept corpus.

#[path = "../../../../../fuzz/bodies/record.rs"]
mod bodies;

use testkit::replay::replay;

#[test]
fn no_file_of_a_run_panics() {
    replay("run_files", 50, bodies::run_files);
}

#[test]
fn no_samples_panic() {
    replay("samples", 200, bodies::samples);
}

/// Otherwise the fuzzer would stop at `run.json` and read nothing else.
#[test]
fn the_sound_run_of_the_corpus_opens() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("run.json"), bodies::RUN).unwrap();
    record::Run::open(directory.path()).unwrap();
}
