//! The station at which requests wait and are worked on: one of a queueing network with `concurrency`
//! servers.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use server::{Recent, shrink, stretch};
use stats::rng::{Purpose, Rng};
use tokio::sync::{Semaphore, watch};

use super::burn::Burners;
use super::options::{Cpu, WorkerOptions};
use super::pace::Pace;
use super::switches::{Fault, Switches};
use crate::alarm::{Alarm, now};

/// How a request went.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Outcome {
    /// It was worked on.
    Done(Times),
    /// It failed by the error rate.
    Failed,
    /// The queue was full.
    Refused,
}

/// Parts of a request's time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Times {
    /// Between its arrival and the begin of work.
    pub(super) queue: Duration,
    /// Time from then to the end of work.
    pub(super) work: Duration,
}

/// The load at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Load {
    /// Requests that wait or are worked on.
    pub(super) in_flight: usize,
    /// Requests that wait.
    pub(super) waiting: usize,
    /// The recent latency at about this load, in seconds.
    pub(super) latency_s: Option<f64>,
}

enum Engine {
    Burn(Burners),
    Wait,
}

/// A station.
pub(super) struct Station {
    options: WorkerOptions,
    start: Instant,
    /// Places for requests that wait or are worked on.
    places: Semaphore,
    /// Turns to be worked on, given in the order of arrival.
    turns: Semaphore,
    engine: Engine,
    /// Exact to some microseconds: the runtime's timers count milliseconds.
    alarm: Alarm,
    /// Faults that signals began.
    switches: watch::Sender<Switches>,
    /// Requests that ever came.
    count: AtomicU64,
    recent: Mutex<Recent>,
}

impl Station {
    /// A station, whose time begins now.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub(super) fn start(options: WorkerOptions) -> io::Result<Self> {
        let start = now();
        let (switches, seen) = watch::channel(Switches::default());
        let engine = match options.cpu {
            Cpu::Burn => {
                let burners = Burners::start(options.concurrency, options.pace, start, &seen)?;
                Engine::Burn(burners)
            }
            Cpu::Wait => Engine::Wait,
        };
        Ok(Self {
            start,
            switches,
            places: Semaphore::new(options.concurrency + options.queue),
            turns: Semaphore::new(options.concurrency),
            engine,
            alarm: Alarm::start()?,
            count: AtomicU64::new(0),
            recent: Mutex::default(),
            options,
        })
    }

    pub(super) fn options(&self) -> &WorkerOptions {
        &self.options
    }

    /// Seconds since the start.
    fn at(&self) -> f64 {
        self.since_start().as_secs_f64()
    }

    fn since_start(&self) -> Duration {
        shrink(now().duration_since(self.start))
    }

    /// Begins a fault of a signal, or ends it.
    pub(super) fn turn(&self, fault: Fault) {
        self.switches.send_modify(|switches| switches.turn(fault));
    }

    /// Waits until this long after the start.
    pub(super) async fn reached(&self, since_start: Duration) {
        self.wait_until(since_start.as_secs_f64()).await;
    }

    /// Waits until the worker is not frozen.
    pub(super) async fn thawed(&self) {
        let mut changes = self.switches.subscribe();
        loop {
            let pace = self.pace_by(&mut changes);
            let Some(thaw) = pace.thaw(self.at()) else {
                return;
            };
            tokio::select! {
                () = self.wait_until(thaw) => {}
                () = changed(&mut changes) => {}
            }
        }
    }

    /// The pace under the faults in force, which count as seen.
    fn pace_by(&self, changes: &mut watch::Receiver<Switches>) -> Pace {
        self.options.pace.switched(*changes.borrow_and_update())
    }

    /// Waits until as much work is done, from this time on.
    async fn wait_for(&self, begin: f64, work_s: f64) {
        if !self.options.is_switchable() {
            return self.wait_until(self.options.pace.finish(begin, work_s)).await;
        }
        let mut changes = self.switches.subscribe();
        let mut at = begin;
        let mut left = work_s;
        loop {
            let pace = self.pace_by(&mut changes);
            tokio::select! {
                biased;
                () = self.wait_until(pace.finish(at, left)) => return,
                () = changed(&mut changes) => {}
            }
            let until = self.at();
            left -= pace.done(at, until);
            at = until;
        }
    }

    async fn wait_until(&self, at: f64) {
        let at = Duration::try_from_secs_f64(at).unwrap_or(Duration::MAX);
        match self.start.checked_add(stretch(at)) {
            // Work that takes no time needs no alarm.
            Some(at) if at <= now() => {}
            Some(at) => self.alarm.wait_until(at).await,
            // Later than any clock goes.
            None => std::future::pending().await,
        }
    }

    /// Works on a request. If this is dropped, its client has left and its place is free.
    pub(super) async fn work(&self) -> Outcome {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let came = now();
        if self.fails(number) {
            return Outcome::Failed;
        }
        let Ok(_place) = self.places.try_acquire() else {
            return Outcome::Refused;
        };
        let in_flight = self.in_flight();
        // It is never closed.
        let _turn = self.turns.acquire().await.ok();
        let begun = now();
        let mut rng = Rng::new(self.options.seed, number, Purpose::Service);
        let work_s = self.options.service_time.sample(&mut rng).max(0.0);
        match &self.engine {
            Engine::Burn(burners) => burners.burn(work_s).await,
            Engine::Wait => {
                let begin = shrink(begun.duration_since(self.start)).as_secs_f64();
                self.wait_for(begin, work_s).await;
            }
        }
        let done = now();
        self.recent().add(
            u32::try_from(in_flight).unwrap_or(u32::MAX),
            shrink(done.duration_since(came)).as_secs_f64(),
        );
        Outcome::Done(Times {
            queue: shrink(begun.duration_since(came)),
            work: shrink(done.duration_since(begun)),
        })
    }

    fn fails(&self, number: u64) -> bool {
        let options = &self.options;
        options.error_rate > 0.0
            && (self.since_start() >= options.errors_from || self.switches.borrow().failing)
            && Rng::new(options.seed, number, Purpose::Choice).unit() < options.error_rate
    }

    fn in_flight(&self) -> usize {
        let all = self.options.concurrency + self.options.queue;
        all - self.places.available_permits()
    }

    fn recent(&self) -> std::sync::MutexGuard<'_, Recent> {
        // Adding leaves no half-made state behind.
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The load now.
    pub(super) fn load(&self) -> Load {
        let in_flight = self.in_flight();
        let working = self.options.concurrency - self.turns.available_permits();
        let at = u32::try_from(in_flight).unwrap_or(u32::MAX);
        Load {
            in_flight,
            waiting: in_flight.saturating_sub(working),
            latency_s: self.recent().latency_at(at.saturating_add(1)),
        }
    }
}

/// Waits until signals change something.
async fn changed(changes: &mut watch::Receiver<Switches>) {
    // The sender lives as long as the station.
    if changes.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}
