//! The fuzzers' bodies on their kept corpus.

#[path = "../../../../fuzz/bodies/model.rs"]
mod bodies;
#[path = "../../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn no_log_panics() {
    replay("logs", 15, bodies::logs);
}
