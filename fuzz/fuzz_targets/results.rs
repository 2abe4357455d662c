#![no_main]

#[path = "../bodies/record.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::results(data));
