#![no_main]

#[path = "../bodies/model.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::log_lines(data));
