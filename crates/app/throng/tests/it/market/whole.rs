//! The whole system of `examples/market`, brought up from the system's packages and taken down again.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use testkit::services::Services;

use crate::support::{Ended, Space, root};

fn script(name: &str, space: &Space) -> Command {
    let mut command = Command::new(root().join("examples/market").join(name));
    command.env("TMPDIR", space.path("")).stdin(Stdio::null());
    command
}

/// Takes the system down, whatever became of the test.
struct Up<'a>(&'a Space);

impl Drop for Up<'_> {
    fn drop(&mut self) {
        let _ = script("down", self.0).output();
    }
}

/// The scenario of the experiment, with all mistakes switched on.
fn lessons(variables: &[(String, String)]) {
    let space = Space::new();
    let mut run = space.run(&["--set", "hold=2s"]);
    for mistake in ["driver=blocking", "queries=sequential", "batch-claim=racing"] {
        run.args(["--set", &format!("target.market.{mistake}")]);
    }
    run.arg(root().join("examples/market/lessons.yaml")).envs(variables.iter().cloned());
    Ended::of(&mut run).with(0);
    assert_eq!(space.summary().users.connected, 200);
}

#[test]
fn the_example_comes_up_holds_a_crowd_and_leaves_nothing_behind() {
    // They are not used, but say which are not installed.
    let Some(services) = Services::shared(&["mysql", "redis", "nginx"]) else {
        return;
    };
    let names = ["mysql", "redis", "nginx"];
    if names.iter().any(|name| services.url(name).is_none()) {
        return;
    }
    drop(services);
    let space = Space::new();
    let mut up = script("up", &space);
    up.args(["--tls", "--throng", env!("CARGO_BIN_EXE_throng")]);
    let ended = Ended::of(&mut up);
    let _down = Up(&space);
    let ended = ended.with(0);
    let variables: Vec<(String, String)> = ended
        .out
        .lines()
        .map(|line| {
            let (name, value) = line.strip_prefix("export ").unwrap().split_once('=').unwrap();
            (name.to_owned(), value.trim_matches('\'').to_owned())
        })
        .collect();
    let variable = |wanted: &str| {
        let found = variables.iter().find(|(name, _)| name == wanted);
        found.unwrap_or_else(|| panic!("no {wanted}")).1.clone()
    };
    let mut run = space.run(&["--set", "rate=50/s", "--set", "arrive=2s", "--set", "hold=4s"]);
    let url = variable("MARKET_URL");
    let ca = variable("MARKET_CA");
    run.args(["--set", &format!("target={{ url: '{url}', tls: {{ ca: {ca} }} }}")]);
    // The machine is busy with other tests.
    for looser in [
        "sessions.fan.2.think=10ms..50ms",
        "sessions.fan.5.forever.0.think=50ms..1s",
        "predict_limit=10s",
        "broadcast_limit=10s",
    ] {
        run.args(["--set", looser]);
    }
    run.arg(root().join("examples/market/final.yaml")).envs(variables.iter().cloned());
    Ended::of(&mut run).with(0);
    let info = space.only().info().clone();
    assert_eq!(space.summary().users.connected, 100, "{}", info.target);
    lessons(&variables);
    let pids: Vec<String> = variables
        .iter()
        .filter(|(name, _)| name.starts_with("MARKET_PID_"))
        .map(|(_, pid)| pid.clone())
        .collect();
    assert_eq!(pids.len(), 7, "{variables:?}");
    let folder = PathBuf::from(variable("MARKET_DIR"));
    assert!(folder.exists());
    Ended::of(&mut script("down", &space)).with(0);
    for pid in pids {
        assert!(!PathBuf::from(format!("/proc/{pid}")).exists(), "process {pid} is still there");
    }
    assert!(!folder.exists());
    Ended::of(&mut script("down", &space)).with(0).stderr_contains("no market is up");
}
