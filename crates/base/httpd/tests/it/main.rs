//! The fuzzers' bodies on their kept corpus.

#[path = "../../../../../fuzz/bodies/httpd.rs"]
mod bodies;

use testkit::replay::replay;

#[test]
fn no_head_panics() {
    replay("heads", 200, bodies::heads);
}
