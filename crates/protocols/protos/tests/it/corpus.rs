//! Answers of gRPC and files that define them.

#[path = "../../../../../fuzz/bodies/grpc.rs"]
mod bodies;

use testkit::replay::replay;

#[test]
fn answers() {
    replay("calls", 2000, bodies::calls);
}

#[test]
fn files() {
    replay("protos", 60, bodies::protos);
}
