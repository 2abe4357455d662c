//! Concluding searches whose runs were made by hand.

use std::path::Path;

use compare::capacity::{
    Aim, Bounds, Conclusion, Ending, Outcome, Sign, Trial, TrialFigures, TrialThreshold, conclude,
    judge_trial,
};
use plan::LoadSetting;
use plan::{Basis, Comparison, Figure, MeasureId, Stat, Threshold};
use record::schema::{Finding, MeasureInfo, Severity};
use record::{Measurement, Outcome as Ended};
use testkit::runs::SECOND;
use testkit::runs::made::{Made, operation};

fn load_setting() -> LoadSetting {
    LoadSetting { path: "rate".to_owned(), value: 100.0, unit: "/s".to_owned() }
}

fn bounds() -> Bounds {
    Bounds {
        from: 100.0,
        at_most: f64::INFINITY,
        growth: 2.0,
        within: 0.05,
        repeat: 3,
        steps: 40,
        is_whole: false,
        can_be_longer: false,
    }
}

/// A run under a name, judged by whether its slowest answer came within 20 ms.
fn trial(runs: &Path, name: &str, load: f64, made: &Made) -> Trial {
    let run = made.write_into(runs, |info| info.id = name.to_owned());
    let threshold = Threshold {
        text: "max(request) < 20ms".to_owned(),
        figure: Figure::Measure {
            stat: Stat::Max,
            measure: Some(MeasureId(0)),
            basis: Basis::Response,
            phase: None,
        },
        comparison: Comparison::Less,
        limit: 20e6,
    };
    let summary = judge::judge(&run, &[threshold], false).unwrap();
    judge_trial(load, &run, &summary, Aim::Finished).unwrap()
}

fn concluded(runs: &Path, trials: &[Trial], ending: Ending) -> Conclusion {
    conclude(runs, &load_setting(), &bounds(), trials, ending).unwrap()
}

#[track_caller]
fn finding<'a>(found: &'a Conclusion, code: &str) -> &'a Finding {
    let of_code = found.findings.iter().find(|finding| finding.code == code);
    of_code.unwrap_or_else(|| panic!("no {code} among {:#?}", found.findings))
}

/// A run whose users all came.
fn made(time_ms: impl Fn(f64) -> f64) -> Made {
    let mut made = Made::answering(20, time_ms);
    for row in &mut made.series {
        (row.operations_begun, row.operations_ended, row.in_flight) = (20, 20, 1);
        (row.users_due, row.users_started) = (1, 1);
    }
    made
}

fn even() -> Made {
    made(|_| 10.0)
}

/// Answers in 10 ms, and from its fifth second on in 40; then things pile up.
fn bending() -> Made {
    let mut made = made(|s| if s < 5.0 { 10.0 } else { 40.0 });
    for row in made.series.iter_mut().skip(8) {
        row.in_flight = 50;
    }
    made
}

#[test]
fn trials_are_judged_by_their_runs() {
    let root = tempfile::tempdir().unwrap();
    let good = trial(root.path(), "good", 100.0, &even());
    assert_eq!((good.outcome, good.run.as_deref()), (Outcome::Holds, Some("good")));
    let figures = good.figures.as_ref().unwrap();
    assert_eq!(figures.per_s, 20.0);
    // 20 a second of 10 ms each.
    assert!((figures.in_flight - 0.2).abs() < 0.01, "{figures:?}");
    let nearest = good.nearest().unwrap();
    assert_eq!((nearest.text.as_str(), nearest.passed), ("max(request) < 20ms", true));
    assert!(nearest.shown.ends_with(" ms"), "{nearest:?}");
    let bad = trial(root.path(), "bad", 200.0, &bending());
    assert_eq!(bad.outcome, Outcome::Breaks);
    assert!(bad.why[0].starts_with("max(request) < 20ms: 4"), "{:?}", bad.why);
}

/// A step that failed of itself is among the errors, as it is for thresholds.
#[test]
fn errors_of_a_trial_are_those_of_its_summary() {
    let root = tempfile::tempdir().unwrap();
    let mut made = even();
    made.rows[0].outcome = Ended::Status;
    let failed = operation(7, 3 * SECOND, 0, Ended::Step);
    made.rows.push(Measurement { measure: 1, ..failed });
    let run = made.write_into(root.path(), |info| {
        info.measures.push(MeasureInfo::new("steps", "step"));
    });
    let summary = judge::judge(&run, &[], false).unwrap();
    let share =
        judge_trial(100.0, &run, &summary, Aim::Finished).unwrap().figures.unwrap().error_share;
    assert_eq!((Some(share), share), (summary.operations.error_rate, 2.0 / 401.0));
}

