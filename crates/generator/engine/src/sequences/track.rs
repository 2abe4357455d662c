//! The numbers that one user got of one sequence, in constant memory.

use super::AHEAD_MAX;
use plan::MessageId;

/// Numbers below the highest one that are remembered: a missing number further below is lost. Windows
/// of this kind are those of RFC 4303, §3.4.3.
pub(super) const WINDOW: u64 = 64;

/// The numbers that one user got of one sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Track {
    pub(super) sequence: u64,
    highest: u64,
    /// The lowest number that the user got, or a later one if that was far below the highest.
    first: u64,
    /// Bit `i`: the number `highest - i` was got. 0: none was got yet.
    got: u64,
    /// The slot from which on its user is subscribed to it.
    pub(super) since: u32,
    /// Place in the plan's messages.
    pub(super) message: MessageId,
    /// True if a number below the window is lost, so that what comes from there may be late or a
    /// duplicate.
    has_lost: bool,
    /// True if the first number came a time after the subscription began that others may have got
    /// numbers before it.
    pub(super) began_late: bool,
}

/// How a number fits its sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberFit {
    /// As expected. This many missing numbers are now known to be lost.
    New {
        /// Their number.
        lost: u64,
    },
    /// It was missing until now.
    OutOfOrder,
    /// The user had it.
    Duplicate,
    /// So far ahead that its sequence restarts. What was missing before is lost.
    Restarted {
        /// Their number.
        lost: u64,
    },
    /// The user has too many sequences.
    Untracked,
    /// The user's subscription is over, or has not begun.
    Unsubscribed,
}

impl Track {
    /// A sequence of which nothing was got yet.
    pub(super) fn new(message: MessageId, sequence: u64, since: u32) -> Track {
        Track {
            sequence,
            highest: 0,
            first: 0,
            got: 0,
            since,
            message,
            has_lost: false,
            began_late: false,
        }
    }

    /// The lowest and the highest number got; `None`: none was.
    pub(super) fn range(&self) -> Option<(u64, u64)> {
        (self.got != 0).then_some((self.first, self.highest))
    }

    pub(super) fn take(&mut self, number: u64) -> NumberFit {
        if self.got == 0 {
            self.restart(number);
            return NumberFit::New { lost: 0 };
        }
        if number > self.highest {
            return self.take_higher(number);
        }
        let below = self.highest - number;
        if below >= WINDOW {
            let was_got = number >= self.first && !self.has_lost;
            return if was_got { NumberFit::Duplicate } else { NumberFit::OutOfOrder };
        }
        let bit = 1 << below;
        if self.got & bit != 0 {
            return NumberFit::Duplicate;
        }
        self.got |= bit;
        self.first = self.first.min(number);
        NumberFit::OutOfOrder
    }

    fn take_higher(&mut self, number: u64) -> NumberFit {
        let ahead = number - self.highest;
        if ahead > AHEAD_MAX {
            let lost = self.missing();
            self.restart(number);
            return NumberFit::Restarted { lost };
        }
        let holes = self.holes();
        let (lost, got) = if ahead >= WINDOW {
            (u64::from(holes.count_ones()) + (ahead - WINDOW), 0)
        } else {
            let leaving = holes >> (WINDOW - ahead);
            (u64::from(leaving.count_ones()), self.got << ahead)
        };
        self.got = got | 1;
        self.highest = number;
        self.has_lost |= lost > 0;
        NumberFit::New { lost }
    }

    fn restart(&mut self, number: u64) {
        (self.highest, self.first, self.got) = (number, number, 1);
        self.has_lost = false;
    }

    /// Bit `i`: the number `highest - i` is missing.
    fn holes(&self) -> u64 {
        let span = (self.highest - self.first).min(WINDOW - 1);
        !self.got & (u64::MAX >> (WINDOW - 1 - span))
    }

