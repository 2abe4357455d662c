use compare::sweep::{BestValue, Neighbour};
use expect_test::expect;
use record::schema::{Finding, Severity};

use super::*;

const STYLE: Style = Style { colour: false, unicode: true };

fn value(value: f64, per_s: Option<f64>, holds: usize, breaks: usize) -> ValueFigures {
    ValueFigures {
        value,
        holds,
        breaks,
        untrusted: 0,
        held: (holds + breaks > 0).then_some(holds > breaks),
        per_s,
        bounds: per_s.map(|per_s| (per_s * 0.98, per_s * 1.02)),
        in_flight: per_s.map(|_| 96.0),
        p50_ns: per_s.map(|per_s| (96e9 / per_s) as u64),
        p50_is_bound: false,
        p99_ns: per_s.map(|per_s| (300e9 / per_s) as u64),
        p99_is_bound: false,
        error_share: per_s.map(|_| 0.0),
    }
}

#[test]
fn a_sweep_has_headline_findings_and_values() {
    let setting = LoadSetting { path: "connections".to_owned(), value: 8.0, unit: String::new() };
    let found = SweepConclusion {
        over: setting.path.clone(),
        unit: String::new(),
        ending: Ending::Found,
        best: Some(BestValue {
            value: 16.0,
            per_s: 7_175.0,
            range: Some((16.0, 24.0)),
            is_highest: false,
            is_lowest: false,
            neighbours: vec![Neighbour { value: 8.0, loss: 0.237, bounds: None }],
        }),
        findings: vec![Finding {
            severity: Severity::Good,
            code: "best-value".to_owned(),
            text: "throughput is greatest at 16, 7,175/s; the best lies from 16 to 24".to_owned(),
            evidence: Default::default(),
        }],
        values: vec![
            value(8.0, Some(5_472.0), 3, 0),
            value(16.0, Some(7_175.0), 3, 0),
            value(24.0, Some(7_150.0), 2, 1),
            value(32.0, None, 0, 0),
        ],
        law: None,
        law_problem: None,
    };
    let directory = "runs/20261121T101500-capacity-queue-3f2a";
    let text = sweep(&found, &setting, directory, STYLE);
    expect![[r#"

        BEST 16 (16 TO 24)  of connections

          ✓ throughput is greatest at 16, 7,175/s; the best lies from 16 to 24

        value       held  succeeded                95 %  of best      p50      p99  errors
          8       3 of 3    5,472/s  5,363/s to 5,581/s  76.26 %  17.5 ms  54.8 ms     0 %
          16      3 of 3    7,175/s  7,032/s to 7,318/s    100 %  13.4 ms  41.8 ms     0 %
          24      2 of 3    7,150/s  7,007/s to 7,293/s  99.65 %  13.4 ms  42.0 ms     0 %
          32   untrusted          –                   –        –        –        –       –

        record     runs/20261121T101500-capacity-queue-3f2a
    "#]]
    .assert_eq(&text);
    let without = SweepConclusion { best: None, ending: Ending::NoneHolds, ..found };
    let text = sweep(&without, &setting, directory, STYLE);
    assert!(text.contains("NO BEST VALUE FOUND  of connections"), "{text}");
}
