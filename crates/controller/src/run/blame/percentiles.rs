//! Half a second in a minute decides p99.9. Whose half second was it?

use record::schema::{Summary, Verdict};

use super::bed::Bed;
use super::target::{Faults, S};

const HALF: (u64, u64) = (30 * S, 30 * S + S / 2);

/// A minute of 200 requests a second, each of 10 ms.
fn judged(limit: &str, seed: u64, spoil: impl FnOnce(&mut Bed)) -> Summary {
    let mut bed = Bed::new(format!(
        "
name: percentiles
seed: {seed}
target: http://127.0.0.1/
sessions:
  visitor: [ {{ get: /, as: it }} ]
arrivals: [ {{ poisson: 200/s, for: 60s }} ]
options: {{ drain: 1s, connecting_max: 4096 }}
thresholds: [ \"{limit}\" ]
"
    ));
    bed.faults = Faults {
        delay_ns: S / 100,
        ..Faults::default()
    };
    spoil(&mut bed);
    bed.judged(seed)
}

fn generator_stops(bed: &mut Bed) {
    bed.link.frozen.push(HALF);
}

fn target_stops(bed: &mut Bed) {
    bed.faults.frozen = HALF;
}

#[test]
fn a_threshold_that_the_generators_own_stop_decides_is_not_the_targets() {
    for seed in 1..=5 {
        let verdict = |limit, spoil: fn(&mut Bed)| {
            let summary = judged(limit, seed, spoil);
            let codes = summary.findings.iter().map(|f| f.code.as_str());
            let by_lag = codes.filter(|code| *code == "threshold-by-lag").count();
            (summary.verdict, by_lag)
        };
        let p999 = "p99.9(it) < 100ms";
        assert_eq!(verdict(p999, |_| {}), (Verdict::Passed, 0));
        assert_eq!(verdict(p999, generator_stops), (Verdict::Untrusted, 1));
        assert_eq!(verdict(p999, target_stops), (Verdict::Failed, 0));
        // The stop is within the 1 % that p99 leaves out.
        assert_eq!(
            verdict("p99(it) < 100ms", generator_stops),
            (Verdict::Passed, 0)
        );
        assert_eq!(
            verdict("max(it) < 2s", generator_stops),
            (Verdict::Passed, 0)
        );
    }
}
