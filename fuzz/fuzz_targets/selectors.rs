#![no_main]

#[path = "../bodies/html.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::selectors(data));
