//! Processes that we started.

use std::process::{Child, ExitStatus};
use std::time::Duration;

use driver::real::{is_group_left, kill_group, terminate_group};

/// The interval at which a process that is to end is polled.
const POLL: Duration = Duration::from_millis(20);

/// Waits for the end of a process, at most for `timeout`; `None`: it still runs.
pub fn wait_for_end(child: &mut Child, timeout: Duration) -> Option<ExitStatus> {
    wait_unless(child, timeout, &|| false)
}

/// Waits for the end of a process, at most for `timeout` and until `is_enough` is true; `None`: it still runs.
pub fn wait_unless(
    child: &mut Child,
    timeout: Duration,
    is_enough: &dyn Fn() -> bool,
) -> Option<ExitStatus> {
    let mut left = timeout;
    loop {
        match child.try_wait() {
            Ok(None) if left > Duration::ZERO && !is_enough() => {}
            Ok(ended) => return ended,
            // It cannot be waited for; then it is not our child any more.
            Err(_) => return None,
        }
        rest();
        left = left.saturating_sub(POLL);
    }
}

fn rest() {
    #[expect(clippy::disallowed_methods, reason = "waiting for another process")]
    std::thread::sleep(POLL);
}

/// Waits for the end of a process, at most for `timeout`, then kills it.
pub fn end(child: &mut Child, timeout: Duration) {
    if wait_for_end(child, timeout).is_none() {
        // An error means that it has ended by itself.
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Ends a process that leads a group, and all that it started: terminates them, and kills those left
/// after `timeout`.
pub fn end_group(leader: &mut Child, timeout: Duration) {
    terminate_group(leader);
    let mut left = timeout;
    loop {
        // A leader that has ended is left in the group until it is waited for.
        let has_ended = !matches!(leader.try_wait(), Ok(None));
        if has_ended && !is_group_left(leader) {
            return;
        }
        if left.is_zero() {
            break;
        }
        rest();
        left = left.saturating_sub(POLL);
    }
    kill_group(leader);
    // An error means that it was waited for already.
    let _ = leader.wait();
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use super::*;

    /// A process that holds the other end of the pipe still runs.
    #[test]
    fn a_group_ends_with_its_leader_even_if_it_ignores_signals() {
        for script in [
            "sleep 60 & echo ready; wait",
            "trap '' TERM; sleep 60 & echo ready; while :; do wait; done",
        ] {
            let mut shell = Command::new("sh");
            shell.args(["-c", script]).process_group(0);
            let mut leader = shell.stdout(Stdio::piped()).spawn().unwrap();
            let mut lines = BufReader::new(leader.stdout.take().unwrap()).lines();
            assert_eq!(lines.next().unwrap().unwrap(), "ready");
            end_group(&mut leader, Duration::from_millis(100));
            assert!(lines.next().is_none(), "{script}");
            assert!(leader.try_wait().unwrap().is_some(), "{script}");
        }
    }
}
