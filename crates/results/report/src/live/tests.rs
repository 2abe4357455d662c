use expect_test::{Expect, expect};
use record::schema::SeriesRow;

use stats::censored::Quantile;
use stats::hist::LogHistogram;

use super::{HeatColumn, Live, LiveMeasure, LiveState, Stage, clock, plain_line};
use crate::Style;
use crate::sample::{SECOND, info, row};

const UNICODE: Style = Style { colour: false, unicode: true };

fn measures() -> Vec<LiveMeasure> {
    let at = |ns: u64| Some(Quantile::At(ns));
    let times = |p50_ns, p95_ns, p99_ns| (at(p50_ns), at(p95_ns), at(p99_ns));
    let measure = |name: &str, rate_per_s, errors, (p50_ns, p95_ns, p99_ns)| LiveMeasure {
        name: name.to_owned(),
        rate_per_s,
        errors,
        p50_ns,
        p95_ns,
        p99_ns,
        p99_past_ns: p99_ns.map_or(Vec::new(), |p99: Quantile| {
            (1..=8).map(|n| (p99.value() / n) as f64).collect()
        }),
    };
    vec![
        measure("handshake", 120.0, 0, times(412_000, 900_000, 1_800_000)),
        measure("request", 1_370.4, 3, times(3_100_000, 8_000_000, 12_400_000)),
        measure("broadcast", 0.0, 0, (None, None, None)),
    ]
}

fn frame(lines: u16, state: &LiveState<'_>) -> String {
    frame_of((110, lines), UNICODE, state)
}

fn frame_of((columns, lines): (u16, u16), style: Style, state: &LiveState<'_>) -> String {
    let info = info();
    let frame = Live::new(&info, columns, lines, style).frame(state);
    assert!(frame.len() < usize::from(lines));
    assert!(frame.iter().all(|line| line.chars().count() < usize::from(columns)));
    frame.join("\n") + "\n"
}

/// Forty seconds in which ever more requests are slow.
fn heat() -> Vec<HeatColumn> {
    let columns = (0..40).map(|second| {
        let mut hist = LogHistogram::new();
        hist.record_n(2_000_000, 100);
        hist.record_n(5_000_000, 2 * second);
        hist.record_n(40_000_000, second.saturating_sub(25));
        let mut column = HeatColumn::default();
        column.add(&hist);
        column
    });
    columns.collect()
}

fn check(lines: u16, state: &LiveState<'_>, expect: &Expect) {
    expect.assert_eq(&frame(lines, state));
}

