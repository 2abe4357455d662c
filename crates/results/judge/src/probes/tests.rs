//! Probes at their limits, built by hand.

use expect_test::{Expect, expect};
use record::schema::Event;
use record::{ProbeInfo, ProbeRow};

use super::*;
use crate::sample::{self, SECOND, judged, rendered};

fn info(role: &str, via: &str, metric: &str, unit: &str) -> ProbeInfo {
    ProbeInfo {
        role: role.to_owned(),
        region: String::new(),
        source: "db-1".to_owned(),
        metric: metric.to_owned(),
        unit: unit.to_owned(),
        via: via.to_owned(),
    }
}

/// Adds a probe that reports once a second.
fn add(run: &mut Figures, info: ProbeInfo, value: impl Fn(i64) -> f64) {
    let probe = run.probes.list.len() as u32;
    run.probes.list.push(info);
    run.probes.rows.extend((0..60).map(|second| ProbeRow {
        at_ns: second * SECOND as i64,
        probe,
        value: value(second),
    }));
}

/// The findings that the probes make.
fn check(run: &Figures, expect: &Expect) {
    let findings = judged(run).findings;
    let its: Vec<_> = findings
        .into_iter()
        .filter(|finding| finding.code.starts_with("server-") || finding.code.starts_with("probe"))
        .collect();
    expect.assert_eq(&rendered(&its));
}

#[test]
fn what_is_at_its_limit_is_named_longest_first() {
    let mut run = sample::figures();
    add(&mut run, info("host", "host", "cpu_busy", "%"), |s| if s < 20 { 97.0 } else { 40.0 });
    add(&mut run, info("cache", "redis", "cpu_main_thread", "%"), |_| 99.0);
    add(&mut run, info("mysql", "mysql", "max_connections", "1"), |_| 151.0);
    add(&mut run, info("mysql", "mysql", "Threads_connected", "1"), |s| {
        if s < 30 { 150.0 } else { 20.0 }
    });
    check(
        &run,
        &expect![[r#"
            Warning server-thread
                cache (redis db-1): the command thread used a full core in 60 of 60 readings
                (90.0 % or more; mean 99.0 %, max 99.0 %)
            Warning server-clients
                mysql db-1: clients were close to the maximum in 30 of 60 readings (95 % of 151
                or more; mean 85.0, max 150)
            Warning server-cpu
                host db-1: CPU was saturated in 20 of 60 readings (90.0 % or more; mean 59.0 %,
                max 97.0 %)
        "#]],
    );
}

#[test]
fn the_generators_own_share_of_its_host_is_reported() {
    let mut run = sample::figures();
    let host = ("hostname".to_owned(), "db-1".to_owned());
    run.info.host.insert(host.0, host.1);
    for row in &mut run.series {
        row.cpu_process_ns = SECOND;
    }
    add(&mut run, info("host", "host", "cpu_busy", "%"), |_| 95.0);
    add(&mut run, info("host", "host", "tcp_listen_overflows", "1/s"), |_| 1.0);
    let findings = judged(&run).findings;
    let found = findings.iter().find(|f| f.code == "server-cpu").unwrap();
    assert!(found.text.ends_with("used 50 %"), "{}", found.text);
    // The generator states what its own host dropped.
    assert!(!findings.iter().any(|f| f.code == "server-listen-overflows"));
}

#[test]
fn a_moment_at_the_limit_is_none_and_imported_probes_have_no_limits() {
    let mut run = sample::figures();
    add(&mut run, info("host", "host", "cpu_busy", "%"), |s| if s < 5 { 100.0 } else { 10.0 });
    add(&mut run, info("host", "", "cpu_busy", "%"), |_| 100.0);
    add(&mut run, info("redis", "redis", "maxmemory", "B"), |_| 0.0);
    add(&mut run, info("redis", "redis", "used_memory", "B"), |_| 1e6);
    check(&run, &expect![""]);
}

#[test]
fn what_should_not_happen_is_counted_and_lost_sources_are_reported() {
    let mut run = sample::figures();
    add(&mut run, info("web", "host", "tcp_listen_overflows", "1/s"), |s| {
        if (10..20).contains(&s) { 4.0 } else { 0.0 }
    });
    run.events = vec![
        Event {
            at_ns: 0,
            what: EventKind::ProbeLost {
                role: "redis".to_owned(),
                source: "r:1".to_owned(),
                why: "cannot be reached".to_owned(),
            },
        },
        Event {
            at_ns: 60 * SECOND,
            what: EventKind::ProbeSource {
                role: "redis".to_owned(),
                region: String::new(),
                source: "r:1".to_owned(),
                via: "redis".to_owned(),
                readings: 50,
                missed: 10,
                cpu_ns: 600_000_000,
            },
        },
    ];
    check(
        &run,
        &expect![[r#"
            Warning server-listen-overflows
                web (host db-1): 40 connections dropped because accept queues were full, the
                first 10 s into the run
            Warning probe-lost
                probe redis r:1: 10 of 60 readings are missing: cannot be reached
            Note probes
                1 source reported 1 metric; probing used 1.00 % of a core
        "#]],
    );
}

#[test]
fn figures_are_of_the_time_requested() {
    let mut run = sample::figures();
    add(&mut run, info("host", "host", "cores", "1"), |s| s as f64);
    let second = SECOND as i64;
    let found = figures(&run.probes, 10 * second, 12 * second);
    let expected = ProbeFigures {
        info: run.probes.list[0].clone(),
        count: 3,
        mean: 11.0,
        min: 10.0,
        max: 12.0,
    };
    assert_eq!(found, [expected]);
    assert_eq!(figures(&run.probes, 100 * second, 200 * second), []);
}
