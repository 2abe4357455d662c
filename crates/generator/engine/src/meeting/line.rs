//! A line of waiting users, in order of arrival.

use std::collections::BTreeMap;

/// Users that wait at one place. A user's number there names it until it is gone; it is never used again.
#[derive(Debug, Default)]
pub(crate) struct Line {
    next: u64,
    /// By number: whose user it is, by the loop's place in this process.
    waiting: BTreeMap<u64, usize>,
}

impl Line {
    /// A user of this loop waits from now on, behind the others.
    pub(crate) fn join(&mut self, loop_place: usize) -> u64 {
        let number = self.next;
        self.next += 1;
        self.waiting.insert(number, loop_place);
        number
    }

    /// The user waits no longer. False: it did not wait any more.
    pub(crate) fn leave(&mut self, number: u64) -> bool {
        self.waiting.remove(&number).is_some()
    }

    /// Takes the first one: its number and loop.
    pub(crate) fn take_first(&mut self) -> Option<(u64, usize)> {
        self.waiting.pop_first()
    }

    /// Takes all of them, in order.
    pub(crate) fn take_all(&mut self) -> BTreeMap<u64, usize> {
        std::mem::take(&mut self.waiting)
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }
}
