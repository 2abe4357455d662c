use stats::rng::{Purpose, Rng};
use stats::usl::throughput;

use super::*;
use crate::capacity::TrialFigures;

const VALUES: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0];

fn setting(unit: &str) -> LoadSetting {
    LoadSetting { path: "connections".to_owned(), value: 1.0, unit: unit.to_owned() }
}

fn sweep(values: &[f64], repeat: usize) -> Sweep {
    Sweep { values: values.to_vec(), repeat, seed: 7 }
}

fn trial(value: f64, per_s: f64, outcome: Outcome) -> Trial {
    Trial {
        figures: Some(TrialFigures {
            per_s,
            in_flight: 96.0,
            service_ns: 96e9 / per_s,
            p50_ns: 1_000_000,
            p50_is_bound: false,
            p99_ns: 9_000_000,
            p99_is_bound: false,
            error_share: 0.0,
        }),
        ..Trial::new(value, outcome)
    }
}

/// Runs of a curve, each off by up to 2 %.
fn measured(values: &[f64], repeat: usize, curve: impl Fn(f64) -> f64) -> Vec<Trial> {
    let mut rng = Rng::new(3, 0, Purpose::Value);
    let runs = (0..repeat).flat_map(|_| values.iter());
    runs.map(|value| {
        let off = 0.98 + 0.04 * rng.unit();
        trial(*value, curve(*value) * off, Outcome::Holds)
    })
    .collect()
}

/// Peak at 21.8.
fn known(value: f64) -> f64 {
    throughput(1000.0, 0.05, 0.002, value)
}

fn texts(found: &SweepConclusion) -> String {
    let lines = found.findings.iter().map(|f| format!("{} {}\n", f.code, f.text));
    lines.collect()
}

#[test]
fn the_peak_of_a_known_curve_is_found_with_its_law() {
    let trials = measured(&VALUES, 3, known);
    let found = conclude_sweep(&setting(""), &sweep(&VALUES, 3), &trials, Ending::Found);
    let best = found.best.as_ref().unwrap();
    assert_eq!(best.value, 24.0);
    let (low, high) = best.range.unwrap();
    assert!((16.0..=24.0).contains(&low) && (24.0..=32.0).contains(&high), "{best:?}");
    // 16 loses 2.7 %, 32 loses 4.3 %.
    for (neighbour, (value, loss)) in best.neighbours.iter().zip([(16.0, 0.0272), (32.0, 0.0431)]) {
        let (low, high) = neighbour.bounds.unwrap();
        assert_eq!(neighbour.value, value);
        assert!(low < loss && loss < high, "{neighbour:?}");
    }
    let law = found.law.as_ref().unwrap();
    for ((value, low, high), truth) in [
        (law.lambda, 1000.0),
        (law.sigma, 0.05),
        (law.kappa, 0.002),
        ((law.peak.unwrap(), law.peak_low.unwrap(), law.peak_high), 21.8),
    ] {
        assert!(low <= truth && truth <= high.unwrap(), "{low} {value} {high:?}: {truth}");
    }
    assert_eq!((law.points, law.load_max), (30, 64.0));
    let text = texts(&found);
    assert!(text.starts_with("best-value throughput is greatest at 24, 7,"), "{text}");
    assert!(text.contains("neighbours against 24, 16 loses "), "{text}");
    assert!(text.contains("scalability-law scalability law over 30 runs with λ "), "{text}");
}

#[test]
fn a_curve_that_still_rises_says_so() {
    let values = &VALUES[..6];
    let trials = measured(values, 3, known);
    let found = conclude_sweep(&setting(""), &sweep(values, 3), &trials, Ending::Found);
    let best = found.best.as_ref().unwrap();
    assert_eq!((best.value, best.is_highest), (16.0, true));
    let text = texts(&found);
    assert!(
        text.contains("at 16, 7,")
            && text.contains("the highest value that was tried: it may rise further"),
        "{text}"
    );
    assert_eq!(found.findings[0].code, "best-at-edge");
    let falling = measured(&VALUES, 3, |value| 1000.0 / value);
    let found = conclude_sweep(&setting(""), &sweep(&VALUES, 3), &falling, Ending::Found);
    let text = texts(&found);
    assert!(text.contains("at 1, ") && text.contains("a lower one may be better"), "{text}");
}

