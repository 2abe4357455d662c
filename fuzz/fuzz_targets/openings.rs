#![no_main]

#[path = "../bodies/server.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::openings(data));
