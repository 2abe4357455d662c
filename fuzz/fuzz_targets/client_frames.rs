#![no_main]

#[path = "../bodies/server.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::client_frames(data));
