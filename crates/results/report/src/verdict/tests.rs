use expect_test::{Expect, expect};
use judge::course::{Course, Number, ProbeLines, StepLine};
use record::schema::{RunInfo, Severity, Summary, Verdict};

use super::{COLUMNS, VerdictText, verdict};
use crate::Style;
use crate::sample::{broken, found, info, regional, summary, tagged};

const UNICODE: Style = Style { colour: false, unicode: true };
const COLOUR: Style = Style { colour: true, unicode: true };

fn check(text: &str, columns: usize, expect: &Expect) {
    let too_wide = text.lines().find(|line| line.chars().count() > columns);
    assert_eq!(too_wide, None);
    expect.assert_eq(text);
}

/// The first screen.
fn first(summary: &Summary, info: &RunInfo, columns: usize, style: Style) -> String {
    let directory = "runs/20261121T101500-football-3f2a";
    verdict(&VerdictText { summary, info, directory, course: None, full: false, columns }, style)
}

fn full(summary: &Summary, info: &RunInfo) -> String {
    let text = VerdictText {
        summary,
        info,
        directory: "runs/x",
        course: None,
        full: true,
        columns: COLUMNS,
    };
    verdict(&text, UNICODE)
}

#[test]
fn what_broke_comes_first_and_all_else_on_request() {
    check(
        &first(&broken(), &info(), COLUMNS, UNICODE),
        COLUMNS,
        &expect![[r#"
            FAILED  football  market at 127.0.0.1:4000 in 8 min 20 s, seed 7

            thresholds
              ✗ FAILED  p98(request) < 10ms  12.4 ms
              ✗ FAILED  max(broadcast) < 1s  nothing measured
              ✓ ok      connected >= 99.9%   100 %

            what broke                                              count       share       when
              request: status 503                                       9   0.00125 %  0:15–0:25
              request: script: x is not defined                         3  0.000417 %  0:16–0:17
              a step whose name is longer than its column: timeout      3       100 %  0:00–8:20

            incidents
              ✗ request: p50 8 → 401 ms, 30 % failed, from 0:15 to 0:25 (82 of 273); begins 1 s after phase hold

            step                                             count  completed  failed      share      p50      p95      p99      max
              request                                      720,000    1,440/s      12  0.00167 %  3.10 ms  9.30 ms  15.5 ms   310 ms
              a step whose name is longer than its column        3        0/s       3      100 %        –        –        –        –
              handshake                                     24,000     48.0/s       0              412 µs  1.24 ms  2.06 ms  41.2 ms

              ✓ the generator kept up: lag p99 87.2 µs

            users      24,000 of 24,000 planned started, 24,000 connected, 0 refused, 24,000 finished; peak 23,999
            operations offered 1,488/s, begun 1,488/s, completed 1,488/s; failed 15 (0.00202 %)
            record     runs/20261121T101500-football-3f2a
            all else   throng show runs/20261121T101500-football-3f2a --full
        "#]],
    );
}

/// Columns are left out and names are cut, and figures are not.
#[test]
fn narrow_terminals_have_fewer_columns() {
    check(
        &first(&broken(), &info(), 80, UNICODE),
        80,
        &expect![[r#"
            FAILED  football  market at 127.0.0.1:4000 in 8 min 20 s, seed 7

            thresholds
              ✗ FAILED  p98(request) < 10ms  12.4 ms
              ✗ FAILED  max(broadcast) < 1s  nothing measured
              ✓ ok      connected >= 99.9%   100 %

            what broke                                          count       share       when
              request: status 503                                   9   0.00125 %  0:15–0:25
              request: script: x is not defined                     3  0.000417 %  0:16–0:17
              a step whose name is lo…than its column: timeout      3       100 %  0:00–8:20

            incidents
              ✗ request: p50 8 → 401 ms, 30 % failed, from 0:15 to 0:25 (82 of 273); begins
                1 s after phase hold

            step                         count  failed      share      p50      p95      p99
              request                  720,000      12  0.00167 %  3.10 ms  9.30 ms  15.5 ms
              a step who…n its column        3       3      100 %        –        –        –
              handshake                 24,000       0              412 µs  1.24 ms  2.06 ms

              ✓ the generator kept up: lag p99 87.2 µs

            users      24,000 of 24,000 planned started, 24,000 connected, 0 refused, 24,000
                       finished; peak 23,999
            operations offered 1,488/s, begun 1,488/s, completed 1,488/s; failed 15
                       (0.00202 %)
            record     runs/20261121T101500-football-3f2a
            all else   throng show runs/20261121T101500-football-3f2a --full
        "#]],
    );
    for columns in 40..130 {
        let text = first(&broken(), &info(), columns, UNICODE);
        let is_path = |line: &&str| line.starts_with("record") || line.starts_with("all else");
        let wide = text.lines().filter(|line| !is_path(line)).find(|l| l.chars().count() > columns);
        assert_eq!(wide, None, "{columns}");
    }
}

#[test]
fn in_full_there_is_everything() {
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
    check(
        &full(&summary, &info()),
        COLUMNS,
        &expect![[r#"
            FAILED  football  market at 127.0.0.1:4000 in 8 min 20 s, seed 7

            thresholds
              ✗ FAILED  p98(request) < 10ms  12.4 ms (limit within the 95 % interval 9.90…13.1 ms: undecided)
              ✗ FAILED  max(broadcast) < 1s  nothing measured
              ✓ ok      connected >= 99.9%   100 %

            step                                             count  completed  failed      share      p50      p95      p99      max
              request                                      720,000    1,440/s      12  0.00167 %  3.10 ms  9.30 ms  15.5 ms   310 ms
              a step whose name is longer than its column        3        0/s       3      100 %        –        –        –        –
              handshake                                     24,000     48.0/s       0              412 µs  1.24 ms  2.06 ms  41.2 ms

              ✓ the generator kept up: lag p99 87.2 µs
              · 744,000 operations in 8 min 20 s: 1,488/s

            response                count  completed  failed     mean      p50      p90      p95      p98      p99    p99.9      max
              handshake            24,000     48.0/s       0   494 µs   412 µs   824 µs  1.24 ms  1.65 ms  2.06 ms  4.12 ms  41.2 ms
              request             720,000    1,440/s      12  3.72 ms  3.10 ms  6.20 ms  9.30 ms  12.4 ms  15.5 ms  31.0 ms   310 ms
              a step w…ts column        3        0/s       3        –        –        –        –        –        –        –        –
            phase ramp  0 s to 3 min 20 s, 24,000 users started
              handshake            24,000     48.0/s       0   494 µs   412 µs   824 µs  1.24 ms  1.65 ms  2.06 ms  4.12 ms  41.2 ms
            phase hold  3 min 20 s to 8 min 20 s, 0 users started
              request             720,000    1,440/s      12  3.72 ms  3.10 ms  6.20 ms  9.30 ms  12.4 ms  15.5 ms  31.0 ms   310 ms

            95 % interval           p50           p90           p95           p98           p99         p99.9
              request      3.05…3.15 ms  6.10…6.40 ms  9.10…9.60 ms  12.0…13.1 ms  14.8…16.9 ms  29.0…40.5 ms

            users      24,000 of 24,000 planned started, 24,000 connected, 0 refused, 24,000 finished; peak 23,999
            operations offered 1,488/s, begun 1,488/s, completed 1,488/s; failed 15 (0.00202 %)
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
    let text = VerdictText {
        summary: &summary,
        info: &info,
        directory: "runs/x",
        course: None,
        full: false,
        columns: COLUMNS,
    };
    let text = verdict(&text, Style::PLAIN);
    assert!(text.is_ascii());
    check(
        &text,
        COLUMNS,
        &expect![[r#"
            UNTRUSTED  football  market at 127.0.0.1:4000 in 3 min 20 s, seed 7

              x fatal: the generator kept up: lag p99 87.2 us

            step                                             count  completed  failed      share      p50      p95      p99      max
              a step whose name is longer than its column        3        0/s       3      100 %        -        -        -        -
              request                                      720,000    1,440/s      12  0.00167 %  3.10 ms  9.30 ms  15.5 ms   310 ms
              handshake                                     24,000     48.0/s       0              412 us  1.24 ms  2.06 ms  41.2 ms

            users      24,000 of 24,000 planned started, 24,000 connected, 0 refused, 24,000 finished; peak 23,999
            operations offered 1,488/s, begun 1,488/s, completed 1,488/s; failed 15 (0.00202 %)
            record     runs/x
            all else   throng show runs/x --full
        "#]],
    );
}

/// A run of 28 s in which requests were slow for one, and none ended in four; and a message without a reply.
#[test]
fn steps_have_a_line_over_time_where_it_is_known() {
    let line = |name: &str, of: fn(usize) -> Option<f64>| StepLine {
        name: name.to_owned(),
        p95: (0..28).map(|second| of(second).map(Number)).collect(),
    };
    let request = |second: usize| match second {
        13 => Some(900e6),
        20..24 => None,
        _ => Some(3e6),
    };
    let course = Course {
        slot_s: 1,
        slots: 28,
        heat_slot_s: 1,
        seconds: Vec::new(),
        measures: Vec::new(),
        measures_left_out: 0,
        line_slot_s: 1,
        lines: vec![line("request", request), line("handshake", |_| Some(0.0))],
        errors: Vec::new(),
        errors_left_out: 0,
        probes: ProbeLines::default(),
    };
    let mut summary = summary();
    // A `send`: it is done when it is sent.
    let mut service = summary.measures[0].response.clone().unwrap();
    service.max_ns = 0;
    summary.measures[0].service = Some(service);
    summary.measures[0].kind = "request".to_owned();
    let text = VerdictText {
        summary: &summary,
        info: &info(),
        directory: "runs/x",
        course: Some(&course),
        full: false,
        columns: COLUMNS,
    };
    let text = verdict(&text, UNICODE);
    let rows: Vec<&str> =
        text.lines().skip_while(|line| !line.starts_with("step")).take(4).collect();
    expect![[r#"
        step                              count  completed  failed      share      p50      p95      p99     max   p95 over time
          request                       720,000    1,440/s      12  0.00167 %  3.10 ms  9.30 ms  15.5 ms  310 ms  ▁▁▁▁▁▁█▁▁▁  ▁▁
          a step whose …han its column        3        0/s       3      100 %        –        –        –       –
          handshake                      24,000     48.0/s       0                   –        –        –       –"#]]
    .assert_eq(&rows.join("\n"));
}

/// A threshold on a tag or on a phase has its row among the steps.
#[test]
fn tags_and_phases_of_thresholds_stand_among_the_steps() {
    let (mut summary, info) = tagged();
    summary.thresholds[1].text = "p98(area=shop) < 10ms".to_owned();
    summary.thresholds[2].text = "p99(request.service) < 10ms in hold".to_owned();
    let text = first(&summary, &info, COLUMNS, UNICODE);
    let rows = text.lines().skip_while(|line| !line.starts_with("step")).skip(1);
    let names: Vec<&str> = rows.take(5).filter_map(|row| row.get(..22)).map(str::trim).collect();
    let expected =
        ["request", "area=shop", "request, phase hold", "a step whose name is", "handshake"];
    assert_eq!(names, expected);
}

#[test]
fn warnings_that_no_table_shows_are_on_the_first_screen() {
    let mut summary = broken();
    let codes = ["tls-unverified", "errors", "threshold-failed", "incident"];
    let of = |code: &str| {
        let mut finding = summary.findings[1].clone();
        finding.code = code.to_owned();
        finding.text = format!("about {code}");
        finding
    };
    let mut findings: Vec<_> = codes.map(of).into();
    findings[3].text = format!("{} again", summary.incidents[0].text);
    summary.findings = findings;
    let text = first(&summary, &info(), COLUMNS, UNICODE);
    let shown: Vec<&str> = text.lines().filter(|line| line.contains("warning:")).collect();
    assert_eq!(shown, ["  ! warning: about tls-unverified"]);
    // What fails a run stands above all else.
    summary.findings[0].code = "nothing-succeeded".to_owned();
    let text = first(&summary, &info(), COLUMNS, UNICODE);
    assert_eq!(text.lines().nth(2), Some("  ! warning: about tls-unverified"));
    // Nor are those repeated in full that tables show.
    let repeated = full(&summary, &info());
    assert!(!repeated.contains("about errors") && !repeated.contains("about threshold-failed"));
    // Records that do not say what failed have the finding.
    summary.errors.clear();
    assert!(first(&summary, &info(), COLUMNS, UNICODE).contains("warning: about errors"));
}

#[test]
fn more_failures_and_incidents_than_are_shown_are_counted() {
    let mut summary = broken();
    summary.errors = vec![summary.errors[0].clone(); 14];
    summary.incidents = vec![summary.incidents[0].clone(); 12];
    let text = first(&summary, &info(), COLUMNS, UNICODE);
    assert_eq!(text.matches("request: status 503").count(), 10);
    assert!(text.contains("\n  and 4 more: 36\n") && text.contains("\n  and 2 more\n"), "{text}");
    let text = full(&summary, &info());
    assert_eq!(text.matches("request: status 503").count(), 14);
    let words: Vec<&str> = text.split_whitespace().collect();
    let beside = "begins 1 s after phase hold; database CPU at 100 %";
    assert!(words.join(" ").contains(beside), "{text}");
}

#[test]
fn texts_of_servers_control_no_terminal() {
    let mut summary = broken();
    summary.errors[0].detail = Some("\x1b[2J\u{202e}gone\nnext".to_owned());
    summary.incidents[0].beside[0] = "a \x1b]0;b\x07".to_owned();
    let text = first(&summary, &info(), COLUMNS, UNICODE);
    assert!(text.chars().all(|c| c == '\n' || !record::controls::is_control(c)), "{text:?}");
}

#[test]
fn repeated_sessions_are_not_users() {
    let mut summary = summary();
    let users = &mut summary.users;
    (users.planned, users.started, users.connected) = (4.0, 4, 4);
    (users.sessions, users.finished, users.peak) = (160, 160, 4);
    let text = first(&summary, &info(), COLUMNS, UNICODE);
    let expected =
        "4 of 4 planned started, 4 connected, 0 refused, 160 sessions, 160 finished; peak 4";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn sessions_that_were_stopped_are_among_those_that_failed() {
    let mut summary = summary();
    (summary.users.failed, summary.users.stopped, summary.users.finished) = (54, 6, 23_940);
    let text = first(&summary, &info(), COLUMNS, UNICODE);
    let expected = "23,940 finished, 60 failed (6 stopped); peak";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn random_arrivals_are_expected() {
    let mut info = info();
    info.phases[0].kind = "poisson".to_owned();
    let mut summary = summary();
    (summary.users.planned, summary.users.started) = (50.0, 38);
    let text = full(&summary, &info);
    assert!(text.contains("38 started (50 expected), "), "{text}");
}

#[test]
fn colours_add_nothing_but_colour() {
    let coloured = first(&summary(), &info(), COLUMNS, COLOUR);
    let mut stripped = coloured.clone();
    for code in ["0", "1", "2", "31;1", "32", "33"] {
        stripped = stripped.replace(&format!("\x1b[{code}m"), "");
    }
    assert_eq!(stripped, first(&summary(), &info(), COLUMNS, UNICODE));
    assert!(coloured.starts_with("\x1b[31;1mFAILED\x1b[0m  \x1b[1mfootball\x1b[0m"));
}

#[test]
fn json_is_the_summary_and_stable() {
    let text = crate::json(&summary());
    assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), summary());
    assert_eq!(text, crate::json(&summary()));
    assert!(text.starts_with("{\n  \"format\": 2,\n") && text.ends_with("}\n"));
}

#[test]
fn figures_by_tag_stand_below_those_of_steps() {
    let (summary, info) = tagged();
    let text = full(&summary, &info);
    let lines = text.lines().skip_while(|line| !line.contains("by tag"));
    let lines: Vec<&str> = lines.take(4).collect();
    expect![[r#"
        by tag  requests and handshakes, taken as one
          group=buy           720,000    1,440/s      12  3.72 ms  3.10 ms  6.20 ms  9.30 ms  12.4 ms  15.5 ms  31.0 ms   310 ms
          area=shop           720,000    1,440/s      12  3.72 ms  3.10 ms  6.20 ms  9.30 ms  12.4 ms  15.5 ms  31.0 ms   310 ms
        phase ramp  0 s to 3 min 20 s, 24,000 users started"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn regions_come_after_their_totals_and_phases_have_totals_alone() {
    let (summary, info) = regional();
    let text = full(&summary, &info);
    let rows: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("response"))
        .take_while(|line| !line.is_empty())
        .map(|line| line.get(..60).unwrap_or(line).trim_end())
        .collect();
    assert!(!text.contains("(region="), "{text}");
    expect![[r#"
        response                count  completed  failed     mean
          handshake            24,000     48.0/s       0   494 µs
          request             720,000    1,440/s      12  3.72 ms  3
          a step w…ts column        3        0/s       3        –        –        –        –        –        –        –        –
        region ireland  65 % of the users: 15,600 started, 15,600 co
          handshake            12,000     24.0/s       6  3.72 ms  3
          request             360,000      720/s       6  3.72 ms  3
        region sydney  35 % of the users: 8,400 started, 8,400 conne
          handshake            12,000     24.0/s       6   193 ms
          request             360,000      720/s       6   193 ms
        phase ramp  0 s to 3 min 20 s, 24,000 users started
          handshake            24,000     48.0/s       0   494 µs
        phase hold  3 min 20 s to 8 min 20 s, 0 users started
          request             720,000    1,440/s      12  3.72 ms  3"#]].assert_eq(&rows.join("\n"));
}