#[test]
fn in_a_phase() {
    let rows: Vec<SeriesRow> = (0..40).map(row).collect();
    let measures = measures();
    let state = LiveState {
        now_ns: 40 * SECOND + 1,
        rows: &rows,
        measures: &measures,
        heat: &[],
        stage: Stage::Running,
    };
    check(
        40,
        &state,
        &expect![[r#"
            football  phase ramp (1 of 2)  ████░░░░░░░░░░░░░░░░░░░░  2:39 left  run 0:40 of 8:20
            users             4,800  ▃▃▃▃▃▄▄▄▄▄▅▅▅▅▅▆▆▆▆▆▇▇▇▇▇█████  4,800 of 24,000 started, 120/s arriving
            completed         490/s  ▄▄▄▄▅▅▅▅▅▅▆▆▆▆▆▆▆▇▇▇▇▇▇███████  493/s begun, 17 in flight, 4,800 connections open
            failed                0  0 % of 12,600 operations
            generator  lag p99 87.2 µs, max 1.90 ms, busiest loop 31 % of a core, 212 MiB
            last seconds     rate  failed      p50      p95      p99                   p99 over time
              handshake     120/s       0   412 µs   900 µs  1.80 ms                        █▄▃▂▂▂▂▁
              request     1,370/s       3  3.10 ms  8.00 ms  12.4 ms                        █▄▃▂▂▂▂▁
              broadcast       0/s       0        –        –        –
        "#]],
    );
}

#[test]
fn latencies_over_time_have_a_row_a_band() {
    let rows: Vec<SeriesRow> = (0..40).map(row).collect();
    let measures = measures();
    let heat = heat();
    let state = LiveState {
        now_ns: 40 * SECOND + 1,
        rows: &rows,
        measures: &measures,
        heat: &heat,
        stage: Stage::Paused,
    };
    check(
        40,
        &state,
        &expect![[r#"
            football  phase ramp (1 of 2)  ████░░░░░░░░░░░░░░░░░░░░  2:39 left  run 0:40 of 8:20
            users             4,800  ▃▃▃▃▃▄▄▄▄▄▅▅▅▅▅▆▆▆▆▆▇▇▇▇▇█████  4,800 of 24,000 started, 120/s arriving
            completed         490/s  ▄▄▄▄▅▅▅▅▅▅▆▆▆▆▆▆▆▇▇▇▇▇▇███████  493/s begun, 17 in flight, 4,800 connections open
            response   from 31.6 ms                  ░░░░░░░░░░░░░░
                       from 10.0 ms
                       from 3.16 ms  ▒▒▒▒▒▒▒▒▒▒▒▒▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓
                       from 1.00 ms  █████████████████████▓▓▓▓▓▓▓▓▓
            failed                0  0 % of 12,600 operations
            generator  lag p99 87.2 µs, max 1.90 ms, busiest loop 31 % of a core, 212 MiB
            arrivals are paused: no users start, active users continue
            last seconds     rate  failed      p50      p95      p99                   p99 over time
              handshake     120/s       0   412 µs   900 µs  1.80 ms                        █▄▃▂▂▂▂▁
              request     1,370/s       3  3.10 ms  8.00 ms  12.4 ms                        █▄▃▂▂▂▂▁
              broadcast       0/s       0        –        –        –
        "#]],
    );
    // In ASCII, and narrow: the newest seconds stay, then the sparklines go.
    let plain = |columns| frame_of((columns, 24), Style::PLAIN, &state);
    assert!(plain(60).is_ascii());
    expect![[r#"
        football  phase ramp (1 of 2)  ####--------------------  2:
        users             4,800  -----=====+++++*****#####@@@@@  4,
        completed         490/s  ====++++++*******######@@@@@@@  49
        response   from 31.6 ms                  ..............
                   from 10.0 ms
                   from 3.16 ms  ::::::::::::******************
                   from 1.00 ms  #####################*********
        failed                0  0 % of 12,600 operations
        generator  lag p99 87.2 us, max 1.90 ms, busiest loop 31 %
        arrivals are paused: no users start, active users continue
        last seconds     rate  failed      p50      p95      p99
          handshake     120/s       0   412 us   900 us  1.80 ms
          request     1,370/s       3  3.10 ms  8.00 ms  12.4 ms
          broadcast       0/s       0        -        -        -
    "#]]
    .assert_eq(&plain(60));
    expect![[r#"
        football  phase ramp (1 of 2)
        users             4,800    4,
        completed         490/s    49
        failed                0  0 %
        generator  lag p99 87.2 us, m
        arrivals are paused: no users
        last seconds     rate  failed
          handshake     120/s       0
          request     1,370/s       3
          broadcast       0/s       0
    "#]]
    .assert_eq(&plain(30));
    // Low windows keep their lines for the measures.
    assert!(!frame(15, &state).contains("from "));
    assert!(plain_line(&info(), &state).starts_with("   0:40  paused  users"));
}

#[test]
fn colours_add_nothing_but_colour() {
    let rows: Vec<SeriesRow> = (0..40).map(row).collect();
    let measures = measures();
    let heat = heat();
    let state = LiveState {
        now_ns: 40 * SECOND + 1,
        rows: &rows,
        measures: &measures,
        heat: &heat,
        stage: Stage::Paused,
    };
    let info = info();
    let colour = Style { colour: true, unicode: true };
    let mut stripped = Live::new(&info, 110, 40, colour).frame(&state).join("\n") + "\n";
    assert!(stripped.contains('\x1b'));
    for code in ["0", "1", "2", "31;1", "32", "33"] {
        stripped = stripped.replace(&format!("\x1b[{code}m"), "");
    }
    assert_eq!(stripped, frame(40, &state));
}

#[test]
fn before_the_first_second() {
    let state = LiveState { now_ns: 0, rows: &[], measures: &[], heat: &[], stage: Stage::Running };
    check(
        40,
        &state,
        &expect![[r#"
            football  phase ramp (1 of 2)  ░░░░░░░░░░░░░░░░░░░░░░░░  3:20 left  run 0:00 of 8:20
            users                 0                                  0 of 24,000 started, 0/s arriving
            completed           0/s                                  0/s begun, 0 in flight, 0 connections open
            failed                0  0 % of 0 operations
            generator
        "#]],
    );
    assert_eq!(
        plain_line(&info(), &state),
        "   0:00  ramp  users 0 (+0/s)  begun 0/s  completed 0/s  failed 0  lag p99 0 ns"
    );
}

#[test]
fn late_refused_interrupted_and_in_a_low_window() {
    let mut rows: Vec<SeriesRow> = (0..40).map(row).collect();
    rows[38].users_refused = 5;
    rows[38].errors = 3;
    rows[39].lag_p99_ns = SECOND;
    let measures = measures();
    let state = LiveState {
        now_ns: 40 * SECOND,
        rows: &rows,
        measures: &measures,
        heat: &[],
        stage: Stage::Interrupted,
    };
    check(
        10,
        &state,
        &expect![[r#"
            football  draining, 17 in flight  run 0:40 of 8:20
            users             4,800  ▃▃▃▃▃▄▄▄▄▄▅▅▅▅▅▆▆▆▆▆▇▇▇▇▇█████  4,800 of 24,000 started, 120/s arriving  5 refused
            completed         490/s  ▄▄▄▄▅▅▅▅▅▅▆▆▆▆▆▆▆▇▇▇▇▇▇███████  493/s begun, 17 in flight, 4,800 connections open
            failed                3  0.0238 % of 12,600 operations
            generator  LATE, lag p99 1.00 s, max 1.90 ms, busiest loop 31 % of a core, 212 MiB
            ending early; press Ctrl-C again to stop at once
            last seconds     rate  failed      p50      p95      p99                   p99 over time
              handshake     120/s       0   412 µs   900 µs  1.80 ms                        █▄▃▂▂▂▂▁
              request     1,370/s       3  3.10 ms  8.00 ms  12.4 ms                        █▄▃▂▂▂▂▁
        "#]],
    );
    assert!(frame(4, &state).lines().count() <= 3);
}

#[test]
fn plain_lines_say_the_same() {
    let rows: Vec<SeriesRow> = (0..40).map(row).collect();
    let measures = measures();
    let at = |seconds: u64, stage| LiveState {
        now_ns: seconds * SECOND,
        rows: &rows,
        measures: &measures,
        heat: &[],
        stage,
    };
    let lines = [
        plain_line(&info(), &at(40, Stage::Running)),
        plain_line(&info(), &at(501, Stage::Draining)),
        plain_line(&info(), &at(41, Stage::Interrupted)),
    ];
    let framed = lines.map(|line| format!("|{line}|\n")).concat();
    expect![[r#"
        |   0:40  ramp  users 4,800 (+120/s)  begun 493/s  completed 490/s  failed 0  handshake p50 412 µs p99 1.80 ms  request p50 3.10 ms p99 12.4 ms  lag p99 87.2 µs|
        |   8:21  draining  users 4,800 (+120/s)  begun 493/s  completed 490/s  failed 0  handshake p50 412 µs p99 1.80 ms  request p50 3.10 ms p99 12.4 ms  lag p99 87.2 µs|
        |   0:41  ending early  users 4,800 (+120/s)  begun 493/s  completed 490/s  failed 0  handshake p50 412 µs p99 1.80 ms  request p50 3.10 ms p99 12.4 ms  lag p99 87.2 µs|
    "#]].assert_eq(&framed);
}

#[test]
fn rates_are_means_over_seconds_also_where_a_phase_cut_one() {
    let mut rows: Vec<SeriesRow> = (0..3).map(row).collect();
    rows[2].end_ns = rows[2].start_ns + SECOND / 4;
    (rows[2].users_started, rows[1].users_started) = (30, 120);
    let state = LiveState {
        now_ns: 3 * SECOND,
        rows: &rows,
        measures: &[],
        heat: &[],
        stage: Stage::Running,
    };
    assert!(plain_line(&info(), &state).contains("users 360 (+120/s)"));
}

#[test]
fn clocks_grow_hours() {
    assert_eq!([clock(65 * SECOND), clock(3_607 * SECOND)], ["1:05", "1:00:07"]);
}