/// Of users that are to stay, those whose sessions failed are gone; the answer says how many were present.
#[test]
fn users_that_are_to_stay_are_counted() {
    let root = tempfile::tempdir().unwrap();
    let mut stayed = even();
    for row in &mut stayed.series {
        (row.users, row.users_peak) = (1_200, 1_234);
    }
    let judged = |made: &Made, name: &str, aim| {
        let run = made.write_into(root.path(), |info| info.id = name.to_owned());
        let summary = judge::judge(&run, &[], false).unwrap();
        judge_trial(100.0, &run, &summary, aim).unwrap()
    };
    let trial = judged(&stayed, "stayed", Aim::Present);
    assert_eq!((trial.outcome, trial.present_max), (Outcome::Holds, Some(1_234)));
    assert_eq!(judged(&stayed, "others", Aim::Finished).present_max, None);
    let found = concluded(root.path(), &[trial], Ending::AllHold);
    let text = &finding(&found, "users-present").text;
    assert_eq!(text, "at 100/s 1,234 users were present at once");
    // One in twenty does not stay.
    for row in &mut stayed.series {
        row.users_failed = u64::from(row.start_ns == 3 * SECOND);
    }
    let gone = judged(&stayed, "gone", Aim::Present);
    assert_eq!(gone.outcome, Outcome::Breaks);
    assert_eq!(gone.why, ["users did not stay: 1 of 20 sessions failed"]);
}

#[test]
fn the_first_sign_is_reported_with_its_second() {
    let root = tempfile::tempdir().unwrap();
    let runs = root.path();
    let mut trials = vec![trial(runs, "a", 100.0, &even()), trial(runs, "b", 104.0, &bending())];
    trials.push(Trial::new(100.0, Outcome::Holds));
    trials.push(Trial::new(104.0, Outcome::Breaks));
    let found = concluded(runs, &trials, Ending::Found);
    assert_eq!(
        (found.holds, found.breaks, found.ending.is_success()),
        (Some(100.0), Some(104.0), true)
    );
    let bend = found.bend.as_ref().unwrap();
    let expected = [(Sign::Responses, 5 * SECOND), (Sign::Backlog, 8 * SECOND)];
    assert_eq!((bend.run.as_str(), &bend.signs[..]), ("b", &expected[..]));
    let text = &finding(&found, "bend").text;
    assert!(text.contains("response times, from 5 s on; then operations in flight"), "{text}");
    let answer = &found.findings[0];
    assert_eq!((answer.severity, answer.code.as_str()), (Severity::Good, "capacity"));
    assert!(answer.text.starts_with("holds 100/s (2 of 2 runs"), "{}", answer.text);
    assert!(finding(&found, "threshold-failed").text.contains("max(request)"));
    assert!(finding(&found, "no-law").text.contains("4 different loads"));
}

#[test]
fn errors_and_the_generators_lag_come_before_what_they_cause() {
    let root = tempfile::tempdir().unwrap();
    let mut made = bending();
    for row in &mut made.rows {
        if row.due_ns >= 5 * SECOND {
            row.outcome = Ended::Status;
        }
    }
    for row in made.series.iter_mut().skip(5) {
        row.errors = 20;
        row.lag_p99_ns = 10 * SECOND;
    }
    let trials = [trial(root.path(), "a", 100.0, &even()), trial(root.path(), "b", 104.0, &made)];
    let found = concluded(root.path(), &trials, Ending::Untrusted);
    let signs: Vec<Sign> = found.bend.as_ref().unwrap().signs.iter().map(|s| s.0).collect();
    assert_eq!(signs, [Sign::GeneratorLag, Sign::Errors, Sign::Backlog]);
    assert!(finding(&found, "bend").text.ends_with("the generator was the limit, not the target"));
}

/// A trial of known figures, without a run.
fn measured(load: f64, outcome: Outcome, in_flight: f64, per_s: f64) -> Trial {
    Trial {
        figures: Some(TrialFigures {
            per_s,
            in_flight,
            service_ns: in_flight / per_s * 1e9,
            p50_ns: 1,
            p50_is_bound: false,
            p99_ns: 2,
            p99_is_bound: false,
            error_share: 0.0,
        }),
        ..Trial::new(load, outcome)
    }
}

