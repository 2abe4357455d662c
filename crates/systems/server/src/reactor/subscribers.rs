//! Listeners of a channel on one thread, and how far its present message has got.

/// The subscribers of one channel, each a number. Joining, leaving and the next receiver take
/// constant time, and a broadcast walks along the list.
///
/// ```text
///   0        cursor            end          len
///   ├─ served ─┼─ yet to be ───┼─ joined ───┤
///   │          │   served      │  since     │
/// ```
///
/// During a broadcast subscribers may come and go. Whoever was there when it began and still is
/// gets it exactly once; who joined since does not.
#[derive(Debug, Default)]
pub(crate) struct Subscribers {
    subscribers: Vec<u32>,
    cursor: u32,
    end: u32,
}

impl Subscribers {
    /// Adds a subscriber; the place it now has.
    pub(crate) fn join(&mut self, subscriber: u32) -> u32 {
        self.subscribers.push(subscriber);
        // There are no more subscribers than connections, which a `u32` counts.
        (self.subscribers.len() - 1) as u32
    }

    /// Takes out the subscriber at `place`. Others move to fill the gap, at most three: `moved` is
    /// called with each and its new place.
    pub(crate) fn leave(&mut self, place: u32, mut moved: impl FnMut(u32, u32)) {
        let mut gap = place;
        let mut fill = |subscribers: &mut Vec<u32>, from: u32| {
            if gap != from {
                let subscriber = subscribers[from as usize];
                subscribers[gap as usize] = subscriber;
                moved(subscriber, gap);
                gap = from;
            }
        };
        // The gap wanders through the parts of the list to its end.
        if place < self.cursor {
            self.cursor -= 1;
            fill(&mut self.subscribers, self.cursor);
        }
        if place < self.end {
            self.end -= 1;
            fill(&mut self.subscribers, self.end);
        }
        let last = self.subscribers.len() as u32 - 1;
        fill(&mut self.subscribers, last);
        self.subscribers.pop();
    }

    /// Whether nobody listens.
    pub(crate) fn is_empty(&self) -> bool {
        self.subscribers.is_empty()
    }

    /// Begins a broadcast to all who listen now.
    pub(crate) fn begin(&mut self) {
        self.cursor = 0;
        self.end = self.subscribers.len() as u32;
    }

    /// The next receiver of the broadcast; `None` when all have been served.
    pub(crate) fn next(&mut self) -> Option<u32> {
        if self.cursor == self.end {
            (self.cursor, self.end) = (0, 0);
            return None;
        }
        let subscriber = self.subscribers[self.cursor as usize];
        self.cursor += 1;
        Some(subscriber)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Action {
        Join,
        Leave(prop::sample::Index),
        Begin,
        Next,
    }

    fn action() -> impl Strategy<Value = Action> {
        prop_oneof![
            4 => Just(Action::Join),
            3 => any::<prop::sample::Index>().prop_map(Action::Leave),
            1 => Just(Action::Begin),
            6 => Just(Action::Next),
        ]
    }

    /// Leaves, and follows those who move.
    fn leave(subscribers: &mut Subscribers, places: &mut BTreeMap<u32, u32>, subscriber: u32) {
        let place = places.remove(&subscriber).unwrap();
        subscribers.leave(place, |subscriber, place| {
            assert!(places.insert(subscriber, place).is_some(), "only subscribers move");
        });
    }

    proptest! {
        #[test]
        fn everyone_there_gets_a_broadcast_once(actions in prop::collection::vec(action(), 0..200)) {
            let mut subscribers = Subscribers::default();
            let mut places = BTreeMap::new();
            // Of the broadcast under way: who has still to get it.
            let mut due: Option<BTreeSet<u32>> = None;
            let mut number = 0;
            for action in actions {
                match action {
                    Action::Join => {
                        places.insert(number, subscribers.join(number));
                        number += 1;
                    }
                    Action::Leave(index) if !places.is_empty() => {
                        let all: Vec<u32> = places.keys().copied().collect();
                        let subscriber = *index.get(&all);
                        leave(&mut subscribers, &mut places, subscriber);
                        if let Some(due) = &mut due {
                            due.remove(&subscriber);
                        }
                    }
                    Action::Begin if due.is_none() => {
                        due = Some(places.keys().copied().collect());
                        subscribers.begin();
                    }
                    Action::Next => match (subscribers.next(), &mut due) {
                        (Some(subscriber), Some(due)) => prop_assert!(due.remove(&subscriber)),
                        (None, Some(left)) => {
                            prop_assert!(left.is_empty(), "{left:?} got nothing");
                            due = None;
                        }
                        (next, None) => prop_assert_eq!(next, None),
                    },
                    Action::Leave(_) | Action::Begin => {}
                }
                for (&subscriber, &place) in &places {
                    prop_assert_eq!(subscribers.subscribers[place as usize], subscriber);
                }
                prop_assert_eq!(subscribers.subscribers.len(), places.len());
            }
        }
    }
}
