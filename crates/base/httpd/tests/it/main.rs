//! The fuzzers' bodies on their kept corpus.

#[path = "../../../../../fuzz/bodies/httpd.rs"]
mod bodies;
#[path = "../../../../../fuzz/replay.rs"]
mod replay;

#[test]
fn no_head_panics() {
    replay::replay("heads", 200, bodies::heads);
}
