//! State that the loops of a process share, behind locks that only users who meet take.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use plan::Meetings;
use plan::expr::Value;

use super::RELEASE_NS;
use super::counter::Counter;
use super::mailbox::{Letter, Mailbox, Spot};
use super::part::RunPart;
use super::queue::{Destination, Full, Queue};
use super::rendezvous::Rendezvous;
use super::stock::Stock;

/// State that the users of a process share. Its loops have a [`super::Desk`] each.
#[derive(Debug)]
pub struct Meeting {
    part: RunPart,
    rendezvous: Vec<Mutex<Rendezvous>>,
    counters: Vec<Counter>,
    queues: Vec<Mutex<Queue>>,
    /// By the loop's place in this process.
    mailboxes: Vec<Mailbox>,
    stock: Stock,
}

impl Default for Meeting {
    /// For a plan whose users share nothing.
    fn default() -> Meeting {
        Meeting::new(&Meetings::default(), RunPart::all(1))
    }
}

impl Meeting {
    /// A meeting with all that is declared, for the loops of this part.
    pub fn new(declared: &Meetings, part: RunPart) -> Meeting {
        let rendezvous = declared.rendezvous.iter();
        let rendezvous = rendezvous.map(|one| match part.is_divided() {
            true => part.share(one.users),
            false => one.users,
        });
        let mailboxes = match declared.is_empty() {
            true => 0,
            false => part.count,
        };
        Meeting {
            part,
            rendezvous: rendezvous.map(|n| Mutex::new(Rendezvous::new(n))).collect(),
            counters: declared.counters.iter().map(|one| Counter::new(one.first)).collect(),
            queues: declared
                .queues
                .iter()
                .map(|one| Mutex::new(Queue::new(one.values_max)))
                .collect(),
            mailboxes: (0..mailboxes).map(|_| Mailbox::default()).collect(),
            stock: Stock::default(),
        }
    }

    /// Rows and sessions that the users use up.
    pub(crate) fn stock(&self) -> &Stock {
        &self.stock
    }

    /// The place of the run's loop of this number among those of this process.
    pub(crate) fn loop_place(&self, number: u32) -> usize {
        number.saturating_sub(self.part.first) as usize
    }

    pub(crate) fn mailbox(&self, loop_place: usize) -> &Mailbox {
        &self.mailboxes[loop_place]
    }

    /// The next number of a counter.
    pub(crate) fn next(&self, counter: u16) -> i64 {
        self.counters[usize::from(counter)].next(self.part)
    }

    /// A user of this loop has come to a rendezvous. Its number there.
    pub(crate) fn arrive(&self, now_ns: u64, rendezvous: u16, loop_place: usize) -> u64 {
        let mut place = self.rendezvous(rendezvous);
        let arrived = place.arrive(loop_place);
        let mut letters: BTreeMap<usize, Vec<Letter>> = BTreeMap::new();
        for (number, loop_place) in arrived.released {
            letters.entry(loop_place).or_default().push(Letter {
                spot: Spot::Rendezvous(rendezvous),
                number,
                due_ns: now_ns + RELEASE_NS,
                value: None,
            });
        }
        // Posted before the lock is given back: who does not wait any more has its letter.
        for (loop_place, letters) in letters {
            self.mailboxes[loop_place].post(letters);
        }
        arrived.number
    }

    /// How many users of this process are at a rendezvous, and how many it takes.
    pub(crate) fn present(&self, rendezvous: u16) -> (u64, u64) {
        self.rendezvous(rendezvous).present()
    }

    pub(crate) fn put(&self, queue: u16, value: Value) -> Result<(), Full> {
        let mut place = self.queue(queue);
        let put = place.put(value)?;
        self.hand_over(queue, put);
        Ok(())
    }

    pub(crate) fn put_back(&self, queue: u16, value: Value) {
        let mut place = self.queue(queue);
        let put = place.put_back(value);
        self.hand_over(queue, put);
    }

    fn hand_over(&self, queue: u16, put: Destination) {
        if let Destination::To(number, loop_place, value) = put {
            self.mailboxes[loop_place].post([Letter {
                spot: Spot::Queue(queue),
                number,
                due_ns: 0,
                value: Some(value),
            }]);
        }
    }

    /// The first value of a queue; or the user of this loop waits for one, by this number.
    pub(crate) fn take(&self, queue: u16, loop_place: usize) -> Result<Value, u64> {
        self.queue(queue).take(loop_place)
    }

    /// The user of this number waits no longer. False: the letter that ends its wait is in its loop's mailbox, or was.
    pub(crate) fn leave(&self, spot: Spot, number: u64) -> bool {
        match spot {
            Spot::Rendezvous(place) => self.rendezvous(place).leave(number),
            Spot::Queue(place) => self.queue(place).leave(number),
        }
    }

    /// A panic of another loop ends the run; until then the state is sound, since nothing panics halfway.
    fn rendezvous(&self, number: u16) -> MutexGuard<'_, Rendezvous> {
        let place = self.rendezvous[usize::from(number)].lock();
        place.unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self, number: u16) -> MutexGuard<'_, Queue> {
        let place = self.queues[usize::from(number)].lock();
        place.unwrap_or_else(PoisonError::into_inner)
    }
}
