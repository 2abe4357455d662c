//! Tracking of numbered messages: which of them a user got, and when the first and the last user got
//! each.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

/// Numbers below the highest one that are remembered: a missing number further below is lost. Windows of this kind are those of RFC 4303, §3.4.3.
const WINDOW: u64 = 64;
/// A number that is further ahead restarts its sequence: no run loses that many, and counts of lost
/// messages can still be added up.
const AHEAD_MAX: u64 = 1 << 24;
/// Sequences that are tracked for one user: a server could name any number of them.
const SEQUENCES_MAX: usize = 1_024;
/// Broadcasts that a shard reports in one interval.
const BROADCASTS_MAX: usize = 8_192;

/// The numbers that one user got of one sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Track {
    message: u16,
    sequence: u64,
    highest: u64,
    /// Bit `i`: the number `highest - i` was got, or was before the first.
    got: u64,
}

/// How a number fits its sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Got {
    /// As expected. This many missing numbers are now known to be lost.
    New {
        lost: u64,
    },
    /// It was missing until now.
    OutOfOrder,
    Duplicate,
    /// So far ahead that its sequence restarts. What was missing before is lost.
    Restarted {
        lost: u64,
    },
    /// Its user has too many sequences.
    Untracked,
}

impl Track {
    fn take(&mut self, number: u64) -> Got {
        if let Some(ahead) = number.checked_sub(self.highest).filter(|&ahead| ahead > 0) {
            if ahead > AHEAD_MAX {
                let lost = self.missing();
                (self.highest, self.got) = (number, u64::MAX);
                return Got::Restarted { lost };
            }
            let lost = if ahead >= WINDOW {
                u64::from(self.got.count_zeros()) + (ahead - WINDOW)
            } else {
                u64::from((!self.got >> (WINDOW - ahead)).count_ones())
            };
            self.got = self
                .got
                .checked_shl(ahead as u32)
                .filter(|_| ahead < WINDOW)
                .unwrap_or(0)
                | 1;
            self.highest = number;
            return Got::New { lost };
        }
        let below = self.highest - number;
        if below >= WINDOW {
            return Got::OutOfOrder;
        }
        let bit = 1 << below;
        if self.got & bit != 0 {
            return Got::Duplicate;
        }
        self.got |= bit;
        Got::OutOfOrder
    }

    /// Numbers that are still missing.
    fn missing(&self) -> u64 {
        u64::from(self.got.count_zeros())
    }
}

/// The numbers that users got, of users that got any.
#[derive(Debug, Default)]
pub(crate) struct Tracks(HashMap<u32, Vec<Track>>);

impl Tracks {
    /// The user of this key got a number of a sequence. The first one begins it.
    pub(crate) fn take(&mut self, user: u32, message: u16, sequence: u64, number: u64) -> Got {
        let tracks = self.0.entry(user).or_default();
        let known = |track: &&mut Track| track.message == message && track.sequence == sequence;
        if let Some(track) = tracks.iter_mut().find(known) {
            return track.take(number);
        }
        if tracks.len() == SEQUENCES_MAX {
            return Got::Untracked;
        }
        tracks.push(Track {
            message,
            sequence,
            highest: number,
            got: u64::MAX,
        });
        Got::New { lost: 0 }
    }

    /// The user gets nothing any more: for each of its sequences the message, and how many numbers are
    /// missing.
    pub(crate) fn end(&mut self, user: u32) -> Vec<(u16, u64)> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let tracks = self.0.remove(&user).unwrap_or_default();
        tracks
            .iter()
            .map(|track| (track.message, track.missing()))
            .collect()
    }
}

/// A sequence by its name: the same in all shards.
pub(crate) fn sequence(name: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

/// One broadcast as the users of one shard got it in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broadcast {
    /// Place in the plan's messages.
    pub message: u16,
    /// Which of its sequences, and the number in it.
    pub sequence: u64,
    pub number: u64,
    /// The sender's time; without one, when the first user got it.
    pub sent_ns: u64,
    /// When the first and the last user got it.
    pub first_ns: u64,
    pub last_ns: u64,
}

