//! Groups of processes: a command that we started, and all that it started.

use std::process::Child;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// Sends SIGTERM to all processes of the group that this one leads. The group may be empty.
pub fn terminate_group(leader: &Child) {
    // An error means that the group is empty.
    let _ = kill_process_group(Pid::from_child(leader), Signal::TERM);
}

/// Kills all processes of the group that this one leads. The group may be empty.
pub fn kill_group(leader: &Child) {
    // As above.
    let _ = kill_process_group(Pid::from_child(leader), Signal::KILL);
}

/// Whether the group that this process leads, or led, has any process.
pub fn is_group_left(leader: &Child) -> bool {
    test_kill_process_group(Pid::from_child(leader)).is_ok()
}