#[test]
fn a_law_is_fitted_to_what_was_in_flight() {
    // λ = 100, σ = 0.05, κ = 0.001: greatest at √(0.95/0.001) = 30.8 in flight.
    let law = |n: f64| 100.0 * n / (1.0 + 0.05 * (n - 1.0) + 0.001 * n * (n - 1.0));
    let trials: Vec<Trial> = [1.0, 2.0, 4.0, 8.0, 16.0, 40.0]
        .iter()
        .map(|&n| measured(law(n).round(), Outcome::Holds, n, law(n)))
        .collect();
    let root = tempfile::tempdir().unwrap();
    let found = concluded(root.path(), &trials, Ending::AllHold);
    let fitted = found.law.as_ref().unwrap();
    assert!((fitted.sigma.0 - 0.05).abs() < 1e-5 && (fitted.kappa.0 - 0.001).abs() < 1e-6);
    assert!((fitted.peak_in_flight.unwrap().0 - 30.82).abs() < 0.01);
    assert!(finding(&found, "scalability-law").text.contains("with 30.8 (30.8 to 30.8) in flight"));
    assert_eq!(found.findings[0].code, "capacity-above");

    // What could not be trusted is no point of it, and points that are too much alike show none.
    let mut spoilt = trials.clone();
    spoilt.push(measured(900.0, Outcome::Untrusted, 20.0, 5.0));
    assert_eq!(concluded(root.path(), &spoilt, Ending::Untrusted).law, found.law);
    let alike: Vec<Trial> =
        [1.0, 1.1, 1.2, 1.3, 1.4].iter().map(|&n| measured(n, Outcome::Holds, n, law(n))).collect();
    let found = concluded(root.path(), &alike, Ending::AllHold);
    assert!(finding(&found, "no-law").text.contains("too close together"));
}

#[test]
fn each_ending_has_its_sentence() {
    let root = tempfile::tempdir().unwrap();
    let check = |trials: &[(f64, Outcome)], ending, text: &str| {
        let trials: Vec<Trial> = trials.iter().map(|&(l, o)| Trial::new(l, o)).collect();
        let found = concluded(root.path(), &trials, ending);
        assert!(found.findings[0].text.contains(text), "{}", found.findings[0].text);
    };
    let holds = Outcome::Holds;
    let breaks = Outcome::Breaks;
    let untrusted = Outcome::Untrusted;
    check(&[(5.0, breaks), (5.0, breaks)], Ending::NoneHolds, "not even 5/s holds");
    check(
        &[(5.0, untrusted), (5.0, untrusted)],
        Ending::Untrusted,
        "every run at 5/s was untrusted",
    );
    let generator = [(5.0, holds), (6.0, untrusted), (6.0, untrusted)];
    check(&generator, Ending::Untrusted, "every run at 6/s was untrusted");
    check(&[(5.0, holds)], Ending::OutOfSteps, "ran out of steps");
    check(&[(5.0, holds), (9.0, breaks)], Ending::OutOfTime, "ran out of time");
    check(&[], Ending::Interrupted, "no run completed; the search was interrupted");
}

#[test]
fn a_load_that_fails_for_another_reason_than_a_threshold_has_no_crossing() {
    let root = tempfile::tempdir().unwrap();
    let trial = |load: f64, outcome, margin| Trial {
        margins: vec![Some(margin)],
        ..Trial::new(load, outcome)
    };
    let holds = Outcome::Holds;
    let breaks = Outcome::Breaks;
    let mut trials = vec![
        trial(90.0, holds, -0.61),
        trial(94.0, holds, -0.52),
        trial(97.0, holds, -0.45),
        trial(97.0, holds, -0.46),
        trial(100.0, breaks, -0.41),
        trial(100.0, breaks, -0.39),
    ];
    let found = concluded(root.path(), &trials, Ending::Found);
    assert_eq!((found.holds, found.breaks, found.crossing), (Some(97.0), Some(100.0), None));
    // With another limit it does fail because of the threshold.
    for trial in &mut trials {
        trial.margins = trial.margins.iter().map(|margin| margin.map(|m| m + 0.43)).collect();
    }
    let found = concluded(root.path(), &trials, Ending::Found);
    let (load, low, high) = found.crossing.unwrap();
    assert!(low < load && load < high && (97.0..99.0).contains(&load), "{load}");
    // It has as many digits as say something.
    assert_eq!((load * 100.0).round() / 100.0, load);
}

#[test]
fn a_target_that_fails_alike_at_any_load_is_not_blamed_on_the_load() {
    let root = tempfile::tempdir().unwrap();
    let trial = |load: f64, time_ms: f64| {
        let threshold = TrialThreshold {
            text: "p99(page) < 100ms".to_owned(),
            shown: format!("{time_ms} ms"),
            passed: false,
            margin_ends: None,
            operations: (10.0 * load) as u64,
            operations_min: 299,
        };
        Trial {
            margins: vec![Some((time_ms / 100.0).ln())],
            thresholds: vec![threshold],
            ..measured(load, Outcome::Breaks, 1.0, load)
        }
    };
    let trials = [trial(200.0, 192.0), trial(100.0, 190.0), trial(50.0, 186.0)];
    let found = concluded(root.path(), &trials, Ending::LoadIsNotTheCause);
    assert_eq!((found.holds, found.ending.is_success()), (None, false));
    let text = "load is not the cause: p99(page) < 100ms fails at any load that was tried, with 192 ms at 200/s and \
                186 ms at 50/s; lower loads were not tried";
    assert_eq!(finding(&found, "load-not-the-cause").text, text);
    let few = finding(&found, "few-operations");
    assert!(few.text.starts_with("a run at less than 50/s has too few operations"), "{}", few.text);
}