#[test]
fn values_that_break_or_are_untrusted_are_not_the_best() {
    let mut trials = measured(&VALUES, 2, known);
    for trial in trials.iter_mut().filter(|trial| trial.load == 24.0) {
        trial.outcome = Outcome::Breaks;
        trial.why = vec!["errors == 0: 12".to_owned()];
    }
    for trial in trials.iter_mut().filter(|trial| trial.load == 16.0) {
        trial.outcome = Outcome::Untrusted;
        trial.why = vec!["the generator lagged".to_owned()];
    }
    let found = conclude_sweep(&setting(""), &sweep(&VALUES, 2), &trials, Ending::Found);
    let best = found.best.as_ref().unwrap();
    assert_eq!(best.value, 32.0);
    assert_eq!(best.neighbours[0].value, 12.0);
    let text = texts(&found);
    assert!(text.contains("threshold-failed at 24: errors == 0: 12"), "{text}");
    assert!(text.contains("untrusted at 16: the generator lagged"), "{text}");
    // Untrusted runs measured nothing that counts; those that break did.
    let per_s = |value: f64| found.values.iter().find(|v| v.value == value).unwrap().per_s;
    assert!(per_s(16.0).is_none() && per_s(24.0).is_some());
    assert_eq!(found.law.as_ref().unwrap().points, 18);

    trials.iter_mut().for_each(|trial| trial.outcome = Outcome::Breaks);
    let found = conclude_sweep(&setting(""), &sweep(&VALUES, 2), &trials, Ending::Found);
    assert_eq!((found.best.as_ref(), found.ending), (None, Ending::NoneHolds));
    trials.iter_mut().for_each(|trial| trial.outcome = Outcome::Untrusted);
    let found = conclude_sweep(&setting(""), &sweep(&VALUES, 2), &trials, Ending::Found);
    assert_eq!((found.best.as_ref(), found.ending), (None, Ending::Untrusted));
}

#[test]
fn without_repetitions_or_counts_less_is_known_and_said() {
    let trials = measured(&VALUES, 1, known);
    let found = conclude_sweep(&setting(""), &sweep(&VALUES, 1), &trials, Ending::Found);
    assert_eq!(found.best.as_ref().unwrap().range, None);
    assert!(texts(&found).contains("--repeat 3"));
    let found = conclude_sweep(&setting("ms"), &sweep(&VALUES, 1), &trials, Ending::Found);
    let problem = found.law_problem.as_ref().unwrap();
    assert!(problem.contains("connections counts nothing"), "{problem}");
    let few = conclude_sweep(&setting(""), &sweep(&VALUES[..3], 1), &trials[..3], Ending::Found);
    assert!(few.law_problem.unwrap().contains("at least 4"));
}

#[test]
fn an_unfinished_sweep_says_what_counts_and_how_it_continues() {
    let trials = measured(&VALUES, 1, known);
    let sweep = sweep(&VALUES, 3);
    let found = conclude_sweep(&setting(""), &sweep, &trials[..4], Ending::Interrupted);
    assert!(
        texts(&found).contains("; 4 of 30 runs count: the sweep was interrupted; --resume"),
        "{}",
        texts(&found)
    );
    let none = conclude_sweep(&setting(""), &sweep, &[], Ending::Interrupted);
    assert!(texts(&none).starts_with("best-unknown no value is known"));
}

#[test]
fn runs_after_the_targets_end_do_not_count() {
    let silent = |value| trial(value, 0.0, Outcome::Breaks);
    let up = |value| trial(value, 100.0, Outcome::Holds);
    let failed = |value| Trial::new(value, Outcome::Breaks);
    let count = |trials: &[Trial]| answered(trials).len();
    assert_eq!(count(&[up(1.0), silent(2.0)]), 2, "2 may be the reason");
    assert_eq!(count(&[up(1.0), silent(2.0), silent(1.0)]), 2);
    assert_eq!(count(&[up(1.0), up(2.0), silent(2.0)]), 2);
    assert_eq!(count(&[up(1.0), failed(2.0), silent(4.0), failed(1.0)]), 2);
    assert_eq!(count(&[silent(1.0), silent(2.0)]), 2, "nothing ever answered");
    assert_eq!(count(&[up(1.0), silent(2.0), up(1.0)]), 3);
    let again = [silent(2.0), up(1.0), silent(2.0)];
    assert_eq!(count(&again), 3, "with 2 the target never answered");
}

#[test]
fn values_that_cannot_be_tried_are_named() {
    let refused = |values: &[f64]| sweep(values, 1).check().unwrap_err().to_string();
    assert_eq!(sweep(&VALUES, 1).check(), Ok(()));
    assert!(refused(&[4.0]).contains("one value"));
    assert!(refused(&[1.0, 8.0, 4.0]).contains("4 stands after 8"));
    assert!(refused(&[1.0, 1.0]).contains("1 stands after 1"));
    assert!(refused(&[0.0, 1.0]).contains("0 is not above 0"));
    let many: Vec<f64> = (1..=101).map(f64::from).collect();
    assert!(refused(&many).contains("101 values are too many"));
    assert_eq!(sweep(&VALUES, 0).check(), Err(SweepError::NoRuns));
}
