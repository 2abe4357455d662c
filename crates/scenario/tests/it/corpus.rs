//! The fuzzers' bodies on their kept corpus.

#[path = "../../../../fuzz/bodies/scenario.rs"]
mod bodies;
#[path = "../../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn no_document_panics() {
    replay("yaml", 200, bodies::yaml);
}

#[test]
fn no_expression_panics() {
    replay("expressions", 200, bodies::expressions);
}
