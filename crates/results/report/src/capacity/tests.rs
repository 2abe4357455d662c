use compare::capacity::{Ending, TrialFigures, TrialThreshold};
use expect_test::expect;
use record::schema::{Finding, Severity};

use super::*;

const STYLE: Style = Style { colour: false, unicode: true };

fn setting() -> LoadSetting {
    LoadSetting { path: "arrivals.0.constant".to_owned(), value: 100.0, unit: "/s".to_owned() }
}

#[test]
fn each_run_has_a_line() {
    let measured = Trial {
        run: Some("20261121T101500-shop-3f2a".to_owned()),
        why: vec!["p99(request) < 100ms: 341 ms".to_owned()],
        figures: Some(TrialFigures {
            per_s: 751.2,
            in_flight: 93.4,
            service_ns: 124e6,
            p50_ns: 88_000_000,
            p50_is_bound: false,
            p99_ns: 341_000_000,
            p99_is_bound: false,
            error_share: 0.0012,
        }),
        ..Trial::new(760.0, Outcome::Breaks)
    };
    let unanswered = Trial {
        figures: Some(TrialFigures {
            per_s: 0.0,
            in_flight: 0.0,
            service_ns: 0.0,
            p50_ns: 0,
            p50_is_bound: false,
            p99_ns: 0,
            p99_is_bound: false,
            error_share: 1.0,
        }),
        ..Trial::new(800.0, Outcome::Breaks)
    };
    let refused = Trial {
        why: vec!["this machine can hold about 20,000 users".to_owned()],
        ..Trial::new(50_000.0, Outcome::Untrusted)
    };
    let threshold = |text: &str, shown: &str| TrialThreshold {
        text: text.to_owned(),
        shown: shown.to_owned(),
        passed: true,
        margin_ends: None,
        operations: 30_000,
        operations_min: 299,
    };
    let confirmed = Trial {
        why: Vec::new(),
        margins: vec![None, Some(-0.7), Some(-0.1)],
        thresholds: vec![
            threshold("errors == 0", "0"),
            threshold("p50(page) < 100ms", "50.0 ms"),
            threshold("p99(page) < 150ms", "136 ms"),
        ],
        is_longer: true,
        outcome: Outcome::Holds,
        ..measured.clone()
    };
    let staying = Trial { present_max: Some(3_981), ..Trial::new(640.0, Outcome::Holds) };
    let lines = [
        trial(1, &Trial::new(100.0, Outcome::Holds), &setting(), STYLE),
        trial(8, &measured, &setting(), STYLE),
        trial(9, &unanswered, &setting(), STYLE),
        trial(10, &confirmed, &setting(), STYLE),
        trial(1234, &refused, &setting(), STYLE),
        trial(7, &staying, &setting(), STYLE),
    ];
    expect![[r#"
          1  100/s        holds
          8  760/s        does not hold      751/s succeeded, p50 88.0 ms, p99 341 ms, 0.120 % errors, 93.4 in flight  (p99(request) < 100ms: 341 ms)
          9  800/s        does not hold      0/s succeeded, p50 –, p99 –, 100 % errors, 0 in flight
         10  760/s        holds              4 times as long:  751/s succeeded, p50 88.0 ms, p99 341 ms, 0.120 % errors, 93.4 in flight  (p99(page) < 150ms: 136 ms)
        1234  50000/s      untrusted          (this machine can hold about 20,000 users)
          7  640/s        holds              3,981 users present
    "#]].assert_eq(&(lines.join("\n") + "\n"));
}

#[test]
fn a_conclusion_has_headline_findings_and_loads() {
    let level = |load: f64, holds: usize, breaks: usize| LevelFigures {
        load,
        holds,
        breaks,
        untrusted: 0,
        held: Some(holds > breaks),
        per_s: Some(load),
        in_flight: Some(load / 100.0),
        p50_ns: Some(9_000_000),
        p50_is_bound: false,
        p99_ns: Some(40_000_000),
        p99_is_bound: false,
        error_share: Some(0.0),
    };
    let unknown = LevelFigures {
        load: 900.0,
        holds: 0,
        breaks: 0,
        untrusted: 2,
        held: None,
        per_s: None,
        in_flight: None,
        p50_ns: None,
        p50_is_bound: false,
        p99_ns: None,
        p99_is_bound: false,
        error_share: None,
    };
    let found = Conclusion {
        of: setting().path,
        unit: setting().unit,
        ending: Ending::Found,
        holds: Some(730.0),
        breaks: Some(760.0),
        crossing: None,
        findings: vec![Finding {
            severity: Severity::Good,
            code: "capacity".to_owned(),
            text: "holds 730/s (3 of 3 runs kept the thresholds), and 760/s no more".to_owned(),
            evidence: Default::default(),
        }],
        levels: vec![level(100.0, 1, 0), level(730.0, 3, 0), level(760.0, 1, 2), unknown],
        law: None,
        law_problem: None,
        bend: None,
    };
    let text = capacity(&found, &setting(), "runs/20261121T101500-capacity-shop-3f2a", STYLE);
    expect![[r#"

        CAPACITY 730/s TO 760/s  of arrivals.0.constant

          ✓ holds 730/s (3 of 3 runs kept the thresholds), and 760/s no more

        load          held  succeeded  in flight      p50      p99  errors
          100/s     1 of 1      100/s       1.00  9.00 ms  40.0 ms     0 %
          730/s     3 of 3      730/s       7.30  9.00 ms  40.0 ms     0 %
          760/s     1 of 3      760/s       7.60  9.00 ms  40.0 ms     0 %
          900/s  untrusted          –          –        –        –       –

        record     runs/20261121T101500-capacity-shop-3f2a
    "#]]
    .assert_eq(&text);
    let more = Conclusion { ending: Ending::OutOfSteps, ..found.clone() };
    assert!(capacity(&more, &setting(), "", STYLE).contains("CAPACITY 730/s OR MORE"));
    let none = Conclusion { holds: None, ..found };
    assert!(capacity(&none, &setting(), "", STYLE).contains("NO CAPACITY FOUND"));
}
