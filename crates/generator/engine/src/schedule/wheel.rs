//! A hierarchical timer wheel (Varghese & Lauck 1987) with one timer per user.
//!
//! A tick is 1,024 ns. Eight levels of 64 slots reach past 2^58 ns. A timer is an entry in a flat
//! table under its user's key, linked into its slot's list, so arming and disarming are O(1) and
//! allocate nothing once the table has grown.

/// Nanoseconds to ticks: one tick is 2^10 ns.
const TICK_SHIFT: u32 = 10;
/// 64 slots a level.
const SLOT_BITS: u32 = 6;
const SLOTS: usize = 1 << SLOT_BITS;
const LEVELS: usize = 8;
/// No entry; also the list's end.
const NONE: u32 = u32::MAX;
/// `Entry::slot` of an entry that is not armed.
const UNARMED: u16 = u16::MAX;

/// The timer of one user.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    deadline_ns: u64,
    next: u32,
    prev: u32,
    /// level · 64 + slot, or [`UNARMED`].
    slot: u16,
}

const EMPTY: Entry = Entry { deadline_ns: 0, next: NONE, prev: NONE, slot: UNARMED };

/// The wheel.
#[derive(Debug)]
pub struct Wheel {
    entries: Vec<Entry>,
    heads: [u32; LEVELS * SLOTS],
    /// Which slots of a level hold entries, one bit each.
    occupied: [u64; LEVELS],
    /// All ticks before this one have been looked at.
    tick: u64,
    /// No armed timer's slot begins before this; kept so that asking is cheap.
    next_ns: u64,
}

impl Wheel {
    /// A wheel with room for the timers of this number of users; it grows if there are more.
    pub fn with_capacity(users_count: usize) -> Wheel {
        Wheel {
            entries: Vec::with_capacity(users_count),
            heads: [NONE; LEVELS * SLOTS],
            occupied: [0; LEVELS],
            tick: 0,
            next_ns: u64::MAX,
        }
    }

    /// Arms the timer of `key` to fire at `deadline_ns`, in place of what it was set to.
    pub fn arm(&mut self, key: u32, deadline_ns: u64) {
        let index = key as usize;
        if index >= self.entries.len() {
            self.entries.resize(index + 1, EMPTY);
        }
        if self.entries[index].slot != UNARMED {
            self.unlink(key);
        }
        self.entries[index].deadline_ns = deadline_ns;
        self.link(key);
    }

    /// Disarms the timer of `key`; nothing happens if it is not armed.
    pub fn disarm(&mut self, key: u32) {
        if self.entries.get(key as usize).is_some_and(|e| e.slot != UNARMED) {
            self.unlink(key);
        }
    }

    /// When the timer of `key` fires, if it is armed.
    pub fn deadline_ns(&self, key: u32) -> Option<u64> {
        self.entries.get(key as usize).filter(|e| e.slot != UNARMED).map(|e| e.deadline_ns)
    }

    /// No timer fires before this time; `u64::MAX` if none is armed. It can be early by up to a
    /// slot's width, never late.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Takes out one timer whose deadline is not after `now_ns`. Timers of different ticks come
    /// in order.
    pub fn pop(&mut self, now_ns: u64) -> Option<u32> {
        if now_ns < self.next_ns {
            return None;
        }
        let now_tick = now_ns >> TICK_SHIFT;
        while let Some((level, slot, start)) = self.first_slot() {
            if start > now_tick {
                self.next_ns = start << TICK_SHIFT;
                return None;
            }
            self.tick = self.tick.max(start);
            if level > 0 {
                self.cascade(level * SLOTS + slot);
                continue;
            }
            if let Some(key) = self.first_due(slot, now_ns) {
                self.unlink(key);
                return Some(key);
            }
            // What is left of this tick is due within it, after now.
            self.next_ns = self.least_deadline(slot);
            return None;
        }
        self.tick = self.tick.max(now_tick);
        self.next_ns = u64::MAX;
        None
    }

    /// The earliest occupied slot as (level, slot, first tick).
    fn first_slot(&self) -> Option<(usize, usize, u64)> {
        // Lower levels hold earlier ticks than higher ones, except that a higher level's slot may
        // begin at or before a lower one's first occupied slot; the least start wins, the higher
        // level first on a tie, so that it is spread before the lower one is emptied.
        let mut best: Option<(usize, usize, u64)> = None;
        for level in (0..LEVELS).rev() {
            let bits = self.occupied[level];
            if bits == 0 {
                continue;
            }
            let shift = SLOT_BITS * level as u32;
            let position = (self.tick >> shift) & (SLOTS as u64 - 1);
            let ahead = u64::from(bits.rotate_right(position as u32).trailing_zeros());
            let slot = (position + ahead) & (SLOTS as u64 - 1);
            let start = ((self.tick >> shift) + ahead) << shift;
            let start = start.max(self.tick);
            if best.is_none_or(|(_, _, least)| start < least) {
                best = Some((level, slot as usize, start));
            }
        }
        best
    }

    fn first_due(&self, slot: usize, now_ns: u64) -> Option<u32> {
        let mut key = self.heads[slot];
        while key != NONE {
            let entry = &self.entries[key as usize];
            if entry.deadline_ns <= now_ns {
                return Some(key);
            }
            key = entry.next;
        }
        None
    }

