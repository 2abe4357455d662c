#![no_main]

#[path = "../bodies/proto.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::proxies(data));
