//! The fuzzers' bodies on their kept corpus.

#[path = "../../../../../fuzz/bodies/proto.rs"]
mod bodies;

use testkit::replay::replay;

#[test]
fn http1_reads_any_bytes_alike_however_they_are_cut() {
    replay("http1", 200, bodies::http1);
}

#[test]
fn h2_reads_any_bytes_alike_however_they_are_cut() {
    replay("h2", 400, bodies::h2);
}

#[test]
fn ws_reads_any_bytes_alike_however_they_are_cut() {
    replay("ws", 200, bodies::ws);
}

#[test]
fn sse_reads_any_bytes_alike_however_they_are_cut() {
    replay("sse", 200, bodies::sse);
}

#[test]
fn frames_read_any_bytes_alike_however_they_are_cut() {
    replay("frames", 200, bodies::frames);
}

#[test]
fn proxies_are_read_alike_however_they_are_cut() {
    replay("proxies", 200, bodies::proxies);
}
