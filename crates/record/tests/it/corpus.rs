//! The fuzzers' bodies on their kept corpus.

#[path = "../../../../fuzz/bodies/record.rs"]
mod bodies;
#[path = "../../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn no_file_of_a_run_panics() {
    replay("run_files", 50, bodies::run_files);
}
