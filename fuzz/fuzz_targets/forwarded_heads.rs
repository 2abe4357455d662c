#![no_main]

#[path = "../bodies/balancer.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::forwarded_heads(data));
