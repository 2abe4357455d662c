#![no_main]

#[path = "../bodies/probe.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::pages(data));
