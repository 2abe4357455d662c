#![no_main]

#[path = "../bodies/scenario.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::data_files(data));
