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

#[test]
fn no_results_panic() {
    replay("results", 200, bodies::results);
}

/// Otherwise the fuzzer would stop at the recognition of a form, and change what no reader sees.
#[test]
fn all_results_of_the_corpus_are_read() {
    let folder = testkit::needs::root().join("fuzz/corpus/results");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let read = record::samples::read_results(&bytes, &record::samples::ReadOptions::default());
        assert!(read.is_ok(), "{}: {:?}", path.display(), read.err());
    }
}

/// Otherwise the fuzzer would stop at `run.json` and read nothing else.
#[test]
fn the_sound_run_of_the_corpus_opens() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("run.json"), bodies::RUN).unwrap();
    record::Run::open(directory.path()).unwrap();
}
