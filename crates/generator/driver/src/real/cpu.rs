//! A loop's thread and its core: time, CPU, sleep.

use engine::measure::LoopCpu;
use machine::clock::{Dilation, monotonic_ns};
use machine::procfs::ThreadSchedule;
use rustix::thread::nanosleep;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Reads the calling thread's CPU figures as differences.
pub(super) struct CpuMeter {
    /// `None`: this kernel does not have it.
    schedule: Option<ThreadSchedule>,
    used_ns: u64,
    waited_ns: u64,
}

impl CpuMeter {
    pub(super) fn new() -> CpuMeter {
        let mut meter = CpuMeter { schedule: ThreadSchedule::open(), used_ns: 0, waited_ns: 0 };
        meter.read(0);
        meter
    }

    /// Figures since the last reading.
    pub(super) fn read(&mut self, idle_ns: u64) -> LoopCpu {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        let used_ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
        let schedule = self.schedule.as_mut();
        let waited_ns = schedule.and_then(ThreadSchedule::waited_ns);
        let waited_ns = waited_ns.unwrap_or(self.waited_ns);
        // As the clock shows it, so that it adds up with the time that the loop was idle.
        let shown_ns = |ns| Dilation::of_process().shrink_ns(ns);
        let cpu = LoopCpu {
            used_ns: shown_ns(used_ns.saturating_sub(self.used_ns)),
            waited_ns: shown_ns(waited_ns.saturating_sub(self.waited_ns)),
            idle_ns,
        };
        self.used_ns = used_ns;
        self.waited_ns = waited_ns;
        cpu
    }
}

/// Lets the calling thread's sleeps end when they should. By default the kernel may wake a thread
/// 50 µs late, to save wake-ups (PR_SET_TIMERSLACK in prctl(2)).
pub(super) fn wake_on_time() {
    #[expect(unsafe_code, reason = "rustix has no call for the timer slack")]
    // SAFETY: takes numbers only and changes nothing but this thread's timer slack. It cannot
    // fail with a value above zero.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
    }
}

/// Sleeps for so long on the process's clock.
pub(super) fn sleep(time_ns: u64) {
    // Woken early by a signal: then the caller looks at its sockets early.
    let _ = nanosleep(&timespec(time_ns));
}

/// A time on the process's clock, as the kernel is to wait for it.
pub(super) fn timespec(time_ns: u64) -> Timespec {
    let machine_ns = Dilation::of_process().stretch_ns(time_ns);
    Timespec {
        tv_sec: (machine_ns / 1_000_000_000) as i64,
        tv_nsec: (machine_ns % 1_000_000_000) as i64,
    }
}

/// Sleeps until that clock shows `at_ns`, however long it is.
pub(super) fn sleep_until(at_ns: u64) {
    const PIECE_NS: u64 = 500_000_000;
    loop {
        let left_ns = at_ns.saturating_sub(monotonic_ns());
        if left_ns == 0 {
            return;
        }
        sleep(left_ns.min(PIECE_NS));
    }
}
