//! Pops that wait for a message. They hold no worker: they are woken, and then come to the workers again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;

/// The pops that wait, by queue, the longest first.
#[derive(Debug, Default)]
pub(crate) struct Waiters(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    /// The number that was given last.
    number: u64,
    queues: HashMap<i32, Vec<Waiter>>,
}

#[derive(Debug)]
struct Waiter {
    number: u64,
    receiver: Option<i32>,
    /// For whom the message is that it was woken for, unless it has looked since.
    woken_for: Option<Option<i32>>,
    wake: Arc<Notify>,
}

/// The place of a waiting pop. If it was woken and did not look, it wakes another one when it goes.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    waiters: &'a Waiters,
    queue: i32,
    number: u64,
    wake: Arc<Notify>,
}

impl Waiters {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // Nothing between its changes can panic.
        self.0.lock().expect("no thread panicked with the lock")
    }

    /// A place for a pop; taken before it looks for a message, so that none is missed.
    pub(crate) fn join(&self, queue: i32, receiver: Option<i32>) -> Place<'_> {
        let wake = Arc::new(Notify::new());
        let mut waiting = self.waiting();
        waiting.number += 1;
        let number = waiting.number;
        waiting.queues.entry(queue).or_default().push(Waiter {
            number,
            receiver,
            woken_for: None,
            wake: Arc::clone(&wake),
        });
        Place {
            waiters: self,
            queue,
            number,
            wake,
        }
    }

    /// Wakes the pop of this queue that waits longest and may have a message for this receiver, or for anybody.
    pub(crate) fn wake(&self, queue: i32, receiver: Option<i32>) {
        let mut waiting = self.waiting();
        let Some(waiters) = waiting.queues.get_mut(&queue) else {
            return;
        };
        let fits = |waiter: &&mut Waiter| {
            waiter.woken_for.is_none() && (receiver.is_none() || waiter.receiver == receiver)
        };
        if let Some(waiter) = waiters.iter_mut().find(fits) {
            waiter.woken_for = Some(receiver);
            waiter.wake.notify_one();
        }
    }

    /// Wakes all: messages may have come unnoticed.
    pub(crate) fn wake_all(&self) {
        for waiter in self.waiting().queues.values().flatten() {
            waiter.wake.notify_one();
        }
    }

    /// How many wait.
    pub(crate) fn count(&self) -> usize {
        self.waiting().queues.values().map(Vec::len).sum()
    }
}

impl Place<'_> {
    /// Says that the pop looks for a message now.
    pub(crate) fn looks(&self) {
        let mut waiting = self.waiters.waiting();
        let waiters = waiting.queues.get_mut(&self.queue);
        let own = waiters
            .into_iter()
            .flatten()
            .find(|waiter| waiter.number == self.number);
        if let Some(waiter) = own {
            waiter.woken_for = None;
        }
    }

    /// Resolves when there may be a message.
    pub(crate) async fn woken(&self) {
        self.wake.notified().await;
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut waiting = self.waiters.waiting();
        let Some(waiters) = waiting.queues.get_mut(&self.queue) else {
            return;
        };
        let place = waiters
            .iter()
            .position(|waiter| waiter.number == self.number);
        let gone = place.map(|place| waiters.remove(place));
        if waiters.is_empty() {
            waiting.queues.remove(&self.queue);
        }
        drop(waiting);
        if let Some(receiver) = gone.and_then(|waiter| waiter.woken_for) {
            self.waiters.wake(self.queue, receiver);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn is_woken(place: &Place<'_>) -> bool {
        tokio::select! {
            biased;
            () = place.woken() => true,
            () = tokio::task::yield_now() => false,
        }
    }

    #[tokio::test]
    async fn a_message_wakes_one_who_may_have_it() {
        let waiters = Waiters::default();
        let (first, second) = (waiters.join(1, Some(7)), waiters.join(1, Some(8)));
        let other = waiters.join(2, Some(7));
        waiters.wake(1, Some(8));
        assert!(!is_woken(&first).await && !is_woken(&other).await);
        assert!(is_woken(&second).await);
        waiters.wake(1, None);
        assert!(is_woken(&first).await);
        assert_eq!(waiters.count(), 3);
    }

    #[tokio::test]
    async fn who_goes_without_looking_wakes_the_next() {
        let waiters = Waiters::default();
        let (first, second) = (waiters.join(1, None), waiters.join(1, None));
        waiters.wake(1, None);
        drop(first);
        assert!(is_woken(&second).await);
        second.looks();
        let third = waiters.join(1, None);
        drop(second);
        assert!(!is_woken(&third).await);
    }
}
