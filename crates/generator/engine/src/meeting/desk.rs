//! One loop's users that wait for others.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use plan::expr::Value;

use super::LOOK_NS;
use super::mailbox::{Mailbox, Spot};
use super::queue::Full;
use super::shared::Meeting;

/// A loop's place at a [`Meeting`]. `K` names a user of the loop.
#[derive(Debug)]
pub struct Desk<K> {
    shared: Arc<Meeting>,
    loop_place: usize,
    /// How far the wait of each user is.
    waits: HashMap<K, Wait>,
    /// The users that wait, by number.
    numbers: HashMap<(Spot, u64), K>,
    /// The users whose wait is over at a time; those at the same time in the order of their
    /// release.
    over: BTreeMap<(u64, u64), (K, Spot, Option<Value>)>,
    released_count: u64,
    /// When the mailbox is next looked into, at the latest.
    look_ns: u64,
}

#[derive(Debug, Clone, Copy)]
enum Wait {
    /// By this number.
    Waits(Spot, u64),
    /// It is over: a key of [`Desk::over`].
    Over((u64, u64)),
}

/// A user whose wait is over.
#[derive(Debug, PartialEq)]
pub struct FinishedWait<K> {
    pub user: K,
    /// When the wait was over.
    pub at_ns: u64,
    /// The value that it got, if it waited for one.
    pub value: Option<Value>,
}

impl<K: Copy + Eq + Hash> Desk<K> {
    /// The desk of the run's loop of this number.
    pub fn new(shared: &Arc<Meeting>, loop_number: u32) -> Desk<K> {
        Desk {
            shared: Arc::clone(shared),
            loop_place: shared.loop_place(loop_number),
            waits: HashMap::new(),
            numbers: HashMap::new(),
            over: BTreeMap::new(),
            released_count: 0,
            look_ns: u64::MAX,
        }
    }

    /// Users that wait, those included whose wait is about to end.
    pub fn waiting_count(&self) -> usize {
        self.waits.len()
    }

    /// The next number of a counter.
    pub fn next(&self, counter: u16) -> Value {
        Value::Int(self.shared.next(counter))
    }

    /// The user waits at a rendezvous, also the one that completes it.
    pub fn arrive(&mut self, now_ns: u64, user: K, rendezvous: u16) {
        let number = self.shared.arrive(now_ns, rendezvous, self.loop_place);
        self.wait(now_ns, user, Spot::Rendezvous(rendezvous), number);
    }

    /// How many users of this process are at a rendezvous, and how many it takes here.
    pub fn present(&self, rendezvous: u16) -> (u64, u64) {
        self.shared.present(rendezvous)
    }

    /// Puts a value at the end of a queue, or hands it to the user who has waited for longest.
    pub fn put(&self, queue: u16, value: Value) -> Result<(), Full> {
        self.shared.put(queue, value)
    }

    /// Takes the first value of a queue; `None`: there is none, and the user waits for it.
    pub fn take(&mut self, now_ns: u64, user: K, queue: u16) -> Option<Value> {
        match self.shared.take(queue, self.loop_place) {
            Ok(value) => Some(value),
            Err(number) => {
                self.wait(now_ns, user, Spot::Queue(queue), number);
                None
            }
        }
    }

    fn wait(&mut self, now_ns: u64, user: K, spot: Spot, number: u64) {
        self.waits.insert(user, Wait::Waits(spot, number));
        self.numbers.insert((spot, number), user);
        self.look_ns = self.look_ns.min(now_ns + LOOK_NS);
    }

    /// When [`Desk::look`] is next due.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        if self.mailbox().has_some() {
            return 0;
        }
        let first = self.over.first_key_value();
        first.map_or(self.look_ns, |((at_ns, _), _)| self.look_ns.min(*at_ns))
    }

    /// The next user whose wait is over by now.
    pub fn look(&mut self, now_ns: u64) -> Option<FinishedWait<K>> {
        self.collect(now_ns);
        let first = self.over.first_entry()?;
        let at_ns = first.key().0;
        if at_ns > now_ns {
            return None;
        }
        let (user, _, value) = first.remove();
        self.waits.remove(&user);
        Some(FinishedWait { user, at_ns, value })
    }

    /// The user has waited for as long as it may. False: its wait is over already, and it is among the next ones of
    /// [`Desk::look`].
    pub fn give_up(&mut self, user: K) -> bool {
        let Some(&Wait::Waits(spot, number)) = self.waits.get(&user) else {
            return false;
        };
        let has_left = self.shared.leave(spot, number);
        if has_left {
            self.waits.remove(&user);
            self.numbers.remove(&(spot, number));
        }
        has_left
    }

    /// The user, if it waits, is gone. What it was about to get is the next value of its queue again.
    pub fn leave(&mut self, now_ns: u64, user: K) {
        if self.waits.is_empty() || self.give_up(user) {
            return;
        }
        // Whoever has not left has its letter.
        self.collect(now_ns);
        let Some(Wait::Over(key)) = self.waits.remove(&user) else {
            return;
        };
        if let Some((_, Spot::Queue(queue), Some(value))) = self.over.remove(&key) {
            self.shared.put_back(queue, value);
        }
    }

    /// Takes the letters out of the mailbox.
    fn collect(&mut self, now_ns: u64) {
        if self.mailbox().has_some() {
            for letter in self.mailbox().take() {
                let Some(user) = self.numbers.remove(&(letter.spot, letter.number)) else {
                    continue;
                };
                let at_ns = match letter.due_ns {
                    0 => now_ns,
                    due_ns => due_ns,
                };
                let key = (at_ns, self.released_count);
                self.released_count += 1;
                self.over.insert(key, (user, letter.spot, letter.value));
                self.waits.insert(user, Wait::Over(key));
            }
        }
        self.look_ns = match self.numbers.is_empty() {
            true => u64::MAX,
            false => now_ns + LOOK_NS,
        };
    }

    fn mailbox(&self) -> &Mailbox {
        self.shared.mailbox(self.loop_place)
    }
}
