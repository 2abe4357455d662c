#![no_main]

#[path = "../bodies/fetch.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::contents(data));
