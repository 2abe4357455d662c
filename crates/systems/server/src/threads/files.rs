//! Open files: the limit, and threads with a file table of their own.

use std::io;
use std::os::fd::{BorrowedFd, RawFd};

use rustix::io::Errno;
use rustix::net::AddressFamily;
use rustix::net::sockopt::socket_domain;
use rustix::process::{Resource, getrlimit, setrlimit};
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// Raises the soft limit on open files to the hard one.
pub(crate) fn raise_open_files() -> io::Result<()> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    Ok(setrlimit(Resource::Nofile, limit)?)
}

/// Lowers the soft limit on open files to `files`, or to the hard one where that is lower.
pub(crate) fn limit_open_files(files: u32) -> io::Result<()> {
    let mut limit = getrlimit(Resource::Nofile);
    let files = u64::from(files);
    limit.current = Some(limit.maximum.map_or(files, |most| files.min(most)));
    Ok(setrlimit(Resource::Nofile, limit)?)
}

/// How many files one table may hold; `None` without a limit.
pub fn open_files_max() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Gives the calling thread a file table of its own, so that the limit on open files holds for
/// this thread alone and not for the whole process. A seccomp filter may refuse it, as those of container runtimes
/// do: the thread then stays in the process's table.
///
/// The new table starts as a copy. Internet sockets in it belong to other threads and are closed
/// here, because a connection that any table holds stays open when its owner closes it. All else
/// stays: the runtimes have their descriptors there.
///
/// Descriptors that any thread opens afterwards must be used and closed on that thread only.
///
/// # Errors
/// The kernel refuses, or `/proc` is not mounted.
#[expect(unsafe_code, reason = "descriptors are only safe within one table, and this leaves it")]
pub(crate) fn own_files() -> io::Result<()> {
    // SAFETY: called first thing on a thread that owns no descriptor but its runtime's, which the
    // copy has too; what it opens later never leaves the thread (see `crew`).
    match unsafe { unshare_unsafe(UnshareFlags::FILES) } {
        Ok(()) => {}
        Err(Errno::PERM | Errno::NOSYS) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    for file in inherited()? {
        // SAFETY: the number was just listed for this thread's table, which nobody else changes.
        let family = socket_domain(unsafe { BorrowedFd::borrow_raw(file) });
        if matches!(family, Ok(AddressFamily::INET | AddressFamily::INET6)) {
            // SAFETY: a copy that no value on this thread owns; the original lives on elsewhere.
            unsafe { rustix::io::close(file) };
        }
    }
    Ok(())
}

/// The descriptors in the thread's table, without the standard streams.
fn inherited() -> io::Result<Vec<RawFd>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir("/proc/thread-self/fd")? {
        let name = entry?.file_name();
        let file: Option<RawFd> = name.to_str().and_then(|name| name.parse().ok());
        files.extend(file.filter(|&file| file > 2));
    }
    // The listing's own descriptor is closed by now: asking for its family merely fails.
    Ok(files)
}
