//! Probes of real servers, and what becomes of secrets.

use std::process::Command;
use std::time::Duration;

use record::schema::EventKind;
use record::{Probes, Run};
use testkit::services::Services;

use crate::support::{Ended, Running, Served, Space, holding, pass, throng};

/// What the servers of `scripts/services` are protected by.
const PASSWORD: &str = "open-sesame";

/// Two seconds of little load at this target, with these probes.
fn scenario(target: &str, probes: &str) -> String {
    format!(
        "target: {target}\nsessions: {{ s: [ {{ get: / }} ] }}\narrivals: [ {{ constant: 20/s, for: \
         2s }}, {{ hold: 1s }} ]\nprobes:\n{probes}"
    )
}

/// Runs to the end. On a machine that is busy with other tests a run may not be trusted; probes report all
/// the same.
#[track_caller]
fn judged(command: &mut Command) -> Ended {
    let ended = Ended::of(command);
    assert!(matches!(ended.code, Some(0 | 2)), "{}{}", ended.out, ended.err);
    ended
}

/// The values of a metric.
fn values(probes: &Probes, role: &str, metric: &str) -> Vec<f64> {
    let place = probes.list.iter().position(|info| info.role == role && info.metric == metric);
    let rows = probes.rows.iter();
    let rows = rows.filter(|row| Some(row.probe as usize) == place);
    rows.map(|row| row.value).collect()
}

/// Probes of all real servers that there are, with the variables that hold their addresses.
#[test]
fn real_servers_are_probed() {
    let names = ["redis", "postgres", "mysql", "nginx"];
    let Some(services) = Services::start(&names) else {
        return;
    };
    let hello = Served::start(&["hello"]);
    let there: Vec<(&str, &str)> =
        names.iter().filter_map(|&name| Some((name, services.url(name)?))).collect();
    let probes: String =
        there.iter().map(|(name, _)| format!("  - {name}: \"${{env('{name}_URL')}}\"\n")).collect();
    if there.is_empty() {
        return;
    }
    let space = Space::new();
    let mut command = space.run_text(&scenario(&hello.url, &probes), &[]);
    for (name, url) in &there {
        command.env(format!("{name}_URL"), url);
    }
    let ended = judged(&mut command);
    let run = space.only();
    let probes = run.probes().unwrap();
    for (role, metric) in [
        ("redis", "connected_clients"),
        ("redis", "total_commands_processed"),
        ("postgres", "max_connections"),
        ("postgres", "xact_commit"),
        ("postgres", "statement_calls"),
        ("mysql", "Threads_connected"),
        ("mysql", "Queries"),
        ("nginx", "connections_active"),
        ("nginx", "requests"),
    ] {
        if there.iter().any(|(name, _)| *name == role) {
            let samples = values(&probes, role, metric);
            let most = samples.iter().copied().fold(f64::NAN, f64::max);
            assert!(most > 0.0, "{role} {metric}: {samples:?}");
        }
    }
    // Sources are named without their passwords, and nothing else holds them either.
    for text in [&ended.out, &ended.err] {
        assert!(!text.contains(PASSWORD), "{text}");
    }
    assert_eq!(holding(&space.path("runs"), PASSWORD), [""; 0]);
    for (role, _) in &there {
        assert_eq!(missed(&run, role), Some(0), "{role}");
    }
}

/// Killed after eight seconds, of which the last five may be lost, and the second before the first value.
#[test]
fn values_of_probes_are_safe_within_five_seconds() {
    let space = Space::new();
    let mut probe = throng(["probe", "host", "--duration", "60s", "-o"]);
    let mut running = Running::start(probe.arg(space.path("runs")));
    let is_there = || space.path("runs").read_dir().is_ok_and(|mut runs| runs.next().is_some());
    while !is_there() {
        pass(Duration::from_millis(10));
    }
    pass(Duration::from_secs(8));
    running.kill();
    running.end();
    let probes = space.only().probes().unwrap();
    assert!(!space.only().path().join("probes.parquet").exists());
    let newest_ns = probes.rows.iter().map(|row| row.at_ns).max();
    assert!(newest_ns >= Some(2_000_000_000), "{newest_ns:?}");
}

