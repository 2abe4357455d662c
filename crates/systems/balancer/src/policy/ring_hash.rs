//! Consistent hashing on a ring, with bounds on the load.

use stats::rng::Rng;

use super::{Policy, Request, Row};
use crate::fleet::Fleet;
use crate::hash::mix;

/// How far above its share a backend's requests in flight may be.
const BOUND: f64 = 1.25;
/// The ring has two to the power of this many points, whatever backends there are.
const BITS: u32 = 17;
const POINTS: usize = 1 << BITS;
const MASK: u64 = POINTS as u64 - 1;
/// Nobody's.
const NONE: u32 = u32::MAX;

pub(super) const ROW: Row = Row {
    name: "ring-hash",
    about: "By the client: consistent hashing with bounded loads",
    source: "Mirrokni, Thorup and Zadimoghaddam 2018",
    can_learn: false,
    make: || Box::<RingHash>::default(),
};

/// Consistent hashing (Karger and others 1997) with bounded loads (Mirrokni, Thorup and Zadimoghaddam, "Consistent
/// hashing with bounded loads", 2018): a client belongs to the first backend clockwise of its point whose requests in
/// flight are below 1.25 times its share, rounded up.
///
/// The points are the same for every list of backends, and each belongs to one of them by weighted rendezvous: to the
/// one that comes to it first, where backends come to a point after exponential times at the rate of their weights. Thus
/// a backend that comes, leaves or changes its weight moves its own points alone. With v points of a backend, its share
/// follows its weight to about 1/√v.
#[derive(Debug, Clone, Default)]
pub struct RingHash {
    version: u64,
    /// Backend of each point.
    ring: Vec<u32>,
}

impl RingHash {
    fn rebuild(&mut self, fleet: &Fleet) {
        self.version = fleet.version();
        self.ring.clear();
        let up: Vec<usize> = (0..fleet.len()).filter(|at| fleet.is_up(*at)).collect();
        let total: f64 = up.iter().map(|at| fleet.weight(*at)).sum();
        if total <= 0.0 {
            return;
        }
        self.ring.resize(POINTS, NONE);
        let mut firsts = vec![f64::INFINITY; POINTS];
        let mut walks: Vec<Walk> = up.iter().map(|at| Walk::new(fleet, *at)).collect();
        // By then a point is nobody's with probability 1/POINTS. The order in which backends walk changes nothing.
        let mut until = (POINTS as f64).ln() / total;
        loop {
            for walk in &mut walks {
                walk.go(until, &mut firsts, &mut self.ring);
            }
            if !self.ring.contains(&NONE) {
                return;
            }
            until *= 1.5;
        }
    }
}

/// A backend's way over all points.
struct Walk {
    at: u32,
    weight: f64,
    key: u64,
    /// Points that it has come to.
    steps: usize,
}

impl Walk {
    fn new(fleet: &Fleet, at: usize) -> Self {
        Self { at: at as u32, weight: fleet.weight(at), key: mix(fleet.key(at)), steps: 0 }
    }

    /// Goes on until this time.
    fn go(&mut self, until: f64, firsts: &mut [f64], ring: &mut [u32]) {
        while self.steps < POINTS {
            // Quantiles of the exponential distribution, each once.
            let share = (self.steps as f64 + 0.5) / POINTS as f64;
            let time = -(1.0 - share).ln() / self.weight;
            if time > until {
                return;
            }
            let point = permuted(self.steps as u64, self.key) as usize;
            if time < firsts[point] {
                firsts[point] = time;
                ring[point] = self.at;
            }
            self.steps += 1;
        }
    }
}

/// The n-th of all points in the order of a key: steps that are each invertible, as those of `SplitMix64`.
fn permuted(n: u64, key: u64) -> u64 {
    let mut z = n;
    for round in 0..3 {
        let part = key >> (20 * round);
        z = z.wrapping_add(part) & MASK;
        z ^= z >> (BITS / 2);
        z = z.wrapping_mul((mix(part) << 1) | 1) & MASK;
        z ^= z >> (BITS / 2 + 1);
    }
    z
}

impl Policy for RingHash {
    fn pick(&mut self, fleet: &Fleet, request: &Request, _: &mut Rng) -> Option<usize> {
        if self.version != fleet.version() {
            self.rebuild(fleet);
        }
        let total = (fleet.all_in_flight() + 1) as f64 * BOUND / fleet.weights();
        let has_room =
            |at: usize| f64::from(fleet.in_flight(at)) < (total * fleet.weight(at)).ceil();
        let begin = (mix(request.source) >> (64 - BITS)) as usize;
        let (before, after) = self.ring.split_at(begin.min(self.ring.len()));
        let mut clockwise = after.iter().chain(before).map(|at| *at as usize);
        let mut first_usable = None;
        let found = clockwise.find(|at| {
            let usable = fleet.is_usable(*at);
            if usable && first_usable.is_none() {
                first_usable = Some(*at);
            }
            usable && has_room(*at)
        });
        // All that are usable may be above the bound if others, which are not, hold what is in flight.
        found.or(first_usable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_comes_to_every_point_once() {
        for key in [0, 1, u64::MAX, 0x9e37_79b9_7f4a_7c15] {
            let mut seen = vec![false; POINTS];
            for n in 0..POINTS as u64 {
                let point = permuted(n, key) as usize;
                assert!(!std::mem::replace(&mut seen[point], true), "{key}, {n}");
            }
        }
    }
}
