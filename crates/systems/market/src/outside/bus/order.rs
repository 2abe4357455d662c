//! The order of delivery: every message once, in order, with the gaps between them.

use crate::bus::model::GameId;

/// The number of the last message that was delivered, by game.
#[derive(Debug)]
pub(super) struct Order {
    last: Vec<u64>,
}

/// The position of a message among those delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// Behind all that were delivered; this number of messages before it are missing.
    Next { missing: u64 },
    /// One of this number or a higher one was delivered.
    Behind,
}

impl Order {
    /// Nothing was delivered of games 1 to `games`.
    pub(super) fn new(games: usize) -> Self {
        Self { last: vec![0; games] }
    }

    /// The number of the last message.
    pub(super) fn last(&self, game: GameId) -> u64 {
        let last = game.index().and_then(|index| self.last.get(index));
        last.copied().unwrap_or_default()
    }

    /// Takes a message, unless it is behind.
    pub(super) fn advance(&mut self, game: GameId, seq: u64) -> Arrival {
        let Some(last) = game.index().and_then(|index| self.last.get_mut(index)) else {
            return Arrival::Behind;
        };
        match seq.checked_sub(*last) {
            None | Some(0) => Arrival::Behind,
            Some(step) => {
                *last = seq;
                Arrival::Next { missing: step - 1 }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_taken_once_and_gaps_are_counted() {
        let mut order = Order::new(2);
        let game = GameId(2);
        assert_eq!(order.advance(game, 7), Arrival::Next { missing: 6 });
        let taken = [8, 8, 9, 12, 10, 13].map(|seq| order.advance(game, seq));
        let next = |missing| Arrival::Next { missing };
        assert_eq!(taken, [next(0), Arrival::Behind, next(0), next(2), Arrival::Behind, next(0)]);
        assert_eq!((order.last(GameId(1)), order.last(game)), (0, 13));
        assert_eq!(order.advance(GameId(3), 1), Arrival::Behind);
    }
}
