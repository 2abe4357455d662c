//! The fuzzer's body on its kept corpus.

#[path = "../../../../../../fuzz/bodies/mqtt.rs"]
mod bodies;

use testkit::replay::replay;

#[test]
fn packets_are_read_alike_however_they_are_cut() {
    replay("mqtt", 2000, bodies::packets);
}
