//! The log-linear histogram: recording one value, merging two, reading a percentile.

use std::hint::black_box;

use divan::Bencher;
use stats::hist::LogHistogram;

/// Recorded before merging and reading.
const VALUES_COUNT: u64 = 10_000;

fn main() {
    divan::main();
}

/// Latencies from 100 µs up, spread over two decades.
fn filled() -> LogHistogram {
    let mut histogram = LogHistogram::new();
    for value in 0..VALUES_COUNT {
        histogram.record(100_000 + value * 1_000);
    }
    histogram
}

#[divan::bench]
fn record(bencher: Bencher<'_, '_>) {
    let mut histogram = filled();
    let mut value = 100_000;
    bencher.bench_local(|| {
        value = (value * 3) % 10_000_000 + 100_000;
        histogram.record(black_box(value));
    });
}

#[divan::bench]
fn merge(bencher: Bencher<'_, '_>) {
    let mut sum = filled();
    let one = filled();
    bencher.bench_local(|| sum.merge(black_box(&one)));
}

#[divan::bench]
fn quantile(bencher: Bencher<'_, '_>) {
    let histogram = filled();
    bencher.bench_local(|| histogram.quantile(black_box(0.99)));
}
