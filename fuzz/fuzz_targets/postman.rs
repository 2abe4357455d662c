#![no_main]

#[path = "../bodies/convert.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::postman(data));
