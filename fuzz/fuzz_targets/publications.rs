#![no_main]

#[path = "../bodies/thesis.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::publications(data));
