//! Groups of processes: a command that we started, and all that it started.

use std::process::Child;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// Asks all processes of the group that this one leads to end. Nobody may be left in it.
pub fn terminate_group(leader: &Child) {
    // An error means that there is nobody to ask.
    let _ = kill_process_group(Pid::from_child(leader), Signal::TERM);
}

/// Ends all processes of the group that this one leads. Nobody may be left in it.
pub fn kill_group(leader: &Child) {
    // As above.
    let _ = kill_process_group(Pid::from_child(leader), Signal::KILL);
}

/// Whether anybody is left in the group that this process leads, or led.
pub fn is_group_left(leader: &Child) -> bool {
    test_kill_process_group(Pid::from_child(leader)).is_ok()
}
