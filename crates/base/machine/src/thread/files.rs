//! Open files: each loop's thread has a table of its own, so the limit counts per loop.
//!
//! The seccomp filters that container runtimes have by default refuse it. The loop then stays in the table of its
//! process, whose limit all loops share.

use rustix::io::Errno;
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// Gives the calling thread a file table of its own that holds the standard streams only, unless a filter refuses it.
/// The thread must not use other files that were opened before.
///
/// # Errors
/// If the kernel refuses for another reason, such as a lack of memory.
pub fn leave_shared_table() -> Result<(), Errno> {
    #[expect(unsafe_code, reason = "the thread's own file table is what lifts the limit")]
    // SAFETY: only the calling thread's table changes. Files opened by others stay open in the
    // table they share; this thread, as its caller promises, uses none of them from here on, and the
    // channels it uses are not files.
    unsafe {
        match unshare_unsafe(UnshareFlags::FILES) {
            Ok(()) => {}
            Err(Errno::PERM | Errno::NOSYS) => return Ok(()),
            Err(errno) => return Err(errno),
        }
        // musl has no function for it. A kernel without close_range leaves copies open, which costs files but
        // does no harm.
        let last = libc::c_long::from(libc::c_uint::MAX);
        libc::syscall(libc::SYS_close_range, 3 as libc::c_long, last, 0 as libc::c_long);
    }
    Ok(())
}
