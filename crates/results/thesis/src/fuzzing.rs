//! The fuzzers' way to the parsers of published files. Not part of the crate's interface.

use crate::import::{parse_metric, parse_report};

/// Reads `data` as a client's report and as a metric: each is read, repaired or refused, and nothing panics.
pub fn publications(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        parse_report(text);
        parse_metric(text);
    }
}

#[test]
fn no_published_file_panics() {
    testkit::replay::replay("publications", 200, publications);
}
