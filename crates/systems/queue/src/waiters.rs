//! Pops that wait for a message. They hold no worker: they are woken, and then come to the workers again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;

/// The pops that wait, by queue, the longest first.
#[derive(Debug, Default)]
pub(crate) struct Waiters(Mutex<WaitList>);

#[derive(Debug, Default)]
struct WaitList {
    /// The number that was given last.
    number: u64,
    queues: HashMap<i32, Vec<Waiter>>,
}

#[derive(Debug)]
struct Waiter {
    number: u64,
    receiver: Option<i32>,
    /// Receiver of the message that it was woken for, unless it has looked since.
    woken_for: Option<Option<i32>>,
    /// Receiver of the message that it was woken for, while it looks.
    looking_for: Option<Option<i32>>,
    wake: Arc<Notify>,
}

/// The place of a waiting pop. If it was woken and the message may still be there when it goes, it wakes another one.
#[derive(Debug)]
pub(crate) struct WaiterGuard<'a> {
    waiters: &'a Waiters,
    queue: i32,
    number: u64,
    wake: Arc<Notify>,
}

impl Waiters {
    fn waiting(&self) -> MutexGuard<'_, WaitList> {
        // Nothing between its changes can panic.
        self.0.lock().expect("no thread panicked with the lock")
    }

    /// A place for a pop; taken before it looks for a message, so that none is missed.
    pub(crate) fn join(&self, queue: i32, receiver: Option<i32>) -> WaiterGuard<'_> {
        let wake = Arc::new(Notify::new());
        let mut waiting = self.waiting();
        waiting.number += 1;
        let number = waiting.number;
        waiting.queues.entry(queue).or_default().push(Waiter {
            number,
            receiver,
            woken_for: None,
            looking_for: None,
            wake: Arc::clone(&wake),
        });
        WaiterGuard { waiters: self, queue, number, wake }
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

    /// Wakes all pops of a queue: it was deleted.
    pub(crate) fn wake_queue(&self, queue: i32) {
        for waiter in self.waiting().queues.get(&queue).into_iter().flatten() {
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

/// The result of looking for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LookResult {
    /// There is no message that this pop may have.
    Nothing,
    /// It has a message to this receiver, or to anybody.
    Message(Option<i32>),
    /// The look failed: nobody knows what there is.
    Unknown,
}

impl WaiterGuard<'_> {
    /// Says that the pop looks for a message now.
    pub(crate) fn looks(&self) {
        self.change(|own| own.looking_for = own.woken_for.take());
    }

    /// Says what the look brought: whether the message that the pop was woken for may still be there.
    pub(crate) fn found(&self, found: LookResult) {
        self.change(|own| match found {
            LookResult::Nothing => own.looking_for = None,
            LookResult::Message(receiver) => {
                own.looking_for = own.looking_for.filter(|wanted| *wanted != receiver);
            }
            LookResult::Unknown => {}
        });
    }

    /// Changes the waiter that has this place.
    fn change<T>(&self, change: impl FnOnce(&mut Waiter) -> T) -> Option<T> {
        let mut waiting = self.waiters.waiting();
        let waiters = waiting.queues.get_mut(&self.queue)?;
        let own = waiters.iter_mut().find(|waiter| waiter.number == self.number)?;
        Some(change(own))
    }

    /// Resolves when there may be a message.
    pub(crate) async fn woken(&self) {
        self.wake.notified().await;
    }
}

impl Drop for WaiterGuard<'_> {
    fn drop(&mut self) {
        let mut waiting = self.waiters.waiting();
        let Some(waiters) = waiting.queues.get_mut(&self.queue) else {
            return;
        };
        let place = waiters.iter().position(|waiter| waiter.number == self.number);
        let gone = place.map(|place| waiters.remove(place));
        if waiters.is_empty() {
            waiting.queues.remove(&self.queue);
        }
        drop(waiting);
        // A message that nobody looks for would lie there, and who may have it would wait.
        let missed = gone.map(|waiter| [waiter.woken_for, waiter.looking_for]);
        for receiver in missed.into_iter().flatten().flatten() {
            self.waiters.wake(self.queue, receiver);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn is_woken(place: &WaiterGuard<'_>) -> bool {
        tokio::select! {
            biased;
            () = place.woken() => true,
            () = tokio::task::yield_now() => false,
        }
    }

    #[tokio::test]
    async fn a_message_wakes_one_who_may_have_it() {
        let waiters = Waiters::default();
        let first = waiters.join(1, Some(7));
        let second = waiters.join(1, Some(8));
        let other = waiters.join(2, Some(7));
        waiters.wake(1, Some(8));
        assert!(!is_woken(&first).await && !is_woken(&other).await);
        assert!(is_woken(&second).await);
        waiters.wake(1, None);
        assert!(is_woken(&first).await);
        assert_eq!(waiters.count(), 3);
    }

    #[tokio::test]
    async fn the_end_of_a_queue_wakes_all_of_its_pops_and_no_others() {
        let waiters = Waiters::default();
        let own = [waiters.join(1, Some(7)), waiters.join(1, None)];
        let other = waiters.join(2, None);
        waiters.wake_queue(1);
        assert!(is_woken(&own[0]).await && is_woken(&own[1]).await && !is_woken(&other).await);
    }

    #[tokio::test]
    async fn a_pop_that_leaves_without_a_look_wakes_the_next() {
        let waiters = Waiters::default();
        let first = waiters.join(1, None);
        let second = waiters.join(1, None);
        waiters.wake(1, None);
        drop(first);
        assert!(is_woken(&second).await);
        second.looks();
        second.found(LookResult::Message(None));
        let third = waiters.join(1, None);
        drop(second);
        assert!(!is_woken(&third).await);
    }

    #[tokio::test]
    async fn a_pop_whose_look_fails_wakes_the_next() {
        let waiters = Waiters::default();
        let first = waiters.join(1, None);
        let second = waiters.join(1, None);
        waiters.wake(1, None);
        first.looks();
        first.found(LookResult::Unknown);
        drop(first);
        assert!(is_woken(&second).await);
        // A look that never ended is no better.
        second.looks();
        let third = waiters.join(1, None);
        drop(second);
        assert!(is_woken(&third).await);
    }

    #[tokio::test]
    async fn a_pop_that_takes_the_message_of_others_wakes_them_for_the_rest() {
        let waiters = Waiters::default();
        let eight = waiters.join(1, Some(8));
        let seven = waiters.join(1, Some(7));
        let another_seven = waiters.join(1, Some(7));
        waiters.wake(1, None);
        waiters.wake(1, Some(7));
        // It is the first to look and gets the older message, which `eight` was woken for.
        seven.looks();
        seven.found(LookResult::Message(None));
        drop(seven);
        assert!(is_woken(&another_seven).await);
        eight.looks();
        eight.found(LookResult::Nothing);
        another_seven.looks();
        another_seven.found(LookResult::Message(Some(7)));
        // Nothing is left, and nobody is woken for it.
        let waiting = [waiters.join(1, Some(7)), waiters.join(1, Some(8))];
        drop((eight, another_seven));
        assert!(!is_woken(&waiting[0]).await && !is_woken(&waiting[1]).await);
    }
}