    fn least_deadline(&self, slot: usize) -> u64 {
        let mut least = u64::MAX;
        let mut key = self.heads[slot];
        while key != NONE {
            let entry = &self.entries[key as usize];
            least = least.min(entry.deadline_ns);
            key = entry.next;
        }
        least
    }

    /// Spreads a higher slot's entries over the levels below.
    fn cascade(&mut self, slot: usize) {
        let mut key = self.heads[slot];
        self.heads[slot] = NONE;
        self.occupied[slot / SLOTS] &= !(1 << (slot % SLOTS));
        while key != NONE {
            let next = self.entries[key as usize].next;
            self.link(key);
            key = next;
        }
    }

    fn link(&mut self, key: u32) {
        let deadline_ns = self.entries[key as usize].deadline_ns;
        let tick = (deadline_ns >> TICK_SHIFT).max(self.tick);
        // The level is where the tick first differs from the current one.
        let differing = 63 - ((tick ^ self.tick) | 1).leading_zeros();
        let level = ((differing / SLOT_BITS) as usize).min(LEVELS - 1);
        let slot = (tick >> (SLOT_BITS * level as u32)) as usize & (SLOTS - 1);
        let place = level * SLOTS + slot;
        let head = self.heads[place];
        let entry = &mut self.entries[key as usize];
        entry.next = head;
        entry.prev = NONE;
        entry.slot = place as u16;
        if head != NONE {
            self.entries[head as usize].prev = key;
        }
        self.heads[place] = key;
        self.occupied[level] |= 1 << slot;
        let start_ns = if level == 0 {
            deadline_ns
        } else {
            (tick >> (SLOT_BITS * level as u32) << (SLOT_BITS * level as u32)) << TICK_SHIFT
        };
        self.next_ns = self.next_ns.min(start_ns.max(self.tick << TICK_SHIFT));
    }

    fn unlink(&mut self, key: u32) {
        let Entry { next, prev, slot, .. } = self.entries[key as usize];
        let place = slot as usize;
        if prev == NONE {
            self.heads[place] = next;
            if next == NONE {
                self.occupied[place / SLOTS] &= !(1 << (place % SLOTS));
            }
        } else {
            self.entries[prev as usize].next = next;
        }
        if next != NONE {
            self.entries[next as usize].prev = prev;
        }
        self.entries[key as usize].slot = UNARMED;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Fires everything in steps of the wheel's own wake-up times.
    fn drain(wheel: &mut Wheel, until_ns: u64) -> Vec<(u64, u32)> {
        let mut fired = Vec::new();
        loop {
            let now = wheel.next_ns();
            if now > until_ns {
                return fired;
            }
            while let Some(key) = wheel.pop(now) {
                fired.push((now, key));
            }
        }
    }

    #[test]
    fn fires_in_order_and_on_time() {
        let mut wheel = Wheel::with_capacity(4);
        wheel.arm(0, 5_000_000_000);
        wheel.arm(1, 1_000);
        wheel.arm(2, 70_000);
        wheel.arm(3, 3_600_000_000_000);
        let fired = drain(&mut wheel, u64::MAX - 1);
        assert_eq!(fired, [(1_000, 1), (70_000, 2), (5_000_000_000, 0), (3_600_000_000_000, 3)]);
    }

    #[test]
    fn an_earlier_deadline_replaces_a_later_one() {
        let mut wheel = Wheel::with_capacity(1);
        wheel.arm(0, 30_000_000_000);
        wheel.arm(0, 2_000);
        assert_eq!(wheel.deadline_ns(0), Some(2_000));
        assert_eq!(drain(&mut wheel, u64::MAX - 1), [(2_000, 0)]);
    }

    #[test]
    fn a_deadline_in_the_past_fires_at_once() {
        let mut wheel = Wheel::with_capacity(2);
        wheel.arm(0, 10_000_000);
        assert_eq!(wheel.pop(20_000_000), Some(0));
        wheel.arm(1, 5);
        assert_eq!(wheel.pop(20_000_000), Some(1));
    }

    proptest! {
        #[test]
        fn agrees_with_a_sorted_list(
            ops in prop::collection::vec((0u32..40, 0u64..1u64 << 40, any::<bool>()), 1..200)
        ) {
            let mut wheel = Wheel::with_capacity(40);
            let mut model = std::collections::BTreeMap::new();
            let mut now = 0u64;
            for (key, delta, run) in ops {
                if delta % 5 == 0 {
                    wheel.disarm(key);
                    model.remove(&key);
                } else {
                    wheel.arm(key, now + delta);
                    model.insert(key, now + delta);
                }
                if run {
                    let target = now + delta / 3;
                    while wheel.next_ns() <= target {
                        let at = wheel.next_ns().max(now);
                        while let Some(fired) = wheel.pop(at) {
                            let deadline = model.remove(&fired).expect("armed");
                            prop_assert!(deadline <= at);
                            prop_assert!(at - deadline < 1024, "late by {}", at - deadline);
                        }
                        now = at;
                    }
                    now = target;
                    prop_assert!(model.values().all(|&d| d > now));
                }
            }
        }
    }
}
