//! Waking a task at a time exact to some microseconds.
//!
//! The runtime's own timers count whole milliseconds, which is as long as the whole delay of an
//! answer. So a thread of its own keeps a queue of times, sleeps until shortly before the next
//! one and spins for the rest.

use std::collections::BinaryHeap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

/// How long to spin: more than a sleeping thread usually oversleeps.
const SPIN: Duration = Duration::from_micros(150);

/// The clock of systems that stand alone.
#[expect(clippy::disallowed_methods, reason = "a server that stands alone has its own clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The alarm clock; its thread ends when it is dropped.
pub(crate) struct Alarm {
    shared: Arc<AlarmState>,
}

#[derive(Default)]
struct AlarmState {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    entries: BinaryHeap<Entry>,
    ended: bool,
}

struct Entry {
    at: Instant,
    ring: oneshot::Sender<()>,
}

impl AlarmState {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // Pushing and popping leave no half-made state behind.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Alarm {
    /// Starts the thread.
    pub(crate) fn start() -> io::Result<Self> {
        let shared = Arc::new(AlarmState::default());
        let keeper = Arc::clone(&shared);
        std::thread::Builder::new().name("alarm".to_owned()).spawn(move || keep(&keeper))?;
        Ok(Self { shared })
    }

    /// Resolves at `at`, or at once if that has passed.
    pub(crate) async fn wait_until(&self, at: Instant) {
        let (ring, rung) = oneshot::channel();
        self.shared.queue().entries.push(Entry { at, ring });
        self.shared.changed.notify_one();
        // The sender is only dropped unused when the clock itself is.
        let _ = rung.await;
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.shared.queue().ended = true;
        self.shared.changed.notify_one();
    }
}

/// The thread's body.
fn keep(shared: &AlarmState) {
    let mut queue = shared.queue();
    while !queue.ended {
        let Some(next) = queue.entries.peek().map(|entry| entry.at) else {
            queue = shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        let left = next.saturating_duration_since(now());
        if left.is_zero() {
            if let Some(entry) = queue.entries.pop() {
                // Nobody waits any more when the request was given up.
                let _ = entry.ring.send(());
            }
        } else if left > SPIN {
            let waited = shared.changed.wait_timeout(queue, left - SPIN);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        } else {
            // Unlocked, so that new times can be set meanwhile.
            drop(queue);
            std::hint::spin_loop();
            queue = shared.queue();
        }
    }
}

impl Ord for Entry {
    /// The earliest is the greatest: a heap gives that first.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.at.cmp(&self.at)
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Entry {}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn rings_in_order_and_never_early() {
        let alarm = Alarm::start().unwrap();
        let start = now();
        let at = |ms| start + Duration::from_millis(ms);
        let late = alarm.wait_until(at(20));
        let early = alarm.wait_until(at(5));
        tokio::pin!(late, early);
        // Both times are set, the later one first.
        assert!(late.as_mut().now_or_never().is_none());
        let waits = early.as_mut().now_or_never().is_none();
        late.await;
        assert!(now() >= at(20));
        assert!(!waits || early.now_or_never().is_some(), "the earlier rings first");

        alarm.wait_until(at(25)).await;
        assert!(now() >= at(25));
        alarm.wait_until(start).await;
    }
}
