//! Which numbers any user got, and when first: what others must have got, too.

use plan::MessageId;
use std::collections::{BTreeMap, HashMap};

use super::accounts::{Claim, Head, Settlement};
use super::{AHEAD_MAX, GRACE_SLOTS};

/// Steps of all sequences together. Above it, slots become twice as long: what is demanded of a
/// subscription begins up to one slot later, and ends up to one earlier.
const STEPS_MAX: usize = 1 << 22;
/// Steps that open subscriptions to one sequence.
const RECEIVERS_MAX: usize = 4_096;
/// Sequences that are followed.
const SEQUENCES_MAX: usize = 1 << 20;

/// The result of settlements, for one of the plan's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LossCounts {
    /// Numbers that users did not get, added up over users.
    pub lost: u64,
    /// Subscriptions of which that is unknown.
    pub unaccounted: u64,
}

/// How far a sequence had come by each slot.
#[derive(Debug)]
struct Course {
    /// The slot in which it was first seen, and the lowest number seen in it.
    start: (u32, u64),
    /// Slots and the number after the highest one seen by its end; both rise.
    steps: Vec<(u32, u64)>,
    /// By what those who got any number are subscribed.
    receivers: Vec<u64>,
    /// The numbers jumped so far that nothing follows from them.
    broken: bool,
}

/// Subscriptions opened by a step of which none got any number so far.
#[derive(Debug, Clone, Copy, Default)]
struct Silent {
    subscriptions: u64,
    lost: u64,
}

/// The numbers that the users of all shards got.
#[derive(Debug)]
pub struct Ledger {
    courses: HashMap<(MessageId, u64), Course>,
    /// By message, sequence and opening.
    silent: BTreeMap<(MessageId, u64, u64), Silent>,
    /// Results since the last call of `take_found`, by message.
    found: BTreeMap<MessageId, LossCounts>,
    steps_count: usize,
    steps_max: usize,
    /// Slots are 2 to the power of this as long as those of heads.
    shift: u32,
    /// Some sequences are not followed.
    full: bool,
}

impl Default for Ledger {
    fn default() -> Ledger {
        Ledger {
            courses: HashMap::new(),
            silent: BTreeMap::new(),
            found: BTreeMap::new(),
            steps_count: 0,
            steps_max: STEPS_MAX,
            shift: 0,
            full: false,
        }
    }
}

impl Course {
    fn new(slot: u32, lowest: u64) -> Course {
        Course { start: (slot, lowest), steps: Vec::new(), receivers: Vec::new(), broken: false }
    }

    /// The number after the highest one seen by the end of `slot`.
    fn by(&self, slot: u32) -> Option<u64> {
        let place = self.steps.partition_point(|&(at, _)| at <= slot);
        Some(self.steps[place.checked_sub(1)?].1)
    }

    /// The first number that a subscription which began in `slot` must have got.
    fn demanded_from(&self, slot: u32) -> u64 {
        self.by(slot).unwrap_or(self.start.1)
    }

    /// The number after the last one that a subscription which ended in `slot` must have got.
    fn demanded_until(&self, slot: u32) -> u64 {
        slot.checked_sub(1).and_then(|slot| self.by(slot)).unwrap_or(0)
    }

    /// Adds what was seen in a slot; returns by how many steps it grew.
    fn see(&mut self, slot: u32, lowest: u64, highest: u64) -> isize {
        let end = self.steps.last().map_or(highest, |&(_, end)| end);
        self.broken |= end.abs_diff(highest) > AHEAD_MAX || end.abs_diff(lowest) > AHEAD_MAX;
        if slot < self.start.0 {
            self.start = (slot, lowest);
        } else if slot == self.start.0 {
            self.start.1 = self.start.1.min(lowest);
        }
        let next = highest.saturating_add(1);
        let place = self.steps.partition_point(|&(at, _)| at <= slot);
        if place > 0 && self.steps[place - 1].1 >= next {
            return 0;
        }
        let before = self.steps.len();
        // Those that this one covers: the same slot's, and later ones that are not higher.
        let from = match place.checked_sub(1) {
            Some(last) if self.steps[last].0 == slot => last,
            _ => place,
        };
        let covered = self.steps[place..].partition_point(|&(_, end)| end <= next);
        self.steps.splice(from..place + covered, [(slot, next)]);
        self.steps.len() as isize - before as isize
    }

