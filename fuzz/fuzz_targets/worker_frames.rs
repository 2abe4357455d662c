#![no_main]

#[path = "../bodies/workers.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::worker_frames(data));
