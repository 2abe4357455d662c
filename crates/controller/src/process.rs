//! Processes that we started.

use std::process::{Child, ExitStatus};
use std::time::Duration;

/// How often a process that is to end is looked at.
const POLL: Duration = Duration::from_millis(20);

/// Waits for the end of a process, at most for `patience`; `None` where it goes on.
pub(crate) fn wait_for_end(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    wait_unless(child, patience, &|| false)
}

/// The same, and no longer than until `is_enough` says so.
pub(crate) fn wait_unless(
    child: &mut Child,
    patience: Duration,
    is_enough: &dyn Fn() -> bool,
) -> Option<ExitStatus> {
    let mut left = patience;
    loop {
        match child.try_wait() {
            Ok(None) if left > Duration::ZERO && !is_enough() => {}
            Ok(ended) => return ended,
            // It cannot be asked; then it is none of ours any more.
            Err(_) => return None,
        }
        #[expect(clippy::disallowed_methods, reason = "waiting for another process")]
        std::thread::sleep(POLL);
        left = left.saturating_sub(POLL);
    }
}

/// Waits as long, then kills it.
pub(crate) fn end(child: &mut Child, patience: Duration) {
    if wait_for_end(child, patience).is_none() {
        // An error means that it has ended by itself.
        let _ = child.kill();
        let _ = child.wait();
    }
}