    /// Makes slots twice as long.
    fn coarsen(&mut self) {
        self.start.0 /= 2;
        for step in &mut self.steps {
            step.0 /= 2;
        }
        // Of two in one slot the later is higher.
        self.steps.reverse();
        self.steps.dedup_by_key(|&mut (at, _)| at);
        self.steps.reverse();
    }
}

impl Ledger {
    /// Adds what the users of one shard got.
    pub fn see(&mut self, heads: &[Head]) {
        for head in heads {
            let name = (head.message, head.sequence);
            if !self.courses.contains_key(&name) && self.courses.len() >= SEQUENCES_MAX {
                self.full = true;
                continue;
            }
            let slot = head.slot >> self.shift;
            let course = self.courses.entry(name).or_insert_with(|| Course::new(slot, head.lowest));
            let grown = course.see(slot, head.lowest, head.highest);
            self.steps_count = self.steps_count.saturating_add_signed(grown);
            if let Some(opening) = head.opening
                && course.receivers.len() < RECEIVERS_MAX
                && !course.receivers.contains(&opening)
            {
                course.receivers.push(opening);
                let silent = self.silent.remove(&(head.message, head.sequence, opening));
                let lost = silent.map_or(0, |silent| silent.lost);
                self.found.entry(head.message).or_default().lost += lost;
            }
        }
        while self.steps_count > self.steps_max && self.shift < u32::BITS - 1 {
            self.shift += 1;
            self.courses.values_mut().for_each(Course::coarsen);
            self.steps_count = self.courses.values().map(|course| course.steps.len()).sum();
        }
    }

    /// Adds subscriptions that have ended. All shards' heads up to their end must be known.
    pub fn settle(&mut self, settlements: &[(Settlement, u64)]) {
        for (settlement, subscriptions) in settlements {
            self.settle_one(settlement, *subscriptions);
        }
    }

    fn settle_one(&mut self, settlement: &Settlement, subscriptions: u64) {
        let name = (settlement.message, settlement.sequence);
        let Some(course) = self.courses.get(&name) else {
            if self.full {
                self.found.entry(name.0).or_default().unaccounted += subscriptions;
            }
            return;
        };
        if course.broken {
            self.found.entry(name.0).or_default().unaccounted += subscriptions;
            return;
        }
        let from =
            |since: u32| course.demanded_from(since.saturating_add(GRACE_SLOTS) >> self.shift);
        let until = |until: u32| {
            let slot = until.checked_sub(GRACE_SLOTS);
            slot.map_or(0, |slot| course.demanded_until(slot >> self.shift))
        };
        let each = match settlement.claim {
            Claim::First { since, first } => first.saturating_sub(from(since)),
            Claim::Last { until: at, highest } => {
                until(at).saturating_sub(highest.saturating_add(1))
            }
            Claim::Nothing { since, until: at } => until(at).saturating_sub(from(since)),
        };
        let lost = each.saturating_mul(subscriptions);
        if lost == 0 {
            return;
        }
        match settlement.opening {
            Some(opening)
                if matches!(settlement.claim, Claim::Nothing { .. })
                    && !course.receivers.contains(&opening) =>
            {
                let silent = self.silent.entry((name.0, name.1, opening)).or_default();
                silent.subscriptions += subscriptions;
                silent.lost = silent.lost.saturating_add(lost);
            }
            _ => {
                let found = self.found.entry(name.0).or_default();
                found.lost = found.lost.saturating_add(lost);
            }
        }
    }

    /// Takes the results since the last call, by message.
    pub fn take_found(&mut self) -> BTreeMap<MessageId, LossCounts> {
        self.found.retain(|_, found| *found != LossCounts::default());
        std::mem::take(&mut self.found)
    }

