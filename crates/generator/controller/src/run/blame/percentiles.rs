//! Half a second in a minute decides p99.9. Whose half second was it?

use record::schema::{Summary, Verdict};

use super::bed::Bed;
use super::target::{Faults, S};

const HALF: (u64, u64) = (30 * S, 30 * S + S / 2);

/// A minute of 200 requests a second, each of this time.
fn judged(limit: &str, delay_ns: u64, seed: u64, spoil: fn(&mut Bed)) -> Summary {
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
    bed.faults = Faults { delay_ns, ..Faults::default() };
    spoil(&mut bed);
    bed.judged(seed)
}

fn generator_stops(bed: &mut Bed) {
    bed.link.frozen.push(HALF);
}

fn target_stops(bed: &mut Bed) {
    bed.faults.frozen = HALF;
}

/// The verdict, and how many thresholds lag decided.
fn verdict(limit: &str, delay_ns: u64, seed: u64, spoil: fn(&mut Bed)) -> (Verdict, usize) {
    let summary = judged(limit, delay_ns, seed, spoil);
    let codes = summary.findings.iter().map(|f| f.code.as_str());
    let by_lag = codes.filter(|code| *code == "threshold-by-lag").count();
    (summary.verdict, by_lag)
}

#[test]
fn a_threshold_that_the_generators_own_stop_decides_is_not_the_targets() {
    for seed in 1..=2 {
        let verdict = |limit, spoil| verdict(limit, S / 100, seed, spoil);
        let p999 = "p99.9(it) < 100ms";
        assert_eq!(verdict(p999, |_| {}), (Verdict::Passed, 0));
        assert_eq!(verdict(p999, generator_stops), (Verdict::Untrusted, 1));
        assert_eq!(verdict(p999, target_stops), (Verdict::Failed, 0));
        // The stop is within the 1 % that p99 leaves out.
        assert_eq!(verdict("p99(it) < 100ms", generator_stops), (Verdict::Passed, 0));
        assert_eq!(verdict("max(it) < 2s", generator_stops), (Verdict::Passed, 0));
    }
}

/// Many slow answers are in flight when the generator stops. They come in time, and are read late.
#[test]
fn answers_that_came_while_the_generator_stood_still_are_not_late_on_the_targets_account() {
    for seed in 1..=2 {
        let verdict = |limit, spoil| verdict(limit, 3 * S / 10, seed, spoil);
        for limit in ["p99.9(it) < 500ms", "p99.9(it.service) < 500ms"] {
            assert_eq!(verdict(limit, |_| {}), (Verdict::Passed, 0));
            assert_eq!(verdict(limit, generator_stops), (Verdict::Untrusted, 1), "{limit}");
            assert_eq!(verdict(limit, target_stops), (Verdict::Failed, 0), "{limit}");
        }
        // What is too slow anyway is not excused.
        let slow = "p99.9(it.service) < 250ms";
        assert_eq!(verdict(slow, generator_stops), (Verdict::Failed, 0));
    }
}
