use expect_test::{Expect, expect};
use record::Outcome;
use record::schema::{
    Event, EventKind, KnownFigure, MeasureInfo, RunStatus, SeriesRow, Severity, StepWork, Verdict,
    WorkKind,
};

use crate::Figures;
use crate::sample::{
    self, MS, REQUEST, SECOND, UPDATE, US, fail, figures, judged, succeed, with_rows,
};

mod storms;

/// The findings about the generator, and whether they let the run pass.
fn check(figures: &Figures, verdict: Verdict, expect: &Expect) {
    let summary = judged(figures);
    assert_eq!(summary.verdict, verdict);
    let others = ["throughput", "errors", "note"];
    let health: Vec<_> =
        summary.findings.iter().filter(|f| !others.contains(&f.code.as_str())).cloned().collect();
    assert_eq!(summary.findings[0], health[0], "health comes first");
    expect.assert_eq(&sample::rendered(&health));
}

#[test]
fn a_generator_that_kept_up_is_reported_first() {
    check(
        &figures(),
        Verdict::Measured,
        &expect![[r#"
        Good generator-healthy
            the generator kept up: lag p99 20.0 µs, busiest loop 10 % of a core, 64.0 MiB of
            memory (precise mode, 1 loop)
    "#]],
    );
}

#[test]
fn fewer_starts_than_requested_by_its_own_cpu() {
    let mut figures = with_rows(|row| {
        row.users_due = 500_000;
        row.users_started = 212_340;
        row.loop_busy_max = 0.99;
        row.lag_p99_ns = 800 * MS;
    });
    figures.info.phases[0].users_planned = 30e6;
    succeed(&mut figures, 0, REQUEST, 60 * 212_340 - 6000, 500 * MS, 400 * MS);
    check(
        &figures,
        Verdict::Untrusted,
        &expect![[r#"
            Fatal generator-cpu
                planned 500,000 requests/s, reached 212,340/s: the generator ran out of CPU
                (loops 99 % busy); lag p99 400 ms
        "#]],
    );
}

#[test]
fn fewer_starts_than_planned_even_where_the_loops_never_saw_them_due() {
    let mut figures = figures();
    figures.info.phases[0].users_planned = 6100.0;
    check(
        &figures,
        Verdict::Untrusted,
        &expect![[r#"
            Fatal generator-lag
                planned 102 requests/s, reached 100/s: the generator fell behind although CPU
                was available (loops 10 % busy, waiting for a core 0 % of the time); lag p99
                20.0 µs
        "#]],
    );
}

#[test]
fn poisson_phases_may_differ_from_what_was_expected() {
    let mut figures = figures();
    figures.info.phases[0].kind = "poisson".to_owned();
    let mut expecting = |n: u32| {
        // The engine records each second how many it expected.
        figures.series.iter_mut().for_each(|row| row.users_due = u64::from(n) / 60);
        figures.info.phases[0].users_planned = f64::from(n);
        judged(&figures).verdict
    };
    // 6,000 of 6,250 are 3.2 standard deviations short, of 6,400 five.
    assert_eq!(expecting(6250), Verdict::Measured);
    assert_eq!(expecting(6400), Verdict::Untrusted);
}

#[test]
fn starts_recovered_in_the_next_phase_are_no_shortfall() {
    let mut info = sample::info();
    info.phases = vec![
        sample::phase("ramp", "rate", 0, 30, 3000.0),
        sample::phase("hold", "hold", 30, 60, 0.0),
    ];
    let mut rows: Vec<SeriesRow> = (0..60).map(sample::row).collect();
    for row in &mut rows[30..] {
        row.phase = 1;
        row.users_due = 0;
        row.users_started = 0;
    }
    rows[29].users_started = 0;
    rows[30].users_started = 100;
    let late = Figures::new(info.clone(), rows.clone(), Vec::new());
    assert_eq!(judged(&late).verdict, Verdict::Measured);
    rows[30].users_started = 0;
    check(
        &Figures::new(info, rows, Vec::new()),
        Verdict::Untrusted,
        &expect![[r#"
            Fatal generator-lag
                planned 100 users/s, reached 96.7/s: the generator fell behind although CPU was
                available (loops 10 % busy, waiting for a core 0 % of the time); lag p99 20.0 µs
        "#]],
    );
}

#[test]
fn closed_phases_start_their_users_again() {
    let mut figures = figures();
    figures.info.phases[0].kind = "closed".to_owned();
    figures.info.phases[0].users_planned = 500.0;
    assert_eq!(judged(&figures).verdict, Verdict::Measured);
    for row in &mut figures.series {
        row.users_due = 0;
        row.users_started = 5;
    }
    check(
        &figures,
        Verdict::Untrusted,
        &expect![[r#"
            Fatal generator-lag
                planned 500 users, reached 300: the generator fell behind although CPU was
                available (loops 10 % busy, waiting for a core 0 % of the time); lag p99 20.0 µs
        "#]],
    );
}

#[test]
fn restarted_sessions_are_not_due_users() {
    let mut figures = figures();
    figures.info.phases[0].kind = "closed".to_owned();
    figures.info.phases[0].users_planned = 500.0;
    for row in &mut figures.series {
        row.users_due = 100;
        row.users_started = 100;
        row.users_repeated = 100;
    }
    // The first second: 300 of 500 came, and each many times.
    let row = &mut figures.series[0];
    row.users_due = 600;
    row.users_started = 400;
    let summary = judged(&figures);
    assert_eq!((summary.verdict, summary.users.started), (Verdict::Untrusted, 300));
    let text = &summary.findings[0].text;
    assert!(text.starts_with("planned 500 users, reached 300"), "{text}");
}

#[test]
fn a_loop_is_at_most_as_busy_as_in_its_busiest_second() {
    let mut figures = figures();
    // All are let go within a few milliseconds.
    let mut last = sample::row(60);
    last.end_ns = last.start_ns + 5_000_000;
    last.loop_busy_max = 1.0;
    figures.series.push(last.clone());
    let health = judged(&figures).health;
    assert_eq!(health.loop_busy_max, 0.1);
    assert!((health.loop_busy_mean - 0.1).abs() < 1e-9);
    // A run of less than a second has no other interval.
    figures.series = vec![last];
    let health = judged(&figures).health;
    assert_eq!((health.loop_busy_mean, health.loop_busy_max), (1.0, 1.0));
}

#[test]
fn a_target_that_takes_no_connection_is_named_while_one_waits_for_it() {
    let mut figures = with_rows(|row| row.lag_p99_ns = 20 * US);
    // One user waits, and nobody starts while it does.
    for (number, row) in figures.series[10..20].iter_mut().enumerate() {
        row.users_started = 0;
        row.users_held = u64::from(number == 0);
    }
    let codes: Vec<String> = judged(&figures).findings.into_iter().map(|f| f.code).collect();
    assert!(codes.contains(&"connecting-limit".to_owned()), "{codes:?}");
    assert!(!codes.contains(&"generator-lag".to_owned()), "{codes:?}");
}

#[test]
fn late_operations_name_their_cause() {
    let late = |change: fn(&mut SeriesRow)| {
        let mut figures = with_rows(|row| row.lag_p99_ns = 20 * US);
        figures.series[10..20].iter_mut().for_each(|row| {
            row.lag_p99_ns = 300 * MS;
            change(row);
        });
        succeed(&mut figures, 0, REQUEST, 100, 310 * MS, 300 * MS);
        figures
    };
    check(
        &late(|row| {
            row.loop_busy_max = 0.97;
            row.cpu_throttled_ns = SECOND / 2;
            row.users_held = row.users_started;
        }),
        Verdict::Untrusted,
        &expect![[r#"
            Fatal generator-limited
                1 % of operations started more than 300 ms late (limit 100 ms): a CPU limit of
                its control group held the generator back 50 % of the time (`cpu.max`); reached
                100 operations/s
            Note users-held
                1,000 users started late: the limit of concurrent connection attempts was
                reached (`options.connecting_max`)
        "#]],
    );
    check(
        &late(|row| {
            row.loop_busy_max = 0.6;
            row.cpu_wait_ns = SECOND / 8;
            row.script_calls = 1;
            row.scripts_ns = SECOND / 2;
        }),
        Verdict::Untrusted,
        &expect![[r#"
            Fatal generator-scripts
                1 % of operations started more than 300 ms late (limit 100 ms): scripts kept the
                loops from their users 50 % of the time (`options.script_time_max`); reached 100
                operations/s
        "#]],
    );
    check(
        &late(|row| row.loop_busy_max = 0.97),
        Verdict::Untrusted,
        &expect![[r#"
            Fatal generator-cpu
                1 % of operations started more than 300 ms late (limit 100 ms): the generator
                ran out of CPU (loops 97 % busy); reached 100 operations/s
        "#]],
    );
    check(
        &late(|row| {
            row.cpu_wait_ns = SECOND / 2;
            row.users_held = row.users_started.div_ceil(5);
        }),
        Verdict::Untrusted,
        &expect![[r#"
            Fatal connecting-limit
                1 % of operations started more than 300 ms late (limit 100 ms): users arrived
                faster than connections were established, and the limit of concurrent connection
                attempts was reached (`options.connecting_max`); reached 100 operations/s
            Note users-held
                200 users started late: the limit of concurrent connection attempts was reached
                (`options.connecting_max`)
        "#]],
    );
    check(
        &late(|row| row.cpu_wait_ns = SECOND / 2),
        Verdict::Untrusted,
        &expect![[r#"
            Fatal generator-starved
                1 % of operations started more than 300 ms late (limit 100 ms): other processes
                on this machine starved the generator of CPU (loops 10 % busy, waiting for a
                core 50 % of the time); reached 100 operations/s
        "#]],
    );
    check(
        &late(|_| ()),
        Verdict::Untrusted,
        &expect![[r#"
            Fatal generator-lag
                1 % of operations started more than 300 ms late (limit 100 ms): the generator
                fell behind although CPU was available (loops 10 % busy, waiting for a core 0 %
                of the time); reached 100 operations/s
        "#]],
    );
}

#[test]
fn wide_loops_that_fill_the_cores_wait_for_each_other() {
    let mut figures = with_rows(|row| {
        row.loop_busy_max = 0.08;
        row.cpu_loops_ns = 2 * SECOND * 97 / 100;
        row.cpu_wait_ns = 20 * SECOND;
        row.lag_p99_ns = 300 * MS;
    });
    figures.info.generator.mode = "wide".to_owned();
    figures.info.generator.loops = 26;
    succeed(&mut figures, 0, REQUEST, 100, 310 * MS, 300 * MS);
    assert_eq!(judged(&figures).findings[0].code, "generator-cpu");
}

#[test]
fn lag_of_mostly_failed_operations_is_taken_from_the_seconds() {
    let mut figures = with_rows(|row| row.lag_p99_ns = 300 * MS);
    let lag_p99_ns = judged(&figures).health.lag_p99_ns;
    assert_eq!(lag_p99_ns, 20 * US, "the log knows them all");
    fail(&mut figures, REQUEST, Outcome::Timeout, 6000);
    assert_eq!(judged(&figures).health.lag_p99_ns, 300 * MS);
    // One bad second in sixty cannot hold one per cent of late operations and their maxima too.
    figures.series.iter_mut().skip(1).for_each(|row| row.lag_p99_ns = 20 * US);
    assert!(judged(&figures).health.lag_p99_ns < MS);
}

#[test]
fn connections_without_lags_of_their_own_do_not_count_as_unknown() {
    let mut figures = with_rows(|row| row.lag_p99_ns = 300 * MS);
    let connect = figures.cell_mut(0, 0).unwrap();
    connect.outcomes.insert(Outcome::Ok.name().to_owned(), 6000);
    assert_eq!(judged(&figures).health.lag_p99_ns, 20 * US);
}

#[test]
fn messages_do_not_thin_out_lag() {
    let mut info = sample::info();
    info.measures.push(MeasureInfo::new("update", "message"));
    let mut figures = Figures::new(info, (0..60).map(sample::row).collect(), Vec::new());
    succeed(&mut figures, 0, REQUEST, 5000, 10 * MS, 20 * US);
    succeed(&mut figures, 0, REQUEST, 1000, 310 * MS, 300 * MS);
    succeed(&mut figures, 0, UPDATE, 1_000_000, MS, 0);
    assert_eq!(judged(&figures).verdict, Verdict::Untrusted);
}

#[test]
fn users_refused_for_lack_of_files() {
    let mut figures = figures();
    figures.info.phases[0].users_planned = 25_000.0;
    for (second, row) in (0u64..).zip(&mut figures.series) {
        row.users = (second * 420).min(19_950);
        row.connections = row.users;
        row.users_due = 0;
        row.users_started = 0;
        row.users_refused = 0;
    }
    figures.series[0].users_due = 25_000;
    figures.series[0].users_started = 19_950;
    figures.series[0].users_refused = 5_050;
    fail(&mut figures, 0, Outcome::NoFiles, 5_050);
    check(
        &figures,
        Verdict::Untrusted,
        &expect![[r#"
            Fatal generator-files
                planned 25,000 users, reached 19,950 (5,050 refused): the open-file limit was
                reached (1 loop with 20,000 each); fix: `--set options.loops=2`, or `ulimit -n
                26314` before the run
        "#]],
    );
    // The same files, held by requests that nobody answered.
    figures.series[50].in_flight = 19_900;
    check(
        &figures,
        Verdict::Untrusted,
        &expect![[r#"
            Fatal target-limit
                planned 25,000 users, reached 19,950 (5,050 refused): the target did not
                respond, and operations in flight used all 20,000 open files; fix: reduce the
                load, or raise the capacity of the target
        "#]],
    );
}

#[test]
fn users_refused_for_lack_of_ports_memory_or_something() {
    let refused = |outcome: Option<Outcome>| {
        let mut figures = figures();
        figures.series[9].users_started = 20;
        figures.series[9].users_refused = 80;
        if let Some(outcome) = outcome {
            fail(&mut figures, 0, outcome, 80);
        }
        figures
    };
    check(
        &refused(Some(Outcome::NoPorts)),
        Verdict::Untrusted,
        &expect![[r#"
            Fatal generator-ports
                planned 6,000 users, reached 5,920 (80 refused): source ports ran out; fix:
                `sysctl -w net.ipv4.ip_local_port_range="1024 65535"`, or more addresses in
                `options.source_addresses`
        "#]],
    );
    check(
        &refused(Some(Outcome::NoMemory)),
        Verdict::Untrusted,
        &expect![[r#"
            Fatal generator-memory
                planned 6,000 users, reached 5,920 (80 refused): memory ran out, either the
                generator's, its part for saved values and buffers, or the kernel's socket
                memory (64.0 MiB resident); fix: free memory, save less or lower
                `options.response_max`, or raise the kernel's socket memory, `sysctl
                net.ipv4.tcp_mem` (`throng doctor` shows the value)
        "#]],
    );
    check(
        &refused(None),
        Verdict::Untrusted,
        &expect![[r#"
            Fatal generator-refused
                planned 6,000 users, reached 5,920 (80 refused): files, ports or memory ran out;
                fix: `throng doctor` shows the limits and how to raise them
        "#]],
    );
}

#[test]
fn operations_without_a_file_are_reported_though_no_user_was_refused() {
    let mut figures = figures();
    fail(&mut figures, 0, Outcome::NoFiles, 1);
    check(
        &figures,
        Verdict::Untrusted,
        &expect![[r#"
            Fatal generator-files
                planned 6,000 users, reached 6,000 with 1 failed operation: the open-file limit
                was reached (1 loop with 20,000 each); fix: `--set options.loops=2`, or `ulimit
                -n 21064` before the run
        "#]],
    );
}

/// The run is no less sound for it, and what was known stands behind the generator.
#[test]
fn runs_that_ended_when_enough_was_known() {
    let looked = |is_known, high_ns| {
        let mut figures = with_rows(|_| {});
        figures.series.truncate(45);
        figures.info.phases[0].end_ns = 45 * SECOND;
        figures.info.ended_ns = 45_200 * MS;
        figures.info.status = RunStatus::Until;
        let figure = KnownFigure {
            text: "p95(request) ± 2%".to_owned(),
            is_known,
            value_ns: Some(10 * MS),
            low_ns: Some(9_900 * US),
            high_ns,
        };
        let what = EventKind::Until {
            is_known,
            looks: 2,
            looks_max: 12,
            at_most_ns: 1800 * SECOND,
            figures: vec![figure],
        };
        figures.events.push(Event { at_ns: 45 * SECOND, what });
        let summary = judged(&figures);
        let found = summary.findings.into_iter().find(|one| one.code.starts_with("precision-"));
        let found = found.unwrap();
        (summary.verdict, found.severity, found.code, found.text)
    };
    let (verdict, severity, code, text) = looked(true, Some(10_150 * US));
    assert_eq!((verdict, severity), (Verdict::Measured, Severity::Good));
    assert_eq!(code, "precision-reached");
    assert_eq!(
        text,
        "enough was known after 45 s of at most 30 min: p95(request) ± 2%: 10.0 ms, at 95 % from \
         9.90 ms to 10.2 ms (over 2 of 12 looks)"
    );
    let (_, severity, code, text) = looked(false, None);
    assert_eq!((severity, code.as_str()), (Severity::Warning, "precision-missed"));
    assert!(text.contains("10.0 ms, at 95 % from 9.90 ms on (over 2 of 12 looks)"), "{text}");
}

#[test]
fn runs_that_ended_early() {
    let mut figures = figures();
    figures.series.truncate(12);
    figures.info.ended_ns = 12_500 * MS;
    figures.info.status = RunStatus::Interrupted;
    check(
        &figures,
        Verdict::Untrusted,
        &expect![[r#"
        Fatal run-incomplete
            the run was interrupted after 13 s of 1 min
        Good generator-healthy
            the generator kept up: lag p99 20.0 µs, busiest loop 10 % of a core, 64.0 MiB of
            memory (precise mode, 1 loop)
    "#]],
    );
    figures.info.status = RunStatus::Running;
    figures.info.ended_ns = 0;
    check(
        &figures,
        Verdict::Untrusted,
        &expect![[r#"
            Fatal run-incomplete
                the run was killed or is still running; its record ends after 12 s of 1 min
            Good generator-healthy
                the generator kept up: lag p99 20.0 µs, busiest loop 10 % of a core, 64.0 MiB of
                memory (precise mode, 1 loop)
        "#]],
    );
    figures.info.status = RunStatus::Failed;
    let note = EventKind::Note { text: "the target process ended".to_owned() };
    figures.events.push(Event { at_ns: 12 * SECOND, what: note });
    check(
        &figures,
        Verdict::Untrusted,
        &expect![[r#"
        Fatal run-incomplete
            the run failed after 12 s of 1 min: the target process ended
        Good generator-healthy
            the generator kept up: lag p99 20.0 µs, busiest loop 10 % of a core, 64.0 MiB of
            memory (precise mode, 1 loop)
    "#]],
    );
}

#[test]
fn lag_that_shows_in_short_latencies_is_a_warning() {
    let mut figures = figures();
    succeed(&mut figures, 0, REQUEST, 100, 12 * MS, 2 * MS);
    check(
        &figures,
        Verdict::Measured,
        &expect![[r#"
            Warning generator-lag
                lag of the generator adds 2.00 ms to p99 of request: 12.0 ms with it, 10.0 ms
                without; service times have none of it
        "#]],
    );
}

/// Few operations are late, and no figure shows it: their lag is as large as before.
#[test]
fn lag_that_changes_no_figure_is_no_warning() {
    let mut figures = figures();
    succeed(&mut figures, 0, REQUEST, 50, 12 * MS, 2 * MS);
    let found = judged(&figures).findings;
    assert!(found.iter().all(|finding| finding.code != "generator-lag"), "{found:?}");
}

#[test]
fn lag_names_the_step_that_is_late() {
    let mut figures = figures();
    figures.info.measures.push(MeasureInfo::new("slow", "request"));
    let mut figures = Figures::new(figures.info, figures.series, figures.events);
    succeed(&mut figures, 0, REQUEST, 50_000, 70 * US, 0);
    succeed(&mut figures, 0, REQUEST + 1, 200, 150 * MS, 52 * MS);
    check(
        &figures,
        Verdict::Measured,
        &expect![[r#"
        Warning generator-lag
            lag of the generator adds 52.0 ms to p50 of slow: 150 ms with it, 98.0 ms
            without; service times have none of it
    "#]],
    );
    // Above the limit it is that step too, rare as it is.
    succeed(&mut figures, 0, REQUEST + 1, 200, 300 * MS, 152 * MS);
    check(
        &figures,
        Verdict::Untrusted,
        &expect![[r#"
        Fatal generator-lag
            1 % of `slow` started more than 152 ms late (limit 100 ms): the generator fell
            behind although CPU was available (loops 10 % busy, waiting for a core 0 % of
            the time); reached 100 operations/s
    "#]],
    );
}

#[test]
fn host_record_and_certificates_have_their_say() {
    let mut figures = figures();
    figures.info.tls_unverified = true;
    figures.series[3].host_listen_drops = 1;
    figures.series[3].host_retransmits = 7;
    let sampling = EventKind::Sampling { rate: 10, reason: "the disk is too slow".to_owned() };
    figures.events.push(Event { at_ns: 30 * SECOND, what: sampling });
    check(
        &figures,
        Verdict::Measured,
        &expect![[r#"
            Good generator-healthy
                the generator kept up: lag p99 20.0 µs, busiest loop 10 % of a core, 64.0 MiB of
                memory (precise mode, 1 loop)
            Warning tls-unverified
                TLS certificates were not verified: the responses may come from another server
            Warning host-listen-drops
                connects may have waited for a SYN retransmission (1 s, 3 s, …): this host, with
                all of its programs, dropped 1 connection because accept queues were full
                (net.core.somaxconn); fix: `sysctl -w net.core.somaxconn=65535
                net.ipv4.tcp_max_syn_backlog=65535`, and an equally long backlog in the server
            Warning retransmits
                this host, with all of its programs, retransmitted 7 TCP segments: packets were
                lost, and their data arrived late
            Note rows-sampled
                requests.parquet contains 55 % of all operations, sampled from 30 s on (the disk
                is too slow); percentiles and counts cover all operations
        "#]],
    );
    assert!((judged(&figures).health.rows_kept - 0.55).abs() < 1e-9);
}

#[test]
fn memory_that_ran_short_ends_the_ramp_and_the_trust() {
    let mut figures = figures();
    let pressure = EventKind::MemoryPressure { available_bytes: 700 << 20, users: 1_734 };
    figures.events.push(Event { at_ns: 17 * SECOND, what: pressure });
    for row in &mut figures.series[18..] {
        row.users_started = 0;
        row.users_refused = 100;
    }
    fail(&mut figures, 0, Outcome::NoMemory, 4_200);
    check(
        &figures,
        Verdict::Untrusted,
        &expect![[r#"
            Fatal generator-memory
                memory ran short at 1,734 users: 700 MiB were available, and the ramp stopped
                there, with 4,200 users refused; fix: add memory or reduce the number of users
                (`throng doctor --users 6000` shows how many this machine can hold)
        "#]],
    );
    // In a hold nobody is due, and yet the machine was not what the run needed.
    for row in &mut figures.series {
        row.users_refused = 0;
        row.users_started = 100;
    }
    check(
        &figures,
        Verdict::Untrusted,
        &expect![[r#"
            Fatal generator-memory
                memory ran short at 1,734 users: 700 MiB were available, and no more users were
                due; fix: add memory or reduce the number of users (`throng doctor --users 6000`
                shows how many this machine can hold)
        "#]],
    );
}

/// Two seconds before the end of the phase nobody is due any more, and an operation in flight lasts until after it.
#[test]
fn who_ends_a_run_owes_it_no_users() {
    let mut figures = figures();
    for row in &mut figures.series[58..] {
        (row.users_due, row.users_started) = (0, 0);
    }
    let last = SeriesRow { users_due: 0, users_started: 0, ..sample::row(60) };
    figures.series.push(last);
    figures.info.ended_ns = 61 * SECOND;
    figures.info.status = RunStatus::Interrupted;
    check(
        &figures,
        Verdict::Untrusted,
        &expect![[r#"
            Fatal run-incomplete
                the run was interrupted after 1 min of 1 min
            Good generator-healthy
                the generator kept up: lag p99 20.0 µs, busiest loop 10 % of a core, 64.0 MiB of
                memory (precise mode, 1 loop)
        "#]],
    );
}

#[test]
fn an_exited_target_is_reported_before_its_consequences() {
    let mut figures = figures();
    figures.info.status = RunStatus::Failed;
    for what in [
        EventKind::TargetEnded {
            target: "ads".to_owned(),
            pid: 4321,
            why: "signal: 9 (SIGKILL)".to_owned(),
        },
        EventKind::Note { text: "a message was stamped later than it arrived".to_owned() },
    ] {
        let at_ns = 17 * SECOND;
        figures.events.push(Event { at_ns, what });
    }
    figures.series.truncate(17);
    figures.info.ended_ns = 17_100 * MS;
    check(
        &figures,
        Verdict::Untrusted,
        &expect![[r#"
            Fatal target-ended
                the target ads exited during the run, at 17.0 s (signal: 9 (SIGKILL)): there was
                nothing left to measure
            Fatal run-incomplete
                the run failed after 17 s of 1 min: its target had exited
            Good generator-healthy
                the generator kept up: lag p99 20.0 µs, busiest loop 10 % of a core, 64.0 MiB of
                memory (precise mode, 1 loop)
        "#]],
    );
}

#[test]
fn scripts_that_take_much_of_the_loops_time_are_named() {
    let with_scripts = |share: u64| {
        let mut figures = with_rows(|row| row.lag_p99_ns = 20 * US);
        let loops = u64::from(figures.info.generator.loops);
        for row in &mut figures.series {
            row.script_calls = 1000;
            row.scripts_ns = (row.end_ns - row.start_ns) * loops * share / 100;
        }
        judged(&figures)
    };
    let found = |share| {
        let findings = with_scripts(share).findings.into_iter();
        findings.filter(|f| f.code == "scripts-slow").collect::<Vec<_>>()
    };
    assert!(found(10).is_empty());
    let [finding] = &found(34)[..] else {
        panic!("{:?}", found(34));
    };
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.text.contains("took 34 % of the loops' time"), "{}", finding.text);
}

/// Work for the requests of the sample, 100 times this long.
fn own_work(kind: WorkKind, each_ns: u64) -> StepWork {
    StepWork {
        kind,
        measure: Some(REQUEST as u16),
        session: None,
        own_step: None,
        count: 100,
        total_ns: 100 * each_ns,
        max_ns: 2 * each_ns,
    }
}

#[test]
fn own_work_that_is_a_large_share_of_a_response_is_named() {
    let found = |each_ns| {
        let mut figures = figures();
        figures.cell_mut(0, REQUEST).map(std::mem::take);
        succeed(&mut figures, 0, REQUEST, 6000, 30 * MS, US);
        figures.own_work.push(own_work(WorkKind::Save, each_ns));
        let findings = judged(&figures).findings.into_iter();
        findings.filter(|f| f.code == "own-work").collect::<Vec<_>>()
    };
    assert!(found(900 * US).is_empty());
    let [note] = &found(MS)[..] else {
        panic!("{:?}", found(MS));
    };
    assert_eq!(note.severity, Severity::Note);
    let [large] = &found(6 * MS)[..] else {
        panic!("{:?}", found(6 * MS));
    };
    assert_eq!(large.severity, Severity::Warning);
    let words =
        "own work in `save` of request took 6.00 ms on average and 12.0 ms at most, 100 times";
    assert!(large.text.contains(words), "{}", large.text);
    assert!(large.text.contains(" of its median response time (30"), "{}", large.text);
}

#[test]
fn short_own_work_is_no_matter_however_fast_the_target_is() {
    let mut figures = figures();
    figures.cell_mut(0, REQUEST).map(std::mem::take);
    succeed(&mut figures, 0, REQUEST, 6000, 200 * US, US);
    let mut named = |each_ns| {
        figures.own_work = vec![own_work(WorkKind::Encoding, each_ns)];
        judged(&figures).findings.iter().any(|finding| finding.code == "own-work")
    };
    assert!(!named(99 * US));
    assert!(named(100 * US));
}

#[test]
fn operations_that_waited_for_own_work_are_late_because_of_it() {
    let late = |work_ns: u64| {
        let mut figures = with_rows(|row| row.lag_p99_ns = 300 * MS);
        succeed(&mut figures, 0, REQUEST, 100, 310 * MS, 300 * MS);
        figures.own_work.push(own_work(WorkKind::Save, work_ns));
        let summary = judged(&figures);
        assert_eq!(summary.verdict, Verdict::Untrusted);
        summary.findings[0].code.clone()
    };
    assert_eq!(late(290 * MS), "generator-work");
    // Other lag is longer than all of this.
    assert_eq!(late(100 * MS), "generator-lag");
}
