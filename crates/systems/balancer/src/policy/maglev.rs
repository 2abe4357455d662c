//! Google's Maglev hashing.

use stats::rng::Rng;

use super::{Policy, Request, Row};
use crate::fleet::Fleet;
use crate::hash::mix;

/// Entries of the table: a prime, 100 times as many as there are backends, or more (§5.3 of the paper).
const SIZES: [usize; 3] = [65_537, 655_373, 6_553_621];
/// How many times as many.
const ENTRIES_EACH: usize = 100;
/// No backend.
const NONE: u32 = u32::MAX;

pub(super) const ROW: Row = Row {
    name: "maglev",
    about: "By the client: Maglev hashing",
    source: "Eisenbud and others 2016",
    can_learn: false,
    make: || Box::<Maglev>::default(),
};

/// A table in which the backends take turns, each going through the entries in an order of its own
/// (Eisenbud and others, "Maglev: a fast and reliable software network load balancer", NSDI 2016, §3.4). A backend with
/// half the greatest weight takes every other turn, as in Envoy. Loads are even to an entry; when a backend leaves, its
/// entries move and a few per cent of the others.
#[derive(Debug, Clone, Default)]
pub struct Maglev {
    version: u64,
    table: Vec<u32>,
}

impl Maglev {
    fn rebuild(&mut self, fleet: &Fleet) {
        self.version = fleet.version();
        let up: Vec<usize> = (0..fleet.len()).filter(|at| fleet.is_up(*at)).collect();
        self.table.clear();
        let greatest = up.iter().map(|at| fleet.weight(*at)).fold(0.0, f64::max);
        if up.is_empty() || greatest <= 0.0 {
            return;
        }
        let wanted = fleet.len() * ENTRIES_EACH;
        let size = SIZES.into_iter().find(|size| *size >= wanted);
        let size = size.unwrap_or(SIZES[SIZES.len() - 1]);
        self.table.resize(size, NONE);
        let mut ways: Vec<Way> = up.iter().map(|at| Way::new(fleet, *at, size)).collect();
        let mut left = size;
        loop {
            for way in &mut ways {
                way.due += fleet.weight(way.at) / greatest;
                if way.due < 1.0 {
                    continue;
                }
                way.due -= 1.0;
                while self.table[way.next] != NONE {
                    way.next = (way.next + way.skip) % size;
                }
                self.table[way.next] = way.at as u32;
                left -= 1;
                if left == 0 {
                    return;
                }
            }
        }
    }
}

/// A backend's way through the table.
struct Way {
    at: usize,
    next: usize,
    skip: usize,
    /// Turns that it has not taken.
    due: f64,
}

impl Way {
    fn new(fleet: &Fleet, at: usize, size: usize) -> Self {
        let key = fleet.key(at);
        Self {
            at,
            next: (mix(key) % size as u64) as usize,
            skip: (mix(key ^ 0x5bd1_e995) % (size as u64 - 1)) as usize + 1,
            due: 0.0,
        }
    }
}

impl Policy for Maglev {
    fn pick(&mut self, fleet: &Fleet, request: &Request, _: &mut Rng) -> Option<usize> {
        if self.version != fleet.version() {
            self.rebuild(fleet);
        }
        let size = self.table.len();
        if size == 0 {
            return None;
        }
        let begin = (mix(request.source) % size as u64) as usize;
        // One that is full is skipped; the next entry is another client's most often, so its clients spread.
        let mut entries = (0..size).map(|step| self.table[(begin + step) % size] as usize);
        entries.find(|at| fleet.is_usable(*at))
    }
}
