//! Runs `ip` and `tc` of iproute2 in namespaces.

use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use crate::wan::{Namespace, WanError};

/// Directories of the programs on systems that keep them from `PATH`.
const FOLDERS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];
/// How long devices may take until packets pass them, and how often they are looked at.
const UP_MAX: u32 = 500;
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// As much of what a program said is shown, in characters.
const SAID_MAX: usize = 300;

/// Has `ip` do what the lines say, up to the first that fails.
pub(super) fn ip(namespace: &Namespace, lines: &str) -> Result<(), WanError> {
    run(namespace, "ip", &["-batch", "-"], lines).map(|_| ())
}

/// Waits until packets pass these devices. One that was switched on drops them until the kernel has noticed, by and by,
/// that the other end is on, too.
pub(super) fn await_up(namespace: &Namespace, devices: &[String]) -> Result<(), WanError> {
    let lines = devices.iter().map(|device| format!("link show dev {device}\n"));
    let lines: String = lines.collect();
    for _ in 0..UP_MAX {
        let shown = run(namespace, "ip", &["-oneline", "-batch", "-"], &lines)?;
        let is_up = |line: &&str| line.contains(" state UP ");
        if shown.lines().filter(is_up).count() == devices.len() {
            return Ok(());
        }
        thread::park_timeout(LOOK_EVERY);
    }
    Err(WanError::NotUp)
}

/// Has `tc` do what the lines say, up to the first that fails.
pub(super) fn tc(namespace: &Namespace, lines: &str) -> Result<(), WanError> {
    run(namespace, "tc", &["-batch", "-"], lines).map(|_| ())
}

/// Counts of the disciplines of a namespace.
pub(super) fn counts(namespace: &Namespace) -> Result<String, WanError> {
    run(namespace, "tc", &["-s", "qdisc", "show"], "")
}

/// Whether this kernel has netem, which is tried in a namespace of its own.
///
/// # Errors
/// It has not, `tc` or `ip` is missing, or namespaces may not be made.
pub fn available() -> Result<(), WanError> {
    let namespace = Namespace::empty(Ipv4Addr::UNSPECIFIED)?;
    ip(&namespace, "")?;
    let added = tc(&namespace, "qdisc add dev lo root netem limit 1\n");
    added.map_err(|error| match error {
        WanError::Program { said, .. } => WanError::NoNetem(said),
        error => error,
    })
}

fn run(
    namespace: &Namespace,
    program: &'static str,
    arguments: &[&str],
    lines: &str,
) -> Result<String, WanError> {
    let ended = namespace.run(|| start(program, arguments, lines));
    let ended = ended.and_then(|ended| ended).map_err(|error| {
        if error.kind() == io::ErrorKind::NotFound {
            return WanError::NoProgram(program);
        }
        WanError::system("run `ip` and `tc`", error)
    })?;
    match ended.status.success() {
        true => Ok(String::from_utf8_lossy(&ended.stdout).into_owned()),
        false => Err(WanError::Program { program, said: said(&ended, lines) }),
    }
}

fn start(program: &str, arguments: &[&str], lines: &str) -> io::Result<Output> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(FOLDERS.map(Into::into));
    let path = std::env::join_paths(folders).map_err(io::Error::other)?;
    let mut child = Command::new(program)
        .args(arguments)
        .env("PATH", path)
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // A program that ends before it has read all says why.
        let _ = input.write_all(lines.as_bytes());
    }
    child.wait_with_output()
}

/// A program's complaint, and the line that it means (`Command failed -:3`).
fn said(ended: &Output, lines: &str) -> String {
    let text = String::from_utf8_lossy(&ended.stderr);
    let failed = text.lines().find_map(|line| {
        let number: usize = line.strip_prefix("Command failed -:")?.parse().ok()?;
        lines.lines().nth(number.checked_sub(1)?)
    });
    let complaints = text.lines().filter(|line| !line.starts_with("Command failed"));
    let complaints: String =
        complaints.collect::<Vec<_>>().join(" ").chars().take(SAID_MAX).collect();
    match failed {
        Some(line) => format!("{complaints} (`{line}`)"),
        None => complaints,
    }
}

#[cfg(test)]
mod tests;
