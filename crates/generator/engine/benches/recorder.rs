//! Recording one operation: its row, histograms and counts.

use std::hint::black_box;

use divan::Bencher;
use engine::microbench::Recording;
use record::Measurement;
use scenario::{Settings, Source};

const SCENARIO: &str = "target: http://h/\nsessions: { s: [ { get: / } ] }\n\
                        arrivals: [ { constant: 1/s, for: 1s } ]\n";
/// A successful operation of the first measure, as workers send it.
const ROW: &[u8] = &[
    0x80, 0x01, 0x81, 0x01, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 0xac, 0x02, 0, 0, 0, 0, 0, 1, 100,
    100,
];

fn main() {
    divan::main();
}

#[divan::bench]
fn operation(bencher: Bencher<'_, '_>) {
    let source = Source { name: "bench", text: SCENARIO };
    let settings =
        Settings { overrides: &[], env: &|_| None, files: &|_| Err("no files".to_owned()) };
    let (plan, _) = scenario::compile(source, &settings);
    let mut recording = Recording::new(&plan.expect("the scenario is right"));
    let row: Measurement = postcard::from_bytes(ROW).expect("the row is right");
    let mut due_ns = 0;
    bencher.bench_local(|| {
        due_ns += 1_000;
        recording.operation(black_box(Measurement {
            due_ns,
            sent_ns: due_ns + 100,
            done_ns: due_ns * 3,
            ..row
        }));
    });
}
