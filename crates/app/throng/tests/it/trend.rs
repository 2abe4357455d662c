//! `throng trend`: runs one after the other, whose times become longer.

use std::path::Path;

use serde_json::Value;
use testkit::runs::made::Made;

use crate::support::{Ended, Space, throng};

/// Runs that took about these milliseconds, one after the other.
fn runs(root: &Path, times_ms: &[f64]) {
    for (number, &time_ms) in times_ms.iter().enumerate() {
        // No two medians are alike.
        let time_ms = time_ms + number as f64 % 3.0 / 10.0;
        let run = Made::answering(2, |_| time_ms).write_into(root, |info| {
            info.name = "shop".to_owned();
            info.id = format!("20261121T{number:06}-shop-0001");
            info.started_unix_ns += 60_000_000_000 * number as u64;
        });
        // Nobody planned these operations, so that the run is not trusted. Here only its times matter.
        let path = run.path().join("summary.json");
        let mut summary: Value =
            serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        summary["verdict"] = "measured".into();
        std::fs::write(path, summary.to_string()).unwrap();
    }
}

fn trend(root: &Path, args: &[&str]) -> Ended {
    Ended::of(throng(["trend"]).arg(root).args(args))
}

#[test]
fn a_slower_level_is_an_alarm_and_a_spike_is_none() {
    let space = Space::new();
    let spike = space.path("spike");
    let mut times_ms = [20.0; 14];
    times_ms[12] = 400.0;
    runs(&spike, &times_ms);
    trend(&spike, &[]).with(0).stdout_contains("NO ALARM shop in 14 runs");

    let slower = space.path("slower");
    times_ms[12] = 20.0;
    times_ms[9..].fill(40.0);
    runs(&slower, &times_ms);
    let found = trend(&slower, &[]).with(1);
    found.stdout_contains("WORSE shop in 14 runs").stdout_contains("p99 rose from ");
    found.stdout_contains("with the run 20261121T000009-shop-0001");
    let json: Value = serde_json::from_str(&trend(&slower, &["--json"]).with(1).out).unwrap();
    assert_eq!(json["alarms"][0]["from"], 9, "{json}");
    // It began five runs ago, and has been reported before.
    trend(&slower, &["--recent", "4"]).with(0);
    assert_eq!(trend(&slower, &["--quiet"]).with(1).out, "");
}

#[test]
fn too_few_runs_say_nothing_and_none_is_an_error() {
    let space = Space::new();
    let few = space.path("few");
    runs(&few, &[20.0, 20.0, 400.0]);
    trend(&few, &[]).with(2).stdout_contains("NO ALARM shop in 3 runs");
    trend(&few, &["--name", "other"]).with(66).stderr_contains("no finished run of other below ");
    trend(&space.path("nowhere"), &[]).with(66);
}
