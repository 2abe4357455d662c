//! A built-in target as a process of its own: started for a run, stopped after it.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use plan::secret::password_of;
use plan::{Plan, Target};
use workers::children;

/// The text that a served target prints before its address.
pub const LISTENING: &str = "listening on ";
/// The time in which a target has to listen.
const START_MAX: Duration = Duration::from_secs(15);
/// The time in which a target has to stop before it is killed.
const STOP_MAX: Duration = Duration::from_secs(10);

/// Why a target does not run.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    #[error("cannot start the target {name:?}")]
    Start {
        name: String,
        #[source]
        source: std::io::Error,
    },
    #[error("the target {name:?} did not start: {problem}")]
    Silent { name: String, problem: String },
}

/// A running target. It stops when this is dropped.
#[derive(Debug)]
pub(crate) struct TargetProcess {
    name: String,
    child: Child,
    /// The target runs while this is open, so that it never outlives this process.
    leash: Option<ChildStdin>,
    pub(crate) address: SocketAddr,
}

impl TargetProcess {
    /// The process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The name of the built-in system.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The exit status, if the target ended by itself; `None`: it runs.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        // Waiting fails only for a process that is not our child.
        self.child.try_wait().ok().flatten()
    }

    /// Starts the target of `plan` if it is built in, and puts its address into the plan. It runs in `folder`, the
    /// scenario's, so that relative paths of its settings work like those of the scenario.
    pub(crate) fn of_plan(
        plan: &mut Plan,
        program: &Path,
        folder: &Path,
    ) -> Result<Option<TargetProcess>, TargetError> {
        let Target::Builtin { name, args } = &plan.target else {
            return Ok(None);
        };
        let process = TargetProcess::start(program, name, args, folder)?;
        let address = process.address;
        plan.set_target(&address.ip().to_string(), address.port());
        Ok(Some(process))
    }

    /// Starts `program serve name` in a folder, which may have no name, on a free port of loopback and
    /// waits until it listens.
    fn start(
        program: &Path,
        name: &str,
        args: &[(String, String)],
        folder: &Path,
    ) -> Result<TargetProcess, TargetError> {
        let mut command = Command::new(program);
        command.args(["serve", name, "--listen", "127.0.0.1:0", "--until-stdin-closes"]);
        give(&mut command, args);
        if !folder.as_os_str().is_empty() {
            command.current_dir(folder);
        }
        // A process group of its own: Ctrl-C ends the run in good order before its target.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let start = |source| TargetError::Start { name: name.to_owned(), source };
        let mut child = command.spawn().map_err(start)?;
        let leash = child.stdin.take();
        let lines = child.stdout.take().map(listen);
        let said = lines.map(|lines| lines.recv_timeout(START_MAX));
        match said.as_ref().and_then(|said| parse_address(said.as_ref().ok()?)) {
            Some(address) => Ok(TargetProcess { name: name.to_owned(), child, leash, address }),
            None => {
                // An error means that it has ended already.
                let _ = child.kill();
                let status = child.wait().map(|s| s.to_string()).unwrap_or_default();
                let problem = match said {
                    Some(Ok(line)) => format!("it printed {line:?} instead of its address"),
                    Some(Err(RecvTimeoutError::Timeout)) => {
                        format!("it printed nothing for {} s", START_MAX.as_secs())
                    }
                    Some(Err(RecvTimeoutError::Disconnected)) | None => {
                        format!("it ended at once ({status})")
                    }
                };
                Err(TargetError::Silent { name: name.to_owned(), problem })
            }
        }
    }
}

/// Passes the settings on as flags. All users of a machine can read command lines, so that an address with a password goes
/// through the environment.
fn give(command: &mut Command, args: &[(String, String)]) {
    for (key, value) in args {
        if password_of(value).is_none() {
            command.arg(format!("--{key}={value}"));
            continue;
        }
        let variable = format!("THRONG_{}", key.replace('-', "_").to_uppercase());
        command.arg(format!("--{key}=env:{variable}"));
        command.env(variable, value);
    }
}

impl Drop for TargetProcess {
    fn drop(&mut self) {
        drop(self.leash.take());
        children::end(&mut self.child, STOP_MAX);
    }
}

/// Reads the target's output on a thread; its first line is passed on, the rest is read away so
/// that the target never blocks on it.
fn listen(stdout: ChildStdout) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            // An error means that the first line was taken and the receiver dropped.
            let _ = sender.send(line);
        }
    });
    receiver
}

fn parse_address(line: &str) -> Option<SocketAddr> {
    let rest = line.split_once(LISTENING)?.1;
    // The scheme is skipped: the plan says whether the target has TLS.
    let address = rest.split_once("://").map_or(rest, |(_, address)| address);
    address.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_ends_by_itself_is_noticed() {
        let space = tempfile::tempdir().unwrap();
        let program = space.path().join("target");
        let script = "#!/bin/sh\necho listening on http://127.0.0.1:1\nread asked\nexit 3\n";
        // Written by another process: a fork of another test must not have it open for writing.
        let mut writer = Command::new("sh");
        writer.args(["-c", "printf '%s' \"$1\" > \"$0\" && chmod 700 \"$0\""]);
        assert!(writer.arg(&program).arg(script).status().unwrap().success());
        let mut target = TargetProcess::start(&program, "market", &[], Path::new("")).unwrap();
        assert_eq!(target.ended(), None);
        // The target waits for the end of its input.
        drop(target.leash.take());
        let status = std::iter::repeat_with(|| target.ended()).find_map(|ended| {
            std::thread::yield_now();
            ended
        });
        assert_eq!(status.and_then(|status| status.code()), Some(3));
        assert_eq!(target.ended(), status, "it is remembered");
    }

    #[test]
    fn passwords_are_not_on_the_command_line() {
        let mut command = Command::new("throng");
        let args = [("store-read", "mysql://me:hunter2@h/db"), ("games", "3")];
        give(&mut command, &args.map(|(key, value)| (key.to_owned(), value.to_owned())));
        let given: Vec<_> = command.get_args().collect();
        assert_eq!(given, ["--store-read=env:THRONG_STORE_READ", "--games=3"]);
        let environment: Vec<_> = command.get_envs().collect();
        let value = std::ffi::OsStr::new("mysql://me:hunter2@h/db");
        assert_eq!(environment, [("THRONG_STORE_READ".as_ref(), Some(value))]);
    }
}
