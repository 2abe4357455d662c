//! The fuzzers' bodies on their kept corpus.

#[path = "../../../../../fuzz/bodies/convert.rs"]
mod bodies;

use testkit::replay::replay;

#[test]
fn no_recording_panics() {
    replay("har", 200, bodies::har);
}

#[test]
fn no_tsung_file_panics() {
    replay("tsung", 200, bodies::tsung);
}
