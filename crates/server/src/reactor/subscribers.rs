//! Who listens to a channel on one thread, and how far its present message has got.

/// The listeners of one channel, each a number. Joining, leaving and the next receiver take
/// constant time, and a broadcast walks along the list.
///
/// ```text
///   0        cursor            end          len
///   ├─ served ─┼─ yet to be ───┼─ joined ───┤
///   │          │   served      │  since     │
/// ```
///
/// During a broadcast listeners may come and go. Whoever was there when it began and still is
/// gets it exactly once; who joined since does not.
#[derive(Debug, Default)]
pub(crate) struct Audience {
    listeners: Vec<u32>,
    cursor: u32,
    end: u32,
}

impl Audience {
    /// Adds a listener; the place it now has.
    pub(crate) fn join(&mut self, listener: u32) -> u32 {
        self.listeners.push(listener);
        // There are no more listeners than connections, which a `u32` counts.
        (self.listeners.len() - 1) as u32
    }

    /// Takes out the listener at `place`. Others move to fill the gap, at most three: `moved` is
    /// called with each and its new place.
    pub(crate) fn leave(&mut self, place: u32, mut moved: impl FnMut(u32, u32)) {
        let mut gap = place;
        let mut fill = |listeners: &mut Vec<u32>, from: u32| {
            if gap != from {
                let listener = listeners[from as usize];
                listeners[gap as usize] = listener;
                moved(listener, gap);
                gap = from;
            }
        };
        // The gap wanders through the parts of the list to its end.
        if place < self.cursor {
            self.cursor -= 1;
            fill(&mut self.listeners, self.cursor);
        }
        if place < self.end {
            self.end -= 1;
            fill(&mut self.listeners, self.end);
        }
        let last = self.listeners.len() as u32 - 1;
        fill(&mut self.listeners, last);
        self.listeners.pop();
    }

    /// Whether nobody listens.
    pub(crate) fn is_empty(&self) -> bool {
        self.listeners.is_empty()
    }

    /// Begins a broadcast to all who listen now.
    pub(crate) fn begin(&mut self) {
        self.cursor = 0;
        self.end = self.listeners.len() as u32;
    }

    /// The next receiver of the broadcast; `None` when all have been served.
    pub(crate) fn next(&mut self) -> Option<u32> {
        if self.cursor == self.end {
            (self.cursor, self.end) = (0, 0);
            return None;
        }
        let listener = self.listeners[self.cursor as usize];
        self.cursor += 1;
        Some(listener)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Deed {
        Join,
        Leave(prop::sample::Index),
        Begin,
        Next,
    }

    fn deed() -> impl Strategy<Value = Deed> {
        prop_oneof![
            4 => Just(Deed::Join),
            3 => any::<prop::sample::Index>().prop_map(Deed::Leave),
            1 => Just(Deed::Begin),
            6 => Just(Deed::Next),
        ]
    }

    /// Leaves, and follows those who move.
    fn leave(audience: &mut Audience, places: &mut BTreeMap<u32, u32>, listener: u32) {
        let place = places.remove(&listener).unwrap();
        audience.leave(place, |listener, place| {
            assert!(
                places.insert(listener, place).is_some(),
                "only listeners move"
            );
        });
    }

    proptest! {
        #[test]
        fn everyone_there_gets_a_broadcast_once(deeds in prop::collection::vec(deed(), 0..200)) {
            let mut audience = Audience::default();
            let mut places = BTreeMap::new();
            // Of the broadcast under way: who has still to get it.
            let mut due: Option<BTreeSet<u32>> = None;
            let mut number = 0;
            for deed in deeds {
                match deed {
                    Deed::Join => {
                        places.insert(number, audience.join(number));
                        number += 1;
                    }
                    Deed::Leave(index) if !places.is_empty() => {
                        let all: Vec<u32> = places.keys().copied().collect();
                        let listener = *index.get(&all);
                        leave(&mut audience, &mut places, listener);
                        if let Some(due) = &mut due {
                            due.remove(&listener);
                        }
                    }
                    Deed::Begin if due.is_none() => {
                        due = Some(places.keys().copied().collect());
                        audience.begin();
                    }
                    Deed::Next => match (audience.next(), &mut due) {
                        (Some(listener), Some(due)) => prop_assert!(due.remove(&listener)),
                        (None, Some(left)) => {
                            prop_assert!(left.is_empty(), "{left:?} got nothing");
                            due = None;
                        }
                        (next, None) => prop_assert_eq!(next, None),
                    },
                    Deed::Leave(_) | Deed::Begin => {}
                }
                for (&listener, &place) in &places {
                    prop_assert_eq!(audience.listeners[place as usize], listener);
                }
                prop_assert_eq!(audience.listeners.len(), places.len());
            }
        }
    }
}
