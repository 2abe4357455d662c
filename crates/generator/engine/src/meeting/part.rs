//! The part of a run that is this process's: its loops, and with them their users, stand for a part
//! of all.

use plan::Meetings;

/// Fewer users than this do not meet anybody.
const TOGETHER_MIN: u64 = 2;

/// Loops `first` up to `first + count` of all `of` of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunPart {
    pub first: u32,
    /// At least 1.
    pub count: u32,
    pub of: u32,
}

/// Why the users of a run cannot meet if its loops are in several processes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    #[error(
        "the rendezvous `{name}` of {users} users is divided among the processes of the run, and {part} of them would \
         be for {count} of {of} loops: give it more users, or the run fewer workers"
    )]
    TooFew { name: String, users: u64, part: u64, count: u32, of: u32 },
    #[error(
        "the rendezvous `{name}` cannot be divided among several processes, because regions have shares of their own: \
         run it without workers, or without `regions`"
    )]
    Regions { name: String },
}

impl RunPart {
    /// All loops.
    pub fn all(loops_count: u32) -> RunPart {
        RunPart { first: 0, count: loops_count.max(1), of: loops_count.max(1) }
    }

    /// True if other processes have the other loops.
    pub fn is_divided(self) -> bool {
        self.count < self.of
    }

    /// This part of a number of users. Those of all parts together are all.
    pub fn share(self, users: u64) -> u64 {
        let until = |loops: u32| {
            let share = u128::from(users) * u128::from(loops) / u128::from(self.of.max(1));
            u64::try_from(share).unwrap_or(u64::MAX)
        };
        until(self.first + self.count) - until(self.first)
    }

    /// The number of this place, from 0, among those that are this part's. All numbers are some part's; below any limit
    /// each part has its share of them.
    pub fn number(self, place: u64) -> u64 {
        let first = u64::from(self.first);
        let count = u64::from(self.count.max(1));
        let of = u64::from(self.of);
        (place / count).wrapping_mul(of).wrapping_add(first + place % count)
    }

    /// Checks that the users of this part can meet as is declared.
    pub fn check(self, declared: &Meetings, has_regions: bool) -> Result<(), PartError> {
        if !self.is_divided() {
            return Ok(());
        }
        for rendezvous in &declared.rendezvous {
            let name = rendezvous.name.clone();
            if has_regions {
                return Err(PartError::Regions { name });
            }
            let part = self.share(rendezvous.users);
            if part < TOGETHER_MIN {
                return Err(PartError::TooFew {
                    name,
                    users: rendezvous.users,
                    part,
                    count: self.count,
                    of: self.of,
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use plan::Rendezvous;

    use super::*;

    fn parts(counts: &[u32]) -> Vec<RunPart> {
        let of = counts.iter().sum();
        let mut first = 0;
        let parts = counts.iter().map(|&count| {
            first += count;
            RunPart { first: first - count, count, of }
        });
        parts.collect()
    }

    #[test]
    fn a_process_that_has_all_loops_has_all() {
        let part = RunPart::all(8);
        assert!(!part.is_divided());
        assert_eq!(part.share(500), 500);
        let numbers: Vec<u64> = (0..4).map(|place| part.number(place)).collect();
        assert_eq!(numbers, [0, 1, 2, 3]);
    }

    #[test]
    fn shares_add_up_and_follow_the_loops() {
        let shares = |users, counts: &[u32]| -> Vec<u64> {
            let parts = parts(counts).into_iter();
            parts.map(|part| part.share(users)).collect()
        };
        assert_eq!(shares(500, &[1; 5]), [100; 5]);
        assert_eq!(shares(10, &[1, 2]), [3, 7]);
        assert_eq!(shares(3, &[1; 5]).iter().sum::<u64>(), 3);
        assert_eq!(shares(u64::MAX, &[3, 4]).iter().sum::<u64>(), u64::MAX);
    }

    #[test]
    fn parts_in_which_nobody_meets_are_refused() {
        let declared = |users| Meetings {
            rendezvous: vec![Rendezvous { name: "sale".to_owned(), users }],
            ..Meetings::default()
        };
        let refused = |counts: &[u32], users, has_regions| {
            let parts = parts(counts).into_iter();
            parts.filter_map(|part| part.check(&declared(users), has_regions).err()).count()
        };
        assert_eq!(refused(&[4], 2, true), 0);
        assert_eq!(refused(&[1, 1], 4, false), 0);
        assert_eq!(refused(&[1, 3], 4, false), 1);
        assert_eq!(refused(&[1, 1], 3, false), 1);
        assert_eq!(refused(&[1, 1], 4, true), 2);
    }

    #[test]
    fn numbers_of_parts_are_disjoint_and_without_gaps() {
        let mut all = BTreeSet::new();
        for part in parts(&[1, 2, 4]) {
            for place in 0..u64::from(part.count) * 5 {
                assert!(all.insert(part.number(place)), "{part:?} {place}");
            }
        }
        assert_eq!(all, (0..35).collect());
    }

    #[test]
    fn of_the_first_numbers_each_part_has_its_share() {
        for (part, share) in parts(&[2, 2, 4]).into_iter().zip([26, 26, 52]) {
            let below = (0..200).filter(|&place| part.number(place) < 104);
            assert_eq!(below.count(), share, "{part:?}");
        }
    }
}
