//! How many serving threads a number of connections needs, by their open files.

use std::num::NonZero;

/// Most serving threads that are started without being requested.
const THREADS_MAX: usize = 1024;
/// Open files of a process besides connections and runtimes.
const FILES_RESERVED: u64 = 64;
/// Open files of each thread's runtime, which all file tables hold.
const FILES_OF_A_RUNTIME: u64 = 4;
/// How full a file table is planned to be: threads do not get the same number of connections, and
/// some of them are HTTP.
const FILL: f64 = 0.9;

/// Serving threads by default: one for each core, and at least 2.
pub(crate) fn threads_of_cores() -> usize {
    std::thread::available_parallelism().map_or(2, NonZero::get).max(2)
}

/// At least `threads`, and as many as it takes to hold `connections` where each thread's file
/// table holds `files_max` files.
///
/// # Errors
/// The reason when no number of threads is enough.
pub(crate) fn enough_threads(
    threads: usize,
    connections: usize,
    files_max: u64,
) -> Result<usize, &'static str> {
    let hold = |threads: &usize| {
        let taken = FILES_RESERVED + FILES_OF_A_RUNTIME * *threads as u64;
        let each = files_max.saturating_sub(taken) as f64 * FILL;
        each * *threads as f64 >= connections as f64
    };
    (threads..=threads.max(THREADS_MAX))
        .find(hold)
        .ok_or("this many connections need a higher limit on open files")
}

/// Connections that are expected on each of `threads`.
pub fn connections_each(connections: usize, threads: usize) -> usize {
    // The kernel spreads them by a hash: some threads get a little more than others.
    (connections / threads.max(1)).div_ceil(8) * 9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_follow_from_connections() {
        let threads = |connections, files_max| enough_threads(2, connections, files_max).ok();
        assert_eq!(threads(0, 20_000), Some(2));
        // Two tables, filled to nine tenths of 20,000 - 64 - 8.
        assert_eq!(threads(35_870, 20_000), Some(2));
        assert_eq!(threads(35_871, 20_000), Some(3));
        assert_eq!(threads(2_000_000, 20_000), Some(115));
        assert_eq!(threads(2_000_000, 1024), None);
    }
}
