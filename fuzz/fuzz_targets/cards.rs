#![no_main]

#[path = "../bodies/fleet.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::cards(data));
