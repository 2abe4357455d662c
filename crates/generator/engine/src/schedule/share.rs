//! Which users are whose.
//!
//! Without regions, users are dealt to the loops in turn. With regions, a user's number is a place on a circle, and each
//! loop owns an arc of it: the regions divide the circle by their shares, and the loops of a region its part evenly.
//! Consecutive numbers are a golden section of the circle apart, so that they fall evenly into any arc (Knuth, The Art
//! of Computer Programming 3, §6.4, theorem S): shares hold to within a few users at any moment of a run. A user's
//! region depends on its number and the shares alone, not on the number of loops.

use plan::Region;

/// The circle's length.
const CIRCLE: u64 = 1 << 32;
/// The circle divided by the golden ratio, made odd: each place is that of one number in every 2³².
const STEP: u64 = 0x9E37_79B1;

/// Which users are this shard's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// The shard's number.
    pub index: u32,
    /// How many there are; at least 1.
    pub of: u32,
    users: Users,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Users {
    /// Those whose number leaves `index` when divided by `of`.
    InTurn { index: u64, of: u64 },
    /// Those whose place is in this part of the circle.
    Arc { from: u64, until: u64 },
}

/// The loops of one region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegionLoops {
    /// The number of the first.
    pub first: u32,
    /// At least 1.
    pub count: u32,
    from: u64,
    until: u64,
}

impl Share {
    /// One of several equal shares.
    pub fn new(index: u32, of: u32) -> Share {
        Share { index, of, users: Users::InTurn { index: u64::from(index), of: u64::from(of) } }
    }

    /// That of a loop of a run with these regions, which has `of` loops: at least as many as regions.
    pub fn of_loop(index: u32, of: u32, regions: &[Region]) -> Share {
        let loops = region_loops(regions, of);
        let own = loops
            .iter()
            .rfind(|loops| loops.first <= index)
            .map(|loops| loops.part(index - loops.first));
        let share = Share::new(index, of);
        Share { users: own.unwrap_or(share.users), ..share }
    }

    /// The part of this number, from 0, of `parts` equal ones; at least 1.
    pub fn part(self, part: u32, parts: u32) -> Share {
        let part = u64::from(part);
        let parts = u64::from(parts);
        let users = match self.users {
            Users::InTurn { index, of } => {
                Users::InTurn { index: index + of * part, of: of * parts }
            }
            Users::Arc { from, until } => {
                let end = |part: u64| from + (until - from) * part / parts;
                Users::Arc { from: end(part), until: end(part + 1) }
            }
        };
        Share { users, ..self }
    }

    /// Whether this user is the shard's.
    pub fn takes(self, user: u64) -> bool {
        match self.users {
            Users::InTurn { index, of } => user % of == index,
            Users::Arc { from, until } => (from..until).contains(&place(user)),
        }
    }

    /// How many users from this one on are others' before one is this shard's; at most `max`.
    pub fn gap(self, user: u64, max: u64) -> u64 {
        match self.users {
            Users::InTurn { index, of } => ((index + of - user % of) % of).min(max),
            Users::Arc { .. } => {
                let own = (0..max).find(|ahead| self.takes(user.wrapping_add(*ahead)));
                own.unwrap_or(max)
            }
        }
    }

    /// How many of `users_count` users are this shard's, rounded up; with regions it may be a few more.
    pub fn portion(self, users_count: u64) -> u64 {
        match self.users {
            Users::InTurn { of, .. } => users_count.div_ceil(of),
            Users::Arc { from, until } => {
                let width = u128::from(until - from);
                let portion = (u128::from(users_count) * width).div_ceil(u128::from(CIRCLE));
                u64::try_from(portion).unwrap_or(u64::MAX)
            }
        }
    }
}

impl RegionLoops {
    /// The part of the region's loop of this number, from 0.
    fn part(&self, number: u32) -> Users {
        let width = self.until - self.from;
        let end = |number: u32| self.from + width * u64::from(number) / u64::from(self.count);
        Users::Arc { from: end(number), until: end(number + 1) }
    }
}

/// The user's place on the circle.
fn place(user: u64) -> u64 {
    user.wrapping_mul(STEP) % CIRCLE
}

/// Divides the circle and the loops among regions: a loop each, and of the others as many as its share, the largest
/// remainders first. There are at least as many loops as regions, or the last regions have loops that do not exist.
pub fn region_loops(regions: &[Region], loops_count: u32) -> Vec<RegionLoops> {
    let total: f64 = regions.iter().map(|region| region.share).sum();
    let others = loops_count.saturating_sub(regions.len() as u32);
    let quotas: Vec<f64> =
        regions.iter().map(|region| region.share / total * f64::from(others)).collect();
    let mut counts: Vec<u32> = quotas.iter().map(|quota| quota.floor() as u32).collect();
    let mut by_remainder: Vec<usize> = (0..regions.len()).collect();
    by_remainder.sort_by(|&a, &b| quotas[b].fract().total_cmp(&quotas[a].fract()));
    let left = others.saturating_sub(counts.iter().sum()) as usize;
    for &region in by_remainder.iter().take(left) {
        counts[region] += 1;
    }
    let mut first = 0;
    let mut from = 0;
    let mut share = 0.0;
    let mut all = Vec::with_capacity(regions.len());
    for (number, (region, others)) in regions.iter().zip(counts).enumerate() {
        share += region.share;
        let is_last = number + 1 == regions.len();
        let until = match is_last {
            true => CIRCLE,
            false => ((share / total * CIRCLE as f64).round() as u64).clamp(from, CIRCLE),
        };
        let count = others + 1;
        all.push(RegionLoops { first, count, from, until });
        (first, from) = (first + count, until);
    }
    all
}
