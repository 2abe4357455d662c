#![no_main]

#[path = "../bodies/httpd.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::heads(data));
