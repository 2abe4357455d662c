#![no_main]

#[path = "../bodies/engine.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::answers(data));
