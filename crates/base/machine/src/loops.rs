//! How many loops a run may have, and how many connections one of them can hold.
//!
//! Each loop's thread has a file table of its own, so the limit on open files counts per loop. The seccomp filters
//! that container runtimes have by default refuse such tables; all loops then share the limit.

use std::sync::OnceLock;

use rustix::process::{Resource, getrlimit};
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// Most loops of a run; 20,000 files each make ten million connections.
pub const LOOPS_MAX: u64 = 512;
/// Files of a loop that are not connections: standard streams, epoll, its CPU meter.
pub const OPEN_FILES_RESERVED: u64 = 8;
/// A loop is given at most this share of the connections it may have.
const FILL: f64 = 0.95;

/// Open files one table may have.
pub fn files_per_table() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Open files one loop may have, connections and all. Loops that share a table share its files: as many loops as cores
/// are assumed.
pub fn open_files_max() -> u64 {
    match has_own_tables() {
        true => files_per_table(),
        false => files_per_table() / u64::from(cores()),
    }
}

/// Whether a thread may leave its process's file table. It is tried once, on a thread that ends at once.
pub fn has_own_tables() -> bool {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    *KNOWN.get_or_init(|| {
        let tried = std::thread::spawn(|| {
            #[expect(unsafe_code, reason = "the table is only left to see whether it can be")]
            // SAFETY: the thread opens, uses and closes no file, and ends here.
            unsafe {
                unshare_unsafe(UnshareFlags::FILES).is_ok()
            }
        });
        tried.join().unwrap_or(false)
    })
}

/// Connections that a loop is given if it may have `files_max` open files.
pub fn connections_per_loop(files_max: u64) -> u64 {
    (files_max.saturating_sub(OPEN_FILES_RESERVED) as f64 * FILL).max(1.0) as u64
}

/// Cores that this process may use.
pub fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as u32)
}
