//! The fuzzers' way to the pages of metrics. Not part of the crate's interface.

/// Reads `data` as a page in Prometheus' text format: each line is read or refused, and nothing panics.
pub fn pages(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    for sample in crate::prometheus::text::samples(text).flatten() {
        let _ = sample.label("quantile");
    }
}

#[test]
fn no_page_of_metrics_panics() {
    testkit::replay::replay("pages", 200, pages);
}
