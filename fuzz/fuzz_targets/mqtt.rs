#![no_main]

#[path = "../bodies/mqtt.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::packets(data));
