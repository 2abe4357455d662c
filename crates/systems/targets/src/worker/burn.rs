//! Threads that burn CPU, one for each request that is worked on at once.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use server::{shrink, stretch};
use tokio::sync::{oneshot, watch};

use super::pace::Pace;
use super::switches::Switches;
use crate::alarm::now;

/// CPU time burned between looks at the clock.
const SLICE: Duration = Duration::from_micros(50);
/// How long a frozen thread sleeps until it looks whether a signal thawed it.
const NAP: Duration = Duration::from_millis(5);

/// A piece of work.
struct Job {
    work_s: f64,
    done: oneshot::Sender<()>,
}

/// The threads; they end when it is dropped.
#[derive(Debug)]
pub(super) struct Burners {
    jobs: Sender<Job>,
}

impl Burners {
    /// Starts `count` threads that work at this pace, of which time began at `start`, and by what signals make of it.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub(super) fn start(
        count: usize,
        pace: Pace,
        start: Instant,
        switches: &watch::Receiver<Switches>,
    ) -> io::Result<Self> {
        let (jobs, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..count {
            let waiting = Arc::clone(&waiting);
            let switches = switches.clone();
            let pace_now = move || pace.switched(*switches.borrow());
            let thread = std::thread::Builder::new().name("burn".to_owned());
            thread.spawn(move || work(&waiting, &pace_now, start))?;
        }
        Ok(Self { jobs })
    }

    /// Resolves when `work_s` seconds of work at speed 1 are done.
    pub(super) async fn burn(&self, work_s: f64) {
        let (done, is_done) = oneshot::channel();
        // The threads outlive this; one that is gone anyway answers at once.
        let _ = self.jobs.send(Job { work_s, done });
        let _ = is_done.await;
    }
}

/// The body of a thread.
fn work(waiting: &Mutex<Receiver<Job>>, pace_now: &impl Fn() -> Pace, start: Instant) {
    loop {
        // Receiving leaves no half-made state behind.
        let job = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Job { work_s, done }) = job else {
            return;
        };
        // A request whose client left is not worked on any further.
        burn(work_s, pace_now, start, || done.is_closed());
        let _ = done.send(());
    }
}

fn burn(work_s: f64, pace_now: &impl Fn() -> Pace, start: Instant, is_given_up: impl Fn() -> bool) {
    let mut left = work_s;
    let mut burned = cpu_time();
    while left > 0.0 && !is_given_up() {
        let at = shrink(now().duration_since(start)).as_secs_f64();
        let pace = pace_now();
        if let Some(thaw) = pace.thaw(at) {
            let rest = Duration::from_secs_f64(thaw - at).min(NAP);
            std::thread::park_timeout(stretch(rest));
            continue;
        }
        let until = burned + SLICE;
        let mut reached = cpu_time();
        while reached < until {
            std::hint::spin_loop();
            reached = cpu_time();
        }
        left -= (reached - burned).as_secs_f64() * pace.speed_at(at);
        burned = reached;
    }
}

/// CPU time of this thread.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    // The kernel counts from 0, and nanoseconds are below a second.
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_cpu_time_at_the_speed() {
        let start = now();
        let before = cpu_time();
        let pace = Pace { speed: 2.0, ..Pace::default() };
        burn(0.02, &|| pace, start, || false);
        let burned = (cpu_time() - before).as_secs_f64();
        assert!((0.01..0.015).contains(&burned), "{burned} s");
        burn(1e9, &|| pace, start, || true);
    }
}
