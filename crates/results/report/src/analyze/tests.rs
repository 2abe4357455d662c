use expect_test::expect;
use judge::analyze::{
    Availability, Drift, Evenness, Interval, Laws, MeanEstimate, MeasureParts, SettlingTime,
    SpanFigures, ThroughputParts, WarmUp,
};
use record::schema::{Finding, Incident, IncidentFigures, IncidentKind, Severity};

use super::*;
use crate::style::COLUMNS;

const MS: f64 = 1e6;
const SECOND: u64 = 1_000_000_000;

fn finding(severity: Severity, text: &str) -> Finding {
    Finding {
        severity,
        code: "code".to_owned(),
        text: text.to_owned(),
        evidence: Default::default(),
    }
}

fn part(mean_ns: f64, errors: u64) -> SpanFigures {
    SpanFigures {
        start_ns: 0,
        end_ns: 100 * SECOND,
        count: 5_000,
        errors,
        rate_per_s: 50.0,
        mean_ns,
        deviation_ns: 2.0 * MS,
        p50_ns: 10_000_000,
        p99_ns: 31_000_000,
        max_ns: 250_000_000,
    }
}

fn even(min: f64, mean: f64, max: f64) -> Option<Evenness> {
    Some(Evenness { windows: 4, mean, min, max, variation: 0.125 })
}

fn step_figures(operations: u64, errors: u64, p50_ms: u64) -> IncidentFigures {
    IncidentFigures {
        operations,
        errors,
        unanswered: 0,
        p50_ns: Some(p50_ms * 1_000_000),
        p90_ns: None,
        per_s: 27.3,
    }
}

fn sample() -> Analysis {
    let known = |mean: f64| {
        Some(MeanEstimate {
            mean,
            low: 0.9 * mean,
            high: 1.1 * mean,
            autocorrelation: vec![0.4, 0.1],
            effective: 40.0,
        })
    };
    let interval = |value: f64| Interval { value: Some(value), low: value / 2.0, high: None };
    Analysis {
        id: "20261121T101500-football-3f2a".to_owned(),
        name: "football".to_owned(),
        findings: vec![
            finding(Severity::Warning, "down twice for 3 s in all"),
            finding(Severity::Good, "steady from 20 s on"),
        ],
        start_ns: 0,
        end_ns: 120 * SECOND,
        warm_up: WarmUp {
            cut_ns: 20 * SECOND,
            is_given: false,
            series: vec![SettlingTime {
                name: "request".to_owned(),
                cut_ns: 20 * SECOND,
                is_late: false,
            }],
        },
        window_ns: 20 * SECOND,
        throughput: ThroughputParts {
            whole_per_s: 48.0,
            kept_per_s: 50.0,
            known: known(50.0),
            rates: even(48.0, 50.0, 52.0),
            windows_per_s: vec![40.0, 48.0, 50.0, 52.0, 50.0],
        },
        measures: vec![
            MeasureParts {
                name: "request".to_owned(),
                kind: "request".to_owned(),
                whole: part(14.0 * MS, 3),
                kept: part(11.0 * MS, 3),
                response: known(11.0 * MS),
                rates: even(48.0, 50.0, 52.0),
                means: even(9.0 * MS, 11.0 * MS, 13.0 * MS),
                windows: [30.0, 12.0, 9.0, 13.0, 11.0].map(|ms| part(ms * MS, 0)).to_vec(),
            },
            MeasureParts {
                name: "handshake".to_owned(),
                kind: "handshake".to_owned(),
                whole: part(2.0 * MS, 0),
                kept: SpanFigures::default(),
                response: None,
                rates: None,
                means: None,
                windows: vec![SpanFigures::default(); 5],
            },
        ],
        trends: vec![
            Drift {
                name: "connections".to_owned(),
                unit: "count",
                level: 400.0,
                change: 60.0,
                change_low: 40.0,
                change_high: 81.0,
                p: 0.0002,
                p_adjusted: 0.001,
                correlation: 0.3,
                is_shown: true,
            },
            Drift {
                name: "response of request".to_owned(),
                unit: "ns",
                level: 11.0 * MS,
                change: -0.2 * MS,
                change_low: -0.9 * MS,
                change_high: 0.4 * MS,
                p: 0.4,
                p_adjusted: 0.8,
                correlation: 0.2,
                is_shown: false,
            },
        ],
        load_change: None,
        incidents: vec![Incident {
            step: "request".to_owned(),
            tag: None,
            kinds: vec![IncidentKind::Errors, IncidentKind::Response],
            begin_ns: 15 * SECOND,
            end_ns: 25 * SECOND,
            to_the_end: false,
            usual: step_figures(4_500, 0, 8),
            during: step_figures(273, 82, 401),
            beside: Vec::new(),
            text: "request: p50 8.00 ms → 401 ms, 30 % failed".to_owned(),
        }],
        availability: Some(Availability {
            down_share: 0.5,
            up_ns: 117 * SECOND,
            down_ns: 3 * SECOND,
            degraded_ns: 0,
            idle_ns: 0,
            failures: 12,
            first_failure_ns: Some(30 * SECOND),
            mtbf_ns: interval(58e9),
            mttr_ns: Some(interval(1.5e9)),
            observed: 0.975,
            nines: Some(1.6),
            long_run: None,
            down_max: None,
            outages: (0..12)
                .map(|n| Outage {
                    start_ns: (30 + 5 * n) * SECOND,
                    end_ns: (31 + 5 * n) * SECOND,
                    due: 50,
                    failed: 40,
                })
                .collect(),
        }),
        laws: Laws { little: None, response: None, utilisation: None },
    }
}

