use record::schema::ErrorSummary;

use super::*;
use crate::Side;
use crate::decide::decide;
use crate::sample;
use crate::testing::run;

/// Failures of the sample's requests, of which 6,000 end; `by_phase` has one phase.
fn failed(step: &str, detail: &str, count: u64) -> ErrorSummary {
    ErrorSummary {
        step: step.to_owned(),
        kind: "status".to_owned(),
        detail: Some(detail.to_owned()),
        count,
        share: None,
        first_ns: 0,
        last_ns: 1,
        by_phase: vec![count],
        samples: Vec::new(),
    }
}

fn of_run(errors: Vec<ErrorSummary>, options: &Options) -> RunErrors {
    let summary = Summary { errors, ..sample::judged(&sample::figures()) };
    RunErrors::of(&summary, &sample::info(), options)
}

/// What is found of these runs, each with its failures: those of the baseline, then those of the candidate.
fn found(baseline: &[Vec<ErrorSummary>], candidate: &[Vec<ErrorSummary>]) -> Vec<ErrorChange> {
    let options = Options::default();
    let rule = Rule::of(baseline.len(), candidate.len(), options.alpha);
    let runs: Vec<RunErrors> =
        baseline.iter().chain(candidate).map(|errors| of_run(errors.clone(), &options)).collect();
    let all = occurrences(&runs);
    let failures = components(&all, baseline.len(), rule, &options);
    let decided = match rule {
        Rule::Windows => single_runs(failures, &options),
        _ => decide(vec![failures], baseline.len(), candidate.len(), rule, &options).remove(0),
    };
    changes(all, decided)
}

/// The only change that was found.
fn only(mut found: Vec<ErrorChange>) -> ErrorChange {
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn what_is_new_and_what_is_gone_is_found_by_its_detail() {
    let old: Vec<Vec<ErrorSummary>> = (0..5)
        .map(|n| vec![failed("request", "404", 60), failed("request", "500", 30 + n)])
        .collect();
    let new: Vec<Vec<ErrorSummary>> = (0..5)
        .map(|n| vec![failed("request", "404", 60), failed("request", "503", 250 + n)])
        .collect();
    let found = found(&old, &new);
    let shown: Vec<String> = found
        .iter()
        .map(|error| {
            let [from, to] = [error.baseline, error.candidate].map(|value| error.shown(value));
            format!("{}: {from} to {to}, {}, {}", error.name, error.trend.name(), error.counts)
        })
        .collect();
    // 404 is the same on both sides.
    let expected = [
        "status 503 at request: 0 % to 4.20 %, new, true",
        "status 500 at request: 0.533 % to 0 %, gone, true",
    ];
    assert_eq!(shown, expected);
    let rose = in_words(found.iter().filter(|error| error.trend.is_rise()));
    assert_eq!(rose, "status 503 at request from 0 % to 4.20 %");
}

#[test]
fn a_single_failure_of_many_runs_does_not_count_and_is_listed() {
    for runs in [1, 3, 5] {
        let none = vec![Vec::new(); runs];
        let mut one = none.clone();
        one[0] = vec![failed("request", "503", 1)];
        let error = only(found(&none, &one));
        assert!(!error.seen && !error.counts && error.is_listed(), "{runs}: {error:?}");
        assert_eq!(error.trend, ErrorTrend::New);
    }
}

#[test]
fn failures_of_single_runs_are_taken_for_independent() {
    let error = only(found(&[Vec::new()], &[vec![failed("request", "503", 250)]]));
    assert!(error.counts && error.p < 1e-6, "{error:?}");
    // asin √p of 60 and of 70 in 6,000 differ by 0.0081, and their standard error is √(2 · 0.25 / 6,000) = 0.0091:
    // z = 0.88, p 0.38.
    let from = vec![failed("request", "503", 60)];
    let error = only(found(&[from], &[vec![failed("request", "503", 70)]]));
    assert!(!error.seen && (error.p - 0.377).abs() < 0.005, "{error:?}");
}

#[test]
fn steps_that_are_no_operations_are_counted_by_run() {
    let runs = |count: u64| vec![vec![failed("`set` of `code`", "no number", count)]; 5];
    let error = only(found(&vec![Vec::new(); 5], &runs(42)));
    assert!(!error.is_share && error.counts, "{error:?}");
    assert_eq!([error.shown(0.0), error.shown(error.candidate)], ["0 a run", "42 a run"]);
}

#[test]
fn a_phase_has_its_own_failures_and_a_part_of_one_has_none() {
    let mut error = failed("request", "503", 60);
    error.by_phase = vec![40];
    let of = |options: &Options| of_run(vec![error.clone()], options);
    let of_phase = of(&Options { phase: Some("constant".to_owned()), ..Options::default() });
    assert_eq!(of_phase.counts.values().copied().collect::<Vec<u64>>(), [40]);
    assert_eq!(of_phase.ended["request"], 6000);
    assert!(!of(&Options { skip_ns: 1, ..Options::default() }).is_known);
    let other = Options { only: Some(vec!["connect".to_owned()]), ..Options::default() };
    assert!(of(&other).counts.is_empty());
}

#[test]
fn runs_that_do_not_say_what_failed_are_named_and_not_compared() {
    let options = Options::default();
    let known = of_run(vec![failed("request", "503", 60)], &options);
    let mut figures = sample::figures();
    sample::fail(&mut figures, sample::REQUEST, record::Outcome::Status, 60);
    let unknown = RunErrors::of(&sample::judged(&figures), &sample::info(), &options);
    assert!(known.is_known && !unknown.is_known);
    let of_runs = [unknown, known];
    assert_eq!(occurrences(&of_runs), []);
    let runs = [run("B1", Side::Baseline), run("C1", Side::Candidate)];
    let found = findings(&[], &of_runs, &runs, &options);
    assert_eq!(
        found[0].text,
        "failures are not compared by what they were: the records of B1 do not say"
    );
}

#[test]
fn the_most_frequent_failures_are_tested() {
    let many = |first: u64| -> Vec<ErrorSummary> {
        (0..60).map(|n| failed("request", &format!("{}", 500 + n), first + n)).collect()
    };
    let options = Options::default();
    let runs = [many(1), many(1)].map(|errors| of_run(errors, &options));
    let all = occurrences(&runs);
    assert_eq!(all.len(), TESTED_MAX);
    assert_eq!(all[0].key.detail.as_deref(), Some("559"));
}
