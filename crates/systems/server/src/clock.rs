//! The clocks of a server: the wall clock, read at the one place where a message is stamped, and how much slower than the
//! machine's they go.

use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

static DILATION: OnceLock<Dilation> = OnceLock::new();
/// By how many nanoseconds the wall clock is ahead.
static SKEW_NS: AtomicI64 = AtomicI64::new(0);
const SKEW_POLL: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Copy)]
struct Dilation {
    factor: u32,
    /// Since 1970: both wall clocks show the same then.
    origin: Duration,
}

impl Dilation {
    /// Time of the slower wall clock when the machine's shows this time since 1970.
    fn wall(self, machine: Duration) -> Duration {
        match machine.checked_sub(self.origin) {
            Some(since) => self.origin + since / self.factor,
            None => machine,
        }
    }
}

/// Lets this process's servers live in time that goes `factor` times slower than the machine's, from `origin` since 1970
/// on: they wait so much longer, and their times are those of the slower clock. The first call counts; a factor of 0 is 1.
pub fn dilate(factor: u32, origin: Duration) {
    DILATION.get_or_init(|| Dilation { factor: factor.max(1), origin });
}

fn factor() -> u32 {
    DILATION.get().map_or(1, |dilation| dilation.factor)
}

/// How long the machine is to wait for a time of the slower clock.
#[must_use]
pub fn stretch(time: Duration) -> Duration {
    time.saturating_mul(factor())
}

/// Time of the slower clock for a time that the machine measured.
#[must_use]
pub fn shrink(time: Duration) -> Duration {
    time / factor()
}

/// Time since 1970, of a time on the machine's wall clock. Earlier ones are 1970.
#[must_use]
pub fn since_1970(machine: SystemTime) -> Duration {
    let since = machine.duration_since(UNIX_EPOCH).unwrap_or_default();
    match DILATION.get() {
        Some(dilation) => dilation.wall(since),
        None => since,
    }
}

/// Reads `file` from now on, ten times a second: by how many nanoseconds this process's wall clock is to be ahead, as a
/// fault. No file, or one that says something else, is a right clock.
///
/// # Errors
/// No thread can be started.
pub fn follow_skew(file: PathBuf) -> io::Result<()> {
    let follow = move || {
        loop {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            SKEW_NS.store(text.trim().parse().unwrap_or(0), Ordering::Relaxed);
            std::thread::park_timeout(SKEW_POLL);
        }
    };
    let thread = std::thread::Builder::new().name("clock".to_owned());
    thread.spawn(follow).map(drop)
}

/// Time since 1970 on this process's wall clock.
#[expect(clippy::disallowed_methods, reason = "messages carry the time at which they were sent")]
pub fn wall() -> Duration {
    let right = since_1970(SystemTime::now());
    let skew_ns = SKEW_NS.load(Ordering::Relaxed);
    let skew = Duration::from_nanos(skew_ns.unsigned_abs());
    match skew_ns < 0 {
        true => right.saturating_sub(skew),
        false => right.saturating_add(skew),
    }
}

/// Milliseconds since 1970 with microseconds after the point: a 64-bit float holds a quarter of
/// a microsecond exactly until the year 2100.
pub fn wall_ms() -> f64 {
    wall().as_micros() as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slower_clock_shows_less_from_its_origin_on() {
        let origin = Duration::from_secs(100);
        let dilation = Dilation { factor: 5, origin };
        let shown = [99, 100, 105, 150].map(|s| dilation.wall(Duration::from_secs(s)).as_secs());
        assert_eq!(shown, [99, 100, 101, 110]);
    }

    #[test]
    fn clocks_are_the_machines_by_themselves() {
        let time = Duration::from_millis(7);
        assert_eq!((stretch(time), shrink(time)), (time, time));
        assert_eq!(since_1970(UNIX_EPOCH + time), time);
    }
}
