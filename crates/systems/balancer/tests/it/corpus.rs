//! The fuzzers' bodies on their kept corpus.

#[path = "../../../../../fuzz/bodies/balancer.rs"]
mod bodies;

use testkit::replay::replay;

#[test]
fn no_forwarded_head_panics() {
    replay("forwarded_heads", 200, bodies::forwarded_heads);
}

#[test]
fn chunks_are_read_alike_however_they_are_cut() {
    replay("chunks", 200, bodies::chunks);
}
