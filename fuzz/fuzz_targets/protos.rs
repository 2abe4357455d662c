#![no_main]

#[path = "../bodies/grpc.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::protos(data));
