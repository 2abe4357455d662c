//! The fuzzers' way to bodies and addresses of answers. Not part of the crate's interface.

use crate::fetch::content::decode;
use crate::fetch::{Address, resolve};

/// Small, so that inputs reach it.
const BYTES_MAX: usize = 64 << 10;

/// The first line of `data` lists codings, the rest is a body that has them: it is decoded within the limit, or refused.
pub fn contents(data: &[u8]) {
    let end = data.iter().position(|&byte| byte == b'\n');
    let (codings, body) = data.split_at(end.unwrap_or(data.len()));
    let Ok(codings) = std::str::from_utf8(codings) else {
        return;
    };
    let body = body.strip_prefix(b"\n").unwrap_or(body);
    if let Ok(decoded) = decode(codings, body, BYTES_MAX) {
        assert!(decoded.len() <= BYTES_MAX.max(body.len()));
    }
}

/// Follows `data` as the header `location`, a line a time: each leads somewhere, or is refused.
pub fn locations(data: &[u8]) {
    let mut base =
        Address { tls: false, authority: "a.test:8080".to_owned(), target: "/b/c?d".to_owned() };
    for line in data.split(|&byte| byte == b'\n') {
        if let Ok(next) = resolve(&base, line) {
            assert!(next.target.starts_with('/'), "{next:?}");
            base = next;
        }
    }
}

#[test]
fn no_body_panics() {
    testkit::replay::replay("contents", 200, contents);
}

#[test]
fn no_location_panics() {
    testkit::replay::replay("locations", 200, locations);
}
