use expect_test::{Expect, expect};
use record::schema::{Severity, Verdict};

use super::{COLUMNS, verdict};
use crate::Style;
use crate::sample::{found, info, regional, summary, tagged};

const UNICODE: Style = Style { colour: false, unicode: true };
const COLOUR: Style = Style { colour: true, unicode: true };

fn check(text: &str, expect: &Expect) {
    let too_wide = text.lines().find(|line| line.chars().count() > COLUMNS);
    assert_eq!(too_wide, None);
    expect.assert_eq(text);
}

#[test]
fn the_end_of_a_run() {
    let text = verdict(&summary(), &info(), "runs/20261121T101500-football-3f2a", UNICODE);
    check(
        &text,
        &expect![[r#"
            FAILED  football  market at 127.0.0.1:4000 in 8 min 20 s, seed 7

              ✓ the generator kept up: lag p99 87.2 µs
              ! warning: threshold p98(request) < 10ms does not hold: it is 12.4 ms, and this sentence goes on until it needs a
                second line to end on
              · 744,000 operations in 8 min 20 s: 1,488/s

            thresholds
              ✓ ok      connected >= 99.9%   100 %
              ✗ FAILED  p98(request) < 10ms  12.4 ms
              ✗ FAILED  max(broadcast) < 1s  nothing measured

            response                  count     rate  errors     mean      p50      p90      p95      p98      p99    p99.9      max
              handshake              24,000   48.0/s       0   494 µs   412 µs   824 µs  1.24 ms  1.65 ms  2.06 ms  4.12 ms  41.2 ms
              request               720,000  1,440/s      12  3.72 ms  3.10 ms  6.20 ms  9.30 ms  12.4 ms  15.5 ms  31.0 ms   310 ms
              a step whose name i…        3      0/s       3        –        –        –        –        –        –        –        –
            phase ramp  0 s to 3 min 20 s, 24,000 users started
              handshake              24,000   48.0/s       0   494 µs   412 µs   824 µs  1.24 ms  1.65 ms  2.06 ms  4.12 ms  41.2 ms
            phase hold  3 min 20 s to 8 min 20 s, 0 users started
              request               720,000  1,440/s      12  3.72 ms  3.10 ms  6.20 ms  9.30 ms  12.4 ms  15.5 ms  31.0 ms   310 ms

            users      24,000 of 24,000 planned started, 24,000 connected, 0 refused, 24,000 finished; peak 23,999
            operations offered 1,488/s, begun 1,488/s, completed 1,488/s
            generator  lag p50 4.00 µs, p99 87.2 µs, max 1.90 ms; busiest loop 29 % of a core, max 41 %; CPU 143 s; 212 MiB
            record     runs/20261121T101500-football-3f2a
        "#]],
    );
}

#[test]
fn percentiles_have_their_intervals() {
    let mut summary = summary();
    let ms = |ms: f64| Some((ms * 1e6) as u64);
    let response = summary.measures[1].response.as_mut().unwrap();
    response.intervals = vec![
        found(0.5, ms(3.05), ms(3.15)),
        found(0.9, ms(6.1), ms(6.4)),
        found(0.95, ms(9.1), ms(9.6)),
        found(0.98, ms(12.0), ms(13.1)),
        found(0.99, ms(14.8), ms(16.9)),
        found(0.999, ms(29.0), ms(40.5)),
    ];
    let threshold = &mut summary.thresholds[1];
    threshold.interval = Some(found(0.98, ms(9.9), ms(13.1)));
    threshold.within_interval = true;
    summary.phases.truncate(1);
    let text = verdict(&summary, &info(), "runs/x", UNICODE);
    let shown: Vec<&str> = text.lines().skip_while(|line| *line != "thresholds").collect();
    let shown = shown.join("\n") + "\n";
    check(
        &shown,
        &expect![[r#"
            thresholds
              ✓ ok      connected >= 99.9%   100 %
              ✗ FAILED  p98(request) < 10ms  12.4 ms (limit within the 95 % interval 9.90…13.1 ms: undecided)
              ✗ FAILED  max(broadcast) < 1s  nothing measured

            response                  count     rate  errors     mean      p50      p90      p95      p98      p99    p99.9      max
              handshake              24,000   48.0/s       0   494 µs   412 µs   824 µs  1.24 ms  1.65 ms  2.06 ms  4.12 ms  41.2 ms
              request               720,000  1,440/s      12  3.72 ms  3.10 ms  6.20 ms  9.30 ms  12.4 ms  15.5 ms  31.0 ms   310 ms
              a step whose name i…        3      0/s       3        –        –        –        –        –        –        –        –

            95 % interval           p50           p90           p95           p98           p99         p99.9
              request      3.05…3.15 ms  6.10…6.40 ms  9.10…9.60 ms  12.0…13.1 ms  14.8…16.9 ms  29.0…40.5 ms

            users      24,000 of 24,000 planned started, 24,000 connected, 0 refused, 24,000 finished; peak 23,999
            operations offered 1,488/s, begun 1,488/s, completed 1,488/s
            generator  lag p50 4.00 µs, p99 87.2 µs, max 1.90 ms; busiest loop 29 % of a core, max 41 %; CPU 143 s; 212 MiB
            record     runs/x
        "#]],
    );
}

#[test]
fn in_ascii_with_one_phase_and_no_thresholds() {
    let mut summary = summary();
    let mut info = info();
    summary.verdict = Verdict::Untrusted;
    summary.findings[0].severity = Severity::Fatal;
    summary.thresholds.clear();
    summary.phases.truncate(1);
    info.ended_ns = 0;
    let text = verdict(&summary, &info, "runs/x", Style::PLAIN);
    assert!(text.is_ascii());
    check(
        &text,
        &expect![[r#"
            UNTRUSTED  football  market at 127.0.0.1:4000 in 3 min 20 s, seed 7

              x fatal: the generator kept up: lag p99 87.2 us
              ! warning: threshold p98(request) < 10ms does not hold: it is 12.4 ms, and this sentence goes on until it needs a
                second line to end on
              - 744,000 operations in 8 min 20 s: 1,488/s

            response                  count     rate  errors     mean      p50      p90      p95      p98      p99    p99.9      max
              handshake              24,000   48.0/s       0   494 us   412 us   824 us  1.24 ms  1.65 ms  2.06 ms  4.12 ms  41.2 ms
              request               720,000  1,440/s      12  3.72 ms  3.10 ms  6.20 ms  9.30 ms  12.4 ms  15.5 ms  31.0 ms   310 ms
              a step whose name i~        3      0/s       3        -        -        -        -        -        -        -        -

            users      24,000 of 24,000 planned started, 24,000 connected, 0 refused, 24,000 finished; peak 23,999
            operations offered 1,488/s, begun 1,488/s, completed 1,488/s
            generator  lag p50 4.00 us, p99 87.2 us, max 1.90 ms; busiest loop 29 % of a core, max 41 %; CPU 143 s; 212 MiB
            record     runs/x
        "#]],
    );
}

#[test]
fn repeated_sessions_are_not_users() {
    let mut summary = summary();
    let users = &mut summary.users;
    (users.planned, users.started, users.connected) = (4.0, 4, 4);
    (users.sessions, users.finished, users.peak) = (160, 160, 4);
    let text = verdict(&summary, &info(), "runs/x", UNICODE);
    let expected =
        "4 of 4 planned started, 4 connected, 0 refused, 160 sessions, 160 finished; peak 4";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn sessions_that_were_stopped_are_among_those_that_failed() {
    let mut summary = summary();
    (summary.users.failed, summary.users.stopped, summary.users.finished) = (54, 6, 23_940);
    let text = verdict(&summary, &info(), "runs/x", UNICODE);
    let expected = "23,940 finished, 60 failed (6 stopped); peak";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn random_arrivals_are_expected() {
    let mut info = info();
    info.phases[0].kind = "poisson".to_owned();
    let mut summary = summary();
    (summary.users.planned, summary.users.started) = (50.0, 38);
    let text = verdict(&summary, &info, "runs/x", UNICODE);
    assert!(text.contains("38 started (50 expected), "), "{text}");
}

#[test]
fn colours_add_nothing_but_colour() {
    let coloured = verdict(&summary(), &info(), "runs/x", COLOUR);
    let mut stripped = coloured.clone();
    for code in ["0", "1", "2", "31;1", "32", "33"] {
        stripped = stripped.replace(&format!("\x1b[{code}m"), "");
    }
    assert_eq!(stripped, verdict(&summary(), &info(), "runs/x", UNICODE));
    assert!(coloured.starts_with("\x1b[31;1mFAILED\x1b[0m  \x1b[1mfootball\x1b[0m"));
}

#[test]
fn json_is_the_summary_and_stable() {
    let text = crate::json(&summary());
    assert_eq!(serde_json::from_str::<record::schema::Summary>(&text).unwrap(), summary());
    assert_eq!(text, crate::json(&summary()));
    assert!(text.starts_with("{\n  \"format\": 2,\n") && text.ends_with("}\n"));
}

#[test]
fn figures_by_tag_stand_below_those_of_steps() {
    let (summary, info) = tagged();
    let text = verdict(&summary, &info, "runs/x", UNICODE);
    let lines = text.lines().skip_while(|line| !line.contains("by tag"));
    let lines: Vec<&str> = lines.take(4).collect();
    expect![[r#"
        by tag  requests and handshakes, taken as one
          group=buy             720,000  1,440/s      12  3.72 ms  3.10 ms  6.20 ms  9.30 ms  12.4 ms  15.5 ms  31.0 ms   310 ms
          area=shop             720,000  1,440/s      12  3.72 ms  3.10 ms  6.20 ms  9.30 ms  12.4 ms  15.5 ms  31.0 ms   310 ms
        phase ramp  0 s to 3 min 20 s, 24,000 users started"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn regions_come_after_their_totals_and_phases_have_totals_alone() {
    let (summary, info) = regional();
    let text = verdict(&summary, &info, "runs/x", UNICODE);
    let rows: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("response"))
        .take_while(|line| !line.is_empty())
        .map(|line| line.get(..60).unwrap_or(line).trim_end())
        .collect();
    assert!(!text.contains("(region="), "{text}");
    expect![[r#"
        response                  count     rate  errors     mean
          handshake              24,000   48.0/s       0   494 µs
          request               720,000  1,440/s      12  3.72 ms  3
          a step whose name i…        3      0/s       3        –        –        –        –        –        –        –        –
        region ireland  65 % of the users: 15,600 started, 15,600 co
          handshake              12,000   24.0/s       6  3.72 ms  3
          request               360,000    720/s       6  3.72 ms  3
        region sydney  35 % of the users: 8,400 started, 8,400 conne
          handshake              12,000   24.0/s       6   193 ms
          request               360,000    720/s       6   193 ms
        phase ramp  0 s to 3 min 20 s, 24,000 users started
          handshake              24,000   48.0/s       0   494 µs
        phase hold  3 min 20 s to 8 min 20 s, 0 users started
          request               720,000  1,440/s      12  3.72 ms  3"#]].assert_eq(&rows.join("\n"));
}