    /// Subscriptions to which numbers went by, as to all that were opened by the same step: they count
    /// as subscribed to something else. By message; for the end of a run.
    pub fn take_silent(&mut self) -> BTreeMap<MessageId, u64> {
        let mut sum = BTreeMap::new();
        for ((message, ..), silent) in std::mem::take(&mut self.silent) {
            *sum.entry(message).or_default() += silent.subscriptions;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn head(slot: u32, lowest: u64, highest: u64) -> Head {
        Head { message: MessageId(0), sequence: 9, opening: Some(1), slot, lowest, highest }
    }

    fn settlement(opening: u64, claim: Claim) -> (Settlement, u64) {
        let settlement =
            Settlement { message: MessageId(0), sequence: 9, opening: Some(opening), claim };
        (settlement, 10)
    }

    /// Lost numbers of ten subscriptions with this claim.
    fn lost(heads: &[Head], claim: Claim) -> LossCounts {
        let mut ledger = Ledger::default();
        ledger.see(heads);
        ledger.settle(&[settlement(1, claim)]);
        ledger.take_found().get(&MessageId(0)).copied().unwrap_or_default()
    }

    #[test]
    fn a_message_that_one_subscriber_got_is_expected_by_all() {
        // One number in each second, from 11 in the second second.
        let heads: Vec<Head> =
            (0..10).map(|n| head(20 + 10 * n, 11 + u64::from(n), 11 + u64::from(n))).collect();
        let found = |claim| lost(&heads, claim).lost / 10;
        assert_eq!(found(Claim::Nothing { since: 0, until: 200 }), 10);
        // 20 was first seen in slot 110; the end of the run is 1 s and a slot later.
        assert_eq!(found(Claim::Nothing { since: 0, until: 121 }), 10);
        assert_eq!(found(Claim::Nothing { since: 0, until: 120 }), 9);
        // 11 was first seen in slot 20, within the grace of one that began in slot 10.
        assert_eq!(found(Claim::Nothing { since: 10, until: 200 }), 9);
        assert_eq!(found(Claim::Nothing { since: 9, until: 200 }), 10);
        assert_eq!(found(Claim::Nothing { since: 50, until: 55 }), 0);
        assert_eq!(found(Claim::First { since: 0, first: 14 }), 3);
        assert_eq!(found(Claim::First { since: 30, first: 14 }), 0);
        assert_eq!(found(Claim::Last { until: 200, highest: 17 }), 3);
        assert_eq!(found(Claim::Last { until: 200, highest: 20 }), 0);
        assert_eq!(found(Claim::Last { until: 5, highest: 11 }), 0);
    }

    #[test]
    fn those_of_a_step_of_which_none_got_any_are_set_apart() {
        let mut ledger = Ledger::default();
        ledger.see(&[head(20, 1, 5)]);
        let claim = Claim::Nothing { since: 0, until: 99 };
        ledger.settle(&[settlement(2, claim), settlement(3, claim)]);
        assert!(ledger.take_found().is_empty());
        // One of step 2 gets a number after all.
        ledger.see(&[Head { opening: Some(2), ..head(100, 6, 6) }]);
        assert_eq!(ledger.take_found()[&MessageId(0)].lost, 50);
        assert_eq!(ledger.take_silent(), BTreeMap::from([(MessageId(0), 10)]));
    }

    #[test]
    fn numbers_that_jump_too_far_leave_the_rest_unknown() {
        let claim = Claim::Last { until: 99, highest: 1 };
        let unknown = LossCounts { lost: 0, unaccounted: 10 };
        assert_eq!(lost(&[head(1, 1, 1), head(2, 1 << 40, 1 << 40)], claim), unknown);
        assert_eq!(lost(&[head(1, 1 << 40, 1 << 40), head(2, 1, 1)], claim), unknown);
        assert_eq!(lost(&[head(1, 1, u64::MAX)], claim), unknown);
    }

    #[test]
    fn a_ledger_is_bounded_and_demands_less_the_longer_its_slots_are() {
        let mut ledger = Ledger { steps_max: 64, ..Ledger::default() };
        for n in 0..1_000 {
            ledger.see(&[head(n, u64::from(n), u64::from(n))]);
        }
        assert!(ledger.steps_count <= 64);
        assert_eq!(ledger.shift, 4);
        let claim = Claim::Nothing { since: 100, until: 500 };
        ledger.settle(&[settlement(1, claim)]);
        let lost = ledger.take_found()[&MessageId(0)].lost / 10;
        // Exactly: numbers 111 to 489.
        assert!((379 - 32..=379).contains(&lost), "{lost}");
    }

    proptest! {
        /// Whatever the order in which loops report, a course is that of the running maximum.
        #[test]
        fn a_course_is_a_running_maximum(seen in prop::collection::vec((0_u32..50, 0_u64..60), 1..40)) {
            let mut course = Course::new(seen[0].0, seen[0].1);
            for &(slot, number) in &seen {
                course.see(slot, number, number);
            }
            for slot in 0..50 {
                let highest = seen.iter().filter(|(at, _)| *at <= slot).map(|(_, n)| n + 1).max();
                prop_assert_eq!(course.by(slot), highest);
            }
        }
    }
}
