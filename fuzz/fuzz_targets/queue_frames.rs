#![no_main]

#[path = "../bodies/queue.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::queue_frames(data));