    /// Numbers that are still missing between the first and the last.
    pub(super) fn missing(&self) -> u64 {
        match self.got {
            0 => 0,
            _ => u64::from(self.holes().count_ones()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Counts of a user's numbers: lost, duplicates, out of order.
    fn counted(numbers: &[u64]) -> (u64, u64, u64) {
        let mut track = Track::new(MessageId(0), 1, 0);
        let mut lost = 0;
        let mut duplicates = 0;
        let mut late = 0;
        for &number in numbers {
            match track.take(number) {
                NumberFit::New { lost: more } | NumberFit::Restarted { lost: more } => lost += more,
                NumberFit::Duplicate => duplicates += 1,
                NumberFit::OutOfOrder => late += 1,
                NumberFit::Untracked | NumberFit::Unsubscribed => {
                    unreachable!("a track takes any number")
                }
            }
        }
        (lost + track.missing(), duplicates, late)
    }

    #[test]
    fn lost_duplicate_and_late_numbers_are_counted() {
        assert_eq!(counted(&[]), (0, 0, 0));
        assert_eq!(counted(&[5, 6, 7]), (0, 0, 0));
        assert_eq!(counted(&[5, 7]), (1, 0, 0));
        assert_eq!(counted(&[5, 7, 6]), (0, 0, 1));
        assert_eq!(counted(&[5, 5, 6, 6, 5]), (0, 3, 0));
        assert_eq!(counted(&[5, 7, 6, 6]), (0, 1, 1));
        assert_eq!(counted(&[0, 1_000]), (999, 0, 0));
        assert_eq!(counted(&[0, 64]), (63, 0, 0));
        assert_eq!(counted(&[0, 65]), (64, 0, 0));
        assert_eq!(counted(&[0, 63, 1, 64]), (61, 0, 1));
        // Below the window: out of order, and counted as lost before.
        assert_eq!(counted(&[0, 2, 100, 1]), (98, 0, 1));
        assert_eq!(counted(&[0, AHEAD_MAX]), (AHEAD_MAX - 1, 0, 0));
        // What was missing before is lost; what lies between is not known to be.
        assert_eq!(counted(&[0, 2, u64::MAX]), (1, 0, 0));
        assert_eq!(counted(&[0, 1, u64::MAX, u64::MAX, 1]), (0, 1, 1));
    }

    #[test]
    fn first_arrivals_in_another_order_are_no_duplicates() {
        assert_eq!(counted(&[2, 1, 3]), (0, 0, 1));
        assert_eq!(counted(&[5, 4]), (0, 0, 1));
        assert_eq!(counted(&[5, 2, 3]), (1, 0, 2));
        assert_eq!(counted(&[3, 1, 1, 2, 2]), (0, 2, 2));
    }

    #[test]
    fn a_number_below_the_window_is_a_duplicate_if_none_is_missing_there() {
        let mut numbers: Vec<u64> = (10..200).collect();
        numbers.extend([10, 50]);
        assert_eq!(counted(&numbers), (0, 2, 0));
        // Nobody knows what came before the first.
        numbers.push(3);
        assert_eq!(counted(&numbers), (0, 2, 1));
    }

    proptest! {
        /// Within the window the counts equal those of a full list.
        #[test]
        fn counts_match_those_of_a_full_list(steps in prop::collection::vec(-20_i64..22, 1..60)) {
            let mut numbers = vec![1_000_u64];
            let mut highest = 1_000_i64;
            let mut lowest = 1_000_i64;
            for step in steps {
                let number = (highest + step).max(highest - 63);
                highest = highest.max(number);
                lowest = lowest.min(number);
                numbers.push(number as u64);
            }
            let (lost, duplicates, late) = counted(&numbers);
            let distinct: BTreeSet<u64> = numbers.iter().copied().collect();
            let span = (highest - lowest) as u64 + 1;
            prop_assert_eq!(lost, span - distinct.len() as u64);
            prop_assert_eq!(duplicates, (numbers.len() - distinct.len()) as u64);
            let mut top = 0;
            let mut seen = BTreeSet::new();
            let mut expected = 0;
            for number in numbers {
                expected += u64::from(number < top && !seen.contains(&number));
                seen.insert(number);
                top = top.max(number);
            }
            prop_assert_eq!(late, expected);
        }
    }
}
