//! The clocks of this process, which time dilation slows down.
//!
//! With a dilation of ten, ten seconds of the machine are one second of what is emulated: links that are ten times as
//! long and waits that last ten times as long let a machine stand for one that is ten times as fast (Gupta, Yocum,
//! McNett, Snoeren, Vahdat and Voelker 2006, "To Infinity and Beyond: Time-Warped Network Emulation").
//!
//! A process has one dilation. Whoever reads the time through this module sees emulated time; whoever waits stretches
//! what it waits for. CPU time is work, and is not dilated.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// The environment variable from which a process has its dilation.
pub const VARIABLE: &str = "THRONG_DILATION";
/// Greatest dilation.
pub const FACTOR_MAX: u32 = 100;

static OF_PROCESS: OnceLock<Dilation> = OnceLock::new();

/// How much slower emulated time is than that of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dilation {
    factor: u32,
    /// Both wall clocks show the same at this time.
    origin_unix_ns: u64,
}

/// A dilation that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DilationError {
    /// Too slow, or not at all.
    #[error("a time dilation is a whole number of 1 to {FACTOR_MAX}")]
    Factor,
    /// The environment variable holds something else.
    #[error(
        "{VARIABLE} is `{0}`, which is no time dilation: expected FACTOR@NANOSECONDS with a factor of 1 to \
         {FACTOR_MAX}, as a lab sets it"
    )]
    Text(String),
}

impl Dilation {
    /// Emulated time is the machine's.
    pub const NONE: Dilation = Dilation { factor: 1, origin_unix_ns: 0 };

    /// A dilation that begins now.
    ///
    /// # Errors
    /// The factor is 0 or above [`FACTOR_MAX`].
    pub fn from_now(factor: u32) -> Result<Dilation, DilationError> {
        Dilation::new(factor, machine_unix_ns()).ok_or(DilationError::Factor)
    }

    fn new(factor: u32, origin_unix_ns: u64) -> Option<Dilation> {
        (1..=FACTOR_MAX).contains(&factor).then_some(Dilation { factor, origin_unix_ns })
    }

    /// The dilation of this process.
    #[inline]
    pub fn of_process() -> Dilation {
        OF_PROCESS.get().copied().unwrap_or(Dilation::NONE)
    }

    /// Makes this the dilation of the process. The first call counts.
    pub fn settle(self) {
        OF_PROCESS.get_or_init(|| self);
    }

    /// How many of the machine's seconds an emulated one lasts.
    #[inline]
    pub fn factor(self) -> u32 {
        self.factor
    }

    /// Since the Unix epoch: both wall clocks show the same then.
    pub fn origin(self) -> Duration {
        Duration::from_nanos(self.origin_unix_ns)
    }

    /// True if emulated time differs from the machine's.
    pub fn is_any(self) -> bool {
        self.factor > 1
    }

    /// Emulated nanoseconds that pass in a number of the machine's.
    #[inline]
    pub fn shrink_ns(self, machine_ns: u64) -> u64 {
        match self.factor {
            // Spares the usual process a division, for it reads the time for every operation.
            1 => machine_ns,
            factor => machine_ns / u64::from(factor),
        }
    }

    /// The machine's nanoseconds that pass in a number of emulated ones.
    #[inline]
    pub fn stretch_ns(self, emulated_ns: u64) -> u64 {
        emulated_ns.saturating_mul(u64::from(self.factor))
    }

    /// The machine's time that passes in so much emulated time.
    pub fn stretch(self, emulated: Duration) -> Duration {
        emulated.saturating_mul(self.factor)
    }

    /// The emulated wall clock at the moment at which the machine's shows `machine_unix_ns`. Before the origin both
    /// show the same.
    pub fn unix_ns(self, machine_unix_ns: u64) -> u64 {
        match machine_unix_ns.checked_sub(self.origin_unix_ns) {
            Some(since_ns) => self.origin_unix_ns + self.shrink_ns(since_ns),
            None => machine_unix_ns,
        }
    }
}

/// Reads this process's dilation from its environment. To be called before the time is read.
///
/// # Errors
/// The variable holds something else.
pub fn read_environment() -> Result<(), DilationError> {
    let Some(text) = std::env::var_os(VARIABLE) else {
        return Ok(());
    };
    let text = text.to_string_lossy();
    text.parse::<Dilation>().map(Dilation::settle)
}

/// Nanoseconds on this process's monotonic clock: the machine's, which `Instant` reads on Linux, as its dilation shows
/// it.
#[inline]
pub fn monotonic_ns() -> u64 {
    Dilation::of_process().shrink_ns(machine_monotonic_ns())
}

/// Nanoseconds on the machine's monotonic clock, without `Instant`'s arithmetic: it is read for every operation.
#[inline]
pub(crate) fn machine_monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CPU time that the calling thread has used, in nanoseconds. It is work, and is not dilated.
pub fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    // The kernel's times are never negative.
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Nanoseconds since the Unix epoch, as this process's dilation shows them.
pub fn unix_ns() -> u64 {
    Dilation::of_process().unix_ns(machine_unix_ns())
}

/// Nanoseconds since the Unix epoch on the machine's wall clock; 0 before the epoch.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where this crate's callers read the wall clock"
)]
fn machine_unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// As the environment variable has it.
impl fmt::Display for Dilation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.factor, self.origin_unix_ns)
    }
}

impl FromStr for Dilation {
    type Err = DilationError;

    fn from_str(text: &str) -> Result<Dilation, DilationError> {
        let parse = || {
            let (factor, origin) = text.split_once('@')?;
            Dilation::new(factor.parse().ok()?, origin.parse().ok()?)
        };
        parse().ok_or_else(|| DilationError::Text(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_no_dilation_by_itself() {
        assert_eq!(Dilation::of_process(), Dilation::NONE);
        let before = machine_monotonic_ns();
        let now = monotonic_ns();
        let after = monotonic_ns();
        assert!(before <= now && now <= after);
    }

    #[test]
    fn emulated_time_passes_slower_from_the_origin_on() {
        let dilation: Dilation = "4@100".parse().unwrap();
        let shown = [99, 100, 104, 140].map(|machine| dilation.unix_ns(machine));
        assert_eq!(shown, [99, 100, 101, 110]);
        assert_eq!(dilation.shrink_ns(dilation.stretch_ns(25)), 25);
        assert_eq!(dilation.stretch(Duration::from_secs(2)), Duration::from_secs(8));
        assert_eq!(dilation.stretch_ns(u64::MAX), u64::MAX);
    }

    #[test]
    fn text_survives_and_what_cannot_be_is_refused() {
        let dilation = Dilation::from_now(10).unwrap();
        assert_eq!(dilation.to_string().parse(), Ok(dilation));
        for text in ["", "10", "0@5", "101@5", "-1@5", "ten@5", "10@", "1.5@5"] {
            let error = text.parse::<Dilation>().unwrap_err().to_string();
            assert!(error.contains("FACTOR@NANOSECONDS"), "{error}");
        }
        assert!(Dilation::from_now(FACTOR_MAX + 1).is_err());
    }
}