#[test]
fn a_narrow_analysis_has_fewer_columns() {
    let text = analysis(&sample(), "runs/one", 80, Style::PLAIN);
    let too_wide = text.lines().find(|line| line.chars().count() > 80);
    assert_eq!(too_wide, None);
    assert!(text.contains("95 % from") && !text.contains("overall mean"), "{text}");
}

#[test]
fn an_analysis_in_words() {
    let style = Style { colour: false, unicode: true };
    let text = analysis(&sample(), "runs/20261121T101500-football-3f2a", COLUMNS, style);
    let too_wide = text.lines().find(|line| line.chars().count() > COLUMNS);
    assert_eq!(too_wide, None);
    expect![[r#"
        football  0 s to 2 min of 20261121T101500-football-3f2a, warm-up 20 s

          ! warning: down twice for 3 s in all
          ✓ steady from 20 s on

        after the warm-up  count  succeeded  errors     mean  95 % from       to      p50      p99     max  overall mean
          request          5,003     50.0/s       3  11.0 ms    9.90 ms  12.1 ms  10.0 ms  31.0 ms  250 ms       14.0 ms
          handshake            0        0/s       0        –          –        –        –        –       –       2.00 ms

        windows of 20 s                                                min     mean      max  variation
          throughput                                        ▇████   48.0/s   50.0/s   52.0/s     12.5 %
          request                                           █▄▃▄▃  9.00 ms  11.0 ms  13.0 ms     12.5 %

        trend                    level   change  95 % from       to        p  adjusted p
          connections              400    +60.0      +40.0    +81.0  < 0.001       0.001
          response of request  11.0 ms  -200 µs    -900 µs  +400 µs    0.400       0.800

        incident   from    to  operations  errors  unanswered     p50    usual
          request  15 s  25 s         273      82           0  401 ms  8.00 ms

        outage        from          to  duration  due  failed
          1           30 s        31 s       1 s   50      40
          2           35 s        36 s       1 s   50      40
          3           40 s        41 s       1 s   50      40
          4           45 s        46 s       1 s   50      40
          5           50 s        51 s       1 s   50      40
          6           55 s        56 s       1 s   50      40
          7          1 min   1 min 1 s       1 s   50      40
          8      1 min 5 s   1 min 6 s       1 s   50      40
          9     1 min 10 s  1 min 11 s       1 s   50      40
          10    1 min 15 s  1 min 16 s       1 s   50      40
          and 2 more

        record     runs/20261121T101500-football-3f2a
    "#]].assert_eq(&text);
}

#[test]
fn many_windows_share_columns() {
    let values: Vec<f64> = (0..100).map(f64::from).collect();
    let few = downsample(&values);
    assert!(few.len() <= CHART);
    assert_eq!((few[0], few[1]), (1.0, 4.0));
}
