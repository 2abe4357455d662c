//! Checks of an instance's health, on threads of their own: a check may wait for its answer for longer than a fault may
//! wait for its moment.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The check of an instance that is under way, and when the next is due.
#[derive(Debug)]
pub(crate) struct Health {
    every: Duration,
    due: Instant,
    check: Option<JoinHandle<bool>>,
}

impl Health {
    /// The first check is due `every` after `now`.
    pub(crate) fn new(every: Duration, now: Instant) -> Health {
        Health { every, due: now + every, check: None }
    }

    /// The result of a check that has ended. If none is under way and one is due, it starts. Does not wait.
    pub(crate) fn look(
        &mut self,
        now: Instant,
        check: impl FnOnce() -> bool + Send + 'static,
    ) -> Option<bool> {
        if let Some(ended) = self.check.take_if(|check| check.is_finished()) {
            self.due = now + self.every;
            // A check that panicked did not find the instance well.
            return Some(ended.join().unwrap_or(false));
        }
        if self.check.is_none() && now >= self.due {
            let thread = std::thread::Builder::new().name("health".to_owned());
            // Without a thread the next look tries again.
            self.check = thread.spawn(check).ok();
        }
        None
    }

    /// Forgets a check that is under way: its process is not the one that runs now. The thread ends by itself.
    pub(crate) fn forget(&mut self, now: Instant) {
        self.check = None;
        self.due = now + self.every;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::clock::now;

    /// Looks until a check has ended.
    fn await_check(health: &mut Health, at: Instant) -> bool {
        loop {
            if let Some(found) = health.look(at, || unreachable!("one is under way")) {
                return found;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn nobody_waits_for_a_check() {
        let start = now();
        let every = Duration::from_secs(1);
        let mut health = Health::new(every, start);
        let none = || unreachable!("none is due");
        assert_eq!(health.look(start, none), None);
        let (answer, answered) = channel();
        let check = move || answered.recv().unwrap();
        // It returns although the instance does not answer, and starts no second check.
        assert_eq!(health.look(start + every, check), None);
        assert_eq!(health.look(start + 5 * every, none), None);
        answer.send(true).unwrap();
        assert!(await_check(&mut health, start + 5 * every));
        // The next is due a second after that.
        assert_eq!(health.look(start + 5 * every, none), None);
        assert_eq!(health.look(start + 6 * every, || false), None);
        assert!(!await_check(&mut health, start + 6 * every));
    }

    #[test]
    fn what_was_found_of_another_process_is_forgotten() {
        let start = now();
        let every = Duration::from_secs(1);
        let mut health = Health::new(every, start);
        assert_eq!(health.look(start + every, || true), None);
        health.forget(start + every);
        let none = || unreachable!("none is due");
        assert_eq!(health.look(start + every, none), None);
    }
}
