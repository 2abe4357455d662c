//! Random scenarios with random faults, recorded and judged: what was due, began and ended is accounted for.
//!
//! `THRONG_CASES` sets how many are tried, as of the engine's own sums; each is recorded, so a hundredth of them is.

use std::fmt::Write;

use record::schema::Summary;
use stats::rng::{Purpose, Rng};

use super::bed::Bed;
use super::target::{Faults, S};

const CASES: u64 = 60;
/// Cases that once failed, beyond those.
const FAILED_ONCE: [u64; 1] = [391];

fn scenario(number: u64, rng: &mut Rng) -> String {
    let mut one_of = |choices: &[&'static str]| choices[rng.below(choices.len() as u64) as usize];
    let mut text = format!("name: sums\nseed: {number}\ntarget: http://127.0.0.1/\noptions:\n");
    let _ = writeln!(text, "  drain: {}", one_of(&["0s", "1s", "30s"]));
    let _ = writeln!(text, "  timeout: {}", one_of(&["500ms", "3s", "60s"]));
    let _ = writeln!(text, "  connecting_max: {}", one_of(&["1", "1000"]));
    let session = one_of(&[
        "[ { get: /, as: a }, { think: 700ms }, { get: /b, as: b } ]",
        "[ { pace: 300ms }, { get: /, as: a } ]",
        "[ { forever: [ { pace: 100ms }, { get: /, as: a }, { get: /b, as: b } ] } ]",
        "[ { loop: 30, steps: [ { pace: 200ms }, { get: /, as: a, save: { state: /ok } } ] }, { get: /b, as: b } ]",
    ]);
    let _ = writeln!(text, "sessions:\n  s: {session}");
    let phases = [
        "{ constant: 7/s, for: 2s }",
        "{ poisson: 9/s, for: 3s }",
        "{ users: 5, for: 3s }",
        "{ hold: 1s }",
    ];
    let _ = writeln!(
        text,
        "arrivals: [ {}, {}, {} ]",
        one_of(&phases),
        one_of(&phases),
        one_of(&phases)
    );
    text
}

fn judged(number: u64) -> (String, Summary) {
    let mut rng = Rng::new(number, 3, Purpose::Resample);
    let text = scenario(number, &mut rng);
    let mut bed = Bed::new(text.clone());
    let mut chance = |one_in: u64, share: f64| if rng.below(one_in) == 0 { share } else { 0.0 };
    bed.faults = Faults {
        delay_ns: number % 4 * S / 7,
        leak: chance(3, 0.2),
        fail: chance(3, 0.3),
        reset: chance(4, 0.1),
        ..Faults::default()
    };
    let mut span = |one_in: u64| {
        let from = rng.below(6_000) * S / 1_000;
        (rng.below(one_in) == 0).then(|| (from, from + S + rng.below(3) * S))
    };
    bed.faults.frozen = span(3).unwrap_or(bed.faults.frozen);
    bed.link.frozen = span(3).into_iter().collect();
    bed.link.pauses = span(3).into_iter().collect();
    if let Some((at_ns, _)) = span(4) {
        bed.link.arrivals_close_ns = at_ns;
    }
    (text, bed.judged(number))
}

#[test]
fn all_that_was_due_is_accounted_for_in_the_summary() {
    let cases = std::env::var("THRONG_CASES").ok();
    let cases: Option<u64> = cases.map(|n| n.parse().expect("a number of cases"));
    let cases = cases.map_or(CASES, |cases| (cases / 100).max(CASES));
    let mut never_begun = 0;
    let mut paused = 0;
    let mut unstarted = 0;
    for number in (0..cases).chain(FAILED_ONCE) {
        let (text, summary) = judged(number);
        let broken = summary.findings.iter().find(|f| f.code == "sums-broken");
        assert_eq!(broken.map(|f| &f.text), None, "case {number}:\n{text}");
        for measure in &summary.measures {
            let never: u64 = measure.never_begun.values().sum();
            assert_eq!(
                measure.due,
                Some(measure.begun + never),
                "case {number}, {}:\n{text}",
                measure.name
            );
            never_begun += never;
        }
        paused += summary.users.paused;
        unstarted += summary.users.unstarted;
    }
    assert!(never_begun > 0 && paused > 0 && unstarted > 0, "{never_begun} {paused} {unstarted}");
}
