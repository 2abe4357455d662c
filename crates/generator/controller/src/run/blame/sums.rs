//! Random scenarios with random faults, recorded and judged: what was due, began and ended is accounted for.
//!
//! `THRONG_CASES` sets how many are tried, as of the engine's own sums; each is recorded, so a hundredth of them is.

use std::fmt::Write;

use record::schema::{SessionEnd, Summary};
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
    // In one of five, a third of the users cannot compute what they need.
    let own = "[ { get: /, as: a }, { if: user % 3 == 0, then: [ { set: { x: \"${1 / (user - user)}\" } } ] }, \
                { get: /b, as: b } ]";
    let session = if number % 5 == 4 { own } else { session };
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
    text += "thresholds: [ \"errors >= 0\", \"failed(sessions) >= 0\", \"error_rate(sessions) >= 0%\" ]\n";
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
    let cases = (testkit::cases(0) / 100).max(CASES);
    let mut never_begun = 0;
    let mut paused = 0;
    let mut unstarted = 0;
    let mut own = 0;
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
        check_sessions(&summary, &format!("case {number}:\n{text}"));
        own += summary.findings.iter().filter(|found| found.code == "own-failures").count();
        paused += summary.users.paused;
        unstarted += summary.users.unstarted;
    }
    assert!(never_begun > 0 && paused > 0 && unstarted > 0, "{never_begun} {paused} {unstarted}");
    assert!(own > 0);
}

/// Sessions that failed are among the errors, and in the figures of sessions as they are counted by their endings.
fn check_sessions(summary: &Summary, case: &str) {
    let users = &summary.users;
    let endings = users.endings.iter().filter(|ending| ending.end != SessionEnd::CutOff);
    let failed: u64 = endings.map(|ending| ending.users).sum();
    assert_eq!(failed, users.failed + users.stopped, "{case}");
    assert_eq!(users.sessions, users.finished + failed + users.cut_off, "{case}");
    let ended = users.finished + failed;
    let [errors, of_sessions, share] =
        [0, 1, 2].map(|threshold: usize| summary.thresholds[threshold].value);
    assert_eq!(of_sessions, (ended > 0).then_some(failed as f64), "{case}");
    assert_eq!(share, (ended > 0).then(|| failed as f64 / ended as f64), "{case}");
    assert!(errors.unwrap_or(0.0) >= failed as f64, "{errors:?} errors, {failed} sessions, {case}");
}
