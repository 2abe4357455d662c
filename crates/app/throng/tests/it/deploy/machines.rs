//! Fleets without Kubernetes: units, cloud-init, OpenTofu; and the script of the chart's sidecar.

use std::path::Path;
use std::process::Command;

use testkit::needs::skip;

use super::objects::by_name;
use crate::support::{Ended, Running, Space, plain, root, yaml};

const UNITS: [&str; 2] = ["throng-agent.service", "throng-nats.service"];

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// Whether a program is installed. Otherwise the test is skipped.
fn has(program: &str, version: &str) -> bool {
    let found = Command::new(program).arg(version).output().is_ok();
    if !found {
        skip(&format!("{program} is not installed"));
    }
    found
}

/// Fills in what is in `${braces}`.
fn filled(text: &str) -> String {
    let values = [
        ("nats_url", "nats://throng:secret@10.0.0.2:4222"),
        ("nats_password", "secret"),
        ("agent_options", "--label region=eu"),
        ("throng_version", env!("CARGO_PKG_VERSION")),
        ("throng_download", "https://releases.example"),
    ];
    let mut text = text.to_owned();
    for (name, value) in values {
        text = text.replace(&format!("${{{name}}}"), value);
    }
    assert!(
        !text.contains("${"),
        "something is left:
{text}"
    );
    text
}

#[test]
fn units_are_valid() {
    if !has("systemd-analyze", "--version") {
        return;
    }
    let space = Space::new();
    let mut command = plain(Command::new("systemd-analyze"));
    command.args(["verify", "--man=no"]);
    for unit in UNITS {
        // The programs need not be installed where this is tested.
        let text = read(&format!("deploy/systemd/{unit}"));
        let text = text
            .replace("/usr/bin/throng ", "/bin/true ")
            .replace("/usr/sbin/nats-server ", "/bin/true ");
        command.arg(space.file(unit, &text));
    }
    let ended = Ended::of(&mut command);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let wrong =
        read("deploy/systemd/throng-agent.service").replace("NoNewPrivileges", "NoNewPrivilege");
    let mut command = plain(Command::new("systemd-analyze"));
    command.args(["verify", "--man=no"]).arg(space.file("wrong.service", &wrong));
    assert!(Ended::of(&mut command).err.contains("NoNewPrivilege"), "nothing is checked");
}

#[test]
fn the_configuration_of_nats_is_valid() {
    if !has("nats-server", "--version") {
        return;
    }
    nats_reads(&root().join("deploy/systemd/nats.conf"), "secret").with(0);
}

/// What NATS says to a configuration with this variable.
#[track_caller]
fn nats_reads(configuration: &Path, password: &str) -> Ended {
    let mut command = plain(Command::new("nats-server"));
    command.args(["-t", "-c"]).arg(configuration);
    Ended::of(command.env("NATS_PASSWORD", password))
}

/// NATS reads a variable as its configuration. There these are a number, a truth value, and nothing that it knows.
#[test]
fn any_password_is_a_text_to_nats() {
    if !has("nats-server", "--version") {
        return;
    }
    let space = Space::new();
    let head = yaml(&filled(&read("deploy/cloud-init/head.yaml")));
    let written = head["write_files"].as_array().unwrap().iter();
    let mut variables = written.filter(|of| of["path"] == "/etc/throng/nats.env");
    let variable = variables.next().unwrap()["content"].as_str().unwrap();
    // systemd takes the outer quotes away.
    let variable = variable.trim_end().strip_prefix("NATS_PASSWORD='");
    let quoted = variable.and_then(|rest| rest.strip_suffix('\'')).unwrap();
    let on_machines = root().join("deploy/systemd/nats.conf");
    let mut cases = vec![(on_machines.clone(), quoted.replace("secret", "$(PASSWORD)"))];
    for name in ["own-nats", "chart-fleet"] {
        let objects = by_name(&read(&format!("testdata/deploy/{name}.yaml")));
        let text = objects["ConfigMap throng-nats"]["data"]["nats.conf"].as_str();
        // Debian's NATS is older than the image's.
        let text = text.unwrap().replace(", sync_interval: always", "");
        let env = "/spec/template/spec/containers/0/env";
        let env = objects["StatefulSet throng-nats"].pointer(env).unwrap();
        let mut env = env.as_array().unwrap().iter();
        let variable = env.find(|of| of["name"] == "NATS_PASSWORD").unwrap();
        let value = variable["value"].as_str().unwrap().to_owned();
        cases.push((space.file(name, &text), value));
    }
    for password in ["12345", "true", "1e5abc"] {
        let bare = nats_reads(&on_machines, password);
        assert_ne!(bare.code, Some(0), "{password} needs no quotes");
        for (configuration, value) in &cases {
            nats_reads(configuration, &value.replace("$(PASSWORD)", password)).with(0);
        }
    }
}