impl Broadcast {
    /// Adds what another interval or shard knows of the same one.
    pub fn merge(&mut self, other: &Broadcast) {
        self.sent_ns = self.sent_ns.min(other.sent_ns);
        self.first_ns = self.first_ns.min(other.first_ns);
        self.last_ns = self.last_ns.max(other.last_ns);
    }

    /// What identifies it.
    pub fn name(&self) -> (u16, u64, u64) {
        (self.message, self.sequence, self.number)
    }
}

/// The broadcasts of one interval.
#[derive(Debug, Default)]
pub(crate) struct Broadcasts(HashMap<(u16, u64, u64), Broadcast>);

impl Broadcasts {
    /// A user got it. False if there are too many to report this one.
    pub(crate) fn add(&mut self, broadcast: Broadcast) -> bool {
        if let Some(known) = self.0.get_mut(&broadcast.name()) {
            known.merge(&broadcast);
            return true;
        }
        let room = self.0.len() < BROADCASTS_MAX;
        if room {
            self.0.insert(broadcast.name(), broadcast);
        }
        room
    }

    /// All of them, in order of their names.
    pub(crate) fn take(&mut self) -> Vec<Broadcast> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let mut all: Vec<Broadcast> = self.0.drain().map(|(_, broadcast)| broadcast).collect();
        all.sort_unstable_by_key(Broadcast::name);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Counts of a user's numbers: lost, duplicates, out of order.
    fn counted(numbers: &[u64]) -> (u64, u64, u64) {
        let mut tracks = Tracks::default();
        let (mut lost, mut duplicates, mut late) = (0, 0, 0);
        for &number in numbers {
            match tracks.take(7, 0, 1, number) {
                Got::New { lost: more } | Got::Restarted { lost: more } => lost += more,
                Got::Duplicate => duplicates += 1,
                Got::OutOfOrder => late += 1,
                Got::Untracked => unreachable!("there is one sequence"),
            }
        }
        lost += tracks
            .end(7)
            .iter()
            .map(|(_, missing)| missing)
            .sum::<u64>();
        (lost, duplicates, late)
    }

    #[test]
    fn lost_duplicate_and_late_numbers_are_counted() {
        assert_eq!(counted(&[]), (0, 0, 0));
        assert_eq!(counted(&[5, 6, 7]), (0, 0, 0));
        assert_eq!(counted(&[5, 7]), (1, 0, 0));
        assert_eq!(counted(&[5, 7, 6]), (0, 0, 1));
        assert_eq!(counted(&[5, 5, 6, 6, 5]), (0, 3, 0));
        assert_eq!(counted(&[5, 7, 6, 6]), (0, 1, 1));
        // Nothing before the first can be missing.
        assert_eq!(counted(&[5, 4]), (0, 1, 0));
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
    fn sequences_of_one_user_are_bounded() {
        let mut tracks = Tracks::default();
        let most = SEQUENCES_MAX as u64;
        for sequence in 0..most {
            assert_eq!(tracks.take(7, 0, sequence, 5), Got::New { lost: 0 });
        }
        assert_eq!(tracks.take(7, 0, most, 5), Got::Untracked);
        assert_eq!(tracks.take(7, 0, most - 1, 5), Got::Duplicate);
        assert_eq!(tracks.take(8, 0, most, 5), Got::New { lost: 0 });
        assert_eq!(tracks.end(7).len(), SEQUENCES_MAX);
    }

    proptest! {
        /// Within the window the counts equal those of a full list.
        #[test]
        fn counts_match_those_of_a_full_list(steps in prop::collection::vec(-20_i64..22, 1..60)) {
            let mut numbers = vec![1_000_u64];
            let mut highest = 1_000_i64;
            for step in steps {
                let number = (highest + step).max(1_000);
                highest = highest.max(number);
                numbers.push(number as u64);
            }
            let (lost, duplicates, late) = counted(&numbers);
            let distinct: std::collections::BTreeSet<u64> = numbers.iter().copied().collect();
            let span = highest as u64 - 1_000 + 1;
            prop_assert_eq!(lost, span - distinct.len() as u64);
            prop_assert_eq!(duplicates, (numbers.len() - distinct.len()) as u64);
            let mut top = 0;
            let mut seen = std::collections::BTreeSet::new();
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
