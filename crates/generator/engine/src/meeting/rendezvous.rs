//! Waiting for each other: the user that completes the number releases all of them.

use std::collections::BTreeMap;

use super::line::Line;

/// A rendezvous of the users of this process.
#[derive(Debug)]
pub(crate) struct Rendezvous {
    /// How many are released together; at least 1.
    users: u64,
    line: Line,
}

/// The consequence of an arrival.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RendezvousArrival {
    /// The number of the user that came.
    pub(crate) number: u64,
    /// All that are released now, it included: their numbers and loops. Empty: it waits.
    pub(crate) released: BTreeMap<u64, usize>,
}

impl Rendezvous {
    pub(crate) fn new(users: u64) -> Rendezvous {
        Rendezvous { users: users.max(1), line: Line::default() }
    }

    /// A user of this loop has come.
    pub(crate) fn arrive(&mut self, loop_place: usize) -> RendezvousArrival {
        let number = self.line.join(loop_place);
        let released = match self.line.len() as u64 >= self.users {
            true => self.line.take_all(),
            false => BTreeMap::new(),
        };
        RendezvousArrival { number, released }
    }

    /// The user goes before it is released. False: it is released already.
    pub(crate) fn leave(&mut self, number: u64) -> bool {
        self.line.leave(number)
    }

    /// How many are there, and how many it takes.
    pub(crate) fn present(&self) -> (u64, u64) {
        (self.line.len() as u64, self.users)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_releases_all_and_the_next_round_begins() {
        let mut rendezvous = Rendezvous::new(3);
        for round in 0..2 {
            let first = round * 3;
            assert!(rendezvous.arrive(0).released.is_empty());
            assert!(rendezvous.arrive(1).released.is_empty());
            let last = rendezvous.arrive(0);
            assert_eq!(last.number, first + 2);
            assert_eq!(last.released, BTreeMap::from([(first, 0), (first + 1, 1), (first + 2, 0)]));
            assert_eq!(rendezvous.present(), (0, 3));
        }
    }

    #[test]
    fn a_user_that_goes_before_is_not_counted_and_a_released_one_cannot_go() {
        let mut rendezvous = Rendezvous::new(2);
        let gone = rendezvous.arrive(0).number;
        assert!(rendezvous.leave(gone));
        assert!(!rendezvous.leave(gone));
        let stays = rendezvous.arrive(0).number;
        assert_eq!(rendezvous.present(), (1, 2));
        let released = rendezvous.arrive(1).released;
        assert!(released.contains_key(&stays) && !released.contains_key(&gone));
        assert!(!rendezvous.leave(stays));
    }
}
