//! More users than any machine holds.

use record::schema::RunStatus;

use crate::support::{Ended, Running, Space};

/// Millions of them, though few in the first seconds, all from one address: it has 65,535 ports.
const CROWD: &str = r"
target: market
options: { loops: 1, drain: 300ms, source_addresses: 127.0.0.1 }
sessions:
  fan: [ { ws: /v1/stream }, { forever: [ { think: 10s } ] } ]
arrivals: [ { ramp: 0/s..1100/s, for: 24h } ]
";

#[test]
fn a_run_too_large_for_the_machine_does_not_start() {
    let space = Space::new();
    let ended = Ended::of(&mut space.run_text(CROWD, &[])).with(71);
    ended.stderr_contains("this machine can hold about");
    ended.stderr_contains("`throng doctor --users 47520000`");
    ended.stderr_contains("`--force` runs anyway");
    assert!(!space.path("runs").exists());
}

#[test]
fn force_runs_beyond_the_limits_with_a_warning() {
    let space = Space::new();
    let mut running = Running::start(&mut space.run_text(CROWD, &["--force"]));
    running.second();
    running.interrupt();
    running.end().with(2).stdout_contains("--force ran it anyway");
    assert_eq!(space.only().info().status, RunStatus::Interrupted);
    space.market_is_gone();
}
