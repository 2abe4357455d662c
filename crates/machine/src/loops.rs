//! How many loops a run may have, and how many connections one of them can hold.
//!
//! Each loop's thread has a file table of its own, so the limit on open files counts per loop.

use rustix::process::{Resource, getrlimit};

/// Most loops of a run; 20,000 files each make ten million connections.
pub const LOOPS_MAX: u64 = 512;
/// Files of a loop that are not connections: standard streams, epoll, its CPU meter.
pub const OPEN_FILES_RESERVED: u64 = 8;
/// A loop is given at most this share of the connections it may have.
const FILL: f64 = 0.95;

/// Open files one loop may have, connections and all.
pub fn open_files_max() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Connections that a loop is given if it may have `files_max` open files.
pub fn connections_per_loop(files_max: u64) -> u64 {
    (files_max.saturating_sub(OPEN_FILES_RESERVED) as f64 * FILL).max(1.0) as u64
}

/// Cores that this process may use.
pub fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as u32)
}