/// Databases by TLS: by the right authority they answer, by another they do not.
#[test]
fn databases_are_probed_by_tls() {
    let Some(services) = Services::shared(&["postgres", "mysql"]) else {
        return;
    };
    let Some(ca) = services.ca() else { return };
    let hello = Served::start(&["hello"]);
    let space = Space::new();
    let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let other = params.self_signed(&rcgen::KeyPair::generate().unwrap());
    let other = space.file("other.pem", &other.unwrap().pem());
    let mut probes = String::new();
    let mut urls = Vec::new();
    for (kind, query) in [("postgres", "sslmode=verify-full&sslrootcert"), ("mysql", "ssl_ca")] {
        let Some(url) = services.url(kind) else {
            return;
        };
        for (role, ca) in [("right", ca), ("wrong", other.to_str().unwrap())] {
            let name = format!("{kind}_{role}");
            probes += &format!(
                "  - {kind}: \"${{env('{name}')}}\"\n    role: {name}\n    name: {name}\n"
            );
            urls.push((name, format!("{url}?{query}={ca}")));
        }
    }
    let mut command = space.run_text(&scenario(&hello.url, &probes), &[]);
    command.envs(urls);
    judged(&mut command);
    let run = space.only();
    assert_eq!(missed(&run, "postgres_right"), Some(0));
    assert_eq!(missed(&run, "mysql_right"), Some(0));
    let mut lost: Vec<(String, String)> = run
        .events()
        .unwrap()
        .into_iter()
        .filter_map(|event| match event.what {
            EventKind::ProbeLost { role, why, .. } => Some((role, why)),
            _ => None,
        })
        .collect();
    lost.sort();
    let untrusted = "cannot be reached: invalid certificate: not signed by a trusted authority";
    assert_eq!(lost.len(), 2, "{lost:?}");
    for ((role, why), expected) in lost.iter().zip(["mysql_wrong", "postgres_wrong"]) {
        assert_eq!(role, expected);
        assert!(why.starts_with(untrusted), "{role}: {why}");
    }
    assert_eq!(holding(&space.path("runs"), PASSWORD), [""; 0]);
}

/// Questions to a source that had no answer.
fn missed(run: &Run, wanted: &str) -> Option<u64> {
    let events = run.events().unwrap();
    events.into_iter().find_map(|event| match event.what {
        EventKind::ProbeSource { role, missed, .. } if role == wanted => Some(missed),
        _ => None,
    })
}

#[test]
fn a_missing_probe_source_is_reported_and_the_run_continues() {
    let hello = Served::start(&["hello"]);
    let space = Space::new();
    // Port 1 of loopback: nobody listens there.
    let probes = "  - redis: \"${env('REDIS_URL')}\"\n  - process: { name: no such process }\n";
    let mut command = space.run_text(&scenario(&hello.url, probes), &[]);
    command.env("REDIS_URL", "redis://:open-sesame@127.0.0.1:1/");
    judged(&mut command);
    let run = space.only();
    let lost: Vec<(String, String)> = run
        .events()
        .unwrap()
        .into_iter()
        .filter_map(|event| match event.what {
            EventKind::ProbeLost { role, why, .. } => Some((role, why)),
            _ => None,
        })
        .collect();
    assert_eq!(lost.len(), 2, "{lost:?}");
    for (role, why) in lost {
        match role.as_str() {
            "redis" => assert!(why.contains("refused"), "{why}"),
            _ => assert_eq!(why, "there is no process called \"no such process\""),
        }
    }
    assert!(missed(&run, "redis").unwrap() >= 2);
    assert_eq!(holding(&space.path("runs"), PASSWORD), [""; 0]);
}

#[test]
fn environment_values_are_not_recorded() {
    let hello = Served::start(&["hello"]);
    let space = Space::new();
    let text = scenario("\"${env('TARGET')}\"", "  - host\n").replace(
        "{ get: / }",
        "{ get: /, headers: { authorization: \"Bearer ${env('TOKEN')}\" } }",
    );
    let mut command = space.run_text(&text, &[]);
    command.env("TARGET", &hello.url).env("TOKEN", PASSWORD);
    judged(&mut command);
    let run = space.only();
    assert_eq!(run.info().target, "${env('TARGET')}");
    assert_eq!(holding(&space.path("runs"), PASSWORD), [""; 0]);
}