/// The files of a machine are those of `deploy/systemd`, and its values are where they are read.
#[test]
fn machines_of_a_cloud_have_the_same_units() {
    let kinds = [
        ("agent", &["60-throng-agent.conf", "throng-agent.service"][..]),
        ("head", &["nats.conf", "throng-nats.service"]),
    ];
    for (kind, files) in kinds {
        let text = filled(&read(&format!("deploy/cloud-init/{kind}.yaml")));
        assert!(text.starts_with("#cloud-config\n"));
        let config = yaml(&text);
        let written = config["write_files"].as_array().unwrap();
        for file in files {
            let content = written
                .iter()
                .find(|of| of["path"].as_str().unwrap().ends_with(&format!("/{file}")));
            assert_eq!(
                content.unwrap()["content"],
                read(&format!("deploy/systemd/{file}")),
                "{kind}, {file}"
            );
        }
        let variables =
            written.iter().find(|of| of["path"].as_str().unwrap().ends_with(".env")).unwrap();
        assert_eq!(variables["permissions"], "0600");
        assert!(variables["content"].as_str().unwrap().contains("secret"));
    }
}

#[test]
fn cloud_init_accepts_its_files() {
    if !has("cloud-init", "--version") {
        return;
    }
    let space = Space::new();
    for kind in ["agent", "head"] {
        let text = filled(&read(&format!("deploy/cloud-init/{kind}.yaml")));
        let mut command = plain(Command::new("cloud-init"));
        command.args(["schema", "--config-file"]).arg(space.file(kind, &text));
        let ended = Ended::of(&mut command);
        assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
    }
}

/// All its files are formatted as `tofu fmt` does, which parses them.
#[test]
fn opentofu_reads_its_files() {
    if !has("tofu", "version") {
        return;
    }
    let mut command = plain(Command::new("tofu"));
    command.args(["fmt", "-check", "-diff"]).arg(root().join("deploy/opentofu"));
    let ended = Ended::of(&mut command);
    assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
}

/// The sidecar's script, with an rclone that prints its arguments.
#[test]
fn results_are_copied_when_the_sidecar_is_stopped() {
    let space = Space::new();
    for (code, name) in [(0, "copies"), (7, "fails")] {
        std::fs::create_dir(space.path(name)).unwrap();
        let rclone = format!("#!/bin/sh\necho \"$@\"\nexit {code}\n");
        let path = space.file(&format!("{name}/rclone"), &rclone);
        let mut executable = std::fs::metadata(&path).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut executable, 0o755);
        std::fs::set_permissions(&path, executable).unwrap();
        let mut command = plain(Command::new("sh"));
        let script = format!("echo begins\n{}", read("deploy/helm/throng/files/upload.sh"));
        let programs = format!("{}:{}", space.path(name).display(), std::env::var("PATH").unwrap());
        command.args(["-c", &script]).env("PATH", programs).env("DESTINATION", "bucket/runs");
        let mut running = Running::start(&mut command);
        assert_eq!(running.line(), "begins\n");
        // The trap is set after this line; a signal before it would end the shell.
        let traps = || std::fs::read_to_string(format!("/proc/{}/status", running.pid())).unwrap();
        while !traps().lines().any(|line| {
            let caught = line.strip_prefix("SigCgt:").map(str::trim);
            caught.is_some_and(|mask| u64::from_str_radix(mask, 16).unwrap() & (1 << 14) != 0)
        }) {
            crate::support::pass(std::time::Duration::from_millis(10));
        }
        running.signal(rustix::process::Signal::TERM);
        let ended = running.end();
        assert_eq!(ended.code, Some(code), "{}", ended.err);
        assert!(
            ended.out.contains("copy --config  --s3-no-check-bucket /results store:bucket/runs"),
            "{}",
            ended.out
        );
    }
}
